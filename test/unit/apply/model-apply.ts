/** apply as the command does it, with a disk and a service in memory, and ways for it to go wrong. */

import { createKey } from '../../../src/apply/execute.ts';
import type { ManifestItem } from '../../../src/apply/manifest.ts';
import { type CurrentItem, createPlan, type Plan } from '../../../src/apply/plan.ts';
import {
  beginRun,
  checkJournal,
  journalIdentity,
  readRunJournal,
  recoverRun,
  withLearned,
} from '../../../src/apply/recover.ts';
import { newState, type State, type Step, stepHash } from '../../../src/apply/state.ts';
import { parseState, printState } from '../../../src/apply/state-file.ts';
import { createJournal, type Journal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import type { Fields } from '../../../src/core/item.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { sampleHeader, sampleSession, startedAt } from '../bulk/journal-samples.ts';
import { type Answer, ModelService } from './model-service.ts';

/** What becomes of one request: the two `lost` ones look the same to who sent it. */
export type Fate = 'done' | 'lost-applied' | 'lost-not-applied' | 'refused' | 'not-sent';

/** One call of apply. */
export interface Call {
  readonly prune: boolean;
  readonly refresh: boolean;
  readonly honorsKeys: boolean;
  /** By step; `done` beyond the end. */
  readonly fates: readonly Fate[];
  /** After so many moves of the run the process is killed; undefined for never. */
  readonly killedAfter?: number | undefined;
  /** Whether the machine loses its power then: what of the journal was not synced is lost from some byte on. */
  readonly losesPower: boolean;
  /** From 0 to 1: where that byte is. */
  readonly cutAt: number;
  /** The process is killed when the state is written, before the journal is removed. */
  readonly leavesJournal: boolean;
}

/** A call in which nothing goes wrong. */
export const quiet: Call = {
  ...{ prune: true, refresh: true, honorsKeys: false, fates: [] },
  ...{ losesPower: false, cutAt: 0, leavesJournal: false },
};

const journalPath = '/manifest.yaml.state.json.journal';
const limit = 3;

/** The process was killed. */
class Killed extends Error {}

/** A directory with a manifest and its state, and a service. */
export class ModelWorld {
  readonly service = new ModelService();
  readonly givesEtags: boolean;
  manifest: readonly ManifestItem[] = [];
  #stateText: string;
  #disk = powerLossDisk(4096);
  #boot = 0;
  #runs = 0;

  constructor(givesEtags: boolean) {
    this.givesEtags = givesEtags;
    const target = { origin: 'https://lists.example', site: 'demo', list: 'tasks' };
    this.#stateText = [...printState({ ...newState(target, 'Title'), serial: 1 })].join('');
  }

  get state(): State {
    return parseState(this.#stateText, 'the state');
  }

  /** @returns the version that stands there now */
  write(state: State): State {
    if (state.serial !== this.state.serial) throw new Error('the serial grows by one');
    const next = { ...state, serial: state.serial + 1 };
    this.#stateText = [...printState(next)].join('');
    return next;
  }

  /** Takes what a killed run did into the state. */
  async recover(leavesJournal = false): Promise<State> {
    const { state } = this;
    const journal = await readRunJournal(journalPath, { boot: `boot-${this.#boot}`, io: this.#disk.io });
    const isOwn = journal !== undefined && checkJournal(state, journal) === 'own';
    const folded = recoverRun(state, isOwn ? journal : undefined).state;
    if (recoverRun(folded, journal).state !== folded) throw new Error('folding twice is folding once');
    if (folded !== state) this.write(folded);
    if (journal !== undefined && !leavesJournal) this.#disk.io.remove(journalPath);
    return this.state;
  }

  /** What there is to do. */
  plan(state: State, { prune, refresh, honorsKeys }: Call): Plan {
    const current = new Map<string, CurrentItem>();
    for (const [key, { id }] of state.items) {
      if (refresh && id !== undefined) current.set(key, this.#observe(id));
    }
    const canResend = honorsKeys ? () => true : undefined;
    return createPlan({ manifest: { items: this.manifest }, state, current, prune, canResend });
  }

  #observe(id: string): CurrentItem {
    const item = this.service.items.get(id);
    return item === undefined ? { kind: 'gone' } : { kind: 'there', fields: item.fields, etag: this.#etag(item.etag) };
  }

  #etag(etag: string): string | undefined {
    return this.givesEtags ? etag : undefined;
  }

  /** Applies the manifest; gives the plan that it had. */
  async apply(call: Call): Promise<Plan> {
    const state = await this.recover(call.leavesJournal);
    if (call.leavesJournal) await this.recover();
    const plan = this.plan(state, call);
    if (plan.steps.length === 0) {
      const learned = withLearned(state, plan, startedAt);
      if (learned !== state) this.write(learned);
      return plan;
    }
    this.#runs += 1;
    const run = `20261120-101530-${String(this.#runs).padStart(4, '0')}`;
    const running = this.write(beginRun(state, plan, { run, nowMs: startedAt }));
    try {
      await this.#run(running, run, plan.steps, call);
      await this.recover(call.leavesJournal);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    return plan;
  }

  async #run(state: State, run: string, steps: readonly Step[], call: Call): Promise<void> {
    let moves = 0;
    let syncedBytes = 0;
    const length = () => this.#disk.bytesOf(journalPath)?.length ?? 0;
    const move = () => {
      if (moves === call.killedAfter) throw new Killed();
      moves += 1;
    };
    try {
      move();
      const header = { run, action: 'apply', identity: journalIdentity(state), rows: steps.length } as const;
      const { origin, site, list } = state;
      const whole = { ...sampleHeader(steps.length), ...header, origin, site, list };
      const session = sampleSession({ boot: `boot-${this.#boot}`, limit });
      const journal = createJournal(journalPath, whole, session, this.#disk.io);
      syncedBytes = length();
      for (let at = 0; at < steps.length; at += limit) {
        const group = steps.slice(at, at + limit);
        move();
        const keys = this.#intend(journal, state, group);
        syncedBytes = length();
        for (const [index, step] of group.entries()) {
          move();
          const record = this.#send(step, keys[index] ?? null, call);
          move();
          journal.write([record], 1);
        }
      }
      move();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      if (call.losesPower) this.#cut(syncedBytes, call.cutAt);
      throw error;
    }
  }

  #cut(syncedBytes: number, cutAt: number): void {
    this.#boot += 1;
    const bytes = this.#disk.bytesOf(journalPath);
    if (bytes === undefined) return;
    this.#disk = powerLossDisk(4096);
    const kept = syncedBytes + Math.floor(cutAt * (bytes.length - syncedBytes));
    this.#disk.put(journalPath, Buffer.from(bytes.subarray(0, kept)));
  }

  #intend(journal: Journal, state: State, steps: readonly Step[]): readonly (string | null)[] {
    const keys = steps.map((step) => {
      if (step.action !== 'create') return null;
      return step.inDoubt?.idempotencyKey ?? createKey(state, step);
    });
    journal.write(
      steps.map((step, at) => ['I', step.number, step.number, 1, keys[at] ?? null, stepHash(step)] as const),
      1,
    );
    return keys;
  }

  /** Sends a step; gives what the journal says of it. */
  #send(step: Step, key: string | null, call: Call): JournalRecord {
    const { number } = step;
    const fate = call.fates[number - 1] ?? 'done';
    // A create that may be there already stays in doubt, whatever another attempt comes to.
    const isUnknown = fate.startsWith('lost') || (fate !== 'done' && step.inDoubt !== undefined);
    const answer = fate === 'done' || fate === 'lost-applied' ? this.#answer(step, key, call) : undefined;
    if (isUnknown) return ['U', number, 'lost', 1];
    if (fate === 'not-sent') return ['N', number];
    if (answer === undefined) return ['F', number, 'refused', 400, null, 1];
    if (answer === 'not-found' && step.action === 'delete') return ['D', number, step.id, null, 1];
    if (typeof answer === 'string') return ['F', number, answer, null, null, 1];
    return ['D', number, answer.id, this.#etag(answer.etag) ?? null, 1];
  }

  #answer(step: Step, key: string | null, { honorsKeys }: Call): Answer {
    switch (step.action) {
      case 'create':
        return this.service.create(withoutNull(step.fields), step.key, key ?? undefined, honorsKeys);
      case 'update':
        return this.service.update(step.id, step.fields, step.etag);
      case 'delete':
        return this.service.delete(step.id, step.etag);
    }
  }
}

function withoutNull(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

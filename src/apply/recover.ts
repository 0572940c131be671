/** Takes the results of a run from its journal into the state: at its end, or after it was interrupted. */
import { doneRow, journalRecords, type Replay, type ReplayOptions, readJournal } from '../bulk/journal-read.ts';
import { Failure } from '../core/errors.ts';
import { idProblem } from '../core/item.ts';
import type { Plan } from './plan.ts';
import {
  type CreateStep,
  type KnownItem,
  type State,
  type StateItem,
  type Step,
  stepHash,
  withItems,
} from './state.ts';

export interface RunJournal {
  readonly path: string;
  readonly replay: Replay;
  /** The ids and entity tags of the rows that are done. */
  readonly results: ReadonlyMap<number, Pick<KnownItem, 'id' | 'etag'>>;
}

export function journalPath(statePath: string): string {
  return `${statePath}.journal`;
}

/** The `identity` in the header of a run's journal: 48 hex digits for the version of the state with the run. */
export function journalIdentity({ lineage, serial }: Pick<State, 'lineage' | 'serial'>): string {
  return lineage + serial.toString(16).padStart(16, '0');
}

/** @throws {Failure} local-file */
export async function readRunJournal(path: string, options: ReplayOptions): Promise<RunJournal | undefined> {
  const replay = await readJournal(path, options);
  if (replay === undefined) return undefined;
  const results = new Map<number, Pick<KnownItem, 'id' | 'etag'>>();
  for await (const { record } of journalRecords(path, options.io)) {
    const done = doneRow(record);
    if (done !== undefined) results.set(done.row, { id: done.id ?? '', etag: done.etag });
  }
  return { path, replay, results };
}

/**
 * Checks whether a journal is that of the state's run, or an old one, which can be removed.
 *
 * @throws {Failure} local-file, if it belongs to another state, or to a newer version of this one
 */
export function checkJournal(state: State, { path, replay }: RunJournal): 'own' | 'old' {
  const { header } = replay;
  const [lineage, serial] = [header.identity.slice(0, 32), Number.parseInt(header.identity.slice(32), 16)];
  if (header.action !== 'apply' || header.identity.length !== 48 || lineage !== state.lineage) {
    throw foreign(path, 'it records another state');
  }
  if (state.origin !== header.origin || state.site !== header.site || state.list !== header.list) {
    throw foreign(path, 'it records another list');
  }
  // Without an intent nothing was sent.
  if (serial < state.serial || (serial > state.serial && replay.nextSeq === 1)) return 'old';
  if (serial > state.serial) {
    throw foreign(path, `it records version ${serial}, and this state is older: version ${state.serial}`);
  }
  if (header.run === state.run?.id && header.input.rows === state.run.steps.length) return 'own';
  throw foreign(path, 'it records another run');
}

function foreign(path: string, reason: string): Failure {
  return new Failure('local-file', `${path} does not belong to this state: ${reason}`, {
    hint: 'restore the newest state next to its journal; both files are unchanged\nthis state may not include items created since',
  });
}

/** The state that is written before a run sends anything: with what the plan learned, and its steps. */
export function beginRun(state: State, plan: Pick<Plan, 'learned' | 'steps'>, id: string, nowMs: number): State {
  return { ...withLearned(state, plan, nowMs), run: { id, steps: plan.steps } };
}

/** The state with what a plan learned from reading items. */
export function withLearned(state: State, { learned }: Pick<Plan, 'learned'>, nowMs: number): State {
  return learned.size === 0 ? state : withItems(state, learned, nowMs);
}

/**
 * The state after its run, and the number of steps with each result: done steps are applied, and creates with an unknown
 * outcome are in doubt. A state without a run is returned as it is.
 *
 * @param journal that of the run; undefined if no step was sent
 * @throws {Failure} local-file, if the steps of the state are not those in the journal
 */
export function recoverRun(
  state: State,
  journal: RunJournal | undefined,
): { readonly state: State; readonly done: number; readonly inDoubt: number } {
  const { run, ...settled } = state;
  if (run === undefined) return { state, done: 0, inDoubt: 0 };
  if (journal === undefined) return { state: settled, done: 0, inDoubt: 0 };
  for (const step of run.steps) checkStep(step, journal);
  const recovery = new RunRecovery(state.items, journal);
  for (const step of run.steps) recovery.releaseId(step);
  for (const step of run.steps) recovery.take(step);
  const { changes, done, inDoubt } = recovery;
  return { state: withItems(settled, changes, journal.replay.lastAt), done, inDoubt };
}

/** Refuses a step that was changed since it was sent. */
function checkStep(step: Step, { path, replay, results }: RunJournal): void {
  const hash = replay.hashOf(step.number);
  const isDone = replay.stateOf(step.number) === 'done';
  const isKnown = hash === undefined ? !isDone : hash === stepHash(step);
  if (isKnown && (!isDone || results.has(step.number))) return;
  throw foreign(path, `step ${step.number} of the state differs from what was sent`);
}

class RunRecovery {
  readonly changes = new Map<string, StateItem | undefined>();
  done = 0;
  inDoubt = 0;
  readonly #items: ReadonlyMap<string, StateItem>;
  readonly #journal: RunJournal;
  readonly #ids = new Set<string>();

  constructor(items: ReadonlyMap<string, StateItem>, journal: RunJournal) {
    this.#items = items;
    this.#journal = journal;
    for (const { id } of items.values()) if (id !== undefined) this.#ids.add(id);
  }

  /** Releases the id of an item that the step replaced or deleted: a service may assign it again. */
  releaseId({ number, key, action }: Step): void {
    const { replay } = this.#journal;
    const isReleased = replay.stateOf(number) === 'done' || (action === 'create' && this.#mayBeApplied(number));
    const id = this.#items.get(key)?.id;
    if (isReleased && action !== 'update' && id !== undefined) this.#ids.delete(id);
  }

  take(step: Step): void {
    const { replay, results } = this.#journal;
    const result = replay.stateOf(step.number) === 'done' ? results.get(step.number) : undefined;
    if (result !== undefined) this.#applied(step, result);
    else if (this.#mayBeApplied(step.number)) {
      this.inDoubt += 1;
      if (step.action === 'create') this.#doubt(step);
    }
  }

  #mayBeApplied(number: number): boolean {
    const state = this.#journal.replay.stateOf(number);
    return state === 'in-doubt' || state === 'skipped';
  }

  #applied(step: Step, { id, etag }: Pick<KnownItem, 'id' | 'etag'>): void {
    if (step.action === 'create' && !this.#isUsable(id)) {
      // The item exists, but cannot be managed with this id; it must not be created again.
      this.inDoubt += 1;
      this.#doubt(step);
      return;
    }
    this.done += 1;
    if (step.action === 'delete') {
      this.changes.set(step.key, undefined);
      return;
    }
    const known = step.action === 'create' ? id : step.id;
    this.#ids.add(known);
    this.changes.set(step.key, { id: known, fields: step.after, ...(etag === undefined ? {} : { etag }) });
  }

  /** Whether an id is valid, and not that of another key. */
  #isUsable(id: string): boolean {
    return !this.#ids.has(id) && idProblem(id, 'item') === undefined;
  }

  #doubt(step: CreateStep): void {
    const doubt = this.#journal.replay.doubtOf(step.number);
    const idempotencyKey = doubt?.key ?? step.inDoubt?.idempotencyKey ?? null;
    const isSent = step.inDoubt !== undefined && step.inDoubt.idempotencyKey === idempotencyKey;
    const { sentAt, serviceAt } = (isSent ? step.inDoubt : doubt) ?? { sentAt: this.#journal.replay.lastAt };
    const moment = serviceAt === undefined ? { sentAt } : { sentAt, serviceAt };
    this.changes.set(step.key, { fields: step.fields, inDoubt: { idempotencyKey, hash: stepHash(step), ...moment } });
  }
}

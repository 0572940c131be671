/** What a run did, taken from its journal into the state: at its end, and where it was killed. */
import type { JournalHeader } from '../bulk/journal-format.ts';
import { journalRecords, type Replay, type ReplayOptions, readJournal } from '../bulk/journal-read.ts';
import { Failure } from '../core/errors.ts';
import { checkId } from '../core/item.ts';
import type { Plan } from './plan.ts';
import { type KnownItem, type State, type StateItem, type Step, stepHash, withItems } from './state.ts';

/** The journal of a run of apply. */
export interface RunJournal {
  readonly path: string;
  readonly replay: Replay;
  /** What is known of the rows that are done. */
  readonly ends: ReadonlyMap<number, RowEnd>;
}

/** What a row that is done left. */
export interface RowEnd {
  readonly id: string;
  readonly etag: string | undefined;
}

/** A state that a run was folded into, and how many of its steps came to what. */
export interface RecoveredRun {
  readonly state: State;
  readonly done: number;
  readonly inDoubt: number;
  /** Refused, or never sent: the next plan has them again. */
  readonly notDone: number;
}

/** The journal of a state's runs, beside it. */
export function journalPath(statePath: string): string {
  return `${statePath}.journal`;
}

/**
 * What the header of a run's journal has as its `identity`: by it a journal is known to be of this version of this
 * state (`checkJournal`).
 *
 * @param state as it was written, its run in it
 * @returns 48 hex digits
 */
export function journalIdentity({ lineage, serial }: Pick<State, 'lineage' | 'serial'>): string {
  return lineage + serial.toString(16).padStart(16, '0');
}

/**
 * Reads the journal of a run.
 *
 * @returns undefined where none was begun
 * @throws {Failure} local-file, when it cannot be read or is damaged
 */
export async function readRunJournal(path: string, options: ReplayOptions): Promise<RunJournal | undefined> {
  const replay = await readJournal(path, options);
  if (replay === undefined) return undefined;
  const ends = new Map<number, RowEnd>();
  for await (const { record } of journalRecords(path, options.io)) {
    if (record[0] === 'D') ends.set(record[1], { id: record[2], etag: record[3] ?? undefined });
    else if (record[0] === 'R' && record[2] === 'applied') ends.set(record[1], { id: record[3], etag: undefined });
  }
  return { path, replay, ends };
}

/**
 * Says whose a journal is: of the run that the state is waiting for, or of one that was folded in before (`old`: it
 * may be removed).
 *
 * @throws {Failure} local-file, when it is of another state, or of a newer version of this one: what that run did is
 *   not in this one
 */
export function checkJournal(state: State, { path, replay }: RunJournal): 'own' | 'old' {
  const { header } = replay;
  const [lineage, serial] = [header.identity.slice(0, 32), Number.parseInt(header.identity.slice(32), 16)];
  if (header.action !== 'apply' || header.identity.length !== 48 || lineage !== state.lineage) {
    throw foreign(path, 'it records another state');
  }
  if (!isSameTarget(state, header)) throw foreign(path, 'it records another list');
  // One without an intent has nothing to tell.
  if (serial < state.serial || (serial > state.serial && replay.nextSeq === 1)) return 'old';
  if (serial > state.serial) {
    throw foreign(path, `it records version ${serial}, and this state is older: version ${state.serial}`);
  }
  if (header.run === state.run?.id && header.input.rows === state.run.steps.length) return 'own';
  throw foreign(path, 'it records another run');
}

function isSameTarget(state: State, header: JournalHeader): boolean {
  return state.origin === header.origin && state.site === header.site && state.list === header.list;
}

function foreign(path: string, reason: string): Failure {
  return new Failure('local-file', `${path} does not belong to this state: ${reason}`, {
    hint: 'restore the newest state next to its journal; nothing was sent and both files are unchanged\nthis state may not include items created since',
  });
}

/** The state that a run begins with: what the plan learned, and its steps. To be written before anything is sent. */
export function beginRun(
  state: State,
  plan: Pick<Plan, 'learned' | 'steps'>,
  { run, nowMs }: { readonly run: string; readonly nowMs: number },
): State {
  return { ...withLearned(state, plan, nowMs), run: { id: run, steps: plan.steps } };
}

/** The state with what a plan learned without doing anything; the same one where that is nothing. */
export function withLearned(state: State, { learned }: Pick<Plan, 'learned'>, nowMs: number): State {
  return learned.size === 0 ? state : withItems(state, learned, nowMs);
}

/**
 * The state after its run: every step that is done is applied, creates whose outcome is unknown are in doubt, and all
 * else is as it was. A state without a run is given back as it is, so that folding twice gives the same.
 *
 * @param journal that of the run; undefined where there is none, or an old one: no step was sent
 * @throws {Failure} local-file, when the steps of the state are not those that the journal tells of
 */
export function recoverRun(state: State, journal: RunJournal | undefined): RecoveredRun {
  const { run, ...settled } = state;
  if (run === undefined) return { state, done: 0, inDoubt: 0, notDone: 0 };
  if (journal === undefined) return { state: settled, done: 0, inDoubt: 0, notDone: run.steps.length };
  for (const step of run.steps) checkStep(step, journal);
  const folding = new RunRecovery(state.items, journal);
  for (const step of run.steps) folding.release(step);
  for (const step of run.steps) folding.take(step);
  const { changes, done, inDoubt } = folding;
  return {
    state: withItems(settled, changes, journal.replay.lastAt),
    done,
    inDoubt,
    notDone: run.steps.length - done - inDoubt,
  };
}

/** A step that was changed since it was sent would be taken for something that it was not. */
function checkStep(step: Step, { path, replay, ends }: RunJournal): void {
  const hash = replay.hashOf(step.number);
  const isDone = replay.stateOf(step.number) === 'done';
  const isKnown = hash === undefined ? !isDone : hash === stepHash(step);
  if (isKnown && (!isDone || ends.has(step.number))) return;
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

  /** Lets go of the ids that steps gave up: a service may give them to others. */
  release({ number, key, action }: Step): void {
    const { replay } = this.#journal;
    const isGivenUp = replay.stateOf(number) === 'done' || (action === 'create' && this.#mayBeThere(number));
    const id = this.#items.get(key)?.id;
    if (isGivenUp && action !== 'update' && id !== undefined) this.#ids.delete(id);
  }

  take(step: Step): void {
    const { replay, ends } = this.#journal;
    const end = replay.stateOf(step.number) === 'done' ? ends.get(step.number) : undefined;
    if (end !== undefined) this.#applied(step, end);
    else if (this.#mayBeThere(step.number)) {
      this.inDoubt += 1;
      if (step.action === 'create') this.#doubt(step);
    }
  }

  #mayBeThere(number: number): boolean {
    const state = this.#journal.replay.stateOf(number);
    // Somebody gave it up without looking: it may be there all the same.
    return state === 'in-doubt' || state === 'skipped';
  }

  #applied(step: Step, { id, etag }: RowEnd): void {
    if (step.action === 'create' && !this.#mayOwn(id)) {
      // It is there, and cannot be asked for by that id: nobody may make it once more.
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
    const item: KnownItem = { id: known, fields: step.after, ...(etag === undefined ? {} : { etag }) };
    this.changes.set(step.key, item);
  }

  #mayOwn(id: string): boolean {
    if (this.#ids.has(id)) return false;
    try {
      checkId(id, 'item');
      return true;
    } catch {
      return false;
    }
  }

  #doubt(step: Step & { readonly action: 'create' }): void {
    const doubt = this.#journal.replay.doubtOf(step.number);
    const idempotencyKey = doubt?.key ?? step.inDoubt?.idempotencyKey ?? null;
    const isSent = step.inDoubt !== undefined && step.inDoubt.idempotencyKey === idempotencyKey;
    const { sentAt, serviceAt } = (isSent ? step.inDoubt : doubt) ?? { sentAt: this.#journal.replay.lastAt };
    const moment = serviceAt === undefined ? { sentAt } : { sentAt, serviceAt };
    this.changes.set(step.key, { fields: step.fields, inDoubt: { idempotencyKey, hash: stepHash(step), ...moment } });
  }
}

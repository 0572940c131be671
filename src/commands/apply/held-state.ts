/** A state, held by this process alone; what a killed run left is folded in. */
import { existsSync } from 'node:fs';
import { removeRun } from '../../bulk/run-files.ts';
import { Failure } from '../../errors.ts';
import { takeLock } from '../../lock.ts';
import { type AppliedJournal, checkJournal, type Folded, fold, journalOf, readApplied } from '../../seed/fold.ts';
import type { State } from '../../seed/state.ts';
import { backupOf, readState, versionAt, writeState } from '../../seed/state-file.ts';
import type { RecordFile } from '../many/distinct-files.ts';
import type { PaceFlags } from '../many/flags.ts';
import { bootId } from '../many/run-record.ts';
import type { Session } from '../session.ts';

/** A state, with what is kept beside it. */
export function stateFiles(path: string): RecordFile {
  return { path, endings: ['.journal', '.bak', '.lock'] };
}

/** How its lock is asked for. */
export type StateLock = Pick<PaceFlags, 'lockWaitMs' | 'breaksLock'>;

/**
 * Works with a state under its lock.
 *
 * @param work is given the state as it is on disk; undefined where there is none
 * @throws {Failure} locked, when another process is at work on it; local-file, when it can't be read or is damaged, or
 *   a journal beside it is of something else
 */
export async function withState<T>(
  path: string,
  { lockWaitMs: waitMs, breaksLock: breaksForeign }: StateLock,
  session: Session,
  work: (state: State | undefined) => Promise<T>,
): Promise<T> {
  const lock = await takeLock(`${path}.lock`, { waitMs, breaksForeign }, session.host);
  try {
    for (const holder of lock.broken) {
      await session.say(`the lock of ${holder} was taken: if that is still at work, stop one of the two now`);
    }
    return await work(await settled(path, session));
  } finally {
    lock.release();
  }
}

/**
 * Reads a state without holding it. Nothing is written, so that it may be on a disk that takes nothing; others may be at
 * work on it meanwhile: what their run has done so far is in the state that is returned.
 *
 * @returns undefined where there is none
 * @throws {Failure} local-file, as `withState`
 */
export async function readSettled(path: string, session: Session): Promise<State | undefined> {
  const { state, folded } = await unmoved(path, 10);
  if (folded === undefined) return state;
  await session.say(`a run is at work on ${path}, or was ended half way: ${doneText(folded)}`);
  return folded.state;
}

/** What is there; anew where another process wrote the next version between two reads. */
async function unmoved(path: string, triesLeft: number): Promise<Found> {
  const before = versionAt(path);
  try {
    return await find(path);
  } catch (error) {
    if (triesLeft === 0 || versionAt(path) === before) throw error;
    return unmoved(path, triesLeft - 1);
  }
}

/** A state, and what the run before did to it. */
interface Found {
  readonly state: State | undefined;
  readonly journal: AppliedJournal | undefined;
  /** Where a run was ended half way: the state with what it did. */
  readonly folded: Folded | undefined;
}

async function find(path: string): Promise<Found> {
  const state = readState(path);
  const journal = await readApplied(journalOf(path), { boot: bootId() });
  if (state === undefined) refuseRemains(path, journal);
  if (state === undefined) return { state, journal, folded: undefined };
  const isOwn = journal !== undefined && checkJournal(state, journal) === 'own';
  if (state.run !== undefined && !isOwn) throw journalLost(path);
  return { state, journal, folded: state.run === undefined ? undefined : fold(state, journal) };
}

/** The state, with what the run before did in it; written, where that is not done. */
async function settled(path: string, session: Session): Promise<State | undefined> {
  const { state, journal, folded } = await find(path);
  const written = folded === undefined ? state : writeState(path, folded.state);
  if (journal !== undefined) removeRun(journal.path);
  if (folded !== undefined) await session.say(`the run before was ended half way: ${doneText(folded)}`);
  return written;
}

function doneText({ done, inDoubt }: Folded): string {
  return `${done} of its steps were done${inDoubt === 0 ? '' : `, ${inDoubt} in doubt`}`;
}

/** Where there is no state there is to be nothing that tells of one, but for a first run that sent nothing. */
function refuseRemains(path: string, journal: AppliedJournal | undefined): void {
  if (journal !== undefined && journal.replay.nextSeq > 1) {
    throw new Failure('local-file', `${path} is not there, and ${journal.path} tells of a run of it`, {
      hint: 'nothing was sent: put the state back, since what that run created is known by it alone',
    });
  }
  if (existsSync(backupOf(path))) throw stateLost(path);
}

function stateLost(path: string): Failure {
  return new Failure('local-file', `${path} is not there, and ${backupOf(path)} is the version before it`, {
    hint: `nothing was sent: put the state back, or that version (cp ${backupOf(path)} ${path});\nwhere there is to be none, remove that as well`,
  });
}

/** Without it nobody knows what that run created: all of it would be created again. */
function journalLost(path: string): Failure {
  return new Failure('local-file', `${path} is of a run that was ended half way, and ${journalOf(path)} is not there`, {
    hint: 'nothing was sent: put that file back, it tells what was done; the two belong together, in a cache as well',
  });
}

/**
 * Takes what a run did into the state, at its end.
 *
 * @param state as it was written when the run began
 * @throws {Failure} local-file, when that can't be done; the journal stays, and the next command takes it up
 */
export async function foldRun(path: string, state: State): Promise<void> {
  if (!existsSync(journalOf(path))) throw journalLost(path);
  try {
    const journal = await readApplied(journalOf(path), { boot: bootId() });
    writeState(path, fold(state, journal).state);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.kind, `${error.message}; what was done is in ${journalOf(path)}`, {
      ...error.details,
      hint: 'leave that file where it is: the next listctl apply takes it up',
    });
  }
  removeRun(journalOf(path));
}

/** The seed that a command line names: read, and whose list and which state it is. */
import { existsSync } from 'node:fs';
import { reportBadRows } from '../bulk/check-input.ts';
import { type BulkFlags, parseReadingFlags, type RunLimits } from '../bulk/flags.ts';
import { whileShown } from '../bulk/progress.ts';
import { bootId, type RecordFile, runOrigin } from '../bulk/record.ts';
import { removeRun } from '../bulk/runs.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { untilStopped } from '../core/host.ts';
import { takeLock } from '../core/lock.ts';
import { shellWord } from '../output/request.ts';
import { nameOf, openInput } from '../rows/input.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { readSeed, type Seed, type SeedOptions } from './manifest.ts';
import { type AppliedJournal, checkJournal, type Folded, fold, journalOf, readApplied } from './recover.ts';
import type { State, Target } from './state.ts';
import { backupOf, readState, versionAt, writeState } from './state-file.ts';

/** The flags that name a seed, as they were typed. */
export interface SeedFlags extends BulkFlags {
  readonly key?: string;
  readonly state?: string;
}

/** A seed, and the list that it is for. */
export interface NamedSeed {
  /** As it was typed. */
  readonly name: string;
  /** The seed on the command line of another command, quoted for a shell, with the flags that say whose it is. */
  readonly words: string;
  readonly seed: Seed;
  readonly target: Target;
  /** Where the state is: an absolute path behind every link, so that its lock and its journal are the same by each name. */
  readonly statePath: string;
}

/** What takes longer than a moment to read, without a pause: a seed of one value is read as a whole. */
const longBytes = { yaml: 100_000, other: 2_000_000 } as const;

/**
 * Reads a seed.
 *
 * @throws {Failure} usage, when it cannot be used, or a flag contradicts it; as `openInput`
 */
export async function openSeed(name: string, flags: SeedFlags, session: Session): Promise<NamedSeed> {
  const { host } = session;
  const { inputFormat, ...others } = flags;
  const isYaml = inputFormat === 'yaml';
  const reading = parseReadingFlags(isYaml ? others : flags);
  let problems: Parameters<NonNullable<SeedOptions['onProblems']>> = [[], 0];
  const input = await openInput(name, { host, spoolDirectory: findRunsDirectory(host) });
  try {
    const read = () =>
      untilStopped(
        readSeed(input, {
          rows: { ...reading, common: {} },
          ...(isYaml && { isYaml }),
          key: flags.key,
          onProblems: (...told) => {
            problems = told;
          },
        }),
        host.signal,
      );
    const isLong = input.sizeBytes > (isYaml || /\.ya?ml/i.test(name) ? longBytes.yaml : longBytes.other);
    const seed = await whileShown(() => ({ doing: `reading ${nameOf(name)}` }), session, read, isLong);
    for (const notice of seed.notices) await session.say(`listctl: ${notice}`);
    const target = { origin: runOrigin(session), ...session.list(seed) };
    const words = wordsOf(name, flags, session);
    return {
      name,
      words,
      seed,
      target,
      statePath: resolveLinks(absolutePath(flags.state ?? `${name}.state.json`, host)),
    };
  } finally {
    await reportBadRows(nameOf(name), ...problems, session);
    input.close();
  }
}

function wordsOf(name: string, flags: SeedFlags, { sources }: Session): string {
  const { inputFormat, delimiter, encoding, rename = [], only, type = [], empty, key, state } = flags;
  const given: readonly (readonly [string, string | undefined])[] = [
    ...Object.entries({ '--key': key, '--state': state, '--input-format': inputFormat }),
    ...Object.entries({ '--delimiter': delimiter, '--encoding': encoding, '--only': only, '--empty': empty }),
    ...rename.map((text) => ['--rename', text] as const),
    ...type.map((text) => ['--type', text] as const),
    ...['--profile', '--base-url', '--site', '--list'].map((flag) => [flag, sources.flags[flag]] as const),
  ];
  const words = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return [name, ...words].map(shellWord).join(' ');
}

/** A state, with what is kept beside it. */
export function stateFiles(path: string): RecordFile {
  return { path, endings: ['.journal', '.bak', '.lock'] };
}

/** How its lock is asked for. */
export type StateLock = Pick<RunLimits, 'lockWaitMs' | 'breakLock'>;

/**
 * Works with a state under its lock.
 *
 * @param work is given the state as it is on disk; undefined where there is none
 * @throws {Failure} locked, when another process is at work on it; local-file, when it cannot be read or is damaged, or
 *   a journal beside it is of something else
 */
export async function withState<T>(
  path: string,
  { lockWaitMs: waitMs, breakLock: breaksForeign }: StateLock,
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
 * @throws {Failure} local-file, when that cannot be done; the journal stays, and the next command takes it up
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

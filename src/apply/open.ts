/** The manifest that a command line names: read, and whose list and which state it is. */
import { existsSync } from 'node:fs';
import { reportBadRows } from '../bulk/check-input.ts';
import { type BulkFlags, parseReadingFlags, type RunLimits } from '../bulk/flags.ts';
import { bootId, type RecordFile, runOrigin } from '../bulk/record.ts';
import { whileShown } from '../bulk/report.ts';
import { removeRun } from '../bulk/runs.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { untilStopped } from '../core/host.ts';
import { takeLock } from '../core/lock.ts';
import { countOf } from '../core/text.ts';
import { shellWord } from '../output/request.ts';
import { nameOf, openInput } from '../rows/input.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { type Manifest, type ManifestOptions, readManifest } from './manifest.ts';
import {
  checkJournal,
  journalPath,
  type RecoveredRun,
  type RunJournal,
  readRunJournal,
  recoverRun,
} from './recover.ts';
import type { State, Target } from './state.ts';
import { backupPath, readState, versionAt, writeState } from './state-file.ts';

/** The flags that name a manifest, as they were typed. */
export interface ManifestFlags extends BulkFlags {
  readonly key?: string;
  readonly state?: string;
}

/** A manifest, and the list that it is for. */
export interface OpenManifest {
  /** As it was typed. */
  readonly name: string;
  /** The manifest on the command line of another command, quoted for a shell, with the flags that say whose it is. */
  readonly words: string;
  readonly manifest: Manifest;
  readonly target: Target;
  /** Where the state is: an absolute path behind every link, so that its lock and its journal are the same by each name. */
  readonly statePath: string;
}

/** What takes longer than a moment to read, without a pause: a manifest of one value is read as a whole. */
const longBytes = { yaml: 100_000, other: 2_000_000 } as const;

/**
 * Reads a manifest.
 *
 * @throws {Failure} usage, when it cannot be used, or a flag contradicts it; as `openInput`
 */
export async function openManifest(name: string, flags: ManifestFlags, session: Session): Promise<OpenManifest> {
  const { host } = session;
  const { inputFormat, ...others } = flags;
  const isYaml = inputFormat === 'yaml';
  const reading = parseReadingFlags(isYaml ? others : flags);
  let problems: Parameters<NonNullable<ManifestOptions['onProblems']>> = [[], 0];
  const input = await openInput(name, { host, spoolDirectory: findRunsDirectory(host) });
  try {
    const read = () =>
      untilStopped(
        readManifest(input, {
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
    const manifest = await whileShown(() => ({ doing: `reading ${nameOf(name)}` }), session, read, isLong);
    for (const notice of manifest.notices) await session.messages.say(`listctl: ${notice}`);
    const target = { origin: runOrigin(session), ...session.settings.list(manifest) };
    const words = wordsOf(name, flags, session);
    return {
      name,
      words,
      manifest,
      target,
      statePath: resolveLinks(absolutePath(flags.state ?? `${name}.state.json`, host)),
    };
  } finally {
    await reportBadRows(nameOf(name), ...problems, session);
    input.close();
  }
}

function wordsOf(name: string, flags: ManifestFlags, { settings: { sources } }: Session): string {
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
export function stateFilePaths(path: string): RecordFile {
  return { path, endings: ['.journal', '.bak', '.lock'] };
}

/** How its lock is asked for. */
export type StateLock = Pick<RunLimits, 'lockWaitMs' | 'breakLock'>;

/**
 * Works with a state under its lock.
 *
 * @param work is given the state as it is on disk; undefined where there is none
 * @throws {Failure} locked, when the state is locked by another process; local-file, when it cannot be read or is damaged, or
 *   a journal beside it is of something else
 */
export async function withLockedState<T>(
  path: string,
  { lockWaitMs: waitMs, breakLock }: StateLock,
  session: Session,
  work: (state: State | undefined) => Promise<T>,
): Promise<T> {
  const lock = await takeLock(`${path}.lock`, { waitMs, breakLock }, session.host);
  try {
    for (const holder of lock.broken) {
      await session.messages.say(
        `warning: broke the lock held by ${holder}; if that process is still running, stop one of the two`,
      );
    }
    return await work(await recoverState(path, session));
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
export async function readUnlockedState(path: string, session: Session): Promise<State | undefined> {
  const { state, recovered } = await findStable(path, 10);
  if (recovered === undefined) return state;
  await session.messages.say(`a run of ${path} is in progress or was interrupted: ${formatRecovered(recovered)}`);
  return recovered.state;
}

/** What is there; anew where another process wrote the next version between two reads. */
async function findStable(path: string, triesLeft: number): Promise<Found> {
  const before = versionAt(path);
  try {
    return await find(path);
  } catch (error) {
    if (triesLeft === 0 || versionAt(path) === before) throw error;
    return findStable(path, triesLeft - 1);
  }
}

/** A state, and what the run before did to it. */
interface Found {
  readonly state: State | undefined;
  readonly journal: RunJournal | undefined;
  /** Where a run was ended half way: the state with what it did. */
  readonly recovered: RecoveredRun | undefined;
}

async function find(path: string): Promise<Found> {
  const state = readState(path);
  const journal = await readRunJournal(journalPath(path), { boot: bootId() });
  if (state === undefined) refuseRemains(path, journal);
  if (state === undefined) return { state, journal, recovered: undefined };
  const isOwn = journal !== undefined && checkJournal(state, journal) === 'own';
  if (state.run !== undefined && !isOwn) throw journalLost(path);
  return { state, journal, recovered: state.run === undefined ? undefined : recoverRun(state, journal) };
}

/** The state, with what the run before did in it; written, where that is not done. */
async function recoverState(path: string, session: Session): Promise<State | undefined> {
  const { state, journal, recovered } = await find(path);
  const written = recovered === undefined ? state : writeState(path, recovered.state);
  if (journal !== undefined) removeRun(journal.path);
  if (recovered !== undefined)
    await session.messages.say(`recovered an interrupted run: ${formatRecovered(recovered)}`);
  return written;
}

function formatRecovered({ done, inDoubt }: RecoveredRun): string {
  return `${countOf(done, 'step')} applied${inDoubt === 0 ? '' : `, ${inDoubt} in doubt`}`;
}

/** Where there is no state there is to be nothing that tells of one, but for a first run that sent nothing. */
function refuseRemains(path: string, journal: RunJournal | undefined): void {
  if (journal !== undefined && journal.replay.nextSeq > 1) {
    throw new Failure('local-file', `no state file at ${path}, but ${journal.path} records a run of it`, {
      hint: 'restore the state file: only it records what that run created; nothing was sent',
    });
  }
  if (existsSync(backupPath(path))) throw stateLost(path);
}

function stateLost(path: string): Failure {
  return new Failure('local-file', `no state file at ${path}, but ${backupPath(path)} is its previous version`, {
    hint: `restore the state, or its previous version (cp ${backupPath(path)} ${path}); nothing was sent\nif there should be no state, remove ${backupPath(path)} as well`,
  });
}

/** Without it nobody knows what that run created: all of it would be created again. */
function journalLost(path: string): Failure {
  return new Failure('local-file', `${path} has an interrupted run, but ${journalPath(path)} is missing`, {
    hint: 'restore that file, it records what was applied; nothing was sent\nkeep both files together, in a CI cache as well',
  });
}

/**
 * Takes what a run did into the state, at its end.
 *
 * @param state as it was written when the run began
 * @throws {Failure} local-file, when that cannot be done; the journal stays, and the next command takes it up
 */
export async function recordRun(path: string, state: State): Promise<void> {
  if (!existsSync(journalPath(path))) throw journalLost(path);
  try {
    const journal = await readRunJournal(journalPath(path), { boot: bootId() });
    writeState(path, recoverRun(state, journal).state);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.kind, `${error.message}; the results are in ${journalPath(path)}`, {
      ...error.details,
      hint: 'keep that file: the next listctl apply recovers the run from it',
    });
  }
  removeRun(journalPath(path));
}

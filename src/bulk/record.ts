/** Where a run over many rows is recorded: its lock, the run before it, and its journal. */
import { createHash } from 'node:crypto';
import { fstatSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { getOperation } from '../api/items.ts';
import type { Session } from '../cli/session.ts';
import { errnoReason, Failure } from '../core/errors.ts';
import { absolutePath, makePrivateDirectory, resolveLinks } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import type { ListRef } from '../core/item.ts';
import { type Lock, takeLock } from '../core/lock.ts';
import { descriptorNamed } from '../core/write-file.ts';
import { shellWord } from '../output/request.ts';
import { findRunsDirectory, runsDirectory, storeDirectory } from '../settings/directories.ts';
import { createJournal, type Journal, type NewHeader, reopenJournal } from './journal.ts';
import type { SessionStart } from './journal-format.ts';
import { beginsAsJournal, fileIo } from './journal-lines.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { IdSet, type PresentMoment } from './keys.ts';
import {
  compactOldRuns,
  findRun,
  isRunName,
  newestRun,
  newRunId,
  type RunFile,
  removeRun,
  renameRun,
  runLock,
  runPath,
} from './runs.ts';

/** The files of a command line: what named each, and its path as it was typed; undefined where it was not. */
export interface CommandFiles {
  readonly inputs?: Readonly<Record<string, string | undefined>>;
  /** What listctl keeps of a run or a list, with the endings of the files that it keeps beside it. */
  readonly records?: Readonly<Record<string, RecordFile | undefined>>;
  readonly outputs?: Readonly<Record<string, string | undefined>>;
}

/** A file that listctl keeps. */
export interface RecordFile {
  readonly path: string;
  readonly endings: readonly string[];
}

/**
 * Refuses a file that is written and is another one of the command at the same time, whatever the two are called: also
 * one that a stream of the process leads to, and one that listctl keeps beside another.
 *
 * @throws {Failure} usage
 */
export function refuseSameFile({ inputs = {}, records = {}, outputs = {} }: CommandFiles, host: SameFileHost): void {
  const seen = new Map<string, string>();
  for (const [name, path] of named(inputs)) add(seen, name, absolutePath(path, host));
  // Later, since what is read alone may well be standard input by another name.
  for (const [identity, name] of openStreams()) seen.set(identity, name);
  for (const [name, { path: typed, endings }] of named(records)) {
    const path = resolveLinks(absolutePath(typed, host));
    add(seen, name, path);
    for (const ending of endings) add(seen, `the ${ending} file of ${name}`, `${path}${ending}`);
  }
  for (const [name, path] of named(outputs)) {
    const descriptor = descriptorNamed(path, host);
    if (descriptor === undefined) {
      add(seen, name, absolutePath(path, host));
      refuseAmongRuns(name, absolutePath(path, host), host);
    } else add(seen, name, path, `descriptor ${descriptor}`);
  }
}

function named<T>(files: Readonly<Record<string, T | undefined>>): readonly (readonly [string, T])[] {
  return Object.entries(files).flatMap(([name, file]) => (file === undefined ? [] : [[name, file] as const]));
}

function add(seen: Map<string, string>, name: string, path: string, identity = identify(path)): void {
  if (identity === undefined) return;
  const other = seen.get(identity);
  if (other !== undefined) throw sameFile(other, name, path);
  seen.set(identity, name);
}

type SameFileHost = Pick<Host, 'cwd' | 'env' | 'platform' | 'passwdHome'>;

function sameFile(one: string, other: string, path: string): Failure {
  return new Failure('usage', `${one} and ${other} are the same file: ${path}`, {
    hint: 'nothing was sent; name another file for one of them',
  });
}

/** The journals of other runs have names that are not known here. */
function refuseAmongRuns(name: string, path: string, host: SameFileHost): void {
  const runs = findRunsDirectory(host);
  if (runs === undefined || dirname(resolveLinks(path)) !== resolveLinks(absolutePath(runs, host))) return;
  throw new Failure('usage', `${name} cannot be in the directory of the journals of runs: ${path}`, {
    hint: 'nothing was sent; name a file elsewhere',
  });
}

function openStreams(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [descriptor, name] of ['standard input', 'standard output', 'standard error'].entries()) {
    try {
      const status = fstatSync(descriptor, { bigint: true });
      if (status.isFile()) found.set(`${status.dev}:${status.ino}`, name);
    } catch {
      // It is closed.
    }
  }
  return found;
}

/** What tells a file from another one; undefined for a pipe or a device, of which nothing is replaced. */
function identify(path: string): string | undefined {
  try {
    const status = statSync(path, { bigint: true });
    return status.isFile() || status.isDirectory() ? `${status.dev}:${status.ino}` : undefined;
  } catch {
    // It is not there yet, or opening it tells what is wrong with it.
    return resolveLinks(path);
  }
}

/** Which run it is: one with the same is gone on with. */
export interface RunPlace {
  /** 64 hex digits. */
  readonly identity: string;
  /** The absolute path of a file of the user's own, rather than one in the state directory. */
  readonly journal: string | undefined;
  /** That path as it was typed. */
  readonly typedJournal?: string | undefined;
  /** Finds the run to go on with in the directory of runs where none has the identity. */
  readonly findOther?: ((directory: string) => Promise<RunFile | undefined>) | undefined;
}

/** A run that may be begun, or gone on with: nobody else is at work on it. */
export interface RunRecord {
  /** What the run before it did; undefined where there is none. */
  readonly before: Replay | undefined;
  /** The ids that its creates were given. */
  readonly given: IdSet;
  /** Makes a new journal, in the place of the one before if that is the user's own file. */
  create(header: Omit<NewHeader, 'run' | 'identity'>, limit: number): RunRecording;
  /** Goes on with the journal of the run before, which has this identity from now on. */
  reopen(limit: number): RunRecording;
  /** Lets others at it. */
  release(): void;
}

/** A run that is being recorded. */
export interface RunRecording {
  readonly run: string;
  /** The run on a command line, quoted for a shell: its id, or the path of a journal of the user's own. */
  readonly word: string;
  readonly journal: Journal;
}

/** Whether a journal is in the directory of the journals of runs. */
export function isAmongRuns(path: string, host: Pick<Host, 'env' | 'platform' | 'passwdHome'>): boolean {
  const directory = findRunsDirectory(host);
  return directory !== undefined && resolveLinks(dirname(path)) === resolveLinks(directory);
}

/** The lock of the run that a journal records: of one in the directory of runs, that of all runs of the same input. */
export function journalLock(path: string, host: Pick<Host, 'env' | 'platform' | 'passwdHome'>): string {
  const directory = findRunsDirectory(host);
  const [, identity] = /^[0-9a-z-]+\.([0-9a-f]{16})\.journal$/.exec(basename(path)) ?? [];
  return directory !== undefined && identity !== undefined && isAmongRuns(path, host)
    ? runLock(directory, identity)
    : `${path}.lock`;
}

/**
 * Checks what `--journal` names.
 *
 * @throws {Failure} usage, when something is there that is not a regular file: it would be replaced
 */
export function checkJournalPath(typed: string, host: Pick<Host, 'cwd'>): void {
  // A journal is read again and replaced, which no stream can be.
  if (typed !== '' && typed !== '-' && isRegularOrMissing(absolutePath(typed, host))) return;
  throw new Failure(
    'usage',
    `invalid --journal "${typed}": ${typed === '' ? 'expected a file' : 'not a regular file'}`,
    {
      hint: 'pass --journal none to keep no record; nothing was sent',
    },
  );
}

function isRegularOrMissing(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Opening it tells what is wrong with it.
    return true;
  }
}

/** The journal that `--journal` names, with what is kept beside it. */
export function journalFiles(path: string): RecordFile {
  return { path, endings: ['.lock'] };
}

/** 64 hex digits that stand for what a run is of. */
export function identityOf(...parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** This start of the machine; empty where the system has no name for it. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** How a record is opened. */
export interface RecordOptions {
  readonly lockWaitMs: number;
  readonly breakLock: boolean;
  /** The version of listctl. */
  readonly tool: string;
  /** Forgets the run before. */
  readonly restart?: boolean;
  /** Told that a lock of another host was taken. */
  readonly warn: (text: string) => Promise<void>;
}

/**
 * Takes the lock of a run, and reads what is recorded of it.
 *
 * @throws {Failure} locked, when another process is at work on it; local-file, when its journal is damaged, or nothing
 *   can be written there
 */
export async function openRecord(place: RunPlace, options: RecordOptions, host: Host): Promise<RunRecord> {
  const { identity, journal } = place;
  const directory = journal === undefined ? runsDirectory(host) : dirname(journal);
  makeDirectory(directory);
  const { restart = false, tool } = options;
  const locks = new Map<string, Lock>();
  const lock = async (path: string) => {
    if (!locks.has(path)) locks.set(path, await takeRunLock(path, options, host));
  };
  try {
    await lock(journal === undefined ? runLock(directory, identity) : journalLock(journal, host));
    const last = journal === undefined ? await lastRun(directory, place, restart, lock, host) : undefined;
    if (restart && journal !== undefined) refuseOtherFiles(journal);
    const boot = bootId();
    const path = journal ?? last?.path;
    const given = new IdSet();
    const before = path === undefined || restart ? undefined : await readJournal(path, { boot, given });
    const { clock } = host;
    const begin = (limit: number) => ({ boot, limit, tool, at: clock.now(), monotonicMs: clock.monotonicMs() });
    const next = newRunId(
      host.clock.now(),
      () => host.random(),
      journal === undefined ? newestRun(directory) : undefined,
    );
    const { typedJournal } = place;
    const word = typedJournal === undefined ? undefined : journalWord(typedJournal);
    return recordOf({ before, given, last, next, identity, locks, begin, journal, directory, word });
  } catch (error) {
    for (const held of locks.values()) held.release();
    throw error;
  }
}

async function takeRunLock(path: string, { lockWaitMs, breakLock, warn }: RecordOptions, host: Host): Promise<Lock> {
  const lock = await takeLock(path, { waitMs: lockWaitMs, breaksForeign: breakLock }, host);
  for (const holder of lock.broken)
    await warn(`the lock of ${holder} was taken: if that is still at work, stop one of the two now`);
  return lock;
}

/** The run in the directory of runs that this one continues or comes after; under its lock. */
async function lastRun(
  directory: string,
  { identity, findOther }: RunPlace,
  restarts: boolean,
  lock: (path: string) => Promise<void>,
  host: Host,
): Promise<RunFile | undefined> {
  // The lock was just made: where the clock of this process is ahead of the file system's, nothing is old by it.
  await compactOldRuns(directory, Math.min(host.clock.now(), fileIo.modifiedMs(runLock(directory, identity))));
  const last = findRun(directory, identity);
  if (last !== undefined || restarts) return last;
  for (let other = await findOther?.(directory); other !== undefined; ) {
    await lock(runLock(directory, other.identityStart));
    // A process that held that lock meanwhile may have gone on with the run, and given it another identity.
    const again: RunFile | undefined = await findOther?.(directory);
    if (again?.path === other.path) return other;
    other = again;
  }
  return undefined;
}

/** @throws {Failure} local-file, when something stands there that no run has written: it is not removed for one */
function refuseOtherFiles(journal: string): void {
  if (beginsAsJournal(journal)) return;
  throw new Failure('local-file', `${journal} is no journal of listctl`, {
    hint: 'nothing was sent, and it was left as it is: name another file with --journal',
  });
}

interface Found {
  readonly before: Replay | undefined;
  readonly given: IdSet;
  /** The run before, in the directory of runs. */
  readonly last: RunFile | undefined;
  /** The id of the next run. */
  readonly next: string;
  readonly identity: string;
  readonly locks: ReadonlyMap<string, Lock>;
  readonly begin: (limit: number) => SessionStart;
  readonly journal: string | undefined;
  readonly directory: string;
  /** Undefined for the id of the run. */
  readonly word: string | undefined;
}

function recordOf({ before, given, last, next, identity, locks, begin, journal, directory, word }: Found): RunRecord {
  const recorded = (run: string, opened: Journal) => ({ run, word: word ?? run, journal: opened });
  return {
    before,
    given,
    create: (header, limit) => {
      if (journal !== undefined) removeRun(journal);
      const made = journal ?? runPath(directory, next, identity);
      return recorded(next, createJournal(made, { ...header, run: next, identity }, begin(limit)));
    },
    reopen: (limit) => {
      const path = journal ?? (last && renameRun(last, identity));
      if (before === undefined || path === undefined) throw new Error('there is no run to go on with');
      return recorded(before.header.run, reopenJournal(path, before, begin(limit)));
    },
    release: () => {
      for (const lock of locks.values()) lock.release();
    },
  };
}

/** The path of a journal on a command line, where it must not be taken for the name of a run or for a flag. */
function journalWord(typed: string): string {
  return shellWord(isRunName(typed) || typed.startsWith('-') ? `./${typed}` : typed);
}

function makeDirectory(directory: string): void {
  try {
    makePrivateDirectory(directory);
  } catch (error) {
    throw new Failure('local-file', `cannot create the directory ${directory}: ${errnoReason(error)}`, {
      hint: 'nothing was sent; name another one with LISTCTL_STATE_DIR, or a file with --journal',
      cause: error,
    });
  }
}

/**
 * The address that a run is recorded with, and looked for by: one spelling for each. The loopback names are one host,
 * and slashes that are doubled or last count for nothing. That of the built-in service names its directory: `local:`
 * alone, or a directory as it was typed, leads elsewhere when listctl is started elsewhere, to items with the same ids.
 */
export function runOrigin({ address, host }: Pick<Session, 'address' | 'host'>): string {
  const origin = address();
  if (!origin.startsWith('local:')) return oneSpelling(new URL(origin));
  return `local:${storeDirectory(origin.slice('local:'.length) || undefined, host)}`;
}

function oneSpelling({ protocol, hostname, port, pathname }: URL): string {
  const host = /^(localhost\.?|\[::1\])$/.test(hostname) ? '127.0.0.1' : hostname;
  const path = pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${path}`;
}

/**
 * The present by every clock, that of the service included: an item is read for the `Date` of the response, whether
 * there is such an item or not.
 *
 * @returns tells the present each time it is called
 * @throws {Failure} as a read, where there was no response at all
 * @throws {Stopped} when it was told to stop
 */
export async function presentMoment({ site, list }: ListRef, session: Session): Promise<() => PresentMoment> {
  const client = await session.client();
  try {
    await client.send(getOperation({ site, list, id: '0' }));
  } catch (error) {
    // A response without a Date leaves the age of every key unknown.
    if (!(error instanceof Failure) || (client.serviceMs() === undefined && error.details.status === undefined))
      throw error;
  }
  const { clock } = session.host;
  const boot = bootId();
  return () => ({ nowMs: clock.now(), monotonicMs: clock.monotonicMs(), boot, serviceMs: client.serviceMs() });
}

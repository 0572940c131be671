/** The record of a bulk run: its lock, the previous run and its journal; and the files that a command may not share. */

import { createHash } from 'node:crypto';
import { fstatSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Session } from '../cli/session.ts';
import { Failure, fileFailure } from '../core/errors.ts';
import {
  absolutePath,
  attempt,
  type FilePlace,
  isSameFile,
  makePrivateDirectory,
  resolveLinks,
} from '../core/files.ts';
import type { Host } from '../core/host.ts';
import type { ListRef } from '../core/item.ts';
import { type Lock, type LockOptions, refuseHardLinks, takeLock } from '../core/lock.ts';
import { shellWord } from '../core/text.ts';
import { descriptorNamed } from '../core/write-file.ts';
import { findRunsDirectory, runsDirectory, storeDirectory } from '../settings/directories.ts';
import { originPrefix, parseOrigin } from '../settings/setting.ts';
import { createEarlier, type EarlierFile, readEarlier, reopenEarlier } from './earlier-values.ts';
import { FailureTexts } from './failure-texts.ts';
import type { RunLimits } from './flags.ts';
import { createJournal, type Journal, type NewHeader, reopenJournal } from './journal.ts';
import type { SessionInput, SessionStart } from './journal-format.ts';
import { beginsAsJournal, fileIo } from './journal-lines.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { type ClockReading, IdSet } from './keys.ts';
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
  runUnderLock,
} from './runs.ts';

/**
 * Refuses an output file that is also another file of the command, under any name, an open standard stream, or a file
 * that listctl writes beside another.
 *
 * @param files the paths as typed, by their flag or argument; of a journal or a state with the suffixes of its other files
 * @throws {Failure} usage
 */
export function refuseSameFile(
  {
    inputs = {},
    records = {},
    outputs = {},
  }: {
    readonly inputs?: Readonly<Record<string, string | undefined>>;
    readonly records?: Readonly<Record<string, ReturnType<typeof journalFiles> | undefined>>;
    readonly outputs?: Readonly<Record<string, string | undefined>>;
  },
  host: Host,
): void {
  const seen: SeenFile[] = [];
  for (const [name, path] of named(inputs)) add(seen, name, absolutePath(path, host));
  // After the inputs, since an input may be standard input under another name.
  seen.push(...openStreams());
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

/** A file by its place, or by a name if it does not exist yet. */
interface SeenFile {
  readonly name: string;
  readonly identity: FilePlace | string;
}

function add(seen: SeenFile[], name: string, path: string, identity = identify(path)): void {
  if (identity === undefined) return;
  const other = seen.findLast((each) => isSame(each.identity, identity));
  if (other !== undefined) throw sameFile(other.name, name, path);
  seen.push({ name, identity });
}

function isSame(one: SeenFile['identity'], other: SeenFile['identity']): boolean {
  return typeof one === 'string' || typeof other === 'string' ? one === other : isSameFile(one, other);
}

function sameFile(one: string, other: string, path: string): Failure {
  return new Failure('usage', `${one} and ${other} are the same file: ${path}`, {
    hint: 'use different files',
  });
}

function refuseAmongRuns(name: string, path: string, host: Host): void {
  const runs = findRunsDirectory(host);
  if (runs === undefined || dirname(resolveLinks(path)) !== resolveLinks(absolutePath(runs, host))) return;
  throw new Failure('usage', `${name} cannot be in the directory of runs: ${path}`, {
    hint: 'pass a file in another directory',
  });
}

function openStreams(): readonly SeenFile[] {
  const found: SeenFile[] = [];
  for (const [descriptor, name] of ['standard input', 'standard output', 'standard error'].entries()) {
    try {
      const identity = fstatSync(descriptor, { bigint: true });
      if (identity.isFile()) found.push({ name, identity });
    } catch {
      // It is closed.
    }
  }
  return found;
}

/** The identity of a file; undefined for a pipe or a device, which is never replaced. */
function identify(path: string): SeenFile['identity'] | undefined {
  try {
    const status = statSync(path, { bigint: true });
    return status.isFile() || status.isDirectory() ? status : undefined;
  } catch {
    // It does not exist yet, or opening it will fail with the reason.
    return resolveLinks(path);
  }
}

/** A run under lock that can be started or resumed. */
export interface RunRecord {
  readonly before: Replay | undefined;
  readonly seenIds: IdSet;
  /** Creates a journal; replaces the previous one in `--journal`. `limit` is that of concurrent requests. */
  create(
    header: Omit<NewHeader, 'run' | 'identity' | 'tool' | 'idempotency' | 'profile' | 'startedAt'>,
    limit: number,
  ): RunRecording;
  /** Continues the run; `input` is what it reads now. */
  reopen(limit: number, input?: SessionInput): RunRecording;
  release(): void;
}

export interface RunRecording {
  readonly run: string;
  /** The run as a shell word: its id or the path of its `--journal`. */
  readonly word: string;
  readonly journal: Journal;
  /** Where the earlier values of its items go, if it keeps them. */
  readonly earlier?: EarlierFile | undefined;
  /** Where the texts of failed rows go. */
  readonly texts?: FailureTexts;
}

/** Whether a journal is in the directory of runs. */
export function isAmongRuns(path: string, host: Host): boolean {
  const directory = findRunsDirectory(host);
  return directory !== undefined && resolveLinks(dirname(path)) === resolveLinks(directory);
}

/** The path of the lock of a journal; all runs of one input in the directory of runs share a lock. */
export function journalLock(path: string, host: Host): string {
  const directory = findRunsDirectory(host);
  const [, identity] = /^[0-9a-z-]+\.([0-9a-f]{16})\.journal$/.exec(basename(path)) ?? [];
  return directory !== undefined && identity !== undefined && isAmongRuns(path, host)
    ? runLock(directory, identity)
    : `${path}.lock`;
}

/**
 * Takes the lock of a journal. The failure names the run that another process sends.
 *
 * @throws {Failure} as `takeLock`
 */
export function takeJournalLock(lock: string, options: Omit<LockOptions, 'nameOf'>, host: Host): Promise<Lock> {
  return takeLock(lock, { ...options, nameOf: () => attempt(() => runUnderLock(lock)) }, host);
}

/**
 * Checks the path of `--journal`.
 *
 * @throws {Failure} usage, if it is not a regular file: it would be replaced
 */
export function checkJournalPath(typed: string, host: Pick<Host, 'cwd'>): void {
  if (typed !== '' && typed !== '-' && isRegularOrMissing(absolutePath(typed, host))) return;
  const reason = typed === '' ? 'expected a file' : 'not a regular file';
  throw new Failure('usage', `invalid --journal "${typed}": ${reason}`, {
    hint: 'pass --journal none to run without a journal',
  });
}

function isRegularOrMissing(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Opening it will fail with the reason.
    return true;
  }
}

/** A journal and the suffixes of its other files. */
export function journalFiles(path: string): { readonly path: string; readonly endings: readonly string[] } {
  return { path, endings: ['.lock', '.before', '.errors'] };
}

/** Hashes the parts that identify a run to 64 hex digits. */
export function identityOf(...parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

export function startSession(limit: number, { host: { clock }, command }: Session): SessionStart {
  return { boot: bootId(), limit, tool: command.version, at: clock.now(), monotonicMs: clock.monotonicMs() };
}

/**
 * Locks a run and reads its journal.
 *
 * @param options.restart ignores the previous run
 * @throws {Failure} locked; local-file
 */
export async function openRecord(
  place: {
    /** 64 hex digits. */
    readonly identity: string;
    /** The absolute path of `--journal`; undefined for the state directory. */
    readonly journal: string | undefined;
    readonly typedJournal?: string | undefined;
    /** Finds the run to resume in the directory of runs if none has the identity. */
    readonly findOther?: ((directory: string) => Promise<RunFile | undefined>) | undefined;
    /** That run, and no other, is resumed. */
    readonly isNamed?: boolean;
  },
  options: Pick<RunLimits, 'lockWaitMs' | 'breakLock'> & { readonly restart?: boolean },
  session: Session,
): Promise<RunRecord> {
  const { host } = session;
  const { identity, journal, typedJournal } = place;
  const { restart = false } = options;
  const directory = journal === undefined ? runsDirectory(host) : dirname(journal);
  makeDirectory(directory);
  const locks = new Map<string, Lock>();
  const lock = async (path: string) => {
    if (!locks.has(path)) locks.set(path, await takeRunLock(path, options, session));
  };
  const release = () => {
    for (const lock of locks.values()) lock.release();
  };
  try {
    await lock(journal === undefined ? runLock(directory, identity) : journalLock(journal, host));
    const last = journal === undefined ? await lastRun(directory, { ...place, restart }, lock, host) : undefined;
    if (restart && journal !== undefined) refuseOtherFiles(journal);
    const path = journal ?? last?.path;
    if (path !== undefined) refuseHardLinks(path);
    const seenIds = new IdSet();
    const before = path === undefined || restart ? undefined : await readJournal(path, { boot: bootId(), seenIds });
    const isDoubtful = (row: number) => before?.stateOf(row) === 'in-doubt';
    const kept = path !== undefined && before?.header.keepsBefore ? await readEarlier(path, isDoubtful) : undefined;
    const newest = journal === undefined ? newestRun(directory) : undefined;
    const run = newRunId(host.clock.now(), () => host.random(), newest);
    const word = (run: string) => (typedJournal === undefined ? run : journalWord(typedJournal));
    return {
      before,
      seenIds,
      create: (facts, limit) => {
        if (journal !== undefined) removeRun(journal);
        const { idempotency } = session.settings;
        const profile = session.settings.profile();
        const startedAt = new Date(host.clock.now()).toISOString();
        const header = { ...facts, run, identity, tool: session.command.version, idempotency, profile, startedAt };
        const path = journal ?? runPath(directory, run, identity);
        const earlier = header.keepsBefore ? createEarlier(path) : undefined;
        const texts = new FailureTexts(path);
        const created = createJournal(path, header, startSession(limit, session));
        return { run, word: word(run), journal: created, earlier, texts };
      },
      reopen: (limit, input) => {
        const path = journal ?? (last && renameRun(last, identity));
        if (before === undefined || path === undefined) throw new Error('there is no run to resume');
        const { run } = before.header;
        const begun = { ...startSession(limit, session), input: changedInput(before.header, input) };
        const earlier = kept && reopenEarlier(kept);
        const texts = new FailureTexts(path);
        return { run, word: word(run), journal: reopenJournal(path, before, begun), earlier, texts };
      },
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** The input of a session, unless it is that of the one before. */
function changedInput(before: SessionInput, input: SessionInput | undefined): SessionInput | undefined {
  if (input === undefined) return undefined;
  const isSame = before.file === input.file && before.input.sha256 === input.input.sha256;
  return isSame && before.mapping === input.mapping ? undefined : input;
}

async function takeRunLock(
  path: string,
  { lockWaitMs: waitMs, breakLock }: Pick<RunLimits, 'lockWaitMs' | 'breakLock'>,
  { host, messages }: Session,
): Promise<Lock> {
  const lock = await takeJournalLock(path, { waitMs, breakLock }, host);
  for (const holder of lock.broken) {
    await messages.say(
      `warning: broke the lock held by ${holder}; if that process is still running, stop one of the two`,
    );
  }
  return lock;
}

/** Finds the previous run in the directory of runs, and locks it. */
async function lastRun(
  directory: string,
  { identity, findOther, isNamed = false, restart }: Parameters<typeof openRecord>[0] & { readonly restart: boolean },
  lock: (path: string) => Promise<void>,
  host: Host,
): Promise<RunFile | undefined> {
  // The lock is new, so its time bounds a process clock that runs ahead of the file system's.
  await compactOldRuns(directory, Math.min(host.clock.now(), fileIo.modifiedMs(runLock(directory, identity))));
  const last = findRun(directory, identity);
  if (restart || (last !== undefined && !isNamed)) return last;
  for (let other = await findOther?.(directory); other !== undefined; ) {
    await lock(runLock(directory, other.identityStart));
    // Another process may have resumed the run under another identity before this one got the lock.
    const locked: RunFile | undefined = await findOther?.(directory);
    if (locked?.path === other.path) {
      if (last !== undefined && last.path !== other.path) throw otherRunOf(other, last);
      return other;
    }
    other = locked;
  }
  return undefined;
}

/** Rows that are done in one run would be sent by the other. */
function otherRunOf({ run }: RunFile, last: RunFile): Failure {
  return new Failure('usage', `cannot resume run ${run}: the last run of this input is ${last.run}`, {
    hint: `pass --resume=${last.run} to resume that run`,
  });
}

/** @throws {Failure} local-file, if the file is not a journal: it would be replaced */
function refuseOtherFiles(journal: string): void {
  if (beginsAsJournal(journal)) return;
  throw new Failure('local-file', `${journal} is not a listctl journal`, {
    hint: 'pass another file with --journal; the file was not changed',
  });
}

/** Quotes the path of a journal for a command line, where it must not look like a run id or a flag. */
function journalWord(typed: string): string {
  return shellWord(isRunName(typed) || typed.startsWith('-') ? `./${typed}` : typed);
}

function makeDirectory(directory: string): void {
  try {
    makePrivateDirectory(directory);
  } catch (error) {
    const hint = 'set LISTCTL_STATE_DIR to another directory, or pass a file with --journal';
    throw fileFailure(`cannot create directory ${directory}`, error, hint);
  }
}

/**
 * The normalized service address that identifies a run. Loopback names are one host, and repeated or trailing slashes do
 * not count. That of the built-in service includes its directory, since `local:` alone depends on where listctl runs;
 * that of another kind of service begins with the kind.
 */
export function runOrigin({ settings: { address, service }, host }: Pick<Session, 'settings' | 'host'>): string {
  const origin = address();
  const prefix = originPrefix(service);
  if (!origin.startsWith('local:')) return prefix + oneSpelling(new URL(origin));
  return `${prefix}local:${storeDirectory(origin.slice('local:'.length) || undefined, host)}`;
}

/** The flags that select the service of a run, other than `here`: `--service graph --base-url https://…`. */
export function originFlags(origin: string, here: string): string {
  const [its, own] = [parseOrigin(origin), parseOrigin(here)];
  const service = its.kind === own.kind ? '' : `--service ${its.kind} `;
  return its.address === own.address ? service.trim() : `${service}--base-url ${its.address}`;
}

function oneSpelling({ protocol, hostname, port, pathname }: URL): string {
  const host = /^(localhost\.?|\[::1\])$/.test(hostname) ? '127.0.0.1' : hostname;
  const path = pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${path}`;
}

/**
 * Reads the clock of the service from the `Date` of a response to a read, of an item that need not exist.
 *
 * @returns a function that gives the current time by every clock
 * @throws {Failure} if there was no response
 */
export async function readClocks({ site, list }: ListRef, session: Session): Promise<() => ClockReading> {
  const client = await session.service.client();
  const items = await session.service.items();
  try {
    await client.send(items.get({ site, list, id: '0' }));
  } catch (error) {
    // A response without a Date leaves the age of keys unknown.
    if (!(error instanceof Failure) || (client.serviceMs() === undefined && error.details.status === undefined))
      throw error;
  }
  const { clock } = session.host;
  const boot = bootId();
  return () => ({ nowMs: clock.now(), monotonicMs: clock.monotonicMs(), boot, serviceMs: client.serviceMs() });
}

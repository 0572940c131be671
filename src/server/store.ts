/** Stores strings by key in a directory that processes may share. Wraps lmdb. */
import {
  accessSync,
  closeSync,
  existsSync,
  constants as fsConstants,
  fstatSync,
  openSync,
  readSync,
  statfsSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { errnoReason, Failure } from '../core/errors.ts';
import { makePrivateDirectory } from '../core/files.ts';

const noSpace = errnoReason({ code: 'ENOSPC' });

const roomForNewStore = 64 * 1024;

/**
 * Offsets in bytes of MDB_page_header and MDB_meta in mdb.c of LMDB 0.9.90, which lmdb 3 contains. On 32-bit machines the
 * header is shorter, and only the magic number is checked.
 */
const layout = {
  magic: 24,
  magic32: 16,
  pageSize: 48,
  freeRoot: 88,
  mainRoot: 136,
  transaction: 152,
  length: 160,
} as const;
const magicNumber = 0xbeefc0de;
const noPage = 0xffff_ffff_ffff_ffffn;

/**
 * Refuses a directory with which LMDB would crash: without space for a new store, or with a truncated or foreign data
 * file.
 */
function refuseUnusableFiles(directory: string): void {
  accessSync(directory, fsConstants.R_OK | fsConstants.W_OK | fsConstants.X_OK);
  const lockFile = join(directory, 'lock.mdb');
  if (existsSync(lockFile)) accessSync(lockFile, fsConstants.R_OK | fsConstants.W_OK);
  else if (bytesFreeIn(directory) < roomForNewStore) throw new Error(noSpace);
  const dataFile = join(directory, 'data.mdb');
  if (!existsSync(dataFile)) return;
  accessSync(dataFile, fsConstants.R_OK | fsConstants.W_OK);
  // Again, since another process may have written between reading the two halves of the head.
  const reason = dataProblem(dataFile) && dataProblem(dataFile);
  if (reason !== undefined) throw new Error(`data.mdb ${reason}`);
}

/** Free bytes on the file system of the directory; infinite where unknown. */
function bytesFreeIn(directory: string): number {
  const { blocks, bavail, bsize } = statfsSync(directory);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

function dataProblem(file: string): string | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    // LMDB initializes an empty file.
    if (size === 0) return undefined;
    const first = readMeta(descriptor, 0);
    if (first?.readUInt32LE(layout.magic32) === magicNumber) return undefined;
    if (first?.readUInt32LE(layout.magic) !== magicNumber) return 'is not a listctl store';
    const pageSize = first.readUInt32LE(layout.pageSize);
    const second = readMeta(descriptor, pageSize);
    if (second?.readUInt32LE(layout.magic) !== magicNumber) return 'is damaged: truncated header';
    if (!areNeighbors(first, second)) return 'is damaged: inconsistent header';
    const [, newest] = [first, second].toSorted(byTransaction);
    // LMDB does not write free pages at the end.
    const roots = [layout.freeRoot, layout.mainRoot].map((at) => newest?.readBigUInt64LE(at) ?? noPage);
    const isCut = roots.some((root) => root !== noPage && (root + 1n) * BigInt(pageSize) > BigInt(size));
    return isCut ? 'is damaged: truncated' : undefined;
  } finally {
    closeSync(descriptor);
  }
}

function readMeta(descriptor: number, position: number): Buffer | undefined {
  const meta = Buffer.alloc(layout.length);
  return readSync(descriptor, meta, 0, layout.length, position) === layout.length ? meta : undefined;
}

/**
 * Checks that the two halves, which LMDB writes in turns, have consecutive transaction numbers: with a damaged number it
 * would continue from the older half, and assign ids again.
 */
function areNeighbors(even: Buffer, odd: Buffer): boolean {
  const [evenId, oddId] = [even, odd].map((meta) => meta.readBigUInt64LE(layout.transaction)) as [bigint, bigint];
  const isNew = evenId === 0n && oddId === 0n;
  return isNew || (evenId % 2n === 0n && (oddId === evenId + 1n || oddId === evenId - 1n));
}

function byTransaction(one: Buffer, other: Buffer): number {
  return one.readBigUInt64LE(layout.transaction) < other.readBigUInt64LE(layout.transaction) ? -1 : 1;
}

/** A key, ordered part by part: numbers by value, strings by code points. */
export type Key = readonly (string | number)[];

export interface Reader {
  /** @throws {Failure} local-file */
  get(key: Key): string | undefined;
  /**
   * The first `limit` entries from `start` to before `end`, in the order of their keys.
   *
   * @throws {Failure} local-file
   */
  entries(start: Key, end: Key, limit: number): readonly (readonly [key: Key, value: string])[];
}

export interface Transaction extends Reader {
  put(key: Key, value: string): void;
  remove(key: Key): void;
}

export interface Store extends Reader {
  /**
   * Runs `work` in a transaction that excludes all other writers. Resolves when all of it is on disk; rejects when none
   * of it is.
   *
   * Writes of the same turn of the event loop share a transaction and a sync. If it fails, each runs again alone, so
   * `work` must have no other effects.
   *
   * @throws {Failure} local-file; as `work`
   */
  write<T>(work: (transaction: Transaction) => T): Promise<T>;
  /** Commits waiting writes and closes the store. */
  close(): Promise<void>;
}

/** Bytes that stay free on the disk, for the commit itself. */
const reservedBytes = 1024 * 1024;

/** The maximum bytes of a change besides its value, for the pages above it. */
const bytesOfOneChange = 32 * 1024;

/** A queued write; `run` returns its acknowledgement. */
interface Job {
  readonly run: (transaction: Transaction) => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Opens the store in a directory, which is created if necessary. Not for network file systems, where locks of LMDB do not
 * work.
 *
 * @param bytesFree the free bytes on the disk of a directory
 * @throws {Failure} usage, if lmdb is not installed; local-file, if the directory is unreadable, full or damaged
 */
export function openStore(directory: string, bytesFree: (directory: string) => number = bytesFreeIn): Store {
  const database = openDatabase(directory);
  const roomToWrite = () => bytesFree(directory) - reservedBytes;
  let waiting: Job[] = [];
  const commitWaiting = (): void => {
    const jobs = waiting;
    waiting = [];
    commit(database, roomToWrite, jobs);
  };
  let closed: Promise<void> | undefined;
  const read = <T>(work: () => T): T => {
    try {
      // Otherwise lmdb reads the state at the first read of this turn.
      database.resetReadTxn();
      return work();
    } catch (error) {
      throw toFailure(`cannot read the store in ${directory}`, error);
    }
  };
  return {
    get: (key) => read(() => database.get([...key])),
    entries: (start, end, limit) => read(() => entriesOf(database, start, end, limit)),
    write: (work) =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) throw new Error('the store is closed');
        const run = (transaction: Transaction) => {
          const result = work(transaction);
          return () => resolve(result);
        };
        waiting.push({
          run,
          reject: (error) => reject(toFailure(`cannot write to the store in ${directory}`, error)),
        });
        if (waiting.length === 1) setImmediate(commitWaiting);
      }),
    close: () => {
      if (closed === undefined) commitWaiting();
      closed ??= database.close();
      return closed;
    },
  };
}

/**
 * Runs jobs in one transaction. Not with lmdb's `transaction()`: on a failure it prints to stderr, and it never ends if
 * the transaction cannot begin.
 */
function commit(database: RootDatabase<string>, roomToWrite: () => number, jobs: readonly Job[]): void {
  if (jobs.length === 0) return;
  let acknowledgements: readonly (() => void)[];
  try {
    const transaction = transactionOn(database, roomToWrite());
    acknowledgements = database.transactionSync(() => jobs.map((job) => job.run(transaction)));
  } catch (error) {
    // A job that does not fit must not fail the others.
    for (const job of jobs) {
      if (jobs.length === 1) job.reject(error);
      else commit(database, roomToWrite, [job]);
    }
    return;
  }
  for (const acknowledge of acknowledgements) acknowledge();
}

/**
 * The operations of a transaction that may write `room` bytes. LMDB must not notice a full disk itself: lmdb 3.5.6
 * formats that error into a buffer that is too short (mdb.c, mdb_page_flush), and may crash.
 */
function transactionOn(database: RootDatabase<string>, room: number): Transaction {
  let left = room;
  const spend = (bytes: number): void => {
    left -= bytesOfOneChange + bytes;
    if (left < 0) throw Object.assign(new Error(noSpace), { code: constants.errno.ENOSPC });
  };
  return {
    get: (key) => database.get([...key]),
    entries: (start, end, limit) => entriesOf(database, start, end, limit),
    put: (key, value) => {
      spend(Buffer.byteLength(value));
      database.putSync([...key], value);
    },
    remove: (key) => {
      spend(0);
      database.removeSync([...key]);
    },
  };
}

function entriesOf(database: RootDatabase<string>, start: Key, end: Key, limit: number) {
  const range = database.getRange({ start: [...start], end: [...end], limit });
  return [...range].map(({ key, value }) => [key as Key, value] as const);
}

function openDatabase(directory: string): RootDatabase<string> {
  const { open } = loadLmdb();
  try {
    makePrivateDirectory(directory);
    refuseUnusableFiles(directory);
    return open<string>({
      path: directory,
      // Otherwise a directory with a dot in its name is a file.
      noSubdir: false,
      // Commits are on disk when they return, not some time after.
      overlappingSync: false,
      // Does not load msgpackr.
      encoding: 'string',
    });
  } catch (error) {
    throw new Failure('local-file', `cannot open the store in ${directory}: ${errnoReason(error)}`, { cause: error });
  }
}

function loadLmdb(): typeof import('lmdb') {
  try {
    // Not import(), which loads the slower ESM build, with another copy of the native state.
    return createRequire(import.meta.url)('lmdb') as typeof import('lmdb');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'MODULE_NOT_FOUND';
    throw new Failure(
      'usage',
      isMissing
        ? 'the built-in service needs the package lmdb, which is not installed'
        : `the built-in service needs the package lmdb, which cannot be loaded: ${message.split('\n', 1)[0]}`,
      { hint: 'install lmdb beside listctl: npm install lmdb, with --global if listctl is', cause: error },
    );
  }
}

function toFailure(what: string, error: unknown): unknown {
  // The code of an LMDB error is a number.
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return error;
  return new Failure('local-file', `${what}: ${error.message}`, { cause: error });
}

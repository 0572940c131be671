/** The door to lmdb: texts by key, in one directory that several processes may share. Knows nothing of items. */
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

/** Room that an empty store needs, in bytes. */
const roomForNewStore = 64 * 1024;

/**
 * Where LMDB keeps what, in bytes: MDB_page_header and MDB_meta in mdb.c of LMDB 0.9.90, as lmdb 3 brings it. On
 * 32-bit machines the header is shorter; there only the magic number is looked at.
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
 * Refuses a directory that LMDB cannot safely open: without access, without room for a new store (a bus error when it
 * writes to its lock file), or with a data file that is none or is cut short (a segmentation fault, a bus error).
 *
 * @throws {Error} that says why
 */
function refuseUnusableFiles(directory: string): void {
  accessSync(directory, fsConstants.R_OK | fsConstants.W_OK | fsConstants.X_OK);
  const lockFile = join(directory, 'lock.mdb');
  if (existsSync(lockFile)) accessSync(lockFile, fsConstants.R_OK | fsConstants.W_OK);
  else if (bytesFreeIn(directory) < roomForNewStore) throw new Error(noSpace);
  const dataFile = join(directory, 'data.mdb');
  if (!existsSync(dataFile)) return;
  accessSync(dataFile, fsConstants.R_OK | fsConstants.W_OK);
  // Once more, since another process may have written between the looks at the two halves of the head.
  const reason = reasonAgainstData(dataFile) && reasonAgainstData(dataFile);
  if (reason !== undefined) throw new Error(`data.mdb ${reason}`);
}

/** Free bytes on the file system of the directory; infinite where unknown. */
function bytesFreeIn(directory: string): number {
  const { blocks, bavail, bsize } = statfsSync(directory);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

function reasonAgainstData(file: string): string | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    // Made, but not yet written: LMDB begins it anew.
    if (size === 0) return undefined;
    const first = readMeta(descriptor, 0);
    if (first?.readUInt32LE(layout.magic32) === magicNumber) return undefined;
    if (first?.readUInt32LE(layout.magic) !== magicNumber) return 'is not a listctl store';
    const pageSize = first.readUInt32LE(layout.pageSize);
    const second = readMeta(descriptor, pageSize);
    if (second?.readUInt32LE(layout.magic) !== magicNumber) return 'is damaged: truncated header';
    if (!areNeighbors(first, second)) return 'is damaged: inconsistent header';
    const [, newest] = [first, second].toSorted(byTransaction);
    // Not its last page: LMDB leaves pages at the end unwritten when they are free.
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
 * LMDB writes the two halves in turns, each with the number of its transaction. Where a damaged number makes the older half
 * the newest, it would go on from there, and give out ids that were given before. One wrong bit is seen, unless it is the
 * second of the newest number.
 */
function areNeighbors(even: Buffer, odd: Buffer): boolean {
  const [evenId, oddId] = [even, odd].map((meta) => meta.readBigUInt64LE(layout.transaction)) as [bigint, bigint];
  const isNew = evenId === 0n && oddId === 0n;
  return isNew || (evenId % 2n === 0n && (oddId === evenId + 1n || oddId === evenId - 1n));
}

function byTransaction(one: Buffer, other: Buffer): number {
  return one.readBigUInt64LE(layout.transaction) < other.readBigUInt64LE(layout.transaction) ? -1 : 1;
}

/** Ordered part by part: numbers by value, texts by their code points; a key before every longer one it begins. */
export type Key = readonly (string | number)[];

/** What a write may do. It sees what it has written itself. */
export interface Transaction {
  get(key: Key): string | undefined;
  put(key: Key, value: string): void;
  remove(key: Key): void;
  /** The first `limit` keys from `start` on that come before `end`, in their order. */
  keysBetween(start: Key, end: Key, limit: number): readonly Key[];
}

/** An open store. */
export interface Store {
  /**
   * What was last committed under a key, by any process.
   *
   * @throws {Failure} local-file, when the store cannot be read
   */
  get(key: Key): string | undefined;
  /**
   * Runs `work` in a transaction that excludes every other writer, other processes included. Resolves when all of it
   * is on disk; rejects when none of it is.
   *
   * Works that come in the same turn of the event loop share one transaction and one sync. When it fails each is run
   * again, alone: so `work` must be plain steps on the transaction, with no effect elsewhere.
   *
   * @throws {Failure} local-file, when it cannot be written (a full disk); else what `work` threw
   */
  write<T>(work: (transaction: Transaction) => T): Promise<T>;
  /** Commits what is waiting and lets go of the directory. Calling it again does nothing. */
  close(): Promise<void>;
}

/** Bytes that stay free on the disk, for the pages that LMDB needs for itself when it commits. */
const reservedBytes = 1024 * 1024;

/** The most that one change takes beside its value: the pages on the way to it are written anew, and may be split. */
const bytesOfOneChange = 32 * 1024;

/** A queued write; resolves with its result once committed. */
interface Job {
  readonly run: (transaction: Transaction) => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Opens the store in a directory, which is made, for its owner alone, when it is not there.
 *
 * What is acknowledged is on disk. Not for network file systems: LMDB's locks do not hold there.
 *
 * @param bytesFree how many bytes may still be written where a directory lies
 * @throws {Failure} usage, when the package lmdb is not installed; local-file, when the directory is unreadable or full,
 *   or what is in it is damaged
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
  return {
    get: (key) => {
      try {
        // Else lmdb answers from the state at the first read of this turn, and another process may have written since.
        database.resetReadTxn();
        return database.get([...key]);
      } catch (error) {
        throw explanation(`cannot read the store in ${directory}`, error);
      }
    },
    write: (work) =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) throw new Error('the store is closed');
        const run = (transaction: Transaction) => {
          const result = work(transaction);
          return () => resolve(result);
        };
        waiting.push({
          run,
          reject: (error) => reject(explanation(`cannot write to the store in ${directory}`, error)),
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
 * Runs jobs in one transaction. Not lmdb's `transaction()`: on a failure it prints to stderr from its own thread, it
 * never ends when the transaction cannot begin, and a group is no slower this way.
 */
function commit(database: RootDatabase<string>, roomToWrite: () => number, jobs: readonly Job[]): void {
  if (jobs.length === 0) return;
  let acknowledgements: readonly (() => void)[];
  try {
    const transaction = transactionOn(database, roomToWrite());
    acknowledgements = database.transactionSync(() => jobs.map((job) => job.run(transaction)));
  } catch (error) {
    // One that is too large for the room that is left must not take the others with it.
    for (const job of jobs) {
      if (jobs.length === 1) job.reject(error);
      else commit(database, roomToWrite, [job]);
    }
    return;
  }
  for (const acknowledge of acknowledgements) acknowledge();
}

/**
 * The steps of one transaction, with `room` bytes to write in. The disk's end is ours to see: when a write fails, lmdb
 * 3.5.6 describes it in a buffer that is too short (mdb.c, mdb_page_flush), and the process may die of it.
 */
function transactionOn(database: RootDatabase<string>, room: number): Transaction {
  let left = room;
  const spend = (bytes: number): void => {
    left -= bytesOfOneChange + bytes;
    if (left < 0) throw Object.assign(new Error(noSpace), { code: constants.errno.ENOSPC });
  };
  return {
    get: (key) => database.get([...key]),
    put: (key, value) => {
      spend(Buffer.byteLength(value));
      database.putSync([...key], value);
    },
    remove: (key) => {
      spend(0);
      database.removeSync([...key]);
    },
    keysBetween: (start, end, limit) => [...database.getKeys({ start: [...start], end: [...end], limit })] as Key[],
  };
}

function openDatabase(directory: string): RootDatabase<string> {
  const { open } = loadLmdb();
  try {
    makePrivateDirectory(directory);
    refuseUnusableFiles(directory);
    return open<string>({
      path: directory,
      // Else a directory with a dot in its name is taken for a file.
      noSubdir: false,
      // Commits are on disk when they return, not some time after.
      overlappingSync: false,
      // Spares a start the loading of msgpackr.
      encoding: 'string',
    });
  } catch (error) {
    throw new Failure('local-file', `cannot open the store in ${directory}: ${errnoReason(error)}`, { cause: error });
  }
}

function loadLmdb(): typeof import('lmdb') {
  try {
    // Not import(): it resolves to the ESM build, which costs a start more, and another copy of the native state.
    return createRequire(import.meta.url)('lmdb') as typeof import('lmdb');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'MODULE_NOT_FOUND';
    throw new Failure(
      'usage',
      isMissing
        ? 'the built-in service needs the package lmdb, which is not installed'
        : `the built-in service needs the package lmdb, which cannot be loaded: ${message.split('\n', 1)[0]}`,
      { hint: 'run npm install -g lmdb, or reinstall listctl without --omit=optional', cause: error },
    );
  }
}

/** An error of LMDB as a Failure that says what could not be done; any other, a bug, as it is. */
function explanation(what: string, error: unknown): unknown {
  // LMDB's errors have a number for a code, its own or the system's.
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return error;
  return new Failure('local-file', `${what}: ${error.message}`, { cause: error });
}

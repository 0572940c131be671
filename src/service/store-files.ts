/** A look at the files of a store before LMDB opens them: on some it does not fail, it takes the process with it. */
import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, readSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

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
 * Refuses a folder that LMDB can't safely open: without access, without room for a new store (a bus error when it
 * writes to its lock file), or with a data file that is none or is cut short (a segmentation fault, a bus error).
 *
 * @throws {Error} that says why
 */
export function refuseUnusableFiles(folder: string): void {
  accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  const lockFile = join(folder, 'lock.mdb');
  if (existsSync(lockFile)) accessSync(lockFile, constants.R_OK | constants.W_OK);
  else if (bytesFreeIn(folder) < roomForNewStore) throw new Error('no space left on the device');
  const dataFile = join(folder, 'data.mdb');
  if (!existsSync(dataFile)) return;
  accessSync(dataFile, constants.R_OK | constants.W_OK);
  // Once more, since another process may have written between the looks at the two halves of the head.
  const reason = reasonAgainstData(dataFile) && reasonAgainstData(dataFile);
  if (reason !== undefined) throw new Error(`data.mdb ${reason}`);
}

/** How many bytes may still be written where this folder lies; infinite, where the file system does not tell. */
export function bytesFreeIn(folder: string): number {
  const { blocks, bavail, bsize } = statfsSync(folder);
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
    if (first?.readUInt32LE(layout.magic) !== magicNumber) return 'is not a store of listctl';
    const pageSize = first.readUInt32LE(layout.pageSize);
    const second = readMeta(descriptor, pageSize);
    if (second?.readUInt32LE(layout.magic) !== magicNumber) return 'is damaged: its head is cut short';
    if (!areNeighbors(first, second)) return 'is damaged: its head contradicts itself';
    const [, newest] = [first, second].toSorted(byTransaction);
    // Not its last page: LMDB leaves pages at the end unwritten when they are free.
    const roots = [layout.freeRoot, layout.mainRoot].map((at) => newest?.readBigUInt64LE(at) ?? noPage);
    const isCut = roots.some((root) => root !== noPage && (root + 1n) * BigInt(pageSize) > BigInt(size));
    return isCut ? 'is damaged: it is cut short' : undefined;
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

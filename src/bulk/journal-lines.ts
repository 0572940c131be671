/** Reads the lines of a journal, and fails at the first damaged one. */
import { randomBytes } from 'node:crypto';
import { fdatasync, fstatSync, ftruncateSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoCode, Failure, fileFailure } from '../core/errors.ts';
import { attempt, isSameFile, makePrivateDirectory } from '../core/files.ts';
import { countText } from '../core/text.ts';
import { type FileIo, newTemporary, fileIo as plainIo, writeWhole } from '../core/write-file.ts';
import {
  decodeLine,
  isAnyHeader,
  isGroup,
  isHeader,
  type JournalGroup,
  type JournalHeader,
  journalVersion,
  type Seed,
  seedAfter,
  seedOfHeader,
} from './journal-format.ts';

/** The failure for a line that differs from what was written. */
export class DamagedJournal extends Failure {
  /** The same failure, with the rows that are done by the lines before. */
  readonly knowing: (doneRows: number) => Failure;

  constructor(path: string, offsetBytes: number, reason: string, doneRows = 0) {
    const known = doneRows === 0 ? '' : `: ${countText(doneRows)} at least`;
    super('local-file', `${path} is damaged at byte ${offsetBytes}: ${reason}`, {
      hint: `pass --restart to ignore it and send every row again, also those that are done${known}\n${path} was not changed, and its lines before that byte are intact`,
    });
    this.knowing = (rows) => new DamagedJournal(path, offsetBytes, reason, rows);
  }
}

function noJournal(path: string): Failure {
  return new Failure('local-file', `${path} is not a listctl journal, or its first line is damaged (at byte 0)`, {
    hint: `pass another file with --journal; the file was not changed\nif ${path} is the journal of this run, pass --restart to replace it and send every row again, also those that are done`,
  });
}

function newerJournal(path: string, version: number): Failure {
  return new Failure('local-file', `${path} was written by a newer listctl (journal version ${version})`, {
    hint: 'update listctl; the file was not changed',
  });
}

/** The failure for a journal that was removed, moved or replaced during its run. */
export function lostJournal(path: string): Failure {
  return new Failure('local-file', `cannot write ${path}: it was removed or replaced during the run`, {
    hint: 'restore the file if it was moved; otherwise check the list before sending these rows again\nthe run was stopped; there is no other record of its results',
  });
}

/** The failure for a journal that another process wrote to. */
export function sharedJournal(path: string): Failure {
  return new Failure('local-file', `cannot write ${path}: another process writes to it`, {
    hint: 'wait until the other run has ended, then pass --resume\nthe run was stopped; rows that were in flight may be in doubt; the file may be mounted at two paths, which do not share a lock',
  });
}

/** The failure of a system call on a journal. */
export function journalFault(
  verb: 'read' | 'write' | 'create' | 'list' | 'remove',
  path: string,
  error: unknown,
): Failure {
  return fileFailure(`cannot ${verb} ${path}`, error, hints[verb]);
}

const hints = {
  read: 'check the file: a run cannot be resumed without its journal',
  write: 'stopped; fix the cause, then run again with --resume',
  create: 'pass another file with --journal',
  list: 'check the directory: it holds the journals of runs',
  remove: 'check the file: it is the journal of a run',
} as const;

/** A file that is open, by its descriptor. */
export interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  readonly io: JournalIo;
}

/** The system calls of journals; tests replace them to simulate full disks, errors and power cuts. */
export interface JournalIo extends FileIo {
  /** Returns the number of bytes read; 0 at the end. */
  read(descriptor: number, into: Uint8Array, position: number): number;
  lengthOf(descriptor: number): number;
  /** Whether the path still leads to the file of a descriptor. */
  isAt(descriptor: number, path: string): boolean;
  truncate(descriptor: number, lengthBytes: number): void;
  /**
   * Takes room on the disk of a file, so that what has begun can be recorded when the disk is full (docs/decisions.md,
   * journal-11), until the descriptor is closed; undefined if there is no room.
   */
  reserve(path: string, lengthBytes: number): number | undefined;
  syncData(descriptor: number): Promise<void>;
  /** Makes a directory and its parents with mode 0700; returns those that it made, outermost first. */
  makeDirectory(path: string): readonly string[];
  /** The time of the last write, in milliseconds since the Unix epoch; NaN if unknown. */
  modifiedMs(path: string): number;
}

export const fileIo: JournalIo = {
  ...plainIo,
  read: (descriptor, into, position) => readSync(descriptor, into, 0, into.length, position),
  lengthOf: (descriptor) => fstatSync(descriptor).size,
  isAt: (descriptor, path) => {
    const named = statSync(path, { bigint: true, throwIfNoEntry: false });
    const own = fstatSync(descriptor, { bigint: true });
    return named !== undefined && isSameFile(named, own);
  },
  truncate: ftruncateSync,
  reserve: (path, lengthBytes) => attempt(() => takeRoom(newTemporary(path, plainIo), lengthBytes)),
  syncData: (descriptor) =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
    }),
  makeDirectory: makePrivateDirectory,
  modifiedMs: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN,
};

/** A file without a name: the system frees it when the process ends. */
function takeRoom(path: string, lengthBytes: number): number {
  const descriptor = plainIo.open(path, 'ax');
  try {
    // Zeros would take no room on a disk that compresses.
    writeWhole(descriptor, randomBytes(lengthBytes), null, plainIo);
    return descriptor;
  } catch (error) {
    attempt(() => plainIo.close(descriptor));
    throw error;
  } finally {
    plainIo.remove(path);
  }
}

/** The first line of a journal: where its groups begin. */
export interface JournalStart {
  readonly header: JournalHeader;
  /** The length of the line, with its LF. */
  readonly lengthBytes: number;
  readonly seed: Seed;
}

/** The end of a journal. */
export interface JournalTail {
  readonly lengthBytes: number;
  /** The seed of the next line. */
  readonly seed: Seed;
  /** The length of an incomplete last line, or of the NULs of a lost block. */
  readonly tornBytes: number;
}

const blockBytes = 65_536;
const headerBytesMax = 1_048_576;
/** Far above any group that is written; bounds memory. */
const lineBytesMax = 67_108_864;

/**
 * Reads the first line.
 *
 * @returns undefined if there is no file. An empty file is damage: a journal gets its name with its first line
 * @throws {Failure} local-file
 */
export function readHeader(path: string, io: JournalIo): JournalStart | undefined {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return undefined;
  try {
    const start = readStart(path, descriptor, io);
    const end = start.indexOf(0x0a);
    if (start.length === 0) throw new DamagedJournal(path, 0, 'it is empty');
    if (end === -1) throw noJournal(path);
    const line = start.subarray(0, end);
    const header = headerOf(line, path);
    return { header, lengthBytes: end + 1, seed: seedAfter(line, seedOfHeader(header)) };
  } finally {
    io.close(descriptor);
  }
}

/**
 * Whether a file may be replaced by a journal: it begins like one, is empty or does not exist.
 *
 * @throws {Failure} local-file
 */
export function beginsAsJournal(path: string, io: JournalIo = fileIo): boolean {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return true;
  try {
    const start = readFrom({ path, descriptor, io }, 0, 32).toString('latin1');
    return start === '' || /^[0-9a-f]{8} \{"listctl":"journal"/.test(start);
  } finally {
    io.close(descriptor);
  }
}

/**
 * Reads every group with the offset of its line, in blocks, and yields to other work between them.
 *
 * @throws {Failure} local-file, with the byte, at the first line that is damaged
 */
export async function* readGroups(
  path: string,
  start: Omit<JournalStart, 'header'>,
  io: JournalIo,
): AsyncGenerator<{ readonly group: JournalGroup; readonly offsetBytes: number }, JournalTail> {
  const lines = readLines(path, start.lengthBytes, io);
  let { seed } = start;
  try {
    for (;;) {
      const next = await lines.next();
      if (next.done) return tailOf(next.value.rest, seed, path, next.value.offsetBytes);
      const { line, offsetBytes } = next.value;
      yield { group: groupOf(line, seed, path, offsetBytes), offsetBytes };
      seed = seedAfter(line, seed);
    }
  } finally {
    await lines.return({ rest: Buffer.alloc(0), offsetBytes: 0 });
  }
}

/**
 * Reads the lines of a file, and returns what follows the last LF.
 *
 * @throws {Failure} local-file
 */
export async function* readLines(
  path: string,
  fromBytes: number,
  io: JournalIo,
): AsyncGenerator<
  { readonly line: Buffer; readonly offsetBytes: number },
  { readonly rest: Buffer; readonly offsetBytes: number }
> {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) throw journalFault('read', path, new Error('it was removed'));
  try {
    const block = Buffer.alloc(blockBytes);
    let begun: Buffer[] = [];
    let [positionBytes, offsetBytes] = [fromBytes, fromBytes];
    for (;;) {
      const bytes = block.subarray(
        0,
        tryToRead(path, () => io.read(descriptor, block, positionBytes)),
      );
      if (bytes.length === 0) return { rest: Buffer.concat(begun), offsetBytes };
      positionBytes += bytes.length;
      let start = 0;
      for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
        yield { line: Buffer.concat([...begun, bytes.subarray(start, end)]), offsetBytes };
        begun = [];
        start = end + 1;
        offsetBytes = positionBytes - bytes.length + start;
      }
      // Copied, since the block is read into again.
      begun.push(Buffer.from(bytes.subarray(start)));
      if (positionBytes - offsetBytes > lineBytesMax) throw new DamagedJournal(path, offsetBytes, 'a line is too long');
      await new Promise(setImmediate);
    }
  } finally {
    io.close(descriptor);
  }
}

/**
 * Reads the last group, checked against the line before it alone: for display, not for what is sent.
 *
 * @returns undefined if it is missing, or if the two lines are longer than a block
 */
export function readLastGroup(
  path: string,
  { lengthBytes, seed }: Omit<JournalStart, 'header'>,
  io: JournalIo,
): JournalGroup | undefined {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return undefined;
  try {
    const endBytes = tryToRead(path, () => io.lengthOf(descriptor));
    const startBytes = Math.max(lengthBytes, endBytes - blockBytes);
    const block = readFrom({ path, descriptor, io }, startBytes, blockBytes);
    if (block.at(-1) !== 0x0a) return undefined;
    const start = block.lastIndexOf(0x0a, -2) + 1;
    const before = block.subarray(start < 2 ? 0 : block.lastIndexOf(0x0a, start - 2) + 1, start);
    const lastSeed = startBytes + start === lengthBytes ? seed : seedAfter(before, seed);
    if (Number.isNaN(lastSeed)) return undefined;
    // The checksum fails if one of the lines begins before this block.
    const value = decodeLine(block.subarray(start, -1), lastSeed);
    return isGroup(value) ? value : undefined;
  } finally {
    io.close(descriptor);
  }
}

/** The path of another file of a run. */
export function besideJournal(journal: string, ending: '.before' | '.errors'): string {
  // Without the identity, which changes when the run is resumed with an edited file.
  const [, run] = /^(\d{8}-\d{6}-[0-9a-z]{4})\.[0-9a-f]{16}\.journal$/.exec(basename(journal)) ?? [];
  return run === undefined ? `${journal}${ending}` : join(dirname(journal), `${run}${ending}`);
}

/** Whether such a file is listctl's: it begins like this, or is empty. Undefined if there is none. */
export function isOwnFile(path: string, start: string, io: JournalIo = fileIo): boolean | undefined {
  try {
    const descriptor = openIfThere(path, io);
    if (descriptor === undefined) return undefined;
    try {
      const found = readFrom({ path, descriptor, io }, 0, start.length).toString('latin1');
      return found === '' || found === start;
    } finally {
      io.close(descriptor);
    }
  } catch {
    return false;
  }
}

export function openIfThere(path: string, io: JournalIo): number | undefined {
  try {
    return io.open(path, 'r');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoCode(error) ?? '')) return undefined;
    throw journalFault('read', path, error);
  }
}

/** Reads up to the first LF at least, or as far as a header may reach. */
function readStart(path: string, descriptor: number, io: JournalIo): Buffer {
  const file = { path, descriptor, io };
  const start = readFrom(file, 0, blockBytes);
  return start.includes(0x0a) ? start : readFrom(file, 0, headerBytesMax);
}

/** Reads at most `wantedBytes`; fewer at the end of the file. */
export function readFrom({ path, descriptor, io }: OpenFile, startBytes: number, wantedBytes: number): Buffer {
  const bytes = Buffer.alloc(wantedBytes);
  let length = 0;
  for (let taken = -1; taken !== 0 && length < wantedBytes; length += taken) {
    taken = tryToRead(path, () => io.read(descriptor, bytes.subarray(length), startBytes + length));
  }
  return bytes.subarray(0, length);
}

function headerOf(line: Buffer, path: string): JournalHeader {
  const value = decodeLine(line);
  if (!isAnyHeader(value)) throw noJournal(path);
  if (value.version > journalVersion) throw newerJournal(path, value.version);
  if (!isHeader(value)) throw new DamagedJournal(path, 0, 'its first line is not valid');
  return value;
}

function groupOf(line: Buffer, seed: Seed, path: string, offsetBytes: number): JournalGroup {
  const value = decodeLine(line, seed);
  if (value === undefined) throw new DamagedJournal(path, offsetBytes, 'the checksum of the line does not match');
  if (!isGroup(value)) throw new DamagedJournal(path, offsetBytes, 'the line is not valid');
  return value;
}

/** Judges the bytes after the last LF: an incomplete line, or damage if only the LF itself was changed. */
function tailOf(bytes: Buffer, seed: Seed, path: string, offsetBytes: number): JournalTail {
  if (hasChangedEnd(bytes, seed)) throw new DamagedJournal(path, offsetBytes, 'the end of the line was changed');
  return { lengthBytes: offsetBytes, seed, tornBytes: bytes.length };
}

/** An LF with one flipped bit. */
const changedEnds: ReadonlySet<number | undefined> = new Set([0x0b, 0x08, 0x0e, 0x02, 0x1a, 0x2a, 0x4a, 0x8a]);

/** Whether a whole group, which ends with `]`, is followed by a changed LF: nothing ever follows an incomplete line. */
function hasChangedEnd(bytes: Buffer, seed: Seed): boolean {
  for (let close = bytes.indexOf(0x5d); close !== -1; close = bytes.indexOf(0x5d, close + 1)) {
    if (isWholeTo(bytes, close + 1, seed)) return true;
  }
  return false;
}

function isWholeTo(bytes: Buffer, length: number, seed: Seed): boolean {
  return changedEnds.has(bytes[length]) && decodeLine(bytes.subarray(0, length), seed) !== undefined;
}

function tryToRead<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw journalFault('read', path, error);
  }
}

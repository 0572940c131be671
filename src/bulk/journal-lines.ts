/** The lines of a journal as they are read: each is whole and as it was written, or the reading ends in a Failure. */
import { fdatasync, fstatSync, ftruncateSync, readSync, statSync } from 'node:fs';
import { errnoReason, Failure } from '../core/errors.ts';
import { makePrivateDirectory } from '../core/files.ts';
import { type FileIo, fileIo as plainIo } from '../core/write-file.ts';
import {
  decodeLine,
  isAnyHeader,
  isGroup,
  isHeader,
  type JournalGroup,
  type JournalHeader,
  journalVersion,
} from './journal-format.ts';

/** What stands in the file was not written like that: `reason` says what is wrong with what begins at the byte. */
export function damagedJournal(path: string, offsetBytes: number, reason: string): Failure {
  return new Failure('local-file', `${path} is damaged at byte ${offsetBytes}: ${reason}`, {
    hint: `nothing was sent, and ${path} was left as it is: what it says of the rows before that byte may help\nto start from the first row all the same, whatever was done: --restart`,
  });
}

/** The file is something else, and therefore nothing that a run may write to. */
function noJournal(path: string): Failure {
  return new Failure('local-file', `${path} is no journal of listctl, or its first line is damaged (at byte 0)`, {
    hint: `nothing was sent, and it was left as it is: name another file with --journal\nor, where ${path} is that of a run, start from its first row with --restart`,
  });
}

/** It was written by a listctl that knows more. */
function newerJournal(path: string, version: number): Failure {
  return new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
    hint: 'update listctl; nothing was sent, and the file was left as it is',
  });
}

/** It was removed, moved or replaced while a run wrote to it. */
export function lostJournal(path: string): Failure {
  return new Failure('local-file', `cannot write ${path}: it was removed or replaced during the run`, {
    hint: 'no further row is sent; what this run did is recorded nowhere else: put the file back if it was moved,\notherwise check the list before these rows are sent again',
  });
}

/** A system call on it failed. `verb` continues «cannot …». */
export function journalFault(
  verb: 'read' | 'write' | 'create' | 'list' | 'remove',
  path: string,
  error: unknown,
): Failure {
  if (error instanceof Failure) return error;
  return new Failure('local-file', `cannot ${verb} ${path}: ${errnoReason(error)}`, {
    hint: hints[verb],
    cause: error,
  });
}

const hints = {
  read: 'it is the record of a run: without it nothing can be gone on with',
  write: 'no further row is sent: mend that, then go on with --resume',
  create: 'nothing was sent: name another file with --journal',
  list: 'it is the directory of what runs have done',
  remove: 'it is the record of a run',
} as const;

/** The system calls that journals are made of, so that a disk that is full, fails or loses its power can stand in. */
export interface JournalIo extends FileIo {
  /** Gives how many bytes were read; 0 at the end. */
  read(descriptor: number, into: Uint8Array, position: number): number;
  lengthOf(descriptor: number): number;
  /** Whether the file that a descriptor was opened on is still the one with that name. */
  isAt(descriptor: number, path: string): boolean;
  truncate(descriptor: number, lengthBytes: number): void;
  /** fdatasync, beside the other work. */
  syncData(descriptor: number): Promise<void>;
  /** Makes a directory, and those above it, for its owner alone; gives those that it made, the outermost first. */
  makeDirectory(path: string): readonly string[];
  /** When a file was last written, in milliseconds since the Unix epoch; NaN where that cannot be told. */
  modifiedMs(path: string): number;
}

/** The file system itself. */
export const fileIo: JournalIo = {
  ...plainIo,
  read: (descriptor, into, position) => readSync(descriptor, into, 0, into.length, position),
  lengthOf: (descriptor) => fstatSync(descriptor).size,
  isAt: (descriptor, path) => {
    const named = statSync(path, { bigint: true, throwIfNoEntry: false });
    const own = fstatSync(descriptor, { bigint: true });
    return named?.ino === own.ino && named.dev === own.dev;
  },
  truncate: ftruncateSync,
  syncData: (descriptor) =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
    }),
  makeDirectory: makePrivateDirectory,
  modifiedMs: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN,
};

/** The first line. */
export interface PlacedHeader {
  readonly header: JournalHeader;
  /** Its length, LF included: where the groups begin. */
  readonly lengthBytes: number;
}

/** A group, and the byte at which its line begins. */
export interface PlacedGroup {
  readonly group: JournalGroup;
  readonly offsetBytes: number;
}

/** How a journal ends. */
export interface JournalTail {
  /** How many bytes of it are whole lines. */
  readonly lengthBytes: number;
  /** How many bytes after those are a line that was not written to its end, or the NULs of a lost block. */
  readonly tornBytes: number;
}

const blockBytes = 65_536;
const headerBytesMax = 1_048_576;
/** No group that we write comes near it; what does would fill the memory. */
const lineBytesMax = 67_108_864;

/**
 * Reads the first line.
 *
 * @returns undefined where there is no file. An empty one is damage: a journal has its first line from the moment that
 *   it has its name, so something else emptied it
 * @throws {Failure} local-file, when it cannot be read, is damaged, is something else, or is newer than this listctl
 */
export function readHeader(path: string, io: JournalIo): PlacedHeader | undefined {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return undefined;
  try {
    const start = readStart(path, descriptor, io);
    const end = start.indexOf(0x0a);
    if (start.length === 0) throw damagedJournal(path, 0, 'it is empty');
    if (end === -1) throw noJournal(path);
    return { header: headerOf(start.subarray(0, end), path), lengthBytes: end + 1 };
  } finally {
    io.close(descriptor);
  }
}

/**
 * Whether a file is a journal, if a damaged one: it begins as one. A file that is empty or not there may become one.
 *
 * @throws {Failure} local-file, when it cannot be read
 */
export function beginsAsJournal(path: string, io: JournalIo = fileIo): boolean {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return true;
  try {
    const start = readFrom(path, descriptor, 0, 32, io).toString('latin1');
    return start === '' || /^[0-9a-f]{8} \{"listctl":"journal"/.test(start);
  } finally {
    io.close(descriptor);
  }
}

/**
 * Reads every group, in blocks, and lets other work go on between them.
 *
 * @param fromBytes where they begin
 * @throws {Failure} local-file, with the byte, at the first line that is damaged
 */
export async function* readGroups(
  path: string,
  fromBytes: number,
  io: JournalIo,
): AsyncGenerator<PlacedGroup, JournalTail> {
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
      if (bytes.length === 0) return tailOf(Buffer.concat(begun), path, offsetBytes);
      positionBytes += bytes.length;
      let start = 0;
      for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
        const group = groupOf(Buffer.concat([...begun, bytes.subarray(start, end)]), path, offsetBytes);
        yield { group, offsetBytes };
        begun = [];
        start = end + 1;
        offsetBytes = positionBytes - bytes.length + start;
      }
      // Copied, since the block is read into again.
      begun.push(Buffer.from(bytes.subarray(start)));
      if (positionBytes - offsetBytes > lineBytesMax) throw damagedJournal(path, offsetBytes, 'a line has no end');
      await new Promise(setImmediate);
    }
  } finally {
    io.close(descriptor);
  }
}

/**
 * Reads the last group alone.
 *
 * @returns undefined where there is none, or where it takes more than a look at the file's end to see it
 */
export function readLastGroup(path: string, fromBytes: number, io: JournalIo): JournalGroup | undefined {
  const descriptor = openIfThere(path, io);
  if (descriptor === undefined) return undefined;
  try {
    const lengthBytes = tryToRead(path, () => io.lengthOf(descriptor));
    const startBytes = Math.max(fromBytes - 1, lengthBytes - blockBytes);
    const end = readFrom(path, descriptor, startBytes, blockBytes, io);
    if (end.at(-1) !== 0x0a) return undefined;
    // Where it begins before that look its checksum is another one.
    const value = decodeLine(end.subarray(end.lastIndexOf(0x0a, -2) + 1, -1));
    return isGroup(value) ? value : undefined;
  } finally {
    io.close(descriptor);
  }
}

function openIfThere(path: string, io: JournalIo): number | undefined {
  try {
    return io.open(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw journalFault('read', path, error);
  }
}

/** The file from its start: at least to its first LF, or as far as a header may reach. */
function readStart(path: string, descriptor: number, io: JournalIo): Buffer {
  const start = readFrom(path, descriptor, 0, blockBytes, io);
  return start.includes(0x0a) ? start : readFrom(path, descriptor, 0, headerBytesMax, io);
}

function readFrom(path: string, descriptor: number, startBytes: number, wantedBytes: number, io: JournalIo): Buffer {
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
  if (!isHeader(value)) throw damagedJournal(path, 0, 'its first line is not what it should be');
  return value;
}

function groupOf(line: Buffer, path: string, offsetBytes: number): JournalGroup {
  const value = decodeLine(line);
  if (value === undefined) throw damagedJournal(path, offsetBytes, 'the checksum of that line is another one');
  if (!isGroup(value)) throw damagedJournal(path, offsetBytes, 'that line is not what it should be');
  return value;
}

/** What is behind the last LF, as a tear; it is none where a line's LF itself was changed. */
function tailOf(bytes: Buffer, path: string, offsetBytes: number): JournalTail {
  if (hasChangedEnd(bytes)) throw damagedJournal(path, offsetBytes, 'the end of that line was changed');
  return { lengthBytes: offsetBytes, tornBytes: bytes.length };
}

/** What an LF is with one bit of it changed; as a NUL it never is. */
const changedEnds: ReadonlySet<number | undefined> = new Set([0x0b, 0x08, 0x0e, 0x02, 0x1a, 0x2a, 0x4a, 0x8a]);

/** Whether a whole line stands there with something that was its LF: a torn one is never followed by anything. */
function hasChangedEnd(bytes: Buffer): boolean {
  for (let close = bytes.indexOf(0x5d); close !== -1; close = bytes.indexOf(0x5d, close + 1)) {
    if (isWholeTo(bytes, close + 1)) return true;
  }
  for (let close = bytes.indexOf(0x7d); close !== -1; close = bytes.indexOf(0x7d, close + 1)) {
    if (isWholeTo(bytes, close + 1)) return true;
  }
  return false;
}

function isWholeTo(bytes: Buffer, length: number): boolean {
  return changedEnds.has(bytes[length]) && decodeLine(bytes.subarray(0, length)) !== undefined;
}

function tryToRead<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw journalFault('read', path, error);
  }
}

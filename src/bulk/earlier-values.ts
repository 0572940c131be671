/**
 * The values that items had before a run changed them (`--keep-before`), for its undo: JSONL in a file of mode 0600 next to
 * the journal, which holds no values itself (docs/decisions.md, journal-6). The last line of a row counts.
 */
import { dirname } from 'node:path';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Fields } from '../core/item.ts';
import { isObject, objectFrom, parseJson, printJson } from '../core/json.ts';
import { appendTo, openWhole } from './append-file.ts';
import type { Journal } from './journal.ts';
import {
  besideJournal,
  fileIo,
  isOwnFile,
  type JournalIo,
  journalFault,
  type OpenFile,
  openIfThere,
  readFrom,
  readLines,
} from './journal-lines.ts';
import { payloadHash } from './keys.ts';

/** An item as it was before a row changed it; of an update only the fields of the row, null for one that was not there. */
export interface EarlierValues {
  readonly row: number;
  readonly id: string;
  readonly etag: string | undefined;
  readonly fields: Fields;
}

/** The values that are on disk. */
export interface KeptValues {
  readonly path: string;
  of(row: number): EarlierValues | undefined;
  readonly lengthBytes: number;
  readonly tornBytes: number;
}

/** The file of a run in progress. */
export interface EarlierFile extends Pick<KeptValues, 'of'>, Pick<Journal, 'close'> {
  /**
   * Resolves when the values are on disk.
   *
   * @throws {Failure} local-file
   */
  keep(values: EarlierValues): Promise<void>;
}

/** The path of the values of a run. */
export function earlierPath(journal: string): string {
  return besideJournal(journal, '.before');
}

/** Whether a file may be removed with its run. */
export function isEarlierFile(path: string, io: JournalIo = fileIo): boolean {
  return isOwnFile(path, '{"kept":"', io) === true;
}

/**
 * Creates the file of a run, before its journal.
 *
 * @throws {Failure} local-file, also if the file exists
 */
export function createEarlier(journal: string, io: JournalIo = fileIo): EarlierFile {
  const path = earlierPath(journal);
  try {
    const descriptor = io.open(path, 'ax');
    io.syncDirectory(dirname(path));
    return fileOn({ path, descriptor, io }, 0, () => undefined);
  } catch (error) {
    throw journalFault('create', path, error);
  }
}

/**
 * Opens the file of a run that is resumed, and cuts off an incomplete last line.
 *
 * @throws {Failure} local-file
 */
export function reopenEarlier({ path, of, lengthBytes, tornBytes }: KeptValues, io: JournalIo = fileIo): EarlierFile {
  try {
    const descriptor = openWhole(path, { lengthBytes, tornBytes }, io);
    try {
      io.sync(descriptor);
    } catch (error) {
      attempt(() => io.close(descriptor));
      throw error;
    }
    return fileOn({ path, descriptor, io }, lengthBytes, of);
  } catch (error) {
    throw journalFault('write', path, error);
  }
}

function fileOn(file: OpenFile, lengthBytes: number, of: KeptValues['of']): EarlierFile {
  const { append, sync, close } = appendTo(file, lengthBytes);
  return {
    of,
    keep: async (values) => {
      append(Buffer.from(`${printLine(values)}\n`));
      await sync();
    },
    close,
  };
}

/**
 * Reads where the values of rows are; takes 16 bytes of memory per row.
 *
 * @param isWanted the rows whose values may be asked for
 * @throws {Failure} local-file, if the file is missing or damaged
 */
export async function readEarlier(
  journal: string,
  isWanted: (row: number) => boolean = () => true,
  io: JournalIo = fileIo,
): Promise<KeptValues> {
  const path = earlierPath(journal);
  const offsets: number[] = [];
  const lengths: number[] = [];
  const lines = readLines(path, 0, io);
  let next = await lines.next();
  for (; !next.done; next = await lines.next()) {
    const { line, offsetBytes } = next.value;
    const { row } = parseLine(line, path, offsetBytes);
    if (!isWanted(row)) continue;
    offsets[row] = offsetBytes;
    lengths[row] = line.length;
  }
  const { rest, offsetBytes: lengthBytes } = next.value;
  const of = (row: number) => {
    const [offset, length] = [offsets[row], lengths[row]];
    if (offset === undefined || length === undefined) return undefined;
    const descriptor = openIfThere(path, io);
    if (descriptor === undefined) throw journalFault('read', path, new Error('it was removed'));
    try {
      return parseLine(readFrom({ path, descriptor, io }, offset, length), path, offset);
    } finally {
      io.close(descriptor);
    }
  };
  return { path, of, lengthBytes, tornBytes: rest.length };
}

function printLine(values: EarlierValues): string {
  const { row, id, etag, fields } = values;
  return printJson(objectFrom([['kept', hashOf(values)], ...Object.entries({ row, id, etag: etag ?? null, fields })]));
}

/** Wrong values would be sent to the service. */
function hashOf({ row, id, etag, fields }: EarlierValues): string {
  return payloadHash(JSON.stringify([row, id, etag ?? null]), fields);
}

function parseLine(line: Buffer, path: string, offsetBytes: number): EarlierValues {
  const values = valuesIn(line);
  if (values !== undefined) return values;
  throw new Failure('local-file', `${path} is damaged at byte ${offsetBytes}: the line is not valid`, {
    hint: 'it holds the earlier values of the items of a run; the file was not changed',
  });
}

function valuesIn(line: Buffer): EarlierValues | undefined {
  try {
    const value = parseJson(line.toString());
    if (!isObject(value)) return undefined;
    const { kept, row, id, etag, fields } = value;
    if (typeof row !== 'number' || typeof id !== 'string' || !isObject(fields)) return undefined;
    const values = { row, id, etag: typeof etag === 'string' ? etag : undefined, fields };
    return hashOf(values) === kept ? values : undefined;
  } catch {
    return undefined;
  }
}

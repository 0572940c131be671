/** Checks the rows of a file, and makes the failures of bad ones. */
import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { countOf, countText } from '../core/text.ts';
import { type Input, isGzip, nameOf } from './input.ts';
import type { RowsFile } from './read.ts';
import { type BadRow, placedProblem, type Row } from './types.ts';

/** The rows of a file, counted over all shards unless named otherwise. */
export interface Check {
  /** Good and bad ones. */
  readonly rows: number;
  readonly ofShard: number;
  /** The first 1,000. */
  readonly bad: readonly BadRow[];
  readonly badCount: number;
  readonly badOfShard: number;
  readonly sizeBytes: number;
  /** The hash of the decompressed content, in hex. */
  readonly sha256: string;
  /** What is not sent, each once. */
  readonly notices: readonly string[];
}

const namedMax = 1000;

/**
 * Reads the file to its end.
 *
 * @param onRow called with the rows of the shard, good and bad ones
 * @param onBytes called with every byte as it is on disk
 * @throws {Failure} as `RowsFile.blocks` and `RowsFile.checkNames`; not for bad rows
 */
export async function checkRows(
  file: RowsFile,
  onRow?: (row: Row | BadRow) => void,
  onBytes?: (bytes: Uint8Array) => void,
): Promise<Check> {
  const hash = createHash('sha256');
  const bad: BadRow[] = [];
  let [rows, badCount, ofShard, badOfShard] = [0, 0, 0, 0];
  const take = (row: Row | BadRow) => {
    const isOfShard = file.isOfShard(row.number);
    rows += 1;
    if (isOfShard) ofShard += 1;
    if (row.problem !== undefined) {
      badCount += 1;
      if (isOfShard) badOfShard += 1;
      if (bad.length < namedMax) bad.push(row);
    }
    if (isOfShard) onRow?.(row);
  };
  for await (const block of file.blocks({ onContent: (bytes) => hash.update(bytes), onBytes, everyShard: true })) {
    for (const row of block) take(row);
  }
  file.checkNames();
  return {
    ...{ rows, ofShard, badCount, badOfShard },
    bad: await placed(file, bad),
    sizeBytes: file.input.sizeBytes,
    sha256: hash.digest('hex'),
    notices: file.notices(),
  };
}

/** Adds the byte of each row's column, in a file of JSON in UTF-8, except gzip. */
async function placed({ input, format, options }: RowsFile, bad: readonly BadRow[]): Promise<readonly BadRow[]> {
  const isJson = format === 'json' || format === 'jsonl';
  if (!isJson || options.encoding !== undefined || bad.length === 0 || (await isGzip(input))) return bad;
  const starts = lineStarts(input, new Set(bad.map(({ line }) => line)));
  return bad.map((row) => {
    const start = starts.get(row.line);
    return start === undefined ? row : { ...row, byte: start + prefixBytes(input, start, (row.column ?? 1) - 1) };
  });
}

const blockBytes = 65_536;
/** The most bytes of a line that are read. */
const prefixBytesMax = 1_048_576;

/** Finds the offsets of lines; a byte order mark is not part of the first one. */
function lineStarts({ descriptor }: Input, lines: ReadonlySet<number>): ReadonlyMap<number, number> {
  const starts = new Map<number, number>();
  const block = Buffer.alloc(blockBytes);
  let line = 1;
  for (let position = 0; ; ) {
    const length = readSync(descriptor, block, 0, blockBytes, position);
    if (position === 0) starts.set(1, block.subarray(0, 3).equals(mark) ? mark.length : 0);
    if (length === 0 || line > Math.max(...lines)) return starts;
    for (let at = block.indexOf(0x0a); at !== -1 && at < length; at = block.indexOf(0x0a, at + 1)) {
      line += 1;
      if (lines.has(line)) starts.set(line, position + at + 1);
    }
    position += length;
  }
}

const mark = Buffer.from([0xef, 0xbb, 0xbf]);

/** The number of bytes of a number of UTF-16 units. */
function prefixBytes({ descriptor }: Input, start: number, units: number): number {
  const bytes = Buffer.alloc(Math.min(units * 3, prefixBytesMax));
  const length = readSync(descriptor, bytes, 0, bytes.length, start);
  return Buffer.byteLength(bytes.toString('utf8', 0, length).slice(0, units));
}

/** The failure of a file with bad rows; about the row if there is only one. */
export function badRowsFailure(check: Check, file: RowsFile): Failure {
  const [first] = check.bad;
  const name = nameOf(file.input.name);
  // Several were reported one by one.
  const only = check.badCount === 1 && first !== undefined && !first.more ? badRowFailure(first, file) : undefined;
  const where = only === undefined ? '' : `: ${only.message}`;
  const count = `${countOf(check.badCount, 'row')} of ${countText(check.rows)}`;
  return new Failure('usage', `${name}: ${count} cannot be sent${where}`, {
    hint: 'fix these rows, or pass --skip-invalid to send the others',
    outcome: 'not-sent',
    about: only?.details.about,
  });
}

/** The failures of a bad row, one for each cell. */
export function badRowFailures(row: BadRow, file: Pick<RowsFile, 'header'>): readonly Failure[] {
  return [row, ...(row.more ?? [])].map((fault) => badRowFailure({ ...row, ...fault, more: undefined }, file));
}

/** The failure of a bad row, after its place: `line 4, column 2: …; column 3: …`. */
export function badRowFailure(row: BadRow, { header }: Pick<RowsFile, 'header'>): Failure {
  const { number, line, column, byte, more = [] } = row;
  const reason = [row.problem, ...more.map(placedProblem)].join('; ');
  const columnName = column === undefined ? undefined : header[column - 1];
  const places = [`line ${line}`, ...(column === undefined ? [] : [`column ${column}`])].join(', ');
  return new Failure('usage', `${places}${byte === undefined ? '' : ` (byte ${byte})`}: ${reason}`, {
    outcome: 'not-sent',
    about: { row: number, line, column, columnName, byte, reason },
  });
}

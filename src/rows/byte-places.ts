/** Where in a file bad rows are, in bytes: for editors and tools that count those. */
import { readSync } from 'node:fs';
import { isGzip } from './file-bytes.ts';
import type { Input } from './input.ts';
import type { BadRow } from './row.ts';

const blockBytes = 65_536;
/** A line is not looked at further than this. */
const prefixBytesMax = 1_048_576;

/**
 * The byte offset of each bad row's column, from 0, of the file as it is on disk; only of UTF-8 that is not packed.
 *
 * @param bad in the order of the file
 */
export async function bytePlaces(input: Input, bad: readonly BadRow[]): Promise<ReadonlyMap<BadRow, number>> {
  const places = new Map<BadRow, number>();
  if (bad.length === 0 || (await isGzip(input))) return places;
  const starts = lineStarts(input, new Set(bad.map(({ line }) => line)));
  for (const row of bad) {
    const start = starts.get(row.line);
    if (start !== undefined) places.set(row, start + prefixBytes(input, start, (row.column ?? 1) - 1));
  }
  return places;
}

/** The offsets at which these lines begin; a byte order mark is no part of the first one. */
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

/** How many bytes so many UTF-16 units take. */
function prefixBytes({ descriptor }: Input, start: number, units: number): number {
  const bytes = Buffer.alloc(Math.min(units * 3, prefixBytesMax));
  const length = readSync(descriptor, bytes, 0, bytes.length, start);
  return Buffer.byteLength(bytes.toString('utf8', 0, length).slice(0, units));
}

/** Damage to bytes, by chance: by the bit, by the piece, and by what the format is made of. */
import type { SeededRandom } from '../support/seeded-random.ts';

export interface Materials {
  readonly random: SeededRandom;
  /** Other inputs, to take pieces from. */
  readonly pool: readonly Buffer[];
  readonly words: readonly string[];
  readonly bytesMax: number;
}

/** The input with one to eight damages. */
export function mutated(input: Buffer, materials: Materials): Buffer {
  const { random, bytesMax } = materials;
  let bytes = input;
  for (let left = 1 + random.whole(random.whole(2) === 0 ? 2 : 8); left > 0; left -= 1) {
    const mutate = mutators[random.whole(mutators.length)];
    bytes = mutate?.(bytes, materials) ?? bytes;
    if (bytes.length > bytesMax) bytes = bytes.subarray(0, bytesMax);
  }
  return bytes;
}

type Mutator = (bytes: Buffer, materials: Materials) => Buffer;

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Bytes that mean something in some format. */
const notable = [
  0x00, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x27, 0x2c, 0x2d, 0x30, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0xbf,
  0xc0, 0xe0, 0xed, 0xef, 0xf4, 0xfe, 0xff,
];

const flipBit: Mutator = (bytes, { random }) => {
  if (bytes.length === 0) return bytes;
  const at = random.whole(bytes.length);
  return replaced(bytes, { start: at, end: at + 1 }, Buffer.from([(bytes[at] ?? 0) ^ (1 << random.whole(8))]));
};

const setByte: Mutator = (bytes, { random }) => {
  const at = random.whole(bytes.length + 1);
  const byte = random.whole(3) === 0 ? random.whole(256) : (notable[random.whole(notable.length)] ?? 0);
  return replaced(bytes, { start: at, end: at + random.whole(2) }, Buffer.from([byte]));
};

const truncate: Mutator = (bytes, { random }) => bytes.subarray(0, random.whole(bytes.length + 1));

const remove: Mutator = (bytes, { random }) => replaced(bytes, rangeOf(bytes, random), Buffer.alloc(0));

const duplicate: Mutator = (bytes, { random }) => {
  const range = rangeOf(bytes, random);
  return replaced(bytes, { start: range.end, end: range.end }, bytes.subarray(range.start, range.end));
};

/** Some of it again and again: depth, length and number are what limits are for. */
const repeat: Mutator = (bytes, { random, words, bytesMax }) => {
  const range = rangeOf(bytes, random, 24);
  const word = random.whole(2) === 0 ? Buffer.from(pick(words, random)) : bytes.subarray(range.start, range.end);
  if (word.length === 0) return bytes;
  const times = Math.min(2 ** random.whole(17), Math.floor((bytesMax - bytes.length) / word.length));
  return times < 1 ? bytes : replaced(bytes, range, Buffer.concat(Array.from({ length: times }, () => word)));
};

/** Some of it many levels deeper, each of them closed again. */
const nest: Mutator = (bytes, { random, bytesMax }) => {
  const [open, close] = random.whole(2) === 0 ? ['[', ']'] : ['{"a":', '}'];
  const tokens = tokensOf(bytes);
  const range = tokens[random.whole(tokens.length)] ?? { start: 0, end: bytes.length };
  const times = Math.min(2 ** random.whole(15), Math.floor((bytesMax - bytes.length) / (open.length + 1)));
  if (times < 1) return bytes;
  const piece = bytes.subarray(range.start, range.end);
  return replaced(
    bytes,
    range,
    Buffer.concat([Buffer.from(open.repeat(times)), piece, Buffer.from(close.repeat(times))]),
  );
};

const splice: Mutator = (bytes, { random, pool }) => {
  const other = pool[random.whole(pool.length)] ?? bytes;
  const range = rangeOf(other, random);
  return replaced(bytes, rangeOf(bytes, random), other.subarray(range.start, range.end));
};

/** The beginning of one and the end of another. */
const cross: Mutator = (bytes, { random, pool }) => {
  const other = pool[random.whole(pool.length)] ?? bytes;
  const at = random.whole(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), other.subarray(random.whole(other.length + 1))]);
};

const insertWord: Mutator = (bytes, { random, words }) => {
  const at = random.whole(bytes.length + 1);
  return replaced(bytes, { start: at, end: at }, Buffer.from(pick(words, random)));
};

/** One token, as most formats have them, by a word, a number or another token of the same input. */
const replaceToken: Mutator = (bytes, { random, words }) => {
  const tokens = tokensOf(bytes);
  if (tokens.length === 0) return bytes;
  const range = tokens[random.whole(tokens.length)] ?? { start: 0, end: 0 };
  const other = tokens[random.whole(tokens.length)] ?? range;
  const kind = random.whole(3);
  const by =
    kind === 0 ? bytes.subarray(other.start, other.end) : Buffer.from(pick(kind === 1 ? words : numbers, random));
  return replaced(bytes, range, by);
};

const numbers = [
  ...'0 -0 1 -1 1.5 1e400 1e-400 255 65536 2147483648 9007199254740993 18446744073709551616'.split(' '),
  ...'999999999999999999999999999999 0.1e1 00 1_0 0x10 NaN -'.split(' '),
];

/** Lines in another order, one twice, one gone. */
const moveLine: Mutator = (bytes, { random }) => {
  const lines = bytes.toString('latin1').split('\n');
  const [line = ''] = lines.splice(random.whole(lines.length), random.whole(3) === 0 ? 0 : 1);
  if (random.whole(3) > 0) lines.splice(random.whole(lines.length + 1), 0, line);
  return Buffer.from(lines.join('\n'), 'latin1');
};

const mutators: readonly Mutator[] = [
  ...[flipBit, setByte, setByte, truncate, remove, duplicate, repeat, nest],
  ...[splice, cross, insertWord, insertWord, replaceToken, replaceToken, moveLine],
];

function tokensOf(bytes: Buffer): readonly Range[] {
  // The first of them will do: there may be a million.
  const text = bytes.toString('latin1', 0, 4096);
  return [...text.matchAll(/"(?:[^"\\\n]|\\.)*"|[\w.+-]+|[^\s\w]/g)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** Mostly a short piece. */
function rangeOf(bytes: Buffer, random: SeededRandom, lengthMax = bytes.length): Range {
  const start = random.whole(bytes.length + 1);
  const most = Math.min(lengthMax, random.whole(4) === 0 ? bytes.length : 16);
  return { start, end: Math.min(bytes.length, start + random.whole(most + 1)) };
}

function replaced(bytes: Buffer, { start, end }: Range, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}

function pick(words: readonly string[], random: SeededRandom): string {
  return words[random.whole(words.length)] ?? '';
}

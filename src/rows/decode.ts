/** Decodes bytes strictly: invalid ones are an error, not U+FFFD. */
import { isUtf8 } from 'node:buffer';
import { Failure } from '../core/errors.ts';
import { firstBadByte } from '../core/files.ts';
import { beginningOf, rowLengthMax } from './types.ts';

/** Decodes bytes that come in parts; a character may be split between two. */
interface Decoder {
  decode(bytes: Uint8Array): string;
  /** Throws if the last character is incomplete. */
  end(): string;
}

/**
 * Decodes bytes, without a byte order mark, which takes precedence over the label (WHATWG Encoding, "decode").
 *
 * @param name of the input, for messages
 * @param label of TextDecoder
 * @throws {Failure} usage, if the label is unknown, or with the offset of a byte that is not in that encoding
 */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  label = 'utf-8',
): AsyncGenerator<string> {
  let start: Buffer = Buffer.alloc(0);
  let decoder: Decoder | undefined;
  for await (const block of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(block);
      continue;
    }
    start = Buffer.concat([start, block]);
    // The longest mark has three bytes.
    if (start.length < 3) continue;
    const begun = beginDecoding(start, name, label);
    ({ decoder } = begun);
    yield begun.text;
  }
  const begun = decoder === undefined ? beginDecoding(start, name, label) : { decoder, text: '' };
  yield begun.text;
  yield begun.decoder.end();
}

/** Makes the decoder of a file, and decodes its first bytes. */
function beginDecoding(
  start: Buffer,
  name: string,
  label: string,
): { readonly decoder: Decoder; readonly text: string } {
  const mark = marks.find(({ bytes }) => start.subarray(0, bytes.length).equals(bytes));
  const labeled = checkLabel(label);
  const encoding = mark?.encoding ?? labeled;
  const markBytes = mark?.bytes.length ?? 0;
  const decoder = (own[encoding] ?? otherDecoder)({ name, encoding, markBytes });
  return { decoder, text: decoder.decode(start.subarray(markBytes)) };
}

const marks = [
  { encoding: 'utf-8', bytes: Buffer.from([0xef, 0xbb, 0xbf]) },
  { encoding: 'utf-16le', bytes: Buffer.from([0xff, 0xfe]) },
  { encoding: 'utf-16be', bytes: Buffer.from([0xfe, 0xff]) },
];

type Decoding = { readonly name: string; readonly encoding: string; readonly markBytes: number };

/** The encodings without TextDecoder: UTF-8 for its speed, and one that some Node releases get wrong. */
const own: Readonly<Record<string, (decoding: Decoding) => Decoder>> = {
  'utf-8': utf8Decoder,
  'windows-1252': windowsDecoder,
};

/** Finds the name of an encoding by a label. */
function checkLabel(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    throw new Failure('usage', `unknown encoding "${label}"`, {
      hint: 'pass --encoding utf-8, utf-16le, windows-1252, iso-8859-2 or shift_jis, for example',
      cause: error,
    });
  }
}

function utf8Decoder({ name, markBytes }: Decoding): Decoder {
  let offset = markBytes;
  let held: Buffer = Buffer.alloc(0);
  const decode = (bytes: Buffer): string => {
    if (!isUtf8(bytes)) throw notInIt(name, 'UTF-8', `invalid byte at offset ${offset + firstBadByte(bytes)}`);
    offset += bytes.length;
    return bytes.toString();
  };
  return {
    decode: (bytes) => {
      const all =
        held.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([held, bytes]);
      const end = all.length - unfinishedBytes(all);
      held = all.subarray(end);
      return decode(all.subarray(0, end));
    },
    end: () => decode(held),
  };
}

/** The number of bytes at the end that begin an incomplete character. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? back : 0;
  }
  return 0;
}

/** Not TextDecoder: some releases of Node 22 and 23 decode it as ISO-8859-1 (nodejs/node#56542). */
function windowsDecoder(): Decoder {
  const decode = (bytes: Uint8Array) => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    return text.replace(/[\u0080-\u009f]/g, (byte) => windows1252[byte.charCodeAt(0) - 0x80] ?? byte);
  };
  return { decode, end: () => '' };
}

/** Bytes 0x80 to 0x9f (WHATWG Encoding, index windows-1252); five are control characters. */
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘'“”•–—˜™š›œ\u009džŸ";

function otherDecoder({ name, encoding, markBytes }: Decoding): Decoder {
  // The mark is removed already; a second one is text.
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let offset = markBytes;
  const decode = (bytes: Uint8Array, stream: boolean): string => {
    try {
      const text = decoder.decode(bytes, { stream });
      offset += bytes.length;
      return text;
    } catch (error) {
      throw notInIt(name, encoding, `invalid byte after offset ${Math.max(0, offset - 4)}`, error);
    }
  };
  return { decode: (bytes) => decode(bytes, true), end: () => decode(new Uint8Array(), false) };
}

function notInIt(name: string, encoding: string, what: string, cause?: unknown): Failure {
  return new Failure('usage', `${name} is not valid ${encoding}: ${what}`, {
    hint: `pass the encoding of the file, such as --encoding ${encoding === 'UTF-8' ? 'windows-1252' : 'utf-8'}`,
    cause,
  });
}

/** The text of a row: a line, or an element of an array. */
export interface TextPart {
  /** Its place in the file, from 1. */
  readonly line: number;
  readonly column: number;
  /** Only its beginning if it is too long. */
  readonly text: string;
  readonly isTooLong: boolean;
  /** A problem around it, such as a missing comma. */
  readonly problem?: string | undefined;
}

/** Splits text into lines without their ends, blank ones included. */
export async function* splitLines(text: AsyncIterable<string>): AsyncGenerator<readonly TextPart[]> {
  let line = 1;
  let begun = '';
  let isTooLong = false;
  const add = (text: string) => {
    if (!isTooLong) begun += text;
    if (begun.length <= rowLengthMax) return;
    begun = beginningOf(begun);
    isTooLong = true;
  };
  const take = (): TextPart => {
    const taken = { line, column: 1, text: begun.endsWith('\r') ? begun.slice(0, -1) : begun, isTooLong };
    line += 1;
    begun = '';
    isTooLong = false;
    return taken;
  };
  for await (const part of text) {
    const lines: TextPart[] = [];
    let start = 0;
    for (let end = part.indexOf('\n'); end !== -1; end = part.indexOf('\n', start)) {
      add(part.slice(start, end));
      lines.push(take());
      start = end + 1;
    }
    add(part.slice(start));
    if (lines.length > 0) yield lines;
  }
  if (begun !== '') yield [take()];
}

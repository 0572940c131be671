/** The bytes of a file as text. */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeText } from '../../../src/rows/decode.ts';
import { rowsFrom, toFields, toIds } from './rows-from.ts';

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();

describe('a byte order mark identifies the encoding', () => {
  test.each([
    ['UTF-8', Buffer.from('\ufeffA,B\nä,€😀\n')],
    ['UTF-16, little-endian', Buffer.from('\ufeffA,B\nä,€😀\n', 'utf16le')],
    ['UTF-16, big-endian', utf16be('\ufeffA,B\nä,€😀\n')],
  ])('%s, whatever --encoding says and wherever it is cut', async (_name, bytes) => {
    for (const options of [
      {},
      { encoding: 'windows-1252' },
      { encoding: 'utf-16le' },
      { blockBytes: 1 },
      { blockBytes: 3 },
    ]) {
      expect(toFields(await rowsFrom('a.csv', bytes, options))).toEqual([{ A: 'ä', B: '€😀' }]);
    }
  });
});

test('a second mark is text: of an id, but not of the first column name', async () => {
  for (const encoding of ['utf8', 'utf16le'] as const) {
    const twice = (text: string) => Buffer.from(`\ufeff\ufeff${text}`, encoding);
    expect(toIds(await rowsFrom('a.ids', twice('1\n'), { action: 'get' }))).toEqual(['\ufeff1']);
    await expect(rowsFrom('a.csv', twice('A\nx\n'))).rejects.toThrow('it begins with two byte order marks');
  }
});

describe('--encoding', () => {
  test("windows-1252 and its other names, all of a spreadsheet's characters", async () => {
    const bytes = Buffer.concat([
      Buffer.from('Preis;Wort\r\n5 '),
      Buffer.from([0x80, 0x3b, 0x93, 0xe4, 0x94, 0x8a, 0x0d, 0x0a]),
    ]);

    for (const encoding of ['windows-1252', 'CP1252', 'latin1', 'iso-8859-1']) {
      expect(toFields(await rowsFrom('a.csv', bytes, { encoding }))).toEqual([{ Preis: '5 €', Wort: '“ä”Š' }]);
    }
  });

  test.each([
    ['utf-16be', utf16be('A\nä\n')],
    ['utf-16le', Buffer.from('A\nä\n', 'utf16le')],
    ['iso-8859-15', Buffer.from([0x41, 0x0a, 0xe4, 0x0a])],
    ['utf8', Buffer.from('A\nä\n')],
  ])('%s', async (encoding, bytes) => {
    expect(toFields(await rowsFrom('a.csv', bytes, { encoding }))).toEqual([{ A: 'ä' }]);
    expect(toFields(await rowsFrom('a.csv', bytes, { encoding, blockBytes: 1 }))).toEqual([{ A: 'ä' }]);
  });

  test('refuses an unknown encoding', async () => {
    await expect(rowsFrom('a.csv', 'A\n', { encoding: 'klingon' })).rejects.toMatchObject({
      kind: 'usage',
      message: 'unknown encoding "klingon"',
    });
  });
});

describe('I08: bytes that are not in the encoding', () => {
  test.each([
    [Buffer.from([0x41, 0x0a, 0xe4, 0x62, 0x0a]), 2],
    [Buffer.from([0xef, 0xbb, 0xbf, 0x41, 0x0a, 0xff]), 5],
    [Buffer.from([0x41, 0x0a, 0xe2, 0x82]), 2],
    [Buffer.concat([Buffer.from('A\n€\ufffd'), Buffer.from([0xed, 0xa0, 0x80])]), 8],
    [Buffer.from([0x41, 0xc0, 0x80]), 1],
  ])('%j: the first bad byte is number %i', async (bytes, offset) => {
    for (const blockBytes of [undefined, 1, 3, 4]) {
      await expect(rowsFrom('a.csv', bytes, { blockBytes })).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringContaining(`a.csv is not valid UTF-8: invalid byte at offset ${offset}`),
        details: { hint: expect.stringContaining('--encoding windows-1252') },
      });
    }
  });

  test('half a character at the end of UTF-16 is one', async () => {
    await expect(rowsFrom('a.csv', Buffer.from('\ufeffA\n5', 'utf16le').subarray(0, -1))).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('a.csv is not valid utf-16le'),
    });
  });
});

test('any text is read as it was, wherever its bytes are cut', async () => {
  const text = fc.string({ unit: 'binary' }).filter((one) => !one.startsWith('\ufeff'));

  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (one, length) => {
      let read = '';
      for await (const part of decodeText(cut(Buffer.from(one), length), 'it')) read += part;

      expect(read).toBe(one);
    }),
    { numRuns: 30 },
  );
});

async function* cut(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

describe('gzip', () => {
  test('is unpacked by its name, on stdin by its first bytes, and in several members', async () => {
    const csv = gzipSync('A,B\n1,2\n');
    const members = Buffer.concat([gzipSync('{"A":"1",'), gzipSync('"B":"2"}\n')]);

    for (const name of ['a.csv.gz', 'a.CSV.GZ', 'a.csv'])
      expect(toFields(await rowsFrom(name, csv))).toEqual([{ A: '1', B: '2' }]);
    for (const name of ['-', 'a.jsonl.gz'])
      expect(toFields(await rowsFrom(name, members))).toEqual([{ A: '1', B: '2' }]);
  });

  test.each([
    ['cut short', gzipSync('A,B\n1,2\n').subarray(0, -9)],
    ['changed', Buffer.from(gzipSync('A,B\n1,2\n').fill(0, 12, 15))],
    ['no gzip at all', Buffer.from('A,B\n1,2\n')],
    ['empty', Buffer.alloc(0)],
  ])('that is %s is damaged', async (_name, bytes) => {
    await expect(rowsFrom('a.csv.gz', bytes)).rejects.toMatchObject({
      kind: 'local-file',
      message: expect.stringContaining('a.csv.gz is damaged gzip data'),
    });
  });

  test('the check is over the bytes as they are on disk', async () => {
    const { check } = await rowsFrom('a.csv', 'A\n1\n');
    const packed = gzipSync('A\n1\n');

    expect(check).toMatchObject({
      sizeBytes: 4,
      sha256: '8ebbd9fe688c1e5442da8aaf95b3ebd6d850c60f8ef42a69a3a4b82f4df064e6',
    });
    expect((await rowsFrom('a.csv.gz', packed)).check.sizeBytes).toBe(packed.length);
  });
});

test("a spreadsheet's file: semicolons, a byte order mark, CRLF, quotes, a newline in a cell", async () => {
  const text =
    '\ufeffid;Title;Betrag;Notiz\r\n7;"Müller; Söhne";1.234,50;"eins\nzwei"\r\n008;"Er sagte ""ja""";;=1+1\r\n';
  const outcome = await rowsFrom('a.csv', text, { action: 'update', empty: 'null' });

  expect(toIds(outcome)).toEqual(['7', '008']);
  expect(toFields(outcome)).toEqual([
    { Title: 'Müller; Söhne', Betrag: '1.234,50', Notiz: 'eins\nzwei' },
    { Title: 'Er sagte "ja"', Betrag: null, Notiz: '=1+1' },
  ]);
});

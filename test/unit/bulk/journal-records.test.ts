/** Writing and parsing the lines of a journal. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeLine,
  encodeLine,
  isGroup,
  type JournalGroup,
  type JournalRecord,
  seedAfter,
} from '../../../src/bulk/journal-format.ts';
import { hashFor, sampleSession, sampleTotals } from './journal-samples.ts';

const row = fc.integer({ min: 1, max: 2 ** 40 });
const tookMs = fc.option(fc.integer({ min: 0, max: 1e9 }));
const text = fc.string({ unit: 'binary' });
const headerText = fc.string();
const hash = row.map((number) => hashFor(number % 1000));

/** Any record that listctl may write. */
const record = fc.oneof(
  fc.tuple(fc.constant('B'), fc.constant(sampleSession())),
  fc.tuple(fc.constant('I'), row, row, row, fc.option(headerText), hash),
  fc.tuple(fc.constant('I'), row, row, row, fc.option(headerText), hash, text),
  fc.tuple(fc.constantFrom('N', 'X'), row),
  fc.tuple(fc.constant('D'), row, text, fc.option(headerText), fc.nat()),
  fc.tuple(fc.constant('F'), row, fc.constantFrom('refused', 'conflict'), fc.option(fc.nat()), fc.option(text), tookMs),
  fc.tuple(fc.constant('U'), row, text, tookMs),
  fc.tuple(fc.constant('R'), row, fc.constant('applied'), text),
  fc.tuple(fc.constant('R'), row, fc.constantFrom('not-applied', 'skipped')),
  fc.tuple(fc.constant('T'), fc.nat()),
  fc.tuple(fc.constant('E'), fc.constant(sampleTotals(3, { reason: 'stopped' }))),
) as fc.Arbitrary<JournalRecord>;

const group: fc.Arbitrary<JournalGroup> = fc
  .tuple(fc.nat(), fc.array(record, { minLength: 1, maxLength: 5 }))
  .map(([timeMs, records]) => [timeMs, ...records]);

test('what is written is read again, on one line, whatever the service calls its things', () => {
  fc.assert(
    fc.property(group, (written) => {
      const line = encodeLine(written, 7);

      expect(line.indexOf(0x0a)).toBe(line.length - 1);
      const read = decodeLine(line.subarray(0, -1), 7);
      expect(JSON.stringify(read)).toBe(JSON.stringify(written));
      expect(isGroup(read)).toBe(true);
    }),
  );
});

test('a line is its checksum in eight digits, which continues that of the line before, a space, and JSON', () => {
  const line = encodeLine([5, ['N', 3]]).toString();

  expect(line).toBe(`${crc32('[5,["N",3]]').toString(16).padStart(8, '0')} [5,["N",3]]\n`);
  const second = encodeLine([6, ['N', 4]], seedAfter(Buffer.from(line), 0)).toString();
  expect(second).toBe(`${crc32('[5,["N",3]][6,["N",4]]').toString(16).padStart(8, '0')} [6,["N",4]]\n`);
});

test('what was changed is no line, in a digit of the checksum either', () => {
  const line = encodeLine([5, ['N', 3]]).subarray(0, -1);

  expect(decodeLine(line)).toEqual([5, ['N', 3]]);
  expect(decodeLine(line, 1)).toBeUndefined();
  for (const changed of [line.toString().toUpperCase(), line.toString().replace('3', '4'), '', '00000000 ', ' ']) {
    expect(decodeLine(Buffer.from(changed))).toBeUndefined();
  }
});

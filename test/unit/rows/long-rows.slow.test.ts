/** I12: rows longer than any string of V8 may be (512 Mi characters) are never held; of each, the beginning is kept. */
import { expect, test } from 'vitest';
import { csvRecords } from '../../../src/rows/csv.ts';
import { splitElements } from '../../../src/rows/json-rows.ts';

async function* between(start: string, end: string) {
  yield start;
  const part = 'y'.repeat(1024 * 1024);
  for (let left = 520; left > 0; left -= 1) yield part;
  yield end;
}

test('an element of JSON', async () => {
  const elements = [];
  for await (const part of splitElements(between('["', '",8]'), 'it')) elements.push(...part);

  expect(elements).toMatchObject([
    { isTooLong: true, text: expect.stringMatching(/^"y{999}$/) },
    { text: '8', isTooLong: false },
  ]);
});

test('a record of CSV, in quotes that close', async () => {
  const records = [];
  for await (const block of csvRecords(between('x,"', '"\n8,9\n'), ',', 1)) records.push(...block);

  expect(records).toMatchObject([
    {
      line: 1,
      source: { kind: 'text', text: expect.stringMatching(/^x,"y{997}$/) },
      fault: { problem: 'longer than 8 MiB' },
    },
    { line: 2, source: { kind: 'cells', cells: ['8', '9'] } },
  ]);
});

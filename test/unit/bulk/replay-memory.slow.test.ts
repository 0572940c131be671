/** What the rows of a run take in memory: apart from what else is read of a journal, because it takes its time. */
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createJournal } from '../../../src/bulk/journal.ts';
import { readJournal } from '../../../src/bulk/journal-read.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { doneOf, hashFor, intentOf, sampleHeader, sampleSession } from './journal-samples.ts';

test('200,000 rows take a few bytes each', async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'a.journal');
  const rows = 200_000;
  const journal = createJournal(file, sampleHeader(rows), sampleSession());
  for (let row = 1; row <= rows; row += 100) {
    const numbers = Array.from({ length: 100 }, (_, at) => row + at);
    journal.write([...numbers.map((number) => intentOf(number, number)), ...numbers.map(doneOf)], row);
  }
  await journal.close();
  const before = usedBytes();

  const replay = await readJournal(file, { boot: 'here' });

  expect(usedBytes() - before).toBeLessThan(rows * 24 + 2_000_000);
  expect(replay?.counts).toMatchObject({ done: rows, left: 0 });
  expect([replay?.hashOf(rows), replay?.nextSeq]).toEqual([hashFor(rows), rows + 1]);
});

/** What the process holds on to. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Damaged answers and files, for a moment each: from what is kept in test/fuzz/corpus, by the same chance each time. */
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { corpusOf, fuzz } from '../fuzz/fuzz-loop.ts';
import type { FuzzTarget } from '../fuzz/target.ts';
import { fuzzTargets } from '../fuzz/targets.ts';

test.each(fuzzTargets)('whatever $name is given ends as a value or as a typed failure', async (target) => {
  const { findings, runs } = await fuzz(target, { seed: 1, runsMax: target.testRuns, bytesMax: 2048 });

  expect(findings.map(({ reason, bytes }) => `${reason}: ${bytes.toString('base64').slice(0, 2000)}`)).toEqual([]);
  expect(runs).toBeGreaterThanOrEqual(corpusOf(target).length);
});

describe('the loop itself', () => {
  const broken = (run: (bytes: Buffer) => string): FuzzTarget => ({
    ...{ name: 'json', words: ['{'], testRuns: 0 },
    open: () => ({ run }),
  });
  const reasonsOf = async (run: (bytes: Buffer) => string) =>
    (await fuzz(broken(run), { seed: 1, runsMax: 60 })).findings.map(({ reason }) => reason);

  test('finds errors that are not failures, once for each kind', async () => {
    const reasons = await reasonsOf((bytes) => {
      if (bytes.includes('{')) throw new TypeError(`at ${bytes.length}`);
      return 'fine';
    });

    expect(reasons).toEqual([expect.stringMatching(/^TypeError: at \d+ \(/)]);
  });

  test('finds what keeps the processor for more than a second', async () => {
    let count = 0;
    const reasons = await reasonsOf(() => {
      count += 1;
      // The second of them, and again when it is tried twice more.
      if (count < 2 || count > 4) return 'fine';
      const started = process.cpuUsage();
      for (let isOver = false; !isOver; ) {
        const { user, system } = process.cpuUsage(started);
        isOver = user + system > 1_100_000;
      }
      return 'slow';
    });

    expect(reasons).toEqual([expect.stringMatching(/^it took \d+ ms$/)]);
  });

  test('finds what makes the process grow', async () => {
    const held: Buffer[] = [];
    const reasons = await reasonsOf(() => {
      if (held.length === 0) held.push(Buffer.alloc(400 * 1024 * 1024, 1));
      return 'fine';
    });

    expect(reasons).toEqual([expect.stringMatching(/^it grew by \d+ MiB$/)]);
  });
});

/** Damaged answers and files, for a moment each: from what is kept in test/fuzz/corpus, by the same chance each time. */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

  test('finds what is thrown and is no failure, once for each kind', async () => {
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

  test('finds it behind a target that made the process grow by more, and let that go', async () => {
    const held: Buffer[] = [];
    const growingBy = (mebibytes: number) => () => {
      if (held.length === 0) held.push(Buffer.alloc(mebibytes * 1024 * 1024, 1));
      return 'fine';
    };

    const first = await reasonsOf(growingBy(400));
    const most = process.memoryUsage.rss();
    held.length = 0;
    await collected(() => process.memoryUsage.rss() < most - 300 * 1024 * 1024);
    const second = await reasonsOf(growingBy(200));

    expect([...first, ...second]).toEqual(
      Array.from({ length: 2 }, () => expect.stringMatching(/^it grew by \d+ MiB$/)),
    );
  });

  /** Collects what nobody holds until that is seen. */
  async function collected(isSeen: () => boolean): Promise<void> {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    while (!isSeen()) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  test('gives the same inputs for the same seed, and others for another', async () => {
    const inputsOf = async (seed: number) => {
      const inputs: string[] = [];
      const run = (bytes: Buffer) => `${inputs.push(bytes.toString('base64'))}`.slice(0, 1);
      await fuzz(broken(run), { seed, runsMax: 300 });
      return inputs;
    };

    expect(await inputsOf(1)).toEqual(await inputsOf(1));
    expect(await inputsOf(1)).not.toEqual(await inputsOf(2));
  });
});

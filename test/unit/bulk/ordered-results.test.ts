import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OrderedResults } from '../../../src/bulk/ledger.ts';

describe('results', () => {
  test('leave in the order of their places, whatever order they come in, each once', async () => {
    const cases = fc.record({
      order: fc.shuffledSubarray(
        Array.from({ length: 12 }, (_, index) => index),
        { minLength: 12 },
      ),
      slow: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ order, slow }) => {
        const handed: number[] = [];
        let isHanding = false;
        const results = new OrderedResults<number>(
          (value) => {
            expect(isHanding).toBe(false);
            handed.push(value);
            if (!slow[value]) return undefined;
            isHanding = true;
            return setImmediate().then(() => {
              isHanding = false;
            });
          },
          () => {},
        );
        const places = Array.from({ length: 12 }, () => results.next());

        for (const index of order) {
          const place = places[index];
          if (place !== undefined) place.value = index;
          results.pump();
        }
        while (!results.isIdle) await setImmediate();

        expect(handed).toEqual(Array.from({ length: 12 }, (_, index) => index));
        expect(results.size).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  test('one that is there waits for those before it', () => {
    const handed: string[] = [];
    const results = new OrderedResults<string>(
      (value) => {
        handed.push(value);
        return undefined;
      },
      () => {},
    );
    const [first, second] = [results.next(), results.next()];

    second.value = 'second';
    results.pump();
    expect([handed, results.size, results.isIdle]).toEqual([[], 2, false]);
    first.value = 'first';
    results.pump();
    expect([handed, results.size, results.isIdle]).toEqual([['first', 'second'], 0, true]);
  });

  test('whoever waits for room is told when one was taken after a wait', async () => {
    const told: unknown[] = [];
    const results = new OrderedResults<number>(
      () => setImmediate(),
      (error) => told.push(error),
    );
    for (const value of [1, 2]) results.next().value = value;

    results.pump();
    expect([results.size, results.isIdle, told]).toEqual([1, false, []]);
    while (!results.isIdle) await setImmediate();

    expect(told).toEqual([undefined, undefined]);
  });

  test('after a failure nothing more is handed on, and it is told', async () => {
    const handed: number[] = [];
    const told: unknown[] = [];
    const results = new OrderedResults<number>(
      async (value) => {
        handed.push(value);
        throw new Error('full');
      },
      (error) => told.push(error),
    );
    for (const value of [1, 2, 3]) results.next().value = value;

    results.pump();
    while (!results.isIdle) await setImmediate();
    results.pump();

    expect([handed, told]).toEqual([[1], [new Error('full')]]);
  });
});

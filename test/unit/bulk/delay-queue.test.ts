import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DelayQueue } from '../../../src/bulk/queues.ts';

test('the soonest comes first; of two for one moment the one that was added first', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (moments) => {
      const waiting = new DelayQueue<number>();
      for (const [index, atMs] of moments.entries()) waiting.add(index, atMs);

      const taken: (number | undefined)[] = [];
      while (waiting.size > 0) taken.push(waiting.take(waiting.dueAtMs));

      const expected = [...moments.keys()].sort(
        (one, other) => (moments[one] ?? 0) - (moments[other] ?? 0) || one - other,
      );
      expect(taken).toEqual(expected);
    }),
  );
});

test('nothing is taken before its moment', () => {
  const waiting = new DelayQueue<string>();
  waiting.add('late', 20);
  waiting.add('soon', 10);

  expect([waiting.dueAtMs, waiting.take(9.9), waiting.take(10), waiting.take(19), waiting.take(20)]).toEqual([
    10,
    undefined,
    'soon',
    undefined,
    'late',
  ]);
  expect([waiting.dueAtMs, waiting.size, waiting.take(1e9)]).toEqual([Number.POSITIVE_INFINITY, 0, undefined]);
});

test('all of them can be taken at once, due or not, in their order', () => {
  const waiting = new DelayQueue<string>();
  waiting.add('late', 20);
  waiting.add('soon', 10);

  expect([waiting.takeAll(), waiting.size]).toEqual([['soon', 'late'], 0]);
});

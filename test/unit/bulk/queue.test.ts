import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Queue } from '../../../src/bulk/queues.ts';

test('what came first leaves first, as from an array', () => {
  const steps = fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.integer() }, { weight: 2, arbitrary: fc.constant(undefined) }),
  );
  fc.assert(
    fc.property(steps, (all) => {
      const [queue, model] = [new Queue<number>(), [] as number[]];
      for (const step of all) {
        if (step === undefined) expect(queue.shift()).toBe(model.shift());
        else {
          queue.push(step);
          model.push(step);
        }
        expect([queue.size, queue.first]).toEqual([model.length, model[0]]);
      }
    }),
  );
});

test('many go through it in their order, also where it is cut meanwhile', () => {
  const queue = new Queue<number>();
  const left: (number | undefined)[] = [];
  for (let item = 0; item < 10_000; item += 1) {
    queue.push(item);
    if (item % 3 !== 0) left.push(queue.shift());
  }
  while (queue.size > 0) left.push(queue.shift());

  expect(left).toEqual(Array.from({ length: 10_000 }, (_, index) => index));
  expect([queue.shift(), queue.size, queue.first]).toEqual([undefined, 0, undefined]);
});

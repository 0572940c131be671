import { describe, expect, test } from 'vitest';
import { type InjectedFaults, injectFaults } from '../../../src/server/fault-injection.ts';
import type { ServiceRequest } from '../../../src/server/message.ts';

const request: ServiceRequest = { method: 'POST', path: '/', headers: {}, body: new Uint8Array() };

/** A service that counts what it carried out, with a clock that is set manually. */
function serviceOn(day: InjectedFaults) {
  const world = { now: 0, doneCount: 0, waitedMs: [] as number[] };
  const service = injectFaults(
    async () => {
      world.doneCount += 1;
      return { status: 201, headers: {}, body: '{}' };
    },
    day,
    {
      now: () => world.now,
      wait: async (ms) => {
        world.waitedMs.push(ms);
      },
    },
  );
  const statuses = async (count: number): Promise<(number | undefined)[]> => {
    const all = [];
    for (let sent = 0; sent < count; sent += 1) all.push((await service(request))?.status);
    return all;
  };
  return { world, service, statuses };
}

test('a good day changes nothing and waits for nothing', async () => {
  const { world, statuses } = serviceOn({});

  expect(await statuses(100)).toEqual(Array.from({ length: 100 }, () => 201));
  expect(world).toMatchObject({ doneCount: 100, waitedMs: [] });
});

test('latency lets each answer wait, after the work is done', async () => {
  const { world, statuses } = serviceOn({ latencyMs: 250 });

  await statuses(2);

  expect(world).toMatchObject({ doneCount: 2, waitedMs: [250, 250] });
});

describe('a throttle', () => {
  test('sends Retry-After to early requests, and does not carry them out', async () => {
    const { world, service, statuses } = serviceOn({ throttlePerSecond: 0.25 });

    expect(await statuses(1)).toEqual([201]);
    expect(await service(request)).toEqual({
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '4' },
      body: '{"error":"too many requests (serve --throttle)"}',
    });
    world.now = 3999;
    expect((await service(request))?.headers['retry-after']).toBe('1');
    world.now = 4000;
    expect(await statuses(2)).toEqual([201, 429]);
    expect(world.doneCount).toBe(2);
  });

  test('lets a tenth of a second through at once, and in a second no more than was said', async () => {
    const { world, statuses } = serviceOn({ throttlePerSecond: 50 });

    expect(await statuses(6)).toEqual([201, 201, 201, 201, 201, 429]);
    let passed = 0;
    for (world.now = 1; world.now <= 1000; world.now += 1) {
      passed += (await statuses(1)).filter((status) => status === 201).length;
    }
    expect(passed).toBe(50);
  });

  test('survives a clock that is set back', async () => {
    const { world, statuses } = serviceOn({ throttlePerSecond: 10 });
    world.now = -3_600_000;

    expect(await statuses(2)).toEqual([201, 429]);
    world.now += 100;
    expect(await statuses(1)).toEqual([201]);
  });
});

describe('a fail rate', () => {
  test('of 1 lets every request fail, some before it is done and some after, in every way', async () => {
    const { world, service } = serviceOn({ failRate: 1, seed: 7 });
    const before = new Set<number | undefined>();
    const after = new Set<number | undefined>();

    for (let sent = 0; sent < 200; sent += 1) {
      const { doneCount } = world;
      const answer = await service(request);
      // An answer that promises a better time would say that nothing was done.
      expect(answer?.headers['retry-after']).toBeUndefined();
      (world.doneCount === doneCount ? before : after).add(answer?.status);
    }

    expect(before).toEqual(new Set([500, 503, undefined]));
    expect(after).toEqual(new Set([500, 504, undefined]));
  });

  test('is the share of what fails', async () => {
    const { statuses } = serviceOn({ failRate: 0.2, seed: 1 });

    const failed = (await statuses(1000)).filter((status) => status !== 201);

    expect(failed.length).toBeGreaterThan(150);
    expect(failed.length).toBeLessThan(250);
  });

  test('fails the same requests for the same seed, others for another', async () => {
    const day = { failRate: 0.5 };
    const once = await serviceOn({ ...day, seed: 3 }).statuses(50);

    expect(await serviceOn({ ...day, seed: 3 }).statuses(50)).toEqual(once);
    expect(await serviceOn({ ...day, seed: 4 }).statuses(50)).not.toEqual(once);
  });
});

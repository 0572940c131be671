import { expect, test, vi } from 'vitest';
import { AttemptWatches } from '../../../src/api/attempt-watch.ts';

test('a limit that passes while it is set is no negative delay, of which Node would warn on stderr', async () => {
  // Each look at the clock is a second later than the one before.
  let nowMs = 0;
  const clock = () => {
    nowMs += 1000;
    return nowMs;
  };
  const delays = vi.spyOn(globalThis, 'setTimeout');
  const fault = new Promise((resolve) => {
    new AttemptWatches(clock).watch({ timeoutMs: 10, signal: new AbortController().signal }, resolve);
  });
  // It holds no process.
  const held = setInterval(() => {}, 1000);

  expect(await fault).toMatchObject({ reason: expect.stringMatching(/^no complete answer/) });
  expect(delays.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  clearInterval(held);
  delays.mockRestore();
});

import { MessageChannel } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { AttemptDeadlines } from '../../../src/api/deadlines.ts';

test('a limit that passes while it is set is no negative delay, of which Node would warn on stderr', async () => {
  // Each look at the clock is a second later than the one before.
  let nowMs = 0;
  const clock = () => {
    nowMs += 1000;
    return nowMs;
  };
  const delays = vi.spyOn(globalThis, 'setTimeout');
  const error = new Promise((resolve) => {
    new AttemptDeadlines(clock).start({ timeoutMs: 10, signal: new AbortController().signal }, resolve);
  });
  // It holds no process.
  const held = setInterval(() => {}, 1000);

  expect(await error).toMatchObject({ reason: expect.stringMatching(/^no complete response/) });
  expect(delays.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  clearInterval(held);
  delays.mockRestore();
});

test('what came while the process was stopped is read before its attempt is late', async () => {
  const fail = vi.fn();
  const deadline = new AttemptDeadlines().start({ timeoutMs: 20, signal: new AbortController().signal }, fail);
  const { port1, port2 } = new MessageChannel();
  // Read where sockets are.
  port1.on('message', () => deadline.end());

  port2.postMessage('the response');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  await new Promise((resolve) => setTimeout(resolve, 20));
  port1.close();

  expect(fail).not.toHaveBeenCalled();
});

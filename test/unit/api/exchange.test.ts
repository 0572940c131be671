import { MessageChannel } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { AttemptDeadlines } from '../../../src/api/exchange.ts';

test('a limit that passes while it is set causes no negative delay, about which Node warns on stderr', async () => {
  // Each reading of the clock is a second later.
  let nowMs = 0;
  const clock = () => {
    nowMs += 1000;
    return nowMs;
  };
  const delays = vi.spyOn(globalThis, 'setTimeout');
  const error = new Promise((resolve) => {
    new AttemptDeadlines(clock).start({ timeoutMs: 10, signal: new AbortController().signal }, resolve);
  });
  // The timer does not keep the process alive.
  const held = setInterval(() => {}, 1000);

  expect(await error).toMatchObject({ reason: expect.stringMatching(/^no complete response/) });
  expect(delays.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  clearInterval(held);
  delays.mockRestore();
});

test('a response that arrived while the process was suspended is read before its attempt times out', async () => {
  const fail = vi.fn();
  const deadline = new AttemptDeadlines().start({ timeoutMs: 20, signal: new AbortController().signal }, fail);
  const { port1, port2 } = new MessageChannel();
  // Delivered in the same phase of the event loop as socket data.
  port1.on('message', () => deadline.end());

  port2.postMessage('the response');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  await new Promise((resolve) => setTimeout(resolve, 20));
  port1.close();

  expect(fail).not.toHaveBeenCalled();
});

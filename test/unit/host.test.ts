import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { hostFromProcess } from '../../src/core/host.ts';

test.each([
  { pid: 1, signals: ['SIGUSR1', 'SIGHUP', 'SIGINT', 'SIGTERM'] },
  { pid: 2, signals: ['SIGUSR1'] },
])('process $pid handles signals before it waits for the home directory', async ({ pid, signals }) => {
  const process = Object.assign(new EventEmitter(), { pid, env: {} }) as unknown as NodeJS.Process;
  const host = hostFromProcess(process);

  expect(process.eventNames()).toEqual(signals);
  expect(await host).toHaveProperty('passwdHome');
});

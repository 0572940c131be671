/** `listctl apply` as it is built: killed at any moment, and two of it at once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { itemService } from '../command/apply/item-service.ts';
import { crashLoop } from '../crash/crash-loop.ts';
import { listctl } from '../support/listctl.ts';
import { environmentFor } from '../support/scripted-service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test.each(['apply', 'apply-keyed'] as const)(
  'P05: %s is killed again and again, with its service or without: it doubles and loses nothing, and ends with no changes',
  { timeout: 120_000 },
  async (mode) => {
    const seed = Date.now() % 1_000_000;

    const [end] = await crashLoop({ seed, kills: 2, rows: [40, 60], modes: [mode] });

    expect({ seed, broken: end?.broken }).toEqual({ seed, broken: [] });
    expect(end?.counts).toMatchObject({ lost: 0, doubled: 0, phantom: 0 });
    expect((end?.kills.client ?? 0) + (end?.kills.service ?? 0)).toBeGreaterThanOrEqual(2);
  },
);

test('P23: of two at once on one state, one works, and the other waits for it or is 11: nothing is doubled', async () => {
  const count = 40;
  await using service = await itemService();
  service.script = () => undefined;
  await using folder = await temporaryFolder();
  const items = Array.from({ length: count }, (_, at) => ({ Title: `t${at}` }));
  writeFileSync(join(folder.path, 'seed.json'), JSON.stringify({ key: 'Title', items }));
  const apply = (...words: readonly string[]) =>
    listctl(['apply', 'seed.json', '--yes', '-o', 'none', ...words], environmentFor(service), { cwd: folder.path });

  const first = apply('--init', '--rate', '40/s');
  while (service.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const [refused, waited] = await Promise.all([apply(), apply('--lock-timeout', '60')]);
  const ended = await first;

  expect([ended.exitCode, refused.exitCode, waited.exitCode]).toEqual([0, 11, 0]);
  expect(refused.stderr).toContain(`process ${first.pid} on `);
  expect([service.items().size, service.writes().length]).toEqual([count, count]);
});

test('P24: the lock of one that was killed is taken at once, and what it did is told', async () => {
  await using service = await itemService({
    script: ({ nth }) => (nth === 5 ? { status: 0, silent: true, applies: true } : undefined),
  });
  await using folder = await temporaryFolder();
  const items = Array.from({ length: 10 }, (_, at) => ({ Title: `t${at}` }));
  writeFileSync(join(folder.path, 'seed.json'), JSON.stringify({ key: 'Title', items }));
  const apply = (...words: readonly string[]) =>
    listctl(['apply', 'seed.json', '--yes', '-o', 'none', ...words], environmentFor(service), { cwd: folder.path });

  const first = apply('--init', '--concurrency', '1');
  while (service.requests.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
  first.kill('SIGKILL');
  await first;
  const second = await apply();

  expect(second.exitCode).toBe(8);
  expect(second.stderr).toContain('the run before was ended half way: 4 of its steps were done, 1 in doubt');
  expect([service.items().size, service.writes().length]).toEqual([10, 10]);
});

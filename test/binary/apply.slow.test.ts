/** `listctl apply` as it is built: killed at any moment, and two of it at once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { itemService } from '../command/apply/item-service.ts';
import { crashLoop } from '../crash/crash-loop.ts';
import { listctl } from '../support/listctl.ts';
import { environmentFor } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('P05: it is killed again and again, with its service or without: it doubles and loses nothing, and ends with no changes', {
  timeout: 120_000,
}, async () => {
  // Of this one most kills meet a run at work, whatever the machine.
  const seed = 1;

  const ends = await crashLoop({ seed, kills: 8, rows: [40, 60], modes: ['apply', 'apply-keyed'] });

  for (const { mode, evidence, broken, counts } of ends) {
    expect({ seed, mode, evidence, broken }).toEqual({ seed, mode, evidence: undefined, broken: [] });
    expect(counts).toMatchObject({ lost: 0, doubled: 0, phantom: 0 });
  }
  const { kills, folded } = ends.reduce(
    (sum, end) => ({ kills: sum.kills + end.kills.client + end.kills.service, folded: sum.folded + end.folded }),
    { kills: 0, folded: 0 },
  );
  expect(kills).toBeGreaterThanOrEqual(8);
  // Otherwise no state was seen while its run was in progress.
  expect(folded).toBeGreaterThan(0);
});

test('P23: of two at once on one state, one works, and the other waits for it or is 11: nothing is doubled', async () => {
  const count = 40;
  await using service = await itemService();
  service.script = () => undefined;
  await using directory = await temporaryDirectory();
  const items = Array.from({ length: count }, (_, at) => ({ Title: `t${at}` }));
  writeFileSync(join(directory.path, 'manifest.json'), JSON.stringify({ key: 'Title', items }));
  const apply = (...words: readonly string[]) =>
    listctl(['apply', 'manifest.json', '--yes', '-o', 'none', ...words], environmentFor(service), {
      cwd: directory.path,
    });

  const first = apply('--init', '--rate', '40/s');
  while (service.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const [refused, waited] = await Promise.all([apply(), apply('--lock-timeout', '60')]);
  const ended = await first;

  expect([ended.exitCode, refused.exitCode, waited.exitCode]).toEqual([0, 11, 0]);
  expect(refused.stderr).toContain(`process ${first.pid} on `);
  expect([service.items().size, service.writes().length]).toEqual([count, count]);
});

test('P24: breaks the lock of a killed process at once, and reports what that process did', async () => {
  await using service = await itemService();
  service.script = ({ nth }) => (nth === 5 ? { status: 0, silent: true, applies: true } : undefined);
  await using directory = await temporaryDirectory();
  const items = Array.from({ length: 10 }, (_, at) => ({ Title: `t${at}` }));
  writeFileSync(join(directory.path, 'manifest.json'), JSON.stringify({ key: 'Title', items }));
  const apply = (...words: readonly string[]) =>
    listctl(['apply', 'manifest.json', '--yes', '-o', 'none', ...words], environmentFor(service), {
      cwd: directory.path,
    });

  const first = apply('--init', '--concurrency', '1');
  while (service.requests.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
  first.kill('SIGKILL');
  await first;
  const second = await apply();

  expect(second.exitCode).toBe(8);
  expect(second.stderr).toContain('recovered an interrupted run: 4 steps applied, 1 in doubt');
  expect([service.items().size, service.writes().length]).toEqual([10, 10]);
});

/** The user's home: what works without one. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';
import { listService } from './bulk/list-service.ts';

test('without a home a run is recorded where --journal says, and all of its commands find it there', async () => {
  await using service = await listService();
  await using directory = await temporaryDirectory();
  const env = { ...environmentFor(service), LISTCTL_CONFIG_DIR: '', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
  const world = { cwd: directory.path, passwdHome: '', env };
  writeFileSync(join(directory.path, 'rows.csv'), 'Title\na\nb\n');
  const create = ['items', 'create', '--from', 'rows.csv', '-o', 'none'];
  const none = 'cannot find the home directory';

  const refused = await run(create, world);
  expect(refused).toMatchObject({ exitCode: 10, stderr: expect.stringContaining(none) });
  expect(refused.stderr).toContain('set HOME, or LISTCTL_STATE_DIR to a directory');
  expect(service.requests).toEqual([]);
  for (const words of [
    ['runs', 'list'],
    ['runs', 'show', 'last'],
    ['items', 'get', '1', '--local'],
  ]) {
    expect(await run(words, world)).toMatchObject({ exitCode: 10, stderr: expect.stringContaining(none) });
  }

  const piped = ['items', 'create', '--from', '-', '--input-format', 'csv', '-o', 'none', '--journal', 'piped.journal'];
  for (const [words, stdin] of [
    [[...create, '--journal', 'a.journal'], ''],
    [piped, 'Title\nc\n'],
  ] as const) {
    expect(await run(words, { ...world, stdin })).toMatchObject({ exitCode: 0 });
  }
  expect((await run(['runs', 'show', 'a.journal', '-o', 'id'], world)).stdout).toBe('1\n2\n');
  writeFileSync(join(directory.path, 'manifest.yaml'), '{key: Title, items: [{Title: d}]}');
  expect(await run(['apply', 'manifest.yaml', '--init', '--yes'], world)).toMatchObject({ exitCode: 0 });
  const undone = await run(['runs', 'undo', 'a.journal', '--yes', '-o', 'none'], world);
  expect(undone).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 undone') });
  const own = await run(['runs', 'undo', 'piped.journal', '--yes', '-o', 'none', '--journal', 'u.journal'], world);
  expect(own).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 undone') });
  const again = await run(['runs', 'undo', 'a.journal', '--yes', '--journal', 'u.journal'], world);
  expect(again).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('u.journal is the journal of another run'),
  });
  expect(readdirSync(directory.path).sort()).toEqual([
    ...[
      'a.journal',
      'a.journal.undo',
      'manifest.yaml',
      'manifest.yaml.state.json',
      'piped.journal',
      'rows.csv',
      'u.journal',
    ],
  ]);
  expect(await run(['runs', 'remove', 'a.journal'], world)).toMatchObject({ exitCode: 0 });
});

test('a state directory that cannot be read does not stop a run with --journal', async () => {
  await using service = await listService();
  await using directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'rows.csv'), 'Title\na\n');
  const state = { LISTCTL_STATE_DIR: join(directory.path, 'rows.csv') };
  const env = { ...environmentFor(service), ...state, LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
  const create = ['items', 'create', '--from', 'rows.csv', '-o', 'none', '--journal', 'a.journal'];

  const resumed = await run([...create, '--resume'], { cwd: directory.path, env });
  const created = await run(create, { cwd: directory.path, env });

  expect([resumed.exitCode, created.exitCode, service.requests.length]).toEqual([2, 0, 1]);
});

/** What a person does with a list, over the built-in service of Microsoft Graph: each command, from create to undo. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { type Run, run, testHost } from '../support/test-host.ts';

let directory: TemporaryDirectory;
beforeEach(async () => {
  directory = await temporaryDirectory();
  return () => directory[Symbol.asyncDispose]();
});

const env = () => ({
  LISTCTL_BASE_URL: `local:${join(directory.path, 'items')}`,
  LISTCTL_SERVICE: 'graph',
  LISTCTL_SITE: 'contoso.sharepoint.com:/sites/x',
  LISTCTL_LIST: 'Books',
  LISTCTL_STATE_DIR: directory.path,
});

function listctl(...words: readonly string[]): Promise<Run> {
  return run(words, { env: env(), cwd: directory.path });
}

function file(name: string, text: string): string {
  const path = join(directory.path, name);
  writeFileSync(path, text);
  return path;
}

async function titles(...ids: readonly string[]): Promise<string[]> {
  const { stdout } = await listctl('items', 'get', ...ids, '-q', 'fields.Title', '-o', 'jsonl');
  return stdout.trimEnd().split('\n');
}

test('one item: create, get, update, delete', async () => {
  expect(await listctl('items', 'create', '-f', 'Title=Dune', '-f', 'Year:=1965', '-o', 'id')).toMatchObject({
    exitCode: 0,
    stdout: '1\n',
  });
  const updated = await listctl('items', 'update', '1', '-f', 'Title=Dune Messiah', '--unset', 'Year', '-o', 'json');
  expect(JSON.parse(updated.stdout)).toMatchObject({ id: '1', fields: { Title: 'Dune Messiah' } });
  const got = JSON.parse((await listctl('items', 'get', '1', '-o', 'json')).stdout);
  expect(got.fields).toMatchObject({ Title: 'Dune Messiah' });
  expect(got.fields).not.toHaveProperty('Year');
  expect(await listctl('items', 'delete', '1')).toMatchObject({ exitCode: 0 });
  expect(await listctl('items', 'get', '1')).toMatchObject({ exitCode: 4 });
});

test('an item is edited: what changed is sent with the entity tag of the body', async () => {
  await listctl('items', 'create', '-f', 'Title=Dune', '-o', 'none');
  const editor = file(
    'editor',
    `#!/bin/sh\ncp "$1" '${join(directory.path, 'seen')}'\nsed -i "s/^Title: Dune/Title: Solaris/" "$1"\n`,
  );
  chmodSync(editor, 0o700);
  const given = { ...env(), EDITOR: editor, NO_COLOR: '1' };
  const host = testHost({ env: given, terminal: 120, cwd: directory.path });
  const running = main(['items', 'edit', '1', '-o', 'none'], { ...host, env: { ...host.env, ...given } });
  await host.answer('Send ', 'y\n');
  expect(await running).toBe(0);
  expect(await titles('1')).toEqual(['Solaris']);
  expect(readFileSync(join(directory.path, 'seen'), 'utf8')).toMatch(/^Title: Dune\n$/m);
  expect(readFileSync(join(directory.path, 'seen'), 'utf8')).not.toContain('ContentType');
});

test('a file: create, update and delete, and the run undone', async () => {
  const rows = file('books.csv', 'Title\nDune\nSolaris\n');
  expect(await listctl('items', 'create', '--from', rows, '-o', 'none')).toMatchObject({ exitCode: 0 });
  const changes = file('changes.csv', 'id,Title\n1,Dune Messiah\n2,Eden\n');
  expect(await listctl('items', 'update', '--from', changes, '-o', 'none')).toMatchObject({ exitCode: 0 });
  expect(await titles('1', '2')).toEqual(['Dune Messiah', 'Eden']);
  expect(await listctl('items', 'create', '--from', rows, '-o', 'none', '--restart')).toMatchObject({ exitCode: 0 });
  expect(await listctl('runs', 'undo', 'last', '--yes', '-o', 'none')).toMatchObject({ exitCode: 0 });
  expect(await listctl('items', 'get', '3')).toMatchObject({ exitCode: 4 });
  const ids = file('ids.txt', '1\n2\n');
  expect(await listctl('items', 'delete', '--from', ids, '--yes', '-o', 'none')).toMatchObject({ exitCode: 0 });
});

test('an undo does not delete an item that was changed since: the entity tag is that of the body', async () => {
  const rows = file('books.csv', 'Title\nDune\nSolaris\n');
  await listctl('items', 'create', '--from', rows, '-o', 'none');
  await listctl('items', 'update', '2', '-f', 'Title=Eden', '-o', 'none');
  const { exitCode } = await listctl('runs', 'undo', 'last', '--yes', '-o', 'none');
  expect(exitCode).toBe(9);
  expect(await listctl('items', 'get', '1')).toMatchObject({ exitCode: 4 });
  expect(await titles('2')).toEqual(['Eden']);
});

describe('apply', () => {
  const manifest = 'key: Title\nitems:\n  - {Title: Dune, Year: 1965}\n  - {Title: Solaris}\n';

  test('creates, sees and sets back a change, and then has nothing to do', async () => {
    file('books.yaml', manifest);
    const apply = (...words: readonly string[]) => listctl('apply', 'books.yaml', '-o', 'none', ...words);
    expect(await apply('--init', '--yes')).toMatchObject({ exitCode: 0 });
    await listctl('items', 'update', '1', '-f', 'Year:=1', '-o', 'none');
    expect(await apply('--dry-run', '--detailed-exitcode')).toMatchObject({ exitCode: 12 });
    expect(await apply('--yes')).toMatchObject({ exitCode: 0 });
    expect(await apply('--dry-run', '--detailed-exitcode')).toMatchObject({ exitCode: 0 });
    const { stdout } = await listctl('items', 'get', '1', '-o', 'json');
    expect(JSON.parse(stdout).fields.Year).toBe(1965);
  });

  test('a state of Graph is refused for the other service', async () => {
    file('books.yaml', manifest);
    await listctl('apply', 'books.yaml', '--init', '--yes', '-o', 'none');
    const other = { ...env(), LISTCTL_SERVICE: 'list-item' };
    const { exitCode, stderr } = await run(['apply', 'books.yaml', '--dry-run'], { env: other, cwd: directory.path });
    expect(exitCode).toBe(10);
    expect(stderr).toContain('graph+local:');
  });
});

test('a run records the ids of site and list, and is found by their names again', async () => {
  const rows = file('books.csv', 'Title\nDune\nSolaris\n');
  await listctl('items', 'create', '--from', rows, '-o', 'none');
  const { exitCode, stderr } = await listctl('items', 'create', '--from', rows, '--resume', '-o', 'none');
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const shown = await listctl('runs', 'show', 'last', '-o', 'json');
  expect(JSON.parse(shown.stdout).list).toMatch(/^[0-9a-f-]{36}$/);
});

/** "nothing was sent": printed in one place, from the number of writes that were handed to a transport. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const refused = { status: 400, body: { error: 'no' } };
const created = { status: 201, body: { id: '1', fields: { Title: 'a' } } };
const isSaid = (stderr: string) => stderr.endsWith('\n  nothing was sent\n');

test.for([
  ['a create with a wrong field', ['items', 'create', '-f', 'Title'], true],
  ['an update with a wrong id', ['items', 'update', '..', '-f', 'a=b'], true],
  ['an apply of a manifest that is missing', ['apply', 'nosuch.yaml'], true],
  ['an import of a file that is missing', ['items', 'create', '--from', 'nosuch.csv'], true],
  ['an undo of no run', ['runs', 'undo', 'last'], true],
  ['a create that is refused', ['items', 'create', '-f', 'Title=a'], false],
  ['an import whose rows are refused', ['items', 'create', '--from', 'a.csv', '--max-errors', '1', '--restart'], false],
  ['a read', ['items', 'get', '..'], false],
] as const)('%s', async ([, words, says]) => {
  await using service = await scriptedService(refused);
  await using directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'a.csv'), 'Title\na\nb\n');
  const how = {
    cwd: directory.path,
    env: { ...environmentFor(service), LISTCTL_STATE_DIR: join(directory.path, 'state') },
  };

  const text = await run([...words], how);
  const json = await run([...words, '--json'], how);

  expect([text.stderr, isSaid(text.stderr)]).toEqual([text.stderr, says]);
  const { error } = JSON.parse(json.stderr.trimEnd().split('\n').at(-1) ?? '');
  expect([json.stderr, error.outcome === 'not-sent', error.hint ?? '']).toEqual([
    json.stderr,
    says,
    expect.not.stringContaining('nothing was sent'),
  ]);
});

test('a create without a connection, and not one whose response was lost', async () => {
  await using service = await scriptedService({ status: 200, cut: true });
  const lost = await run(['items', 'create', '-f', 'Title=a', '--retries', '0'], { env: environmentFor(service) });
  const env = { ...environmentFor(service), LISTCTL_BASE_URL: 'http://127.0.0.1:9/v1.0' };

  const unreachable = await run(['items', 'create', '-f', 'Title=a', '--retries', '0'], { env });

  expect([unreachable.exitCode, isSaid(unreachable.stderr)]).toEqual([7, true]);
  expect([lost.exitCode, isSaid(lost.stderr)]).toEqual([8, false]);
});

test('a run that stopped after its first row', async () => {
  await using service = await scriptedService(created, { status: 401, body: {} });
  await using directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'a.csv'), 'Title\na\nb\n');
  const env = { ...environmentFor(service), LISTCTL_STATE_DIR: join(directory.path, 'state') };

  const { exitCode, stderr } = await run(['items', 'create', '--from', 'a.csv'], { cwd: directory.path, env });

  expect([exitCode, stderr]).toEqual([3, expect.not.stringContaining('nothing was sent')]);
});

test('no message has the words, but the one that is printed from the number, and the texts of help', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const lines = files.flatMap((name) =>
    readFileSync(join('src', name), 'utf8')
      .split('\n')
      .filter((line) => line.includes('nothing was sent') && !/^\s*(\/\/|\/?\*)/.test(line))
      .map((line) => [name, line.trim()] as const),
  );
  const others = lines.filter(([name, line]) => !/^2:/.test(line) && name !== join('commands', 'help', 'topics.ts'));
  expect(others.map(([name]) => name)).toEqual([join('cli', 'report.ts')]);
});

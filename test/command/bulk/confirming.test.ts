/** What is asked before anything is sent, and what is only shown. */
import { describe, expect } from 'vitest';
import { main } from '../../../src/main.ts';
import { keptFor, settingsDirectory } from '../../support/settings-directory.ts';
import { testHost } from '../../support/test-host.ts';
import { create, jsonLines, type ManyWorld, manyWorld, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { listService } from './list-service.ts';

const ids = '1\n2\n3\n';

describe('delete --from', () => {
  test('P22: needs --yes where it cannot ask: 2, nothing sent', async ({ service, world }) => {
    const words = ['items', 'delete', '--from', world.file('ids.txt', ids)];

    for (const world_ of [{}, { terminal: 80, env: { CI: 'true' } }, { terminal: 80, more: ['--no-input'] }]) {
      const { more = [], ...where } = world_ as { readonly more?: readonly string[] };
      const { exitCode, stdout, stderr } = await world.run([...words, ...more], where);
      expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
      expect(stderr).toContain('--yes');
    }
  });

  test.each([
    { typed: 'y\n', exit: 0, sent: 3 },
    { typed: 'n\n', exit: 2, sent: 0 },
    { typed: '\n', exit: 2, sent: 0 },
    { typed: '\u0003', exit: 130, sent: 0 },
    { typed: '\u0004', exit: 2, sent: 0 },
  ])('asks on a terminal, with the count and the list: $typed', async ({ typed, exit, sent }) => {
    const { service, world } = await listWorld();
    for (const id of ['1', '2', '3']) service.items.set(id, {});

    const { exitCode, asked } = await answering(
      world,
      ['items', 'delete', '--from', world.file('ids.txt', ids)],
      typed,
    );

    expect([exitCode, service.requests.length]).toEqual([exit, sent]);
    for (const text of ['Delete the 3 items', 'list "tasks"', 'site "home"', `on ${new URL(service.url).origin}?`]) {
      expect(asked.replaceAll(/\n */g, '')).toContain(text);
    }
  });

  test.each([
    { max: '3', more: [], exit: 0, sent: 3 },
    { max: '2', more: [], exit: 2, sent: 0 },
    { max: '3', more: ['--dry-run'], exit: 0, sent: 0 },
    { max: '2', more: ['--dry-run'], exit: 2, sent: 0 },
  ])('of 3 items with --max-delete $max $more is $exit: $sent are sent', async ({ max, more, exit, sent }) => {
    const { service, world } = await listWorld();
    for (const id of ['1', '2', '3']) service.items.set(id, {});
    const words = ['items', 'delete', '--from', world.file('ids.txt', ids), '--yes', '--max-delete', max, ...more];

    const { exitCode } = await world.run(words);

    expect([exitCode, service.requests.length]).toEqual([exit, sent]);
  });

  test('a "no" leaves nothing behind: the same command may be typed again', async () => {
    const { service, world } = await listWorld();
    for (const id of ['1', '2', '3']) service.items.set(id, {});
    const words = ['items', 'delete', '--from', world.file('ids.txt', ids)];

    await answering(world, words, 'n\n');
    const journals = world.journals();
    const { exitCode } = await world.run([...words, '--yes']);

    expect([journals, exitCode]).toEqual([[], 0]);
  });

  test('reports an invalid file before the prompt', async ({ service, world }) => {
    const { exitCode, stderr } = await world.run(['items', 'delete', '--from', world.file('ids.txt', '1\n..\n')], {
      terminal: 80,
    });

    expect([exitCode, service.requests]).toEqual([2, []]);
    expect(stderr).not.toContain('Delete the');
  });
});

describe('create --from of rows that have a run', () => {
  const again = 'Create them again? (y/N)';
  const rest = 'is incomplete: 1 failed of 1 row. Resume it? (y/N)';

  test.each([
    { first: 201, question: again, typed: 'y\n', exit: 0, sent: 2, journals: 2 },
    { first: 201, question: again, typed: '\n', exit: 2, sent: 1, journals: 1 },
    { first: 400, question: rest, typed: 'y\n', exit: 0, sent: 2, journals: 1 },
    { first: 400, question: rest, typed: 'n\n', exit: 2, sent: 1, journals: 1 },
  ])('asks after a $first, and $typed ends with $exit', async ({ first, question, typed, exit, sent, journals }) => {
    const { service, world } = await listWorld(({ nth }) => (nth === 1 && first === 400 ? { status: 400 } : undefined));
    const words = create(world.file('a.csv', titles(1)), '-o', 'none');
    await world.run(words);

    const { exitCode, asked } = await answering(world, words, typed, question);

    expect([exitCode, service.requests.length, world.journals().length]).toEqual([exit, sent, journals]);
    expect(asked).toContain('Run ');
  });
});

describe('a protected profile', () => {
  const verbs = [
    { words: ['items', 'create', '--input-format', 'csv'], content: titles(3) },
    { words: ['items', 'update', '-f', 'a=1', '--input-format', 'ids'], content: ids },
    { words: ['items', 'delete', '--yes', '--input-format', 'ids'], content: ids },
  ];

  test.each(verbs)('$words needs --confirm before anything is sent', async ({ words, content }) => {
    await using service = await listService(({ id, nth }) => ({
      status: 200,
      body: { id: id ?? `${nth}`, fields: {} },
    }));
    await using settings = await settingsDirectory(keptFor(service, { protected: true }));
    await using world = await manyWorld(service);
    const env = { ...settings.env, LISTCTL_BASE_URL: '', LISTCTL_TOKEN: '', LISTCTL_SITE: '', LISTCTL_LIST: '' };
    const all = [...words, '--from', world.file('rows', content)];

    const without = await world.run(all, { env });
    const wrong = await world.run([...all, '--confirm', 'dev'], { env });
    const [sent, journals] = [service.requests.length, world.journals().length];
    const right = await world.run([...all, '--confirm', 'prod'], { env });

    expect([without.exitCode, wrong.exitCode, right.exitCode]).toEqual([2, 2, 0]);
    expect([sent, journals, service.requests.length]).toEqual([0, 0, 3]);
    expect(without.stderr).toContain('--confirm prod');
    expect(without.stdout + wrong.stdout).toBe('');
  });

  test('does not apply to reads', async () => {
    const { service, world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
    await using settings = await settingsDirectory(keptFor(service, { protected: true }));
    const env = { ...settings.env, LISTCTL_BASE_URL: '', LISTCTL_TOKEN: '', LISTCTL_SITE: '', LISTCTL_LIST: '' };

    const { exitCode } = await world.run(['items', 'get', '--from', world.file('ids.txt', ids)], { env });

    expect([exitCode, service.requests.length]).toEqual([0, 3]);
  });
});

describe('--dry-run', () => {
  test('shows every request, sends and records nothing, needs no --yes and no token', async ({ service, world }) => {
    const file = world.file('ids.txt', ids);

    const { exitCode, stdout, stderr } = await world.run(['items', 'delete', '--from', file, '--dry-run'], {
      env: { LISTCTL_TOKEN: '' },
    });

    expect([exitCode, service.requests, world.journals(), world.leftovers()]).toEqual([0, [], [], []]);
    expect(jsonLines(stdout)).toMatchObject(
      ['1', '2', '3'].map((id) => ({ method: 'DELETE', url: `${service.url}/sites/home/lists/tasks/items/${id}` })),
    );
    expect(stderr).toContain('3 of 3 rows would be sent');
  });

  test("-o curl prints commands for a shell, with the token's variable in its place", async ({ service, world }) => {
    const file = world.file('a.csv', "Title\nit's\n$HOME\n");

    const { exitCode, stdout } = await world.run(create(file, '--dry-run', '-o', 'curl'));

    expect([exitCode, service.requests]).toEqual([0, []]);
    expect(stdout.match(/^curl /gm)).toHaveLength(2);
    expect(stdout).toContain('$LISTCTL_TOKEN');
    expect(stdout).not.toContain('test-token');
    expect(stdout).toContain(`'{"fields":{"Title":"$HOME"}}'`);
  });

  test('-o curl implies it', async ({ service, world }) => {
    const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '-o', 'curl'));

    expect([exitCode, service.requests]).toEqual([0, []]);
  });

  test('shows ten on a terminal, and the number of the others', async ({ world }) => {
    const { exitCode, stdout, stderr } = await world.run(
      create(world.file('a.csv', titles(25)), '--dry-run', '-o', 'pretty'),
    );

    expect(exitCode).toBe(0);
    expect(stdout.match(/POST/g)).toHaveLength(10);
    expect(stderr).toContain('25 of 25 rows would be sent; 15 more are not shown');
  });

  test('reads and checks every row: an invalid one is 2, and with --skip-invalid it is left out', async ({ world }) => {
    const file = world.file('a.csv', 'Title,Note\nt1,x\nt2\nt3,y\n');

    const strict = await world.run(create(file, '--dry-run'));
    const lenient = await world.run(create(file, '--dry-run', '--skip-invalid'));

    expect([strict.exitCode, strict.stdout, lenient.exitCode]).toEqual([2, '', 0]);
    expect(jsonLines(lenient.stdout)).toHaveLength(2);
    expect(lenient.stderr).toContain('2 of 3 rows would be sent');
  });

  test("shows a shard's own rows, and is in no run's way", async () => {
    const { world } = await listWorld(() => ({ status: 401 }));
    const file = world.file('a.csv', titles(5));
    await world.run(create(file));

    const whole = await world.run(create(file, '--dry-run'));
    const shard = await world.run(create(file, '--dry-run', '--shard', '2/2'));

    expect([whole.exitCode, jsonLines(whole.stdout).length, jsonLines(shard.stdout).length]).toEqual([0, 5, 2]);
  });
});

/** Types an answer once a question was asked. */
async function answering(world: ManyWorld, words: readonly string[], typed: string, question = '?') {
  const host = testHost({ cwd: world.path, env: world.env, terminal: 200 });
  const running = main(words, host);
  await host.answer(question, typed);
  // A prompt breaks its lines where it likes.
  return { exitCode: await running, asked: host.printed.stderr.replaceAll('\n', '') };
}

/** What keeps a manifest that was cut short from emptying its list: refusals, --max-delete and a typed confirmation. */
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { type ApplyWorld, test } from './fixtures.ts';

function items(count: number) {
  return Array.from({ length: count }, (_, at) => ({ Title: `t${at + 1}` }));
}

/** Makes a list of 20 items, whose manifest names only the given number of them by now. */
async function pruneTo(left: number, world: ApplyWorld): Promise<void> {
  await world.begin(...items(20));
  world.manifest(...items(left));
}

describe('a manifest without a value', () => {
  test.for([
    ['manifest.csv', ''],
    ['manifest.csv', '\n\n'],
    ['manifest.csv', 'Title,Note\n'],
    ['manifest.tsv', 'Title\n'],
    ['manifest.jsonl', ''],
    ['manifest.jsonl', ' \n\n'],
    ['manifest.json', ''],
    ['manifest.json', ' \n'],
    ['manifest.yaml', ''],
    ['manifest.yaml', '# nothing\n'],
    ['manifest.csv.gz', gzipSync('')],
    ['manifest.jsonl.gz', gzipSync('\n')],
    ['manifest.json.gz', gzipSync('')],
  ] as const)('%s of %j is 2: nothing is deleted', async ([name, content], { service, world }) => {
    await world.begin({ Title: 'a' });
    world.file(name, content);
    const flags = ['--key', 'Title', '--state', 'manifest.yaml.state.json', '--prune', '--yes', '--max-delete', '1'];

    const { exitCode, stderr } = await world.run(['apply', name, ...flags]);

    expect([exitCode, service.writes()]).toEqual([2, ['POST a']]);
    expect(stderr).toContain('nothing was sent');
    // A header alone is refused as well.
    expect(stderr).not.toContain('would mean no rows');
  });

  test.for(['csv', 'json', 'jsonl'])('is 2 from stdin as well (%s)', async (format, { service, world }) => {
    await world.begin({ Title: 'a' });
    const flags = ['--key', 'Title', '--state', 'manifest.yaml.state.json', '--prune', '--yes'];

    const { exitCode } = await world.run(['apply', '-', '--input-format', format, ...flags], { stdin: '' });

    expect([exitCode, service.writes()]).toEqual([2, ['POST a']]);
  });

  test.for([
    ['manifest.json', '[]'],
    ['manifest.json', '{"items":[]}'],
    ['manifest.yaml', 'items: []'],
  ] as const)('is not one that says that the list is empty: %s of %s', async ([name, content], { service, world }) => {
    await world.begin({ Title: 'a' });
    world.file(name, content);
    const flags = ['--key', 'Title', '--state', 'manifest.yaml.state.json', '--prune', '--yes'];

    const { exitCode } = await world.run(['apply', name, ...flags]);

    expect([exitCode, service.writes()]).toEqual([0, ['POST a', 'DELETE 1']]);
  });
});

describe('--prune', () => {
  test.for([
    { left: 10, more: [], exit: 0, deleted: 10 },
    { left: 9, more: [], exit: 2, deleted: 0 },
    { left: 9, more: ['--max-delete', '11'], exit: 0, deleted: 11 },
    { left: 9, more: ['--max-delete', '10'], exit: 2, deleted: 0 },
    { left: 19, more: ['--max-delete', '0'], exit: 2, deleted: 0 },
  ])('to $left of 20 with $more: $exit, $deleted gone', async ({ left, more, exit, deleted }, { service, world }) => {
    await pruneTo(left, world);

    const { exitCode, stderr } = await world.apply('--prune', '--yes', ...more);

    expect([exitCode, service.items().size]).toEqual([exit, 20 - deleted]);
    if (exit === 2) expect(stderr).toContain(`--max-delete ${20 - left}`);
  });

  test('of fewer than half is not guarded', async ({ service, world }) => {
    await world.begin(...items(24));
    world.manifest(...items(12));

    const { exitCode } = await world.apply('--prune', '--yes');

    expect([exitCode, service.items().size]).toEqual([0, 12]);
  });

  test.for([
    { typed: '11\r', yes: [], exit: 0 },
    { typed: 'tasks\r', yes: ['--yes'], exit: 0 },
    { typed: 'y\r', yes: ['--yes'], exit: 2 },
    { typed: '\r', yes: [], exit: 2 },
  ])('on a terminal $typed is typed, $yes: exit $exit', async ({ typed, yes, exit }, { service, world }) => {
    await pruneTo(9, world);

    const run = await world.answering(['apply', 'manifest.yaml', '--prune', ...yes], typed, {}, 'managed items');

    expect([run.exitCode, service.items().size]).toEqual([exit, exit === 0 ? 9 : 20]);
    expect(run.stderr.replaceAll(/\s+/g, ' ')).toContain('tasks" to delete 11 of 20 managed items');
  });

  test('is guarded when a saved plan is carried out; saving the plan prints a warning', async ({ service, world }) => {
    await pruneTo(9, world);

    const saved = await world.apply('--prune', '--out', 'plan.json', '-o', 'none');
    const refused = await world.run(['apply', 'plan.json', '--yes']);
    const before = service.items().size;
    const allowed = await world.run(['apply', 'plan.json', '--max-delete', '11']);

    expect([saved.exitCode, refused.exitCode, before]).toEqual([0, 2, 20]);
    expect(saved.stderr).toContain('pass --max-delete 11');
    expect([allowed.exitCode, service.items().size]).toEqual([0, 9]);
  });

  test.for([[['--dry-run']], [['--out', 'plan.json']]] as const)('%j beyond it is 2', async ([more], { world }) => {
    await pruneTo(9, world);

    const { exitCode } = await world.apply('--prune', '--max-delete', '10', ...more);

    expect(exitCode).toBe(2);
  });
});

test.for(['x', '-1', '1.5', ''])('--max-delete %j is 2', async (text, { world }) => {
  await pruneTo(20, world);

  const { exitCode, stderr } = await world.apply(`--max-delete=${text}`);

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--max-delete')]);
});

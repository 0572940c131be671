/** The plan: a diff on a terminal, JSON for scripts, and nothing sent if only the plan was requested. */
import { describe, expect } from 'vitest';
import { a, b, test } from './fixtures.ts';

describe('a key that was changed in the manifest', () => {
  const renamed = { ...b, Title: 'new b' };

  test.for([
    ['a plan', ['--dry-run'], true],
    ['a plan with --prune', ['--dry-run', '--prune'], true],
    ['a plan as YAML', ['--dry-run', '-o', 'yaml'], true],
    ['an apply that was not confirmed', [], true],
    ['an apply that is confirmed', ['--yes'], false],
  ] as const)('%s says how to keep its item', async ([, words, isSaid], { world }) => {
    await world.begin(a, b);
    world.manifest(a, renamed);

    const { stderr } = await world.apply(...words);

    const said = `if "b" was renamed to "new b", keep its item with: listctl state move manifest.yaml b 'new b'\n`;
    expect(stderr.includes(said)).toBe(isSaid);
  });

  test('is not guessed', async ({ world }) => {
    await world.begin(a, b, { Title: 'c', Note: 'same' }, { Title: 'd', Note: 'same' }, { Title: 'e' });
    world.manifest({ ...a, Title: 'f', Note: 'other' }, { Title: 'g', Note: 'same' }, { Title: 'h' });

    expect((await world.apply('--dry-run')).stderr).toBe('');
  });

  test('has its item with the command', async ({ service, world }) => {
    await world.begin(a, b);
    world.manifest(a, renamed);

    await world.state('move', 'b', 'new b');
    const { exitCode } = await world.apply('--yes', '-o', 'none');

    expect([exitCode, service.writes().at(-1)]).toEqual([0, 'PATCH 2']);
  });
});

describe('--dry-run', () => {
  test('shows the plan, and sends, asks and keeps nothing', async ({ changed }) => {
    const { world, service, writesSince } = changed;
    const state = world.text('manifest.yaml.state.json');

    const { exitCode, stdout, stderr } = await world.apply('--dry-run', '--prune');

    expect([exitCode, stderr, writesSince(), world.text('manifest.yaml.state.json')]).toEqual([0, '', 0, state]);
    expect(stdout.replace(service.url, 'URL')).toBe(`list "tasks" of site "home" at URL

~ key "a", id 1
    Note: x → new
+ key "d"
    Title: d
- key "c", id 3
    Title: c
    Note:  z

Plan: 1 to create, 1 to update, 1 to delete, 1 unchanged
`);
  });

  test('-o markdown is for the comment of a pull request, and only for a plan', async ({ changed }) => {
    const { world, service, writesSince } = changed;

    const { exitCode, stdout } = await world.run(['plan', 'manifest.yaml', '-o', 'markdown']);
    const refused = await world.apply('--yes', '-o', 'markdown');
    const other = await world.run(['items', 'get', '1', '-o', 'markdown']);

    expect([exitCode, stdout.replace(service.url, 'URL')]).toEqual([
      0,
      expect.stringMatching(
        /^\*\*Plan: .*\*\*\n\n```diff\n# list "tasks" of site "home" at URL\n! key "a", id 1\n.*\n```\n$/s,
      ),
    ]);
    expect([refused.exitCode, other.exitCode, writesSince()]).toEqual([2, 2, 0]);
    expect(refused.stderr).toContain('only a plan can be printed as markdown');
  });

  test('-o json is the plan for machines, in its documented form', async ({ changed }) => {
    const { world, service } = changed;
    const { items, lineage, serial } = world.known();

    const { exitCode, stdout } = await world.apply('--dry-run', '-o', 'json');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      listctl: 'plan',
      version: 2,
      target: { origin: service.url, site: 'home', list: 'tasks' },
      state: { lineage, serial },
      key: 'Title',
      manifest: { file: 'manifest.yaml', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      prune: false,
      refresh: true,
      counts: {
        ...{ create: 1, update: 1, delete: 0, unchanged: 1, inDoubt: 0, conflict: 0 },
        ...{ orphaned: 1, drifted: 0, gone: 0, forgotten: 0 },
      },
      conflicts: [],
      inDoubt: [],
      orphaned: ['c'],
      steps: [
        {
          ...{ number: 1, action: 'update', key: 'a', id: '1', etag: items['a']?.etag },
          ...{ fields: { Note: 'new' }, before: { Note: 'x' }, after: { ...a, Note: 'new' } },
        },
        { number: 2, action: 'create', key: 'd', fields: { Title: 'd' }, after: { Title: 'd' } },
      ],
    });
  });

  test('-q asks the plan', async ({ changed }) => {
    const { exitCode, stdout } = await changed.world.apply('--dry-run', '-q', 'steps[].key', '-o', 'json');

    expect([exitCode, JSON.parse(stdout)]).toEqual([0, ['a', 'd']]);
  });

  test('-o none prints nothing', async ({ changed }) => {
    const { exitCode, stdout, stderr } = await changed.world.apply('--dry-run', '-o', 'none');

    expect([exitCode, stdout, stderr]).toEqual([0, '', '']);
  });

  test.for([
    { flags: ['--dry-run', '--detailed-exitcode'], changed: 12, same: 0 },
    { flags: ['--dry-run'], changed: 0, same: 0 },
    { flags: ['--out', 'plan.json', '--detailed-exitcode'], changed: 12, same: 0 },
  ])('$flags ends with $changed with changes, and $same without', async (row, { service, world }) => {
    await world.begin(a);

    const same = await world.apply(...row.flags);
    world.manifest(a, b);
    const changed = await world.apply(...row.flags);

    expect([changed.exitCode, same.exitCode, service.writes()]).toEqual([row.changed, row.same, ['POST a']]);
  });

  test('an orphan alone is not a change', async ({ world }) => {
    await world.begin(a, b);
    world.manifest(a);

    const { exitCode } = await world.apply('--dry-run', '--detailed-exitcode');

    expect(exitCode).toBe(0);
  });
});

test('the plan of a run that is carried out is shown first', async ({ changed }) => {
  const { exitCode, stdout } = await changed.world.apply('--yes');

  expect([exitCode, changed.writesSince()]).toEqual([0, 2]);
  expect(stdout).toContain('Plan: 1 to create, 1 to update, 1 unchanged, 1 no longer in the manifest');
});

test('reports a read that fails, and plans nothing from it', async ({ changed }) => {
  changed.service.script = ({ method }) => (method === 'GET' ? { status: 403, body: { error: 'no' } } : undefined);

  const { exitCode, stdout } = await changed.world.apply('--yes', '--prune');

  expect([exitCode, stdout, changed.writesSince()]).toEqual([3, '', 0]);
});

test('O01: what the service and the manifest say cannot move the cursor', async ({ service, world }) => {
  await world.begin({ Title: 'a\u001b[2J', Note: 'x' });
  await service.change('1', { Note: '\u001b]0;title\u0007\u202e' });

  const { stdout, stderr } = await world.apply('--yes');

  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
  expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

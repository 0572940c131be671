/**
 * The state on disk: refused and left unchanged if it is not the right one (P12, P17), and readable by its
 * owner only.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { filesWith, newCanary } from '../../support/canary.ts';
import { writeJournal } from '../runs-world.ts';
import { a, b, test } from './fixtures.ts';

const commands = [
  ['apply', 'manifest.yaml', '--yes', '--prune'],
  ['apply', 'manifest.yaml', '--dry-run'],
  ['state', 'import', 'manifest.yaml', 'b=2'],
  ['state', 'forget', 'manifest.yaml', 'a'],
  ['state', 'resolve', 'manifest.yaml', 'a=none'],
  ['state', 'export', 'manifest.yaml'],
];

describe('P17: a state of another list is 10: nothing sent, left as it is', () => {
  test.for(commands)('%s %s %s %s', async (words, { service, world }) => {
    await world.begin(a);
    const [state, sent] = [world.text('manifest.yaml.state.json'), service.requests.length];

    const list = await world.run([...words.filter(Boolean), '-l', 'others']);
    const site = await world.run([...words.filter(Boolean), '-s', 'elsewhere']);
    const origin = await world.run([...words.filter(Boolean), '--base-url', service.url.replace('/v1.0', '/v2.0')]);

    expect([list.exitCode, site.exitCode, origin.exitCode]).toEqual([10, 10, 10]);
    expect([world.text('manifest.yaml.state.json'), service.requests.length]).toEqual([state, sent]);
    expect(list.stderr).toContain(`${world.statePath} belongs to list "tasks" of site "home" at ${service.url}`);
  });
});

describe('P12: a state that cannot be read is 10: nothing sent, left byte by byte as it is', () => {
  const damages: readonly (readonly [string, (text: string) => string])[] = [
    ['cut off', (text) => text.slice(0, -10)],
    ['two keys with one item', (text) => text.replace('"id":"2"', '"id":"1"')],
    ['D: an id that is a path', (text) => text.replace('"id":"2"', '"id":".."')],
    ['a newer version', (text) => text.replace('"version":1', '"version":2')],
  ];
  test.for(damages)('%s', async ([_, damage], { service, world }) => {
    await world.begin(a, b);
    const damaged = damage(world.text('manifest.yaml.state.json'));
    world.file('manifest.yaml.state.json', damaged);
    const sent = service.requests.length;

    for (const words of commands) {
      const { exitCode, stderr } = await world.run(words);
      expect([exitCode, world.text('manifest.yaml.state.json'), service.requests.length]).toEqual([10, damaged, sent]);
      expect(stderr).toContain(world.statePath);
    }
  });

  test('the version before is named', async ({ world }) => {
    await world.begin(a);
    world.manifest(a, b);
    await world.apply('--yes');
    world.file('manifest.yaml.state.json', '{');

    const { exitCode, stderr } = await world.apply('--yes');

    expect([exitCode, existsSync(`${world.statePath}.bak`)]).toEqual([10, true]);
    expect(stderr).toContain(`${world.statePath}.bak`);
  });
});

test('P17: an older state is 10: what was created since would be made again', async ({ service, world }) => {
  await world.begin(a);
  const old = world.text('manifest.yaml.state.json');
  world.manifest(a, b);
  await world.apply('--yes');
  world.manifest(a, { ...b, Note: 'new' });
  await world.apply('--yes');
  world.file('manifest.yaml.state.json', old);
  const sent = service.requests.length;

  const { exitCode, stderr } = await world.apply('--yes');

  expect([exitCode, service.requests.length, world.text('manifest.yaml.state.json')]).toEqual([10, sent, old]);
  expect(stderr).toContain('is outdated: its serial is');
});

test('another key field is 2', async ({ service, world }) => {
  await world.begin(a);
  world.file('manifest.yaml', JSON.stringify({ key: 'Note', items: [a] }));

  const { exitCode, stderr } = await world.apply('--yes');

  expect([exitCode, service.writes()]).toEqual([2, ['POST a']]);
  expect(stderr).toContain('"Title"');
});

test('the serial grows with each version, the lineage stays, and nothing else is left in the directory', async ({
  world,
}) => {
  await world.begin(a);
  const first = world.known();
  world.manifest(a, b);
  await world.apply('--yes');

  const second = world.known();
  expect(second.lineage).toBe(first.lineage);
  expect(second.serial).toBeGreaterThan(first.serial);
  expect(readdirSync(world.path).filter((name) => name.startsWith('manifest'))).toEqual([
    'manifest.yaml',
    'manifest.yaml.state.json',
    'manifest.yaml.state.json.bak',
  ]);
});

test('a missing state with the journal of its run beside it is 10, with --init too', async ({ service, world }) => {
  world.manifest(a);
  service.script = () => {
    // Somebody removes the state in the middle of its run.
    rmSync(world.statePath);
    return undefined;
  };
  const broken = await world.apply('--init', '--yes');
  service.script = () => undefined;

  const { exitCode, stderr } = await world.apply('--init', '--yes');

  expect([broken.exitCode, exitCode, service.writes()]).toEqual([10, 10, ['POST a']]);
  expect(broken.stderr).toContain(`the results are in ${world.statePath}.journal`);
  expect(stderr).toContain('manifest.yaml.state.json.journal');
});

describe('a state whose run has lost its journal is 10, since what was created is unknown', () => {
  test('at the end of that run, and ever after', async ({ service, world }) => {
    world.manifest(a);
    service.script = () => {
      rmSync(`${world.statePath}.journal`);
      return undefined;
    };
    const broken = await world.apply('--init', '--yes');
    service.script = () => undefined;

    const { exitCode, stderr } = await world.apply('--yes');

    expect([broken.exitCode, exitCode, service.writes()]).toEqual([10, 10, ['POST a']]);
    for (const text of [broken.stderr, stderr]) expect(text).toContain(`${world.statePath}.journal is missing`);
  });
});

test('a journal whose state was never written does not block the next run', async ({ service, world }) => {
  world.manifest(a);
  const unsent = { header: { action: 'apply' as const }, rows: 1, groups: [] };
  await writeJournal(unsent, world.runs, `${world.statePath}.journal`);

  const { exitCode } = await world.apply('--init', '--yes');

  expect([exitCode, service.writes()]).toEqual([0, ['POST a']]);
});

test('D: the token is in no file, stdout or stderr, whatever the service repeats', async ({ service, world }) => {
  const canary = newCanary();
  const body = { error: { code: `code-${canary}`, message: `you sent ${canary}` } };
  const env = { LISTCTL_TOKEN: canary };
  world.manifest(a, b, { Title: 'c' }, { Title: 'd' });
  service.script = ({ fields }) => {
    if (fields['Title'] === 'b') return { status: 500, headers: { 'request-id': canary }, body };
    return fields['Title'] === 'c' ? { status: 400, headers: { 'request-id': canary }, body } : undefined;
  };

  const flags = ['--init', '-vv', '--retries', '0', '--rejects', 'r.jsonl'];
  const plan = await world.run(['apply', 'manifest.yaml', '--init', '--out', 'plan.json', '-vv'], { env });
  const first = await world.run(['apply', 'manifest.yaml', '--yes', ...flags], { env });
  const second = await world.run(['apply', 'manifest.yaml', '--dry-run', '-o', 'json', '-vv'], { env });
  const exported = await world.run(['state', 'export', 'manifest.yaml', '-vv'], { env });

  expect([plan.exitCode, first.exitCode, second.exitCode, exported.exitCode]).toEqual([0, 8, 0, 0]);
  expect(service.requests.every(({ headers }) => headers['authorization'] === `Bearer ${canary}`)).toBe(true);
  for (const { stdout, stderr } of [plan, first, second, exported]) {
    expect(stdout + stderr).not.toContain(canary.slice(0, 15));
  }
  expect(filesWith(canary.slice(0, 15), world.path)).toEqual([]);
  expect(existsSync(join(world.path, 'r.jsonl'))).toBe(true);
});

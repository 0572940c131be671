/** No state: a first run must be confirmed, since a lost state would create every item again. */
import { describe, expect } from 'vitest';
import { test } from './fixtures.ts';

const [a, b] = [{ Title: 'a' }, { Title: 'b' }];

describe('without a state file', () => {
  test.for(['--yes', '--yes --prune', '--dry-run', '--no-refresh --yes'])(
    '%s without --init is 2',
    async (flags, { service, world }) => {
      world.manifest(a);

      const { exitCode, stdout, stderr } = await world.apply(...flags.split(' '));

      expect([exitCode, stdout, service.requests, world.hasState()]).toEqual([2, '', [], false]);
      expect(stderr).toContain(`no state file at ${world.statePath}`);
      expect(stderr).toContain('--init');
    },
  );

  test('a lost one is noticed, though the job ran before', async ({ service, world }) => {
    await world.begin(a);

    const { exitCode, stderr } = await world.apply('--yes', '--state', 'elsewhere.json');

    expect([exitCode, service.writes()]).toEqual([2, ['POST a']]);
    expect(stderr).toContain('elsewhere.json');
  });

  test('on a terminal the plan says so, and a prompt follows', async ({ service, world }) => {
    world.manifest(a, b);

    const { exitCode, stdout, stderr } = await world.answering(['apply', 'manifest.yaml'], 'y\n', { terminal: 200 });

    expect([exitCode, service.writes()]).toEqual([0, ['POST a', 'POST b']]);
    expect(stdout.indexOf('No state file at')).toBeGreaterThan(-1);
    expect(stdout.indexOf('No state file at')).toBeLessThan(stdout.indexOf('key "a"'));
    expect(stdout).toContain(world.statePath);
    expect(stderr).toContain('Create 2 in list "tasks"');
  });

  test.for(['none', 'json'])('it is said on stderr with -o %s', async (format, { service, world }) => {
    world.manifest(a);

    const { exitCode, stderr } = await world.run(['apply', 'manifest.yaml', '-o', format, '--yes'], {
      terminal: 200,
    });

    expect([exitCode, service.writes()]).toEqual([0, ['POST a']]);
    expect(stderr).toContain(`No state file at ${world.statePath}`);
  });

  test('on a terminal with --quiet -o none the plan would not be visible: 2', async ({ service, world }) => {
    world.manifest(a);

    const { exitCode } = await world.run(['apply', 'manifest.yaml', '--quiet', '-o', 'none', '--yes'], {
      terminal: 200,
    });

    expect([exitCode, service.requests]).toEqual([2, []]);
  });

  test('--init makes it before the first request, for its owner alone', async ({ service, world }) => {
    world.manifest(a);
    let during: unknown;
    service.script = () => {
      during = world.known();
      return undefined;
    };

    const { exitCode } = await world.apply('--init', '--yes');

    expect(exitCode).toBe(0);
    expect(during).toMatchObject({
      serial: 1,
      run: expect.any(String),
      items: {},
      steps: [{ action: 'create', key: 'a' }],
    });
    const { statSync } = await import('node:fs');
    expect(statSync(world.statePath).mode & 0o777).toBe(0o600);
  });

  test('--init makes it also of a manifest without items', async ({ service, world }) => {
    world.manifest();

    const first = await world.apply('--init');
    const second = await world.apply();

    expect([first.exitCode, second.exitCode, service.requests, world.known().items]).toEqual([0, 0, [], {}]);
  });

  test('--init --dry-run makes none', async ({ service, world }) => {
    world.manifest(a);

    const { exitCode, stdout } = await world.apply('--init', '--dry-run');

    expect([exitCode, service.requests, world.hasState()]).toEqual([0, [], false]);
    expect(stdout).toContain('No state file at');
  });
});

test('--init takes no word for its value', async ({ service, world }) => {
  world.manifest(a);

  const { exitCode } = await world.run(['apply', '--init', 'manifest.yaml', '--yes']);

  expect([exitCode, service.writes()]).toEqual([0, ['POST a']]);
});

describe('with CI set, where no state is known', () => {
  const ci = { env: { CI: 'true' } };

  test.for(['', '--out plan.json'])(
    '--init is 2: it would create everything at each run %s',
    async (more, { service, world }) => {
      world.manifest(a, b);
      const words = ['apply', 'manifest.yaml', '--init', ...(more === '' ? ['--yes'] : more.split(' '))];

      const { exitCode, stderr } = await world.run(words, ci);

      expect([exitCode, service.requests, world.hasState()]).toEqual([2, [], false]);
      expect(stderr).toContain('cannot create a state file with CI set: 2 items would be created, again if they exist');
      expect(stderr).toContain(`restore ${world.statePath}`);
      expect(stderr).toContain('--init=again');
    },
  );

  test.for([
    ['--init=again', '--yes'],
    ['--init', '--init=again', '--yes'],
  ])('%s creates it', async (flags, { service, world }) => {
    world.manifest(a);

    const { exitCode } = await world.run(['apply', 'manifest.yaml', ...flags], ci);

    expect([exitCode, service.writes(), world.hasState()]).toEqual([0, ['POST a'], true]);
  });

  test('--init shows a plan, and makes a state of no items', async ({ service, world }) => {
    world.manifest(a);
    const plan = await world.run(['plan', 'manifest.yaml', '--init'], ci);
    world.manifest();
    const { exitCode } = await world.run(['apply', 'manifest.yaml', '--init'], ci);

    expect([plan.exitCode, exitCode, service.requests, world.hasState()]).toEqual([0, 0, [], true]);
  });
});

test('--init beside a state is 2: no job may pass it always', async ({ service, world }) => {
  await world.begin(a);
  const before = service.requests.length;

  const { exitCode, stderr } = await world.apply('--init', '--yes');

  expect([exitCode, service.requests.length]).toEqual([2, before]);
  expect(stderr).toContain(`cannot create a state file: ${world.statePath} already exists`);
});

test('--state names it', async ({ service, world }) => {
  world.manifest(a);

  const first = await world.apply('--init', '--yes', '--state', 'mine.json');
  const second = await world.apply('--state', 'mine.json');

  expect([first.exitCode, second.exitCode, service.writes(), world.hasState()]).toEqual([0, 0, ['POST a'], false]);
});

test('a manifest in another directory has its state beside it', async ({ world }) => {
  world.manifest(a);

  const { exitCode } = await world.run(['apply', `${world.path}/manifest.yaml`, '--init', '--yes'], { cwd: '/' });

  expect([exitCode, world.hasState()]).toEqual([0, true]);
});

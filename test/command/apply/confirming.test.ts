/** What is asked before a plan is carried out. */
import { describe, expect } from 'vitest';
import { keptFor, settingsDirectory } from '../../support/settings-directory.ts';
import { test } from './fixtures.ts';

const [a, b, c] = [{ Title: 'a' }, { Title: 'b' }, { Title: 'c' }];

describe('a plan with changes', () => {
  test.for([
    ['no terminal', {}, []],
    ['a CI', { terminal: 80, env: { CI: 'true' } }, []],
    ['--no-input', { terminal: 80 }, ['--no-input']],
  ] as const)('P22: requires --yes without prompts (%s): 2', async ([_, where, more], { service, world }) => {
    await world.begin(a);
    world.manifest(a, b);
    const state = world.text('manifest.yaml.state.json');

    const { exitCode, stderr } = await world.run(['apply', 'manifest.yaml', ...more], where);

    expect([exitCode, service.writes(), world.text('manifest.yaml.state.json')]).toEqual([2, ['POST a'], state]);
    expect(stderr).toContain('--yes');
  });

  test.for([
    { typed: 'y\n', exit: 0, sent: ['POST c', 'DELETE 2'] },
    { typed: 'n\n', exit: 2, sent: [] },
    { typed: '\n', exit: 2, sent: [] },
    { typed: '\u0003', exit: 130, sent: [] },
    { typed: '\u0004', exit: 2, sent: [] },
  ])('is asked for, with the number of deletes: $typed', async ({ typed, exit, sent }, { service, world }) => {
    await world.begin(a, b);
    world.manifest(a, c);

    const { exitCode, stderr } = await world.answering(
      ['apply', 'manifest.yaml', '--prune', '--concurrency', '1'],
      typed,
    );

    expect([exitCode, service.writes().slice(2)]).toEqual([exit, sent]);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('Create 1 and DELETE 1 in list "tasks" of site "home" on ');
  });

  test('a "no" leaves no lock and no run behind', async ({ service, world }) => {
    await world.begin(a);
    world.manifest(a, b);

    await world.answering(['apply', 'manifest.yaml'], 'n\n');
    const { exitCode } = await world.apply('--yes');

    expect([exitCode, service.writes()]).toEqual([0, ['POST a', 'POST b']]);
  });

  test('one without changes needs no --yes and asks nothing', async ({ world }) => {
    await world.begin(a);

    const { exitCode, stderr } = await world.run(['apply', 'manifest.yaml'], { terminal: 80 });

    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('(y/N)');
  });
});

describe('a protected profile', () => {
  test('needs --confirm before anything is written, --yes or not', async ({ service, world }) => {
    await using settings = await settingsDirectory(keptFor(service, { protected: true }));
    world.manifest(a);
    const env = { ...settings.env, LISTCTL_BASE_URL: '', LISTCTL_TOKEN: '', LISTCTL_SITE: '', LISTCTL_LIST: '' };
    const words = ['apply', 'manifest.yaml', '--init', '--yes'];

    const without = await world.run(words, { env });
    const wrong = await world.run([...words, '--confirm', 'dev'], { env });
    const [sent, hasState] = [service.requests.length, world.hasState()];
    const right = await world.run([...words, '--confirm', 'prod'], { env });

    expect([without.exitCode, wrong.exitCode, right.exitCode]).toEqual([2, 2, 0]);
    expect([sent, hasState, service.writes()]).toEqual([0, false, ['POST a']]);
    expect(without.stderr).toContain('--confirm prod');
  });

  test('is not needed for a plan that is only shown, nor for one without changes', async ({ service, world }) => {
    await using settings = await settingsDirectory(keptFor(service, { protected: true }));
    world.manifest(a);
    const env = { ...settings.env, LISTCTL_BASE_URL: '', LISTCTL_TOKEN: '', LISTCTL_SITE: '', LISTCTL_LIST: '' };

    const shown = await world.run(['apply', 'manifest.yaml', '--init', '--dry-run'], { env });
    await world.run(['apply', 'manifest.yaml', '--init', '--yes', '--confirm', 'prod'], { env });
    const same = await world.run(['apply', 'manifest.yaml'], { env });

    expect([shown.exitCode, same.exitCode]).toEqual([0, 0]);
  });
});

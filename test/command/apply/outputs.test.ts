/** The files that `apply` reads and writes: one name for a state, and no output in the place of what belongs to it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { takeLock } from '../../../src/core/lock.ts';
import { testHost } from '../../support/test-host.ts';
import { test } from './fixtures.ts';

const a = { Title: 'a' };
const isPosix = process.platform !== 'win32';

test.runIf(isPosix)('a state has one lock and one journal, whatever leads to it', async ({ service, world }) => {
  world.manifest(a);
  mkdirSync(join(world.path, 'real'));
  symlinkSync('real/x.json', world.statePath);

  const lock = await takeLock(join(world.path, 'real', 'x.json.lock'), { waitMs: 0 }, testHost());
  expect((await world.apply('--init', '--yes')).exitCode).toBe(11);
  lock.release();

  expect((await world.apply('--init', '--yes')).exitCode).toBe(0);
  expect((await world.apply('--yes', '--state', 'real/x.json')).exitCode).toBe(0);
  expect(service.writes()).toEqual(['POST a']);
  expect(readdirSync(world.path).filter((name) => name.startsWith('manifest.yaml.state'))).toEqual([
    'manifest.yaml.state.json',
  ]);
  expect(existsSync(join(world.path, 'real', 'x.json'))).toBe(true);
});

test('a manifest that cannot be read is in the summary and the reports of the command', async ({ world }) => {
  await world.begin(a);
  world.file('manifest.yaml', 'items: [');

  const { exitCode } = await world.apply('--yes', '--summary-json', 's.json', '--report', 'junit=j.xml');

  expect([exitCode, JSON.parse(world.text('s.json'))]).toMatchObject([
    2,
    { action: 'apply', exit: 2, error: { kind: 'usage' } },
  ]);
  expect(world.text('j.xml')).toContain('failures="1"');
});

test("--state '' is 2, and nothing is sent", async ({ service, world }) => {
  world.manifest(a);

  const { exitCode, stderr } = await world.apply('--init', '--yes', '--state', '');

  expect([exitCode, stderr]).toEqual([2, 'listctl: invalid --state "": expected a file\n  nothing was sent\n']);
  expect([service.writes(), readdirSync(world.path)]).toEqual([[], ['home', 'manifest.yaml']]);
});

test('no output takes the place of what is kept beside the state', async ({ world }) => {
  await world.begin(a);
  const before = world.text('manifest.yaml.state.json');

  for (const ending of ['', '.journal', '.bak', '.lock']) {
    for (const flag of ['--rejects', '--out']) {
      const { exitCode, stderr } = await world.apply('--yes', flag, `${world.statePath}${ending}`);
      expect({ flag, ending, exitCode }).toEqual({ flag, ending, exitCode: 2 });
      expect(stderr).toContain(
        `${ending === '' ? '' : `the ${ending} file of `}the state and ${flag} are the same file`,
      );
    }
  }
  expect(world.text('manifest.yaml.state.json')).toBe(before);
});

test.for(['manifest.yaml', 'plan.json'])('no output takes the place of %s', async (file, { service, world }) => {
  await world.begin(a);
  world.manifest(a, { Title: 'b' });
  await world.apply('--out', 'plan.json');
  const before = world.text(file);

  const { exitCode } = await world.run(['apply', 'plan.json', '--summary-json', file]);

  expect([exitCode, service.writes(), world.text(file)]).toEqual([2, ['POST a'], before]);
});

test.for(['-', '/dev/stdout'])('--out %s prints the plan as saved', async (path, { service, world }) => {
  world.manifest(a);

  const { exitCode, stdout } = await world.apply('--init', '--out', path);
  world.file('plan.json', stdout);
  const both = await world.apply('--init', '--out', path, '-o', 'json');
  const applied = await world.run(['apply', 'plan.json', '--yes']);

  expect([exitCode, both.exitCode, applied.exitCode, service.writes()]).toEqual([0, 2, 0, ['POST a']]);
  expect(both.stderr).toContain('--out cannot be used with -o json: both write to standard output');
});

test('what cannot be written is found out before anything is read', async ({ service, world }) => {
  await world.begin(a);
  world.manifest(a, { Title: 'b' });
  const sent = service.requests.length;

  for (const words of [
    ['--out', world.path],
    ['--rejects', world.path, '--yes'],
    ['--out', 'nowhere/p'],
  ]) {
    expect((await world.apply(...words)).exitCode).toBe(10);
  }
  expect(service.requests.length).toBe(sent);
});

test.runIf(isPosix)('a state is a regular file of a size that can be read', async ({ service, world }) => {
  world.manifest(a);
  execFileSync('mkfifo', [join(world.path, 'pipe')]);
  truncateSync(world.file('huge', ''), 600_000_000);

  const pipe = await world.apply('--yes', '--state', 'pipe');
  const huge = await world.apply('--yes', '--state', 'huge');

  expect([pipe.exitCode, huge.exitCode, service.requests.length]).toEqual([10, 10, 0]);
  expect(pipe.stderr).toContain('pipe: it is not a regular file');
  expect(huge.stderr).toContain('huge: larger than 256 MiB');
  expect(statSync(join(world.path, 'pipe')).isFIFO()).toBe(true);
});

test('a file of fields that no service takes is refused by its size', async ({ service, world }) => {
  const huge = world.file('huge', '');
  truncateSync(huge, 600_000_000);

  for (const words of [
    ['--fields', huge],
    ['-f', `a@=${huge}`],
    ['-f', `a:@=${huge}`],
  ]) {
    const { exitCode, stderr } = await world.run(['items', 'create', ...words]);
    expect({ words, exitCode }).toEqual({ words, exitCode: 10 });
    expect(stderr).toContain(`cannot read ${huge}: larger than 64 MiB`);
  }
  expect(service.requests).toEqual([]);
});

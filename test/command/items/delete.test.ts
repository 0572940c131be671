import { expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../../support/scripted-service.ts';
import { converse, run } from '../../support/test-host.ts';

test('a delete off a terminal does what was typed, as rm does', async () => {
  await using service = await scriptedService({ status: 204 });

  const { exitCode, stdout } = await run(['items', 'delete', '17', '18'], { env: environmentFor(service) });

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"id":"17"}\n{"id":"18"}\n' });
  expect(service.requests.map(({ method, body }) => [method, body])).toEqual([
    ['DELETE', ''],
    ['DELETE', ''],
  ]);
});

test('a missing item is exit code 4, or success with --ignore-missing', async () => {
  await using service = await scriptedService({ status: 404, body: { error: 'gone' } });
  const env = environmentFor(service);

  const missing = await run(['items', 'delete', '17'], { env });
  const ignored = await run(['items', 'delete', '17', '--ignore-missing', '-o', 'jsonl'], { env });

  expect(missing).toMatchObject({ exitCode: 4, stdout: '' });
  expect(ignored).toMatchObject({ exitCode: 0, stdout: '{"id":"17"}\n', stderr: '' });
});

test.each([
  { status: 404, exit: 4, says: 'HTTP 404', because: 'does not mean that the item is missing' },
  { status: 200, exit: 8, says: 'not the list service', because: 'leaves it in doubt' },
])('an HTML page with a $status $because', async ({ status, exit, says }) => {
  await using service = await scriptedService({ status, headers: { 'content-type': 'text/html' }, body: '<html>' });

  const words = ['items', 'delete', '17', '--ignore-missing'];
  const { exitCode, stdout, stderr } = await run(words, { env: environmentFor(service) });

  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: exit,
    stdout: '',
    stderr: expect.stringContaining(says),
  });
});

test.each([
  { typed: 'y', exit: 0, requests: 1, because: 'yes' },
  { typed: 'n', exit: 2, requests: 0, because: 'no' },
  { typed: '', exit: 2, requests: 0, because: 'no is the default' },
  { typed: '\u0003', exit: 130, requests: 0, because: 'Ctrl-C' },
])('on a terminal a delete asks first, naming the items: $because', async ({ typed, exit, requests }) => {
  await using service = await scriptedService({ status: 204 });
  const world = { env: environmentFor(service), terminal: 200 };

  const { exitCode, stderr } = await converse(['items', 'delete', '17'], { '?': typed }, world);

  expect([exitCode, service.requests.length]).toEqual([exit, requests]);
  expect(stderr).toContain('Delete item 17 from list "tasks" of site "home" on ');
});

test('what an id holds cannot change how the question reads', async () => {
  await using service = await scriptedService({ status: 204 });
  const world = { env: environmentFor(service), terminal: 200 };

  const { exitCode, stderr } = await converse(['items', 'delete', 'a\u202eb'], { '?': 'n' }, world);

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('a\\u{202e}b')]);
  expect(stderr).not.toContain('\u202e');
});

test.each([
  { world: { terminal: 80 }, more: ['--yes'], exit: 0 },
  { world: {}, more: ['--no-input', '--yes'], exit: 0 },
  { world: {}, more: [], exit: 0 },
  { world: { terminal: 80 }, more: ['--no-input'], exit: 2 },
  { world: { terminal: 80 }, env: { CI: 'true' }, more: [], exit: 2 },
  { world: {}, more: ['--no-input'], exit: 2 },
  { world: {}, env: { CI: 'true' }, more: [], exit: 2 },
])('does not prompt, nor guess, with $world $more $env: $exit', async ({ world, more, env = {}, exit }) => {
  await using service = await scriptedService({ status: 204 });

  const { exitCode, stderr } = await run(['items', 'delete', '17', ...more], {
    ...world,
    env: { ...environmentFor(service), ...env },
  });

  expect(exitCode).toBe(exit);
  expect(service.requests).toHaveLength(exit === 0 ? 1 : 0);
  if (exit !== 0) expect(stderr).toContain('pass --yes to skip the prompt');
});

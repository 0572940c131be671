import { describe, expect, test } from 'vitest';
import { requestedItem, scriptedService } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { converse, run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];
/** For questions of one line. */
const wide = { terminal: 200 };

describe('a protected profile', () => {
  const writes = [
    ['items', 'create', '-f', 'a=1'],
    ['items', 'update', '17', '18', '-f', 'a=1'],
    ['items', 'delete', '17', '18', '--yes'],
    ['api', 'POST', 'sites/home/lists/tasks/items', '-f', 'fields:={}'],
  ];

  test.each(writes)('%s %s needs --confirm where it cannot ask', async (...words) => {
    await using service = await scriptedService({ status: 200, body: requestedItem });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));

    const without = await run(words, directory);
    const wrong = await run([...words, '--confirm', 'dev'], directory);
    expect(without).toMatchObject({ exitCode: 2, stdout: '' });
    const place = words[0] === 'api' ? '/sites/home/lists/tasks/items (POST)' : 'list "tasks" of site "home"';
    expect(without.stderr).toContain(`${place} at ${service.url}`);
    expect(without.stderr).toContain('--confirm prod');
    expect(wrong).toMatchObject({ exitCode: 2, stdout: '' });
    expect(service.requests).toEqual([]);

    expect((await run([...words, '--confirm', 'prod'], directory)).exitCode).toBe(0);
    expect(service.requests.length).toBeGreaterThan(0);
  });

  test.each([
    { typed: 'prod', exit: 0, sent: 1 },
    { typed: 'y', exit: 2, sent: 0 },
    { typed: 'n', exit: 2, sent: 0 },
    { typed: '', exit: 2, sent: 0 },
    { typed: '\u0003', exit: 130, sent: 0 },
    { typed: '\u0004', exit: 2, sent: 0 },
  ])('asks on a terminal, naming the target: $typed', async ({ typed, exit, sent }) => {
    await using service = await scriptedService({ status: 201, body: milk });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));

    const ended = await converse(['items', 'create', '-f', 'a=1'], { 'Type prod': typed }, { ...directory, ...wide });

    expect([ended.exitCode, service.requests.length]).toEqual([exit, sent]);
    expect(ended.stderr).toContain(`Write to list "tasks" of site "home" at ${service.url}? `);
  });

  test('asks once, for its name, whatever else would be asked', async () => {
    await using service = await scriptedService({ status: 204 });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));
    const answers = { 'Delete items 17, 18 from list "tasks" of site "home" on prod': 'prod' };

    const { exitCode, stderr } = await converse(['items', 'delete', '17', '18'], answers, { ...directory, ...wide });

    expect([exitCode, service.requests.length]).toEqual([0, 2]);
    expect(stderr).toMatch(/\?.*Type prod, the name of the protected profile, to confirm:/);
    expect(stderr).not.toContain('Write to');
  });

  test.each([
    { more: ['--no-input'], answers: {} },
    { more: [], answers: { 'Type prod': 'y' } },
  ])('says all that it takes to be asked nothing: $more $answers', async ({ more, answers }) => {
    await using service = await scriptedService({ status: 204 });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));

    const { exitCode, stderr } = await converse(['items', 'delete', '17', ...more], answers, { ...directory, ...wide });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('pass --yes --confirm prod to skip the prompt')]);
  });

  test('reads and dry runs do not prompt', async () => {
    await using service = await scriptedService({ status: 200, body: milk });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));

    expect(await run(get, directory)).toMatchObject({ exitCode: 0 });
    expect(await run(['api', 'GET', 'sites/home/lists/tasks/items/17'], directory)).toMatchObject({ exitCode: 0 });
    expect(await run(['items', 'delete', '17', '--dry-run'], directory)).toMatchObject({ exitCode: 0 });
    expect(service.requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  test('does not block another service', async () => {
    await using service = await scriptedService({ status: 201, body: milk });
    await using other = await scriptedService({ status: 201, body: milk });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));
    const env = { ...directory.env, LISTCTL_BASE_URL: other.url, LISTCTL_TOKEN: 'other-token' };

    expect((await run(['items', 'create', '-f', 'a=1'], { env })).exitCode).toBe(0);
    expect(other.requests).toHaveLength(1);
  });
});

import { describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { requestedItem, scriptedService } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { run, testHost } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const get = ['items', 'get', '17'];

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
    { typed: 'prod\n', exit: 0, sent: 1 },
    { typed: 'y\n', exit: 2, sent: 0 },
    { typed: 'n\n', exit: 2, sent: 0 },
    { typed: '\n', exit: 2, sent: 0 },
    { typed: '\u0003', exit: 130, sent: 0 },
    { typed: '\u0004', exit: 2, sent: 0 },
  ])('asks on a terminal, naming the target: $typed', async ({ typed, exit, sent }) => {
    await using service = await scriptedService({ status: 201, body: milk });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));
    const host = testHost({ ...directory, terminal: 200 });

    const running = main(['items', 'create', '-f', 'a=1'], host);
    await host.answer('Type prod', typed);

    expect(await running).toBe(exit);
    expect(host.printed.stderr).toContain(`Write to list "tasks" of site "home" at ${service.url}? `);
    expect(service.requests).toHaveLength(sent);
  });

  test('asks once, for its name, whatever else would be asked', async () => {
    await using service = await scriptedService({ status: 204 });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));
    const host = testHost({ ...directory, terminal: 200 });

    const running = main(['items', 'delete', '17', '18'], host);
    await host.answer('Delete items 17, 18 from list "tasks" of site "home" on prod', 'prod\n');

    expect(await running).toBe(0);
    expect(host.printed.stderr.match(/\?.*Type prod, the name of the protected profile, to confirm:/g)).not.toBeNull();
    expect(host.printed.stderr).not.toContain('Write to');
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    { more: ['--no-input'], typed: undefined },
    { more: [], typed: 'y\n' },
  ])('says all that it takes to be asked nothing: $more $typed', async ({ more, typed }) => {
    await using service = await scriptedService({ status: 204 });
    await using directory = await settingsDirectory(keptFor(service, { protected: true }));
    const host = testHost({ ...directory, terminal: 200 });

    const running = main(['items', 'delete', '17', ...more], host);
    if (typed !== undefined) await host.answer('Type prod', typed);

    expect(await running).toBe(2);
    expect(host.printed.stderr).toContain('pass --yes --confirm prod to skip the prompt');
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

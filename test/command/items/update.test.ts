import { expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../../support/scripted-service.ts';
import { run } from '../../support/test-host.ts';

test('an update sends only what it names, and null for what it clears', async () => {
  await using service = await scriptedService({ status: 200, body: { id: '17', fields: { Title: 'Bye' } } });

  const { exitCode, stdout } = await run(
    ['items', 'update', '17', '-f', 'Title=Bye', '--unset', 'Note', '-o', 'jsonl'],
    {
      env: environmentFor(service),
    },
  );

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"id":"17","fields":{"Title":"Bye"}}\n' });
  expect(service.requests).toMatchObject([
    { method: 'PATCH', path: '/v1.0/sites/home/lists/tasks/items/17', body: '{"fields":{"Title":"Bye","Note":null}}' },
  ]);
  expect(service.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('an update answered with nothing has succeeded: the id is all there is to show', async () => {
  await using service = await scriptedService({ status: 204 });

  const { exitCode, stdout } = await run(['items', 'update', '17', '-f', 'a=1', '-o', 'jsonl'], {
    env: environmentFor(service),
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{"id":"17"}\n' });
});

test.each([
  { status: 423, hint: 'the item is locked: retry later' },
  { status: 412, hint: 'read the item again before you retry' },
])('an update refused with $status has the hint "$hint"', async ({ status, hint }) => {
  await using service = await scriptedService({ status });

  const { exitCode, stderr } = await run(['items', 'update', '17', '-f', 'a=b'], { env: environmentFor(service) });

  expect(exitCode).toBe(5);
  expect(stderr.split('\n')[1]).toBe(`  ${hint}`);
});

test('the same field set and cleared, or no field at all, is wrong usage', async () => {
  await using service = await scriptedService({ status: 204 });
  const env = environmentFor(service);

  const twice = await run(['items', 'update', '17', '-f', 'a=1', '--unset', 'a'], { env });
  const none = await run(['items', 'update', '17'], { env });
  const noId = await run(['items', 'update', '-f', 'a=1'], { env });

  expect([twice.exitCode, none.exitCode, noId.exitCode]).toEqual([2, 2, 2]);
  expect(twice.stderr).toContain('"a" is set twice');
  expect(service.requests).toEqual([]);
});

test.each([{ status: 500 }, { status: 504 }, { status: 200, cut: true }, { status: 200, body: '<p>' }])(
  'an update answered $status ($body) may have happened: exit code 8, and that it may be run again',
  async (answer) => {
    await using service = await scriptedService(answer);

    const { exitCode, stdout, stderr } = await run(['items', 'update', '17', '-f', 'a=1'], {
      env: environmentFor(service),
    });

    expect({ exitCode, stdout }).toEqual({ exitCode: 8, stdout: '' });
    expect(stderr).toContain('safe to run the same command again');
  },
);

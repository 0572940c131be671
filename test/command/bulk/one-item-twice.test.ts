/** Several rows of a file with the id of one item: an update keeps their order, a delete and a read take the item once. */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished } from 'vitest';
import { endOf, jsonLines, type ManyWorld, manyWorld } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { type ListService, listService, type Script } from './list-service.ts';

function fill(service: ListService, count: number): void {
  for (let id = 1; id <= count; id += 1) service.items.set(String(id), { Status: 'first' });
}

/** Each of the items twice: to `old`, then to `new`. */
function eachTwice(world: ManyWorld, count: number): string {
  const lines = Array.from({ length: count }, (_, at) => [`${at + 1},old`, `${at + 1},new`]).flat();
  return world.file('updates.csv', `id,Status\n${lines.join('\n')}\n`);
}

/** A list that takes longer for every second update of an item. */
function jumbled(): Script {
  return ({ id, fields }) => {
    const after = setTimeout(fields['Status'] === 'old' ? 12 : 1);
    return { status: 200, body: { id, fields: {} }, after, applies: true };
  };
}

describe('an update', () => {
  test('sends the rows of one item one after the other, and those of others beside them', async () => {
    const { service, world } = await listWorld(jumbled());
    fill(service, 20);

    const { exitCode, stderr } = await world.run(['items', 'update', '--from', eachTwice(world, 20)]);

    expect(exitCode).toBe(0);
    expect(stderr).toContain('20 rows have the id of an earlier row');
    expect(service.atOnceMax).toBeGreaterThan(1);
    for (let id = 1; id <= 20; id += 1) {
      const sent = service.requests.filter((request) => request.id === String(id));
      expect(sent.map(({ fields }) => fields['Status'])).toEqual(['old', 'new']);
    }
  });

  test('leaves the later rows of an item whose row failed, and a resume sends them in order', async () => {
    const { service, world, mend } = await listWorld(({ id, fields }) =>
      id === '2' && fields['Status'] === 'old' ? { status: 400, body: { error: 'no' } } : undefined,
    );
    fill(service, 3);
    const words = ['items', 'update', '--from', eachTwice(world, 3)];

    const first = await world.run([...words, '--rejects', 'rejects.csv']);
    const between = service.requests.length;
    mend();
    const second = await world.run([...words, '--resume']);

    expect([first.exitCode, between]).toEqual([9, 5]);
    expect(first.stderr).toContain('fix these rows, then resume');
    expect(world.text('rejects.csv')).toContain('not sent: an earlier row of the same item is not done');
    expect(second.exitCode).toBe(0);
    expect(service.requests.slice(between).map(({ id, fields }) => [id, fields['Status']])).toEqual([
      ['2', 'old'],
      ['2', 'new'],
    ]);
  });

  test('does not send the later rows of an item whose row is held in doubt', async () => {
    const { service, world, mend } = await listWorld(({ id, fields }) =>
      id === '2' && fields['Status'] === 'old' ? { status: 200, cut: true } : undefined,
    );
    fill(service, 3);
    const words = ['items', 'update', '--retries', '0', '--from', eachTwice(world, 3)];

    const first = await world.run(words);
    mend();
    const held = await world.run([...words, '--resume', '--in-doubt', 'hold']);
    const whole = await world.run([...words, '--resume']);

    expect([first.exitCode, held.exitCode, whole.exitCode]).toEqual([8, 8, 0]);
    const ofSecond = service.requests.filter(({ id }) => id === '2');
    expect(ofSecond.map(({ fields }) => fields['Status'])).toEqual(['old', 'old', 'new']);
  });

  test('never sends a row when a later one of its item is done', async () => {
    const { service, world } = await listWorld();
    fill(service, 1);
    const csv = (count: string) => `id,Status,Count\n1,old,${count}\n1,new,2\n`;
    const words = ['items', 'update', '--type', 'Count=number', '--from', world.file('a.csv', csv('many'))];

    const first = await world.run([...words, '--skip-invalid']);
    world.file('a.csv', csv('1'));
    const second = await world.run([...words, '--resume', '-o', 'jsonl']);

    expect([first.exitCode, second.exitCode]).toEqual([9, 9]);
    expect(jsonLines(second.stdout)).toMatchObject([
      { row: 1, error: { message: expect.stringContaining('row 2 of the same item is done') } },
    ]);
    expect(service.items.get('1')).toEqual({ Status: 'new', Count: 2 });
  });

  test('refuses rows of one item in different shards', async ({ service, world }) => {
    fill(service, 2);
    const file = world.file('a.csv', 'id,Status\n1,old\n2,x\n1,new\n1,newest\n');

    const apart = await world.run(['items', 'update', '--from', file, '--shard', '1/2']);

    expect(apart.exitCode).toBe(2);
    expect(apart.stderr).toContain('rows 1 and 4 (lines 2 and 5) have the same id but are in different shards');
    expect(service.requests).toEqual([]);
  });
});

describe('a delete', () => {
  const ids = '1\n2\n1\n3\n1\n2\n';

  test('deletes each item once, and says how many rows were repeated', async ({ service, world }) => {
    fill(service, 3);

    const { exitCode, stderr } = await world.run([
      ...['items', 'delete', '--from', world.file('ids.txt', ids), '--yes', '--max-delete', '3'],
    ]);

    expect(exitCode).toBe(0);
    expect(stderr).toContain('3 rows have the id of an earlier row: each item is deleted once');
    expect(service.requests.map(({ id }) => id).sort()).toEqual(['1', '2', '3']);
    expect(endOf(world)).toMatchObject({ done: 3, skipped: 3, left: 0 });
  });

  test('shows each item once in a dry run', async ({ service, world }) => {
    const words = ['items', 'delete', '--from', world.file('ids.txt', ids), '--dry-run', '-o', 'jsonl'];

    const { stdout, stderr } = await world.run(words);

    expect(jsonLines(stdout)).toHaveLength(3);
    expect(stderr).toContain('3 of 6 rows would be sent');
    expect(service.requests).toEqual([]);
  });

  test('continues after a failure with the rows that are left', async () => {
    const { service, world, mend } = await listWorld(({ id }) =>
      id === '2' ? { status: 409, body: { error: 'locked' } } : undefined,
    );
    fill(service, 3);
    const words = ['items', 'delete', '--from', world.file('ids.txt', ids), '--yes'];

    const first = await world.run(words);
    mend();
    const second = await world.run([...words, '--resume']);
    const rows = await world.run(['runs', 'show', 'last', '--rows', '-o', 'jsonl']);

    expect([first.exitCode, second.exitCode]).toEqual([9, 0]);
    expect(service.items.size).toBe(0);
    expect(jsonLines(rows.stdout).map(({ status }) => status)).toEqual([
      ...['done', 'done', 'skipped', 'done', 'skipped', 'skipped'],
    ]);
  });
});

test('a read prints each item once', async () => {
  const service = await listService();
  const world = await manyWorld(service);
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });
  fill(service, 2);

  const { exitCode, stdout } = await world.run([
    ...['items', 'get', '--from', world.file('ids.txt', '2\n1\n2\n'), '-o', 'id'],
  ]);

  expect([exitCode, stdout]).toEqual([0, '2\n1\n']);
});

test('an id that is typed twice is taken once, with a notice', async ({ service, world }) => {
  fill(service, 3);

  const read = await world.run(['items', 'get', '2', '1', '2', '-o', 'id']);
  const deleted = await world.run(['items', 'delete', '2', '1', '2', '1', '--yes', '-o', 'id']);

  expect([read.exitCode, read.stdout, read.stderr]).toEqual([
    ...[0, '2\n1\n', 'listctl: 1 id repeated: each item is taken once\n'],
  ]);
  expect([deleted.exitCode, [...service.items.keys()]]).toEqual([0, ['3']]);
});

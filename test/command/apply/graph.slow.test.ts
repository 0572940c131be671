/** `apply` with Microsoft Graph, and a list of 20,000 items. */
import { expect, test } from 'vitest';
import { everyColumn } from '../../unit/server/graph/graph-in.ts';
import { graphWorld } from './graph-world.ts';

test('drift of 20,000 managed items is read with at most 10 requests', async () => {
  await using world = await graphWorld(everyColumn);
  const count = 20_000;
  const rows = Array.from({ length: count }, (_, at) => ({ Title: `t${at + 1}`, Count: at, Status: 'New' }));
  await Promise.all(rows.map((row) => world.add(row)));
  world.file('books.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const imported = await world.run('state', 'import', 'books.jsonl', '--all', '--key', 'Title');
  expect(imported).toMatchObject({ exitCode: 0 });
  await world.change('1234', { Status: 'Old' });
  world.requests.length = 0;
  const { exitCode, stdout } = await world.run('plan', 'books.jsonl', '--detailed-exitcode');
  expect({ exitCode, stdout }).toEqual({
    exitCode: 12,
    stdout: expect.stringContaining('1 to update (1 changed outside apply), 19,999 unchanged'),
  });
  expect(world.requests.length).toBeLessThanOrEqual(10);
}, 300_000);

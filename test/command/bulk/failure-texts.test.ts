/** What a service said of rows that failed, which `runs show` prints again. */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { create, jsonLines, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

const invalid = {
  status: 422,
  body: { message: 'Validation failed', errors: [{ field: 'Count', message: 'must be a number' }] },
};
const said = expect.stringContaining('Validation failed; Count: must be a number');

test('runs show has the message of each failed row, with the errors of its fields', async () => {
  const { world, mend } = await listWorld({ t2: invalid });
  const words = create(world.file('a.csv', titles(3)));

  await world.run(words);
  const shown = await world.run(['runs', 'show', 'last', '--rows', '-o', 'jsonl']);
  const text = await world.run(['runs', 'show', 'last', '--rows', '-o', 'pretty']);
  const { leftovers } = world;
  const [file = ''] = leftovers();
  mend();
  await world.run([...words, '--resume']);

  expect(jsonLines(shown.stdout)[1]).toMatchObject({
    row: 2,
    status: 'failed',
    error: { message: said, status: 422, errors: [{ field: 'Count', message: 'must be a number' }] },
  });
  expect(text.stdout).toContain('Count: must be a number');
  expect(file).toMatch(/^\d{8}-\d{6}-\w{4}\.errors$/);
  // Every row is done now.
  expect(leftovers()).toEqual([]);
});

test('the last message of a row counts, and the file goes with its run', async () => {
  let message = 'first';
  const { world } = await listWorld(({ title }) =>
    title === 't1' ? { status: 400, body: { error: message } } : undefined,
  );
  const journal = join(world.path, 'run.journal');
  const words = create(world.file('a.csv', titles(2)), '--journal', journal);

  await world.run(words);
  message = 'second';
  await world.run([...words, '--resume']);
  const shown = await world.run(['runs', 'show', journal, '--rows', '-o', 'jsonl']);
  const mode = statSync(`${journal}.errors`).mode & 0o777;
  const removed = await world.run(['runs', 'remove', journal, '--yes']);

  expect(jsonLines(shown.stdout)[0]).toMatchObject({ error: { message: expect.stringContaining('second') } });
  expect([mode, removed.exitCode, existsSync(`${journal}.errors`)]).toEqual([0o600, 0, false]);
});

test('a file of another program with that name is neither changed nor removed', async () => {
  const { world } = await listWorld({ t1: invalid });
  const journal = join(world.path, 'run.journal');
  writeFileSync(`${journal}.errors`, 'mine\n');

  const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), '--journal', journal));
  const shown = await world.run(['runs', 'show', journal, '--rows', '-o', 'jsonl']);
  await world.run(['runs', 'remove', journal, '--yes']);

  expect(exitCode).toBe(9);
  expect(jsonLines(shown.stdout)[0]).toMatchObject({ error: { message: 'refused: HTTP 422' } });
  expect(readFileSync(`${journal}.errors`, 'utf8')).toBe('mine\n');
});

test('damaged lines are left out, and a run goes on where the file cannot be written', async () => {
  const { world } = await listWorld({ t1: invalid, t2: invalid });
  const journal = join(world.path, 'run.journal');
  writeFileSync(`${journal}.errors`, '');
  chmodSync(`${journal}.errors`, 0o600);

  await world.run(create(world.file('a.csv', titles(2)), '--journal', journal));
  const [first = ''] = readFileSync(`${journal}.errors`, 'utf8').split('\n');
  writeFileSync(`${journal}.errors`, `${first}\n{"failedRow":2,"mess\nnull\n[]\n`);
  const shown = await world.run(['runs', 'show', journal, '--rows', '-o', 'jsonl']);

  expect(jsonLines(shown.stdout)).toMatchObject([
    { error: { message: said } },
    { error: { message: 'refused: HTTP 422' } },
  ]);
});

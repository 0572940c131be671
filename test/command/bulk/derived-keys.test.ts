/** `--idempotency-key-from`: keys that need no memory. */
import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { create, manyWorld, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { listService } from './list-service.ts';

const codes = 'Code,Title\nA,t1\nB,t2\nC,t3\n';
/** Two rows are the same. */
const twins = 'Code,Title\nA,t1\nB,t2\nB,t2\n';

describe.each(['row', 'content', 'Code', 'column:Code'])('--idempotency-key-from %s', (source) => {
  test('a run whose journal is lost, in the middle or at its end, doubles nothing where keys are honored', async () => {
    let isExpired = true;
    await using service = await listService(
      ({ title }) => (title === 't3' && isExpired ? { status: 401 } : undefined),
      true,
    );
    const words = (file: string) => create(file, '--idempotency-key-from', source, '--concurrency', '1');

    for (const ends of [3, 0, 0]) {
      // Another machine each time: another home, and the file in another place.
      await using world = await manyWorld(service);
      const file = world.file('a.csv', codes);
      expect((await world.run(words(file))).exitCode).toBe(ends);
      isExpired = false;
    }

    expect([service.items.size, service.requests.length > 6]).toEqual([3, true]);
    expect(new Set(service.requests.map(({ key }) => key)).size).toBe(3);
    for (const { key } of service.requests) expect(key).toMatch(/^"[a-z2-7]{26}"$/);
  });

  test('rows that are sent again on purpose have the same keys: that is said', async () => {
    const { service, world } = await listWorld(undefined, true);
    const words = create(world.file('a.csv', codes), '--idempotency-key-from', source);
    const first = await world.run(words);

    const again = await world.run([...words, '--restart']);

    expect([first.exitCode, again.exitCode, service.items.size]).toEqual([0, 0, 3]);
    expect([first.stderr.includes('existing items'), again.stderr.includes('existing items')]).toEqual([false, true]);
  });

  test('is another key in another list, and of JSON the same as of CSV', async ({ service, world }) => {
    const words = ['--idempotency-key-from', source, '--concurrency', '1'];

    await world.run(create(world.file('a.csv', codes), ...words));
    await world.run(create(world.file('a.csv', codes), ...words, '-l', 'others'));
    const rows = ['A', 'B', 'C'].map((Code, at) => JSON.stringify({ id: '9', fields: { Code, Title: `t${at + 1}` } }));
    await world.run(create(world.file('a.jsonl', rows.join('\n')), ...words, '--restart'));

    const keys = service.requests.map(({ key }) => key);
    expect(new Set(keys.slice(0, 6)).size).toBe(6);
    expect(keys.slice(6)).toEqual(keys.slice(0, 3));
  });

  test('a dry run shows the keys, and refuses what the run would', async ({ service, world }) => {
    const words = (name: string, content: string) =>
      create(world.file(name, content), '--idempotency-key-from', source);

    const shown = await world.run([...words('a.csv', codes), '--dry-run', '-o', 'curl']);
    await world.run([...words('a.csv', codes), '--concurrency', '1']);
    const dry = await world.run([...words('b.csv', twins), '--dry-run']);

    expect(shown.stdout.match(/"[a-z2-7]{26}"/g)).toEqual(service.requests.map(({ key }) => key));
    expect(dry.exitCode).toBe(source === 'row' ? 0 : 2);
  });
});

test.for([
  { source: 'content', says: 'rows 2 and 3 (lines 3 and 4) have the same content' },
  { source: 'Code', says: 'rows 2 and 3 (lines 3 and 4) have the same value in column "Code"' },
])(
  'two rows with one key are refused before anything is sent, in every shard: $source',
  async ({ source, says }, { service, world }) => {
    const words = create(world.file('a.csv', twins), '--idempotency-key-from', source);

    for (const more of [[], ['--shard', '1/3'], ['--skip-invalid']]) {
      const { exitCode, stdout, stderr } = await world.run([...words, ...more]);

      expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
      expect(stderr).toContain(says);
    }
  },
);

test('row numbers distinguish equal rows', async () => {
  const { service, world } = await listWorld(undefined, true);

  const { exitCode } = await world.run(create(world.file('a.csv', twins), '--idempotency-key-from', 'row'));

  expect([exitCode, service.items.size]).toEqual([0, 3]);
});

test.for([
  { what: 'an unknown column', content: codes, source: 'Cod', says: 'did you mean "Code"?' },
  { what: 'an empty cell', content: 'Code,Title\nA,t1\n,t2\n', source: 'Code', says: 'row 2 (line 3) has no value' },
  { what: 'no name', content: codes, source: 'column:', says: 'invalid --idempotency-key-from "column:"' },
])('$what is wrong usage, and sends nothing', async ({ content, source, says }, { service, world }) => {
  const { exitCode, stderr } = await world.run(create(world.file('a.csv', content), '--idempotency-key-from', source));

  expect([exitCode, service.requests]).toEqual([2, []]);
  expect(stderr).toContain(says);
});

test('column:row is the column of that name; a type is not part of a name', async ({ service, world }) => {
  const file = world.file('a.csv', 'row:number,Title\n1,t1\n1,t2\n');

  const twin = await world.run(create(file, '--idempotency-key-from', 'column:row'));
  const whole = await world.run(create(file, '--idempotency-key-from', 'row'));

  expect([twin.exitCode, whole.exitCode, service.requests.length]).toEqual([2, 0, 2]);
});

test('a member that is not sent may be what keys are derived from', async ({ service, world }) => {
  const rows = [1, 1].map((id, at) => JSON.stringify({ id, fields: { Title: `t${at}` } })).join('\n');

  const { exitCode, stderr } = await world.run(create(world.file('a.jsonl', rows), '--idempotency-key-from', 'id'));

  expect([exitCode, service.requests]).toEqual([2, []]);
  expect(stderr).toContain('the same value in column "id"');
});

test.each([
  { begun: ['--idempotency-key-from', 'row'], resumed: [], says: 'pass --idempotency-key-from row' },
  { begun: [], resumed: ['--idempotency-key-from', 'row'], says: 'leave out --idempotency-key-from' },
])('a run is resumed with the keys it was begun with alone: $begun, $resumed', async ({ begun, resumed, says }) => {
  const { service, world } = await listWorld({ t3: { status: 400 } });
  const words = create(world.file('a.csv', titles(5)));
  await world.run([...words, ...begun]);

  const refused = await world.run([...words, ...resumed, '--resume']);
  const sent = service.requests.length;
  const same = await world.run([...words, ...begun, '--resume']);

  expect([refused.exitCode, sent, same.exitCode]).toEqual([2, 5, 9]);
  expect(refused.stderr).toContain(says);
});

test('it cannot be used where no key is sent', async ({ service, world }) => {
  const words = create(world.file('a.csv', titles(2)), '--idempotency-key-from', 'row', '--idempotency', 'none');

  const { exitCode, stderr } = await world.run(words);

  expect([exitCode, service.requests]).toEqual([2, []]);
  expect(stderr).toContain('--idempotency-key-from cannot be used with --idempotency none');
});

test('a lost journal doubles every row without it', async () => {
  const { service, world } = await listWorld(undefined, true);
  const words = create(world.file('a.csv', titles(3)));

  await world.run(words);
  rmSync(world.runs, { recursive: true });
  await world.run(words);

  expect([...service.about()].sort()).toEqual([...numbered(3), ...numbered(3)].sort());
  expect(service.items.size).toBe(6);
});

/** `runs resolve --auto` on a service without query: the items of creates in doubt are among the ids that are missing. */
import { expect, test } from 'vitest';
import { create, jsonLines } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

const lost = { status: 200, cut: true };

/** Imports titles; the items of `kept` are stored although their answers are lost, those of `gone` are not. */
async function interrupted(titles: readonly string[], { kept = [''], gone = [''] }, more: readonly string[] = []) {
  const seen = new Map<string, number>();
  const world = await listWorld(({ method, title = '' }) => {
    const nth = (seen.get(title) ?? 0) + (method === 'POST' ? 1 : 0);
    seen.set(title, nth);
    if (method !== 'POST') return undefined;
    if (kept.includes(`${title}${nth > 1 ? `/${nth}` : ''}`)) return { ...lost, applies: true };
    return gone.includes(title) ? lost : undefined;
  });
  const file = world.world.file('a.csv', `Title\n${titles.join('\n')}\n`);
  const words = create(file, '--concurrency', '1', '--retries', '0', ...more);
  return { ...world, ran: await world.world.run(words), words };
}

const auto = ['runs', 'resolve', 'last', '--auto'];

test('settles what matches one item alone, names the rest, and undo leaves what was settled so', async () => {
  const titles = ['a', 'b', 'c', 'd', 'e', 'f'];
  const { service, world, ran } = await interrupted(titles, { kept: ['b', 'd'], gone: ['e'] });
  // Of another person, between those of the run.
  service.items.set('6', { Title: 'other' });

  const resolved = await world.run([...auto, '-o', 'json']);
  const again = await world.run(auto);
  const undone = await world.run(['runs', 'undo', 'last', '--yes']);

  expect(ran.exitCode).toBe(8);
  expect(resolved.exitCode).toBe(8);
  expect(JSON.parse(resolved.stdout)).toMatchObject({ done: 5, inDoubt: 1 });
  expect(resolved.stderr).toContain('1 row still in doubt: 5;');
  expect(again.exitCode).toBe(8);
  expect(undone.stderr).toContain('2 items of run');
  expect(undone.stderr).toMatch(/not known to be created by it: 2 and 4|not known to be created by it: 2, 4/);
  expect([...service.items.keys()].sort()).toEqual(['2', '4', '6']);
});

test('the first and the last row are looked for as well', async () => {
  const { world } = await interrupted(['a', 'b', 'c'], { kept: ['c'] });

  const { exitCode, stdout } = await world.run([...auto, '-o', 'json']);

  expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { done: 3, inDoubt: 0 }]);
});

test('two items that may be of one row settle nothing', async () => {
  const { service, world } = await interrupted(['a', 'b', 'c'], { kept: ['b'] });
  service.items.set('4', { Title: 'b' });

  const { exitCode, stdout } = await world.run([...auto, '-o', 'json']);

  expect([exitCode, JSON.parse(stdout)]).toMatchObject([8, { inDoubt: 1 }]);
});

test('without the input an item must have exactly the fields that were sent', async () => {
  const { service, world } = await interrupted(['a', 'b', 'c', 'd'], { kept: ['b', 'c'] });
  service.items.set('3', { Title: 'c', Added: 1 });
  world.file('a.csv', 'Title\nelse\n');

  const { stdout } = await world.run([...auto, '-o', 'json']);

  expect(JSON.parse(stdout)).toMatchObject({ done: 3, inDoubt: 1 });
});

test('ids that are not numbers, and runs that are no create, are refused: nothing is read', async () => {
  const { service, world } = await listWorld(({ method, title }) => {
    if (method === 'PATCH' || title === 'b') return lost;
    return method === 'POST' ? { status: 201, body: { id: `x-${title}`, fields: {} } } : undefined;
  });
  await world.run(create(world.file('a.csv', 'Title\na\nb\n'), '--concurrency', '1', '--retries', '0'));
  const sent = service.requests.length;

  const texts = await world.run(auto);
  service.items.set('1', {});
  await world.run(['items', 'update', '--from', world.file('u.csv', 'id,Title\n1,c\n'), '--retries', '0']);
  const update = await world.run(auto);

  expect([texts.exitCode, update.exitCode]).toEqual([2, 2]);
  expect(texts.stderr).toContain('its ids are not numbers');
  expect(update.stderr).toContain('is no create');
  expect(service.requests.slice(sent).every(({ method }) => method === 'PATCH')).toBe(true);
});

test('the printed commands have the flags that select the service, and a refusal names them', async () => {
  const { service, world } = await listWorld(({ title }) => (title === 'b' ? lost : undefined));
  const env = { LISTCTL_BASE_URL: '' };
  const words = create(world.file('a.csv', 'Title\na\nb\n'), '--concurrency', '1', '--retries', '0');

  const ran = await world.run([...words, '--base-url', service.url, '-o', 'none'], { env });
  const elsewhere = await world.run([...auto, '--base-url', 'http://127.0.0.1:9/v1.0']);

  expect(ran.stderr).toMatch(
    new RegExp(`look for their items with:\\s+listctl runs resolve \\S+ --base-url ${service.url} --auto`),
  );
  expect(elsewhere.exitCode).toBe(2);
  expect(elsewhere.stderr).toContain(`pass --base-url ${service.url}\n  nothing was sent`);
});

test('a row in doubt names its command in JSON too', async () => {
  const { ran } = await interrupted(['a', 'b'], { gone: ['b'] });

  expect(jsonLines(ran.stdout)[1]).toMatchObject({
    status: 'in-doubt',
    error: { hint: expect.stringContaining('listctl runs resolve ') },
  });
});

/** A short turn of `npm run test:load`, and that its books see what it is there to see. */
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { Acknowledged } from '../load/acknowledged.ts';
import { mixedLoad } from '../load/mixed-load.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('the built-in service under a load of all four verbs', () => {
  test('holds what it acknowledged through kills', async () => {
    await using directory = await temporaryDirectory();

    const { broken, items, kills } = await mixedLoad(directory.path, { seconds: 2, kills: 1, connections: 8 });

    expect(broken).toEqual([]);
    expect(kills).toBe(2);
    expect(items).toBeGreaterThan(0);
  });

  test('leaves no service behind where the load can not begin', async () => {
    await using directory = await temporaryDirectory();

    await expect(mixedLoad(directory.path, { seconds: 1, kills: 0, connections: 0 })).rejects.toThrow('connections');

    await expect.poll(() => process.getActiveResourcesInfo(), { timeout: 10_000 }).not.toContain('ProcessWrap');
  });
});

describe('the books of a load', () => {
  function acknowledged(): Acknowledged {
    const books = new Acknowledged();
    for (const id of ['1', '2', '3', '4']) books.created(id, { title: `title of ${id}`, row: Number(id) });
    books.updating('2', 'new');
    books.updated('2');
    books.updating('3', 'perhaps');
    books.deleting('4');
    books.deleted('4');
    return books;
  }

  const whole: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    '1': { Title: 'title of 1', Row: 1 },
    '2': { Title: 'title of 2', Row: 2, Note: 'new' },
    '3': { Title: 'title of 3', Row: 3 },
  };

  test.each([
    ['lost', { '1': undefined }, 'item 1 is lost'],
    [
      'older than its last answer',
      { '2': { Title: 'title of 2', Row: 2 } },
      'item 2 has the note undefined instead of new',
    ],
    [
      'without a field that an update says nothing of',
      { '2': { Title: 'title of 2', Note: 'new' } },
      'item 2 has the row undefined instead of 2',
    ],
    [
      'other than what was sent',
      { '3': { Title: 'title of 3', Row: 3, Note: 'x' } },
      'item 3 has the note x instead of undefined',
    ],
    ['of another create', { '1': { Title: 'title of 9' } }, 'item 1 has the title title of 9 instead of title of 1'],
    ['there again', { '4': { Title: 'title of 4' } }, 'item 4 was deleted, and is there'],
  ])('see an item that is %s', async (_, change, sentence) => {
    const items: Readonly<Record<string, object | undefined>> = { ...whole, ...change };

    expect(await acknowledged().compare(async (id) => items[id] as Record<string, unknown> | undefined, 2)).toEqual([
      sentence,
    ]);
  });
});

import { describe, expect } from 'vitest';
import { openStore } from '../../../src/server/store.ts';
import { serviceIn, tasks, test } from './service-in.ts';

const hour = 60 * 60 * 1000;
const milk = { fields: { Title: 'Buy milk' } };
const key = (value: string) => ({ 'idempotency-key': value });

describe('a create under a key', () => {
  test('that is sent again creates nothing, and is answered as it was the first time', async ({ service }) => {
    const first = await service.send('POST', tasks, milk, key('"k1"'));
    await service.send('PATCH', `${tasks}/1`, { fields: { Title: 'changed' } });
    await service.reopen();

    const again = await service.send('POST', tasks, '{ "fields": {"Title":"Buy milk"} }', key('"k1"'));

    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers).toEqual({ ...first.headers, 'idempotent-replayed': 'true' });
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    expect(await service.create({})).toBe('2');
  });

  test('returns the same item even after it was deleted', async ({ service }) => {
    await service.send('POST', tasks, milk, key('k'));
    await service.send('DELETE', `${tasks}/1`);

    expect(await service.send('POST', tasks, milk, key('k'))).toMatchObject({ status: 201, json: { id: '1' } });
    expect((await service.send('GET', `${tasks}/1`)).status).toBe(404);
  });

  test('with another body is refused', async ({ service }) => {
    await service.send('POST', tasks, milk, key('k'));

    for (const fields of [{ Title: 'Buy bread' }, { Title: 'Buy milk', Done: false }, {}]) {
      expect(await service.send('POST', tasks, { fields }, key('k'))).toMatchObject({
        status: 422,
        json: { error: 'this Idempotency-Key was used with a different body' },
      });
    }
    expect(await service.create({})).toBe('2');
  });

  test('is one item however many come at once', async ({ service }) => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.send('POST', tasks, milk, key('k'))));

    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['{"id":"1","fields":{"Title":"Buy milk"}}']));
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
  });

  test('has nothing to do with the same key in another list, nor with another key', async ({ service }) => {
    await service.send('POST', tasks, milk, key('k'));

    const elsewhere = await service.send('POST', '/sites/home/lists/notes/items', { fields: {} }, key('k'));
    const quoted = await service.send('POST', tasks, milk, key('"k"'));

    expect(elsewhere).toMatchObject({ status: 201, json: { id: '1', fields: {} } });
    expect(quoted).toMatchObject({ status: 201, json: { id: '2' } });
  });

  test('that was refused leaves the key free', async ({ service }) => {
    await service.send('POST', tasks, '{"fields":1}', key('k'));

    expect((await service.send('POST', tasks, milk, key('k'))).headers).not.toHaveProperty('idempotent-replayed');
  });

  test.for([
    ['', 400],
    ['x'.repeat(255), 201],
    ['x'.repeat(256), 400],
    ['é', 400],
    ['a\tb', 400],
  ] as const)('of %j is answered with %i', async ([value, status], { service }) => {
    expect((await service.send('POST', tasks, milk, key(value))).status).toBe(status);
  });
});

describe('a key', () => {
  test('is remembered for 24 hours, and then free', async ({ service }) => {
    await service.send('POST', tasks, milk, key('k'));

    service.now += 24 * hour - 1;
    expect((await service.send('POST', tasks, milk, key('k'))).json).toMatchObject({ id: '1' });
    service.now += 1;
    const later = await service.send('POST', tasks, { fields: { Title: 'Bread' } }, key('k'));

    expect(later).toMatchObject({ status: 201, json: { id: '2', fields: { Title: 'Bread' } } });
    expect(later.headers).not.toHaveProperty('idempotent-replayed');
  });

  test('that is used again expires after its last use', async ({ service }) => {
    await service.send('POST', tasks, milk, key('k'));
    service.now += 24 * hour;
    await service.send('POST', tasks, milk, key('k'));

    service.now += 1;
    await service.create({});
    const again = await service.send('POST', tasks, milk, key('k'));

    expect(again).toMatchObject({ json: { id: '2' }, headers: { 'idempotent-replayed': 'true' } });
  });

  test('is forgotten bit by bit once it is old', async ({ directory }) => {
    const recordsIn = async () => {
      const store = openStore(directory.path);
      const kept = await store.write((transaction) =>
        ['replay', 'expiry'].map((kind) => transaction.entries([kind], [`${kind}~`], 100).length),
      );
      await store.close();
      return kept;
    };
    const counts: (readonly number[])[] = [];
    {
      await using service = await serviceIn(directory);
      for (let at = 0; at < 10; at += 1) await service.send('POST', tasks, milk, key(`k${at}`));
      service.now += 25 * hour;
      for (let at = 0; at < 4; at += 1) {
        await service.create({});
        counts.push(await recordsIn());
      }
    }

    expect(counts).toEqual([
      [6, 6],
      [2, 2],
      [0, 0],
      [0, 0],
    ]);
  });
});

/** What `apply` sends: creates, the fields that differ, deletes with --prune, and nothing the second time. */
import { describe, expect } from 'vitest';
import { a, b, c, test } from './fixtures.ts';

describe('apply', () => {
  test('creates what is new, and keeps its id, fields and ETag', async ({ service, world }) => {
    world.manifest(a, b);

    const { exitCode, stderr } = await world.apply('--init', '--yes');

    expect([exitCode, service.writes()]).toEqual([0, ['POST a', 'POST b']]);
    expect([...service.items().values()]).toEqual([a, b]);
    const { items, run } = world.known();
    expect(items).toMatchObject({ a: { fields: a, etag: expect.stringMatching(/^"/) }, b: { fields: b } });
    expect([run, service.items().get(items['a']?.id ?? '')]).toEqual([undefined, a]);
    expect(stderr).toContain('2 created, 0 updated, 0 deleted, 0 unchanged; ');
  });

  test('a second time reads, sends nothing, and leaves the state as it is', async ({ service, world }) => {
    await world.begin(a, b);
    const state = world.text('manifest.yaml.state.json');
    const before = service.requests.length;

    const { exitCode, stdout } = await world.apply();

    expect(exitCode).toBe(0);
    expect(service.requests.slice(before).map(({ method }) => method)).toEqual(['GET', 'GET']);
    expect(stdout).toContain('No changes: 2 items match the manifest.');
    expect(world.text('manifest.yaml.state.json')).toBe(state);

    const logged = await world.apply('-o', 'none');
    expect(logged).toMatchObject({ exitCode: 0, stdout: '' });
    expect(logged.stderr).toContain('0 created, 0 updated, 0 deleted, 2 unchanged; on ');
  });

  test('N37: compares numbers digit for digit, beyond the precision of JavaScript', async ({ service, world }) => {
    const manifest = (digits: string) =>
      `{"key":"Title","items":[{"Title":"a","a":1234567890123456789${digits},"b":1.0,"c":1e400,"d":-0}]}`;
    world.file('manifest.yaml', manifest('0'));
    await world.apply('--init', '--yes', '-o', 'none');

    const again = await world.apply('--dry-run');
    world.file('manifest.yaml', manifest('1'));
    const other = await world.apply('--yes', '-o', 'none');

    expect(again.stdout).toContain('No changes: 1 item matches the manifest.');
    expect([other.exitCode, service.requests.at(-1)?.body]).toEqual([0, '{"fields":{"a":12345678901234567891}}']);
  });

  test('sends of an update only the fields that differ, with the ETag of the item', async ({ service, world }) => {
    await world.begin({ ...a, Due: '1' }, b);
    const etag = world.known().items['a']?.etag;
    world.manifest({ ...a, Due: '2' }, b);

    const { exitCode } = await world.apply('--yes');

    const [sent, ...others] = service.requests.filter(({ method }) => method === 'PATCH');
    expect([exitCode, sent?.fields, sent?.headers['if-match'], others]).toEqual([0, { Due: '2' }, etag, []]);
    expect(world.known().items['a']).toMatchObject({
      fields: { ...a, Due: '2' },
      etag: expect.not.stringMatching(etag ?? ''),
    });
  });

  test('clears with null, once', async ({ service, world }) => {
    await world.begin(a);
    world.manifest({ Title: 'a', Note: null });

    await world.apply('--yes');
    const again = await world.apply();

    expect([...service.items().values()]).toEqual([{ Title: 'a' }]);
    expect([service.writes(), again.exitCode]).toEqual([['POST a', 'PATCH 1'], 0]);
  });

  test('a field that the manifest names no longer is let be', async ({ service, world }) => {
    await world.begin(a);
    world.manifest({ Title: 'a' });

    const { exitCode } = await world.apply();

    expect([exitCode, service.writes(), service.items().get('1')]).toEqual([0, ['POST a'], a]);
  });

  test('resets a field that was changed outside apply, and says so', async ({ service, world }) => {
    await world.begin(a, b);
    await service.change('1', { Note: 'changed' });

    const { exitCode, stdout } = await world.apply('--yes');

    expect([exitCode, service.writes().slice(2), service.items().get('1')]).toEqual([0, ['PATCH 1'], a]);
    expect(stdout).toContain('changed outside apply');
    expect(stdout).toContain('Note: changed → x');
  });

  test('recreates a missing item, and says so', async ({ service, world }) => {
    await world.begin(a, b);
    await service.remove('2');

    const { exitCode, stdout } = await world.apply('--yes');

    expect([exitCode, service.writes().slice(2), service.items().get('3')]).toEqual([0, ['POST b'], b]);
    expect(stdout).toContain('missing: will be recreated');
    expect(world.known().items['b']?.id).toBe('3');
  });
});

describe('what the manifest no longer names', () => {
  test('I15: is reported, and left as it is', async ({ service, world }) => {
    await world.begin(a, b);
    world.manifest(a);

    const { exitCode, stdout } = await world.apply('--yes');

    expect([exitCode, service.writes()]).toEqual([0, ['POST a', 'POST b']]);
    expect(stdout).toContain('= key "b", id 2, no longer in the manifest: unchanged');
    expect(world.known().items).toHaveProperty('b');
  });

  test('I15: is deleted with --prune and --yes, with its ETag', async ({ service, world }) => {
    await world.begin(a, b);
    const etag = world.known().items['b']?.etag;
    world.manifest(a);

    const { exitCode } = await world.apply('--prune', '--yes');

    const sent = service.requests.find(({ method }) => method === 'DELETE');
    expect([exitCode, sent?.id, sent?.headers['if-match']]).toEqual([0, '2', etag]);
    expect([[...service.items().keys()], Object.keys(world.known().items)]).toEqual([['1'], ['a']]);
  });

  test('is forgotten if it was already deleted', async ({ service, world }) => {
    await world.begin(a, b);
    await service.remove('2');
    world.manifest(a);

    const { exitCode } = await world.apply('--yes');

    expect([exitCode, service.writes().length, Object.keys(world.known().items)]).toEqual([0, 2, ['a']]);
  });

  test('counts as deleted if another client deletes it at the same time', async ({ service, world }) => {
    await world.begin(a, b);
    world.manifest(a);
    service.script = ({ method }) => (method === 'DELETE' ? { status: 404, body: { error: 'gone' } } : undefined);

    const { exitCode } = await world.apply('--prune', '--yes');

    expect([exitCode, Object.keys(world.known().items)]).toEqual([0, ['a']]);
  });

  test("D: what is not the manifest's own is never deleted, whatever it is called", async ({ service, world }) => {
    await service.add({ Title: 'b' });
    await world.begin(a, c);
    world.manifest();

    const { exitCode } = await world.apply('--prune', '--yes');

    expect([exitCode, [...service.items().keys()]]).toEqual([0, ['1']]);
  });
});

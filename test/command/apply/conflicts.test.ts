/** Items that change between the read and the write: `If-Match` names the version that was read. */
import { describe, expect } from 'vitest';
import { a, b, test } from './fixtures.ts';

describe('another client that writes at the same time', () => {
  test.for([
    { what: 'an update', items: [{ ...a, Note: 'new' }, b], flags: [] },
    { what: 'a delete', items: [b], flags: ['--prune'] },
  ])('412 to $what is a conflict: 9, nothing is changed', async ({ items, flags }, { service, world }) => {
    await world.begin(a, b);
    const before = world.known().items['a'];
    world.manifest(...items);
    service.script = ({ method }) => {
      if (method === 'GET') return undefined;
      service.script = () => undefined;
      return { status: 412, body: { error: 'it has changed' } };
    };

    const { exitCode, stderr } = await world.apply(...flags, '--yes');

    expect([exitCode, service.items().get('1'), world.known().items['a']]).toEqual([9, a, before]);
    expect(stderr).toContain('run again: listctl apply manifest.yaml');
  });

  test('--no-refresh sends the ETag of the state: what changed since is a conflict', async ({ service, world }) => {
    await world.begin(a);
    await service.change('1', { Note: 'of somebody' });
    world.manifest({ ...a, Note: 'new' });

    const { exitCode } = await world.apply('--yes', '--no-refresh');

    expect([exitCode, service.items().get('1')?.['Note']]).toEqual([9, 'of somebody']);
    expect(service.writes().slice(1)).toEqual(['PATCH 1']);
  });

  test('a weak ETag is not sent: it would match nothing', async ({ service, world }) => {
    service.givesEtags = false;
    service.script = ({ method, id }) =>
      method === 'GET' ? { status: 200, headers: { etag: 'W/"1"' }, body: { id, fields: a } } : undefined;
    await world.begin(a);
    world.manifest({ ...a, Note: 'new' });

    const { exitCode } = await world.apply('--yes');

    expect([exitCode, service.requests.at(-1)?.headers['if-match']]).toEqual([0, undefined]);
  });
});

describe('--no-refresh', () => {
  test('trusts the state: an unchanged manifest makes no request at all', async ({ service, world }) => {
    await world.begin(a, b);
    await service.remove('2');
    const before = service.requests.length;

    const { exitCode, stdout } = await world.apply('--no-refresh');

    expect([exitCode, service.requests.length]).toEqual([0, before]);
    expect(stdout).toContain('No changes: 2 items');
  });
});

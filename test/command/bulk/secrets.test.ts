/** The token is nowhere but in the requests. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesWith, newCanary } from '../../support/canary.ts';
import { create, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

test.each(['pretty', 'jsonl', 'csv'])(
  'the token is in no journal, rejects file, result or summary (%s), whatever the service repeats',
  async (format) => {
    const canary = newCanary();
    const body = { error: { code: `code-${canary}`, message: `you sent ${canary}` } };
    const { service, world } = await listWorld(({ title }) => {
      if (title === 't2') return { status: 400, headers: { 'request-id': canary }, body };
      if (title === 't3') return { status: 500, headers: { 'request-id': canary }, body };
      if (title === 't4') return { status: 409, headers: { location: `/x?${canary}` }, body: canary };
      return title === 't6' ? { status: 401, body } : undefined;
    });
    const env = { LISTCTL_TOKEN: canary };
    const words = create(world.file('a.csv', titles(8)), '--rejects', join(world.path, 'r.csv'), '-o', format, '-vv');
    const last = [...words, '--concurrency', '1', '--journal', join(world.path, 'j')];

    const first = await world.run(last, { env });
    const second = await world.run([...last, '--resume'], { env });

    expect([first.exitCode, second.exitCode]).toEqual([8, 8]);
    expect(service.requests.every(({ headers }) => headers['authorization'] === `Bearer ${canary}`)).toBe(true);
    for (const { stdout, stderr } of [first, second]) expect(stdout + stderr).not.toContain(canary.slice(0, 15));
    expect(filesWith(canary, world.path)).toEqual([]);
    expect(world.text('j')).toContain('"F"');
  },
);

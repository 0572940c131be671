/** `--target KEY`: only these keys are planned. */
import { describe, expect } from 'vitest';
import { a, b, test } from './fixtures.ts';

describe('--target', () => {
  test('plans, reads and sends only the named keys', async ({ changed }) => {
    const { world, service } = changed;
    await service.change('2', { Note: 'of somebody' });
    const before = service.requests.length;

    const { exitCode, stdout, stderr } = await world.apply('--yes', '--prune', '--target', 'a', '--target', 'd');

    expect([exitCode, service.requests.length - before]).toEqual([0, 3]);
    expect(service.writes().slice(3)).toEqual(['PATCH 1', 'POST d']);
    expect(stdout).toContain('\nOnly these keys are planned: "a", "d"\n');
    expect(stderr).toContain('1 created, 1 updated, 0 deleted, 0 unchanged');
    expect(Object.keys(world.known().items)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('with --prune deletes only the named keys', async ({ changed }) => {
    const { world, service } = changed;

    const kept = await world.apply('--yes', '--target', 'c');
    await world.apply('--yes', '--prune', '--target', 'c');

    expect(kept.stdout).toContain('= key "c", id 3, no longer in the manifest: unchanged');
    expect(service.writes().slice(3)).toEqual(['DELETE 3']);
  });

  test('leaves keys in doubt to the next run', async ({ service, world }) => {
    world.manifest(a, b);
    service.script = ({ method, fields }) =>
      method === 'POST' && fields['Title'] === 'a' ? { status: 500 } : undefined;
    await world.apply('--init', '--yes', '--retries', '0');

    expect((await world.apply('--yes', '--target', 'b')).exitCode).toBe(0);
    expect((await world.apply('--yes')).exitCode).toBe(8);
  });

  test.for([
    ['A', 'did you mean "a"?\n  nothing was sent'],
    ['elsewhere', 'nothing was sent'],
  ] as const)('%s is in neither manifest nor state: 2', async ([key, hint], { changed }) => {
    const before = changed.service.requests.length;

    const { exitCode, stderr } = await changed.world.apply('--yes', '--target', 'a', '--target', key);

    expect([exitCode, changed.service.requests.length - before]).toEqual([2, 0]);
    expect(stderr).toBe(`listctl: --target "${key}" is in neither the manifest nor the state\n  ${hint}\n`);
  });

  test('is part of a saved plan', async ({ changed }) => {
    const { world, service } = changed;
    await world.apply('--target', 'a', '--out', 'plan.json');
    await service.change('2', { Note: 'of somebody' });

    const wider = await world.run(['apply', 'plan.json', '--target', 'd']);
    const { exitCode } = await world.run(['apply', 'plan.json']);

    expect(JSON.parse(world.text('plan.json'))).toMatchObject({ targets: ['a'], steps: [{ key: 'a' }] });
    expect([wider.exitCode, wider.stderr]).toEqual([
      2,
      expect.stringContaining('--target cannot be used with a saved'),
    ]);
    expect([exitCode, service.writes().slice(3)]).toEqual([0, ['PATCH 1']]);
  });
});

test.for(['plan', 'diff'])('%s is apply --dry-run', async (verb, { changed }) => {
  const { world } = changed;
  const words = ['manifest.yaml', '--prune', '--detailed-exitcode', '--out', 'plan.json'];

  const dry = await world.run(['apply', ...words, '--dry-run']);
  const { exitCode, stdout, stderr } = await world.run([verb, ...words]);
  const plain = await world.run([verb, 'manifest.yaml']);

  expect([exitCode, stdout, stderr]).toEqual([12, dry.stdout, dry.stderr]);
  expect([plain.exitCode, changed.writesSince()]).toEqual([0, 0]);
});

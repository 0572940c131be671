/** `--out plan.json`, and `apply plan.json`: exactly that, or nothing. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect } from 'vitest';
import { type ApplyWorld, a, b, c, test } from './fixtures.ts';
import type { ItemService } from './item-service.ts';

/** A list of three, and a saved plan that updates one, creates one and deletes one. */
async function plan(service: ItemService, world: ApplyWorld, ...more: readonly string[]): Promise<void> {
  await world.begin(a, b, c);
  world.manifest({ ...a, Note: 'new' }, b, { Title: 'd' });
  const { exitCode } = await world.apply('--prune', '--out', 'plan.json', ...more);
  expect([exitCode, service.writes().length]).toEqual([0, 3]);
}

describe('a saved plan', () => {
  test('is carried out without a prompt, exactly as saved', async ({ service, world }) => {
    await plan(service, world);

    const { exitCode, stdout, stderr } = await world.run(['apply', 'plan.json', '--concurrency', '1']);

    expect([exitCode, stdout]).toEqual([0, 'updated "a": id 1\ncreated "d": id 4\ndeleted "c": id 3\n']);
    expect(stderr).toContain(
      `applying plan.json: create 1, update 1 and DELETE 1 in list "tasks" of site "home" on ${new URL(service.url).origin}\n`,
    );
    expect(service.writes().slice(3)).toEqual(['PATCH 1', 'POST d', 'DELETE 3']);
    expect([...service.items().values()]).toEqual([{ ...a, Note: 'new' }, b, { Title: 'd' }]);
    expect((await world.apply('--dry-run', '--detailed-exitcode')).exitCode).toBe(0);
  });

  test('holds for its flags too: --no-refresh makes no read', async ({ service, world }) => {
    await plan(service, world, '--no-refresh');
    const before = service.requests.length;

    const { exitCode } = await world.run(['apply', 'plan.json']);

    expect([exitCode, service.requests.length - before]).toEqual([0, 3]);
  });

  test('is what -o json prints', async ({ world }) => {
    await world.begin(a);
    world.manifest(a, b);

    const { stdout } = await world.apply('--out', 'plan.json', '-o', 'json');
    const onTerminal = await world.run(['apply', 'plan.json', '--dry-run', '-o', 'json'], { terminal: 80 });

    expect(world.text('plan.json')).toBe(stdout);
    expect(stripVTControlCharacters(onTerminal.stdout)).toBe(`${JSON.stringify(JSON.parse(stdout), undefined, 2)}\n`);
  });

  test('says where it is, and how to apply it with the same flags', async ({ world }) => {
    world.file('plan of a.yaml', JSON.stringify({ items: [a] }));

    const words = ['plan of a.yaml', '--key', 'Title', '--state', 's.json'];
    const made = await world.run(['apply', ...words, '--init', '--out', 'to do.json']);
    await world.run(['apply', ...words, '--init', '--yes']);
    const none = await world.run(['apply', ...words, '--out', 'none.json']);
    const applied = await world.run(['apply', 'none.json', '--state', 's.json']);

    expect(made.stderr).toContain(
      "saved the plan to to do.json; to apply it, run: listctl apply 'to do.json' --key Title --state s.json\n",
    );
    expect(none.stderr).toBe('saved the plan to none.json\n');
    expect([applied.exitCode, applied.stderr]).toEqual([0, 'nothing to do: none.json has no changes\n']);
  });

  test('--dry-run shows it', async ({ service, world }) => {
    await plan(service, world);

    const { exitCode, stdout } = await world.run(['apply', 'plan.json', '--dry-run']);

    expect([exitCode, service.writes().length]).toEqual([0, 3]);
    expect(stdout).toContain('Plan: 1 to create, 1 to update, 1 to delete, 1 unchanged');
  });

  test('of a first run needs no --init when it is applied', async ({ service, world }) => {
    world.manifest(a);
    const made = await world.apply('--init', '--out', 'plan.json');
    const hadState = world.hasState();

    const { exitCode } = await world.run(['apply', 'plan.json']);
    const again = await world.run(['apply', 'plan.json']);

    expect([made.exitCode, hadState, exitCode, again.exitCode]).toEqual([0, false, 0, 5]);
    expect(service.writes()).toEqual(['POST a']);
  });
});

describe('is refused where anything moved: 5, nothing sent', () => {
  test.for<[string, (service: ItemService, world: ApplyWorld) => unknown, string]>([
    [
      'the manifest',
      (_, world) => world.manifest({ ...a, Note: 'another' }, b, { Title: 'd' }),
      'the manifest changed',
    ],
    [
      'a byte of the manifest that says the same',
      (_, world) => world.file('manifest.yaml', `${world.text('manifest.yaml')}\n`),
      'the manifest changed',
    ],
    ['an item that is updated', (service) => service.change('1', { Note: 'of somebody' }), '"a" (item 1) was changed'],
    ['an updated item, as planned', (service) => service.change('1', { Note: 'new' }), '"a" (item 1) was changed'],
    ['an item that is deleted', (service) => service.change('3', { Other: 'kept' }), '"c" (item 3) was changed'],
    ['an item that was unchanged', (service) => service.change('2', { Note: 'of x' }), '"b" (item 2) was changed'],
    ['an item that is gone', (service) => service.remove('1'), '"a" (item 1) was deleted'],
    ['an item that was to be deleted', (service) => service.remove('3'), '"c" (item 3) was deleted'],
    ['an item that is another now', (service) => service.change('3', { Title: 'x' }), '"c" (item 3) was changed'],
    [
      'two items',
      async (service) => {
        await service.remove('3');
        await service.change('2', { Note: 'of somebody' });
      },
      '"b" (item 2) was changed and 1 more\n',
    ],
    ['the state', (_, world) => world.apply('--yes'), 'the state is at version 4, the plan was made at version 2'],
  ])('%s', async ([_, move, message], { service, world }) => {
    await plan(service, world);
    await move(service, world);
    const [state, sent] = [world.text('manifest.yaml.state.json'), service.writes().length];

    const { exitCode, stderr } = await world.run(['apply', 'plan.json', '--yes']);

    expect([exitCode, service.writes().length, world.text('manifest.yaml.state.json')]).toEqual([5, sent, state]);
    expect(stderr).toContain(`the plan is stale: ${message}`);
  });

  test("what is not the manifest's may move", async ({ service, world }) => {
    await plan(service, world);
    await service.add({ Title: 'of somebody' });

    expect((await world.run(['apply', 'plan.json'])).exitCode).toBe(0);
  });
});

describe('D: one that was tampered with', () => {
  test.for<[string, (text: string) => string, number]>([
    ['another id to delete', (text) => text.replace('"id":"3"', '"id":"2"'), 5],
    ['another value', (text) => text.replace('"Note":"new"', '"Note":"evil"'), 5],
    ['an id that is a path', (text) => text.replace('"id":"3"', '"id":".."'), 10],
    ['another origin', (text) => text.replace('http://', 'https://'), 2],
    ['a state of somebody else', (text) => text.replace(/"lineage":"[^"]*/, `"lineage":"${'0'.repeat(32)}`), 2],
    ['a newer version', (text) => text.replace('"version":2', '"version":3'), 10],
    ['an older version', (text) => text.replace('"version":2', '"version":1').replace('"manifest":', '"seed":'), 2],
    ['cut off', (text) => text.slice(0, -20), 10],
    ['another member', (text) => text.replace('"key":', '"token":"x","key":'), 10],
  ])('%s: nothing sent', async ([_, tamper, exit], { service, world }) => {
    await plan(service, world);
    world.file('plan.json', tamper(world.text('plan.json')));

    const { exitCode } = await world.run(['apply', 'plan.json', '--yes']);

    expect([exitCode, service.writes().length]).toEqual([exit, 3]);
  });

  test('one that was lost with its state is 2', async ({ service, world }) => {
    await plan(service, world);

    const { exitCode, stderr } = await world.run(['apply', 'plan.json', '--state', 'other.json']);

    expect([exitCode, service.writes().length]).toEqual([2, 3]);
    expect(stderr).toContain('no state file at');
  });
});

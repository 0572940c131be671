/** Everything that a command prints as JSON, and every line of stderr beside it, is as schema/ says: no member more. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { serving } from '../support/serving.ts';
import { type Run, run } from '../support/test-host.ts';
import { jsonLines, type ManyWorld, manyWorld } from './bulk/bulk-world.ts';
import { listService } from './bulk/list-service.ts';

const directory = join(import.meta.dirname, '../../schema');
const names = readdirSync(directory).map((file) => file.replace(/\.json$/, ''));
const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
for (const name of names) ajv.addSchema(closed(JSON.parse(readFileSync(join(directory, `${name}.json`), 'utf8'))));
const used = new Set<string>();

/** The schema without room for members that it does not name, unless it says that there are others. */
function closed(schema: unknown): AnySchemaObject {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema as AnySchemaObject;
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const { type, required, additionalProperties } = schema as Readonly<Record<string, unknown>>;
  const isClosed = type === 'object' && required !== undefined && additionalProperties === undefined;
  return isClosed ? { ...members, additionalProperties: false } : members;
}

function check(name: string, value: unknown): void {
  used.add(name);
  const validate = ajv.getSchema(`${name}.json`);
  if (validate === undefined) throw new Error(`there is no schema/${name}.json`);
  validate(value);
  expect(validate.errors ?? [], JSON.stringify(value)).toEqual([]);
}

/** Checks both streams of a run; `name` is the schema of each value on stdout. */
function checkRun(name: string | undefined, { stdout, stderr }: Pick<Run, 'stdout' | 'stderr'>, isSome = true): void {
  const told = jsonLines(stderr);
  expect(stderr).toBe(told.map((line) => `${JSON.stringify(line)}\n`).join(''));
  for (const line of told) {
    check('stderr', line);
    if (line['error'] !== undefined) check('error', line['error']);
  }
  if (name === undefined) expect(stdout).toBe('');
  else {
    const parsed = stdout.trim().startsWith('[') ? JSON.parse(stdout) : undefined;
    const values = Array.isArray(parsed)
      ? parsed
      : stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
    if (isSome) expect(values.length).toBeGreaterThan(0);
    for (const value of values) check(name, value);
  }
}

const json = ['-o', 'jsonl'];

async function withWorld(work: (world: ManyWorld) => Promise<void>): Promise<void> {
  await using service = await listService(({ title, method }) => {
    if (method === 'POST' && title === 'refused') return { status: 400, body: { error: { message: 'no', code: 'c' } } };
    if (method === 'POST' && title === 'lost') return { status: 500, headers: { 'request-id': 'r-1' } };
    return undefined;
  });
  service.items.set('1', { Title: 'one', Long: 1.5 }).set('2', { Title: 'two' });
  await using world = await manyWorld(service);
  await work(world);
}

test.each<readonly [schema: string | undefined, words: readonly string[]]>([
  ['item', ['items', 'create', '-f', 'Title=a']],
  ['item', ['items', 'get', '1', '2', '77']],
  ['item', ['items', 'get', '1']],
  ['item', ['items', 'update', '1', '-f', 'Title=b', '-vv']],
  ['item', ['items', 'delete', '1', '2', '--yes']],
  [undefined, ['items', 'create', '-f', 'Title=lost']],
  [undefined, ['items', 'create', '-f', 'Title=refused']],
  [undefined, ['items', 'get', '77', '88']],
  [undefined, ['items', 'gte']],
  ['request', ['items', 'create', '-f', 'Title=a', '--dry-run']],
  ['request', ['items', 'delete', '1', '2', '--dry-run']],
  ['request', ['api', 'PATCH', '/x', '-f', 'a=b', '--dry-run']],
  ['finding', ['doctor']],
  ['auth', ['auth', 'status']],
  ['profile', ['profile', 'list']],
  ['token', ['auth', 'token']],
  ['version', ['version']],
])('%s: %j', async (schema, words) => {
  await withWorld(async (world) => {
    const env = { LISTCTL_CONFIG_DIR: join(world.path, 'config') };
    if (schema === 'profile') await world.run(['profile', 'set', 'p', '--base-url', 'http://127.0.0.1:1'], { env });
    checkRun(schema, await world.run([...words, ...json], { env }));
  });
});

describe('runs over many rows', () => {
  const rows = 'Title,Count:number\na,1\nrefused,2\nlost,3\nb,4\n';

  test('their results, summaries, and what runs says of them', async () => {
    await withWorld(async (world) => {
      const words = ['items', 'create', '--from', world.file('a.csv', rows), '--summary-json', 's.json'];
      checkRun('result', await world.run([...words, ...json]));
      check('summary', JSON.parse(world.text('s.json')));
      checkRun('result', await world.run([...words, '--resume', '--json']));
      check('summary', JSON.parse(world.text('s.json')));
      checkRun('run', await world.run(['runs', 'list', ...json]));
      checkRun('run-detail', await world.run(['runs', 'show', 'last', ...json]));
      checkRun('result', await world.run(['runs', 'show', 'last', '--rows', ...json]));
      checkRun('doubt', await world.run(['runs', 'show', 'last', '--in-doubt', ...json]));
      checkRun('run', await world.run(['runs', 'resolve', 'last', '--row', '3', '--not-applied', ...json]));
      checkRun('result', await world.run(['runs', 'undo', 'last', '--yes', '--summary-json', 's.json', ...json]));
      check('summary', JSON.parse(world.text('s.json')));
      world.file(`state/runs/20991231-000000-aaaa.0123456789abcdef.journal`, 'damaged\n');
      checkRun('run', await world.run(['runs', 'list', '--json']));
    });
  });

  test('rows that cannot be sent, and reads', async () => {
    await withWorld(async (world) => {
      const bad = world.file('bad.csv', 'Title,Count:number\na,x\nb\n');
      checkRun(undefined, await world.run(['items', 'create', '--from', bad, ...json]));
      const jsonl = world.file('bad.jsonl', '{"Title":"a"}\n{"Title":\n');
      checkRun('result', await world.run(['items', 'create', '--from', jsonl, '--skip-invalid', ...json]));
      const ids = world.file('ids.txt', '1\n77\n');
      checkRun('item', await world.run(['items', 'get', '--from', ids, '--summary-json', 's.json', ...json]));
      check('summary', JSON.parse(world.text('s.json')));
      checkRun('request', await world.run(['items', 'delete', '--from', ids, '--dry-run', ...json]));
    });
  });
});

test('apply: plans, states, steps', async () => {
  await withWorld(async (world) => {
    const apply = (...more: readonly string[]) =>
      world.run(['apply', 'manifest.csv', '--key', 'Title', ...more, ...json]);
    world.file('manifest.csv', 'Title,Count:number\na,1\nb,2\nrefused,3\nlost,4\n');
    checkRun('plan', await apply('--init', '--dry-run'));
    checkRun('step', await apply('--init', '--yes', '--summary-json', 's.json'));
    check('summary', JSON.parse(world.text('s.json')));
    check('state', JSON.parse(world.text('manifest.csv.state.json')));
    checkRun('managed-item', await world.run(['state', 'list', 'manifest.csv', ...json]));
    checkRun('managed-item', await world.run(['state', 'show', 'manifest.csv', 'a', ...json]));
    checkRun('managed-item', await world.run(['state', 'show', 'manifest.csv', 'lost', ...json]));
    world.file('manifest.csv', 'Title,Count:number\na,5\nc,2\n');
    checkRun('plan', await apply('--prune', '--out', 'plan.json'));
    check('plan', JSON.parse(world.text('plan.json')));
    checkRun('step', await apply('--prune', '--yes'));
    check('state', JSON.parse(world.text('manifest.csv.state.json')));
    world.file('manifest.csv', 'Title\na\na\n\n');
    checkRun(undefined, await apply('--yes'));
  });
});

test('columns, the tree of commands, and what serve prints first', async () => {
  const facets = { text: {}, required: true, enforceUniqueValues: true };
  const column = { name: 'Title', displayName: 'Title', ...facets };
  await using service = await scriptedService({ status: 200, body: { value: [column] } });
  const env = { ...environmentFor(service), LISTCTL_SERVICE: 'graph' };
  checkRun('column', await run(['columns', 'list', ...json], { env }));
  check('command', JSON.parse((await run(['help', '--json'])).stdout));
  await using server = await serving(['-o', 'json']);
  checkRun('server', server.host.printed);
});

test('every schema is checked against something', () => {
  expect([...used].sort()).toEqual(names.toSorted());
});

test('every schema says what it is', () => {
  for (const name of names) {
    const { title, description, $id } = JSON.parse(readFileSync(join(directory, `${name}.json`), 'utf8'));
    expect([$id, title, description]).toEqual([`${name}.json`, expect.any(String), expect.any(String)]);
  }
});

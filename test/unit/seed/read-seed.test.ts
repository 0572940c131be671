import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Seed } from '../../../src/apply/manifest.ts';
import { readSeed, type SeedOptions } from '../../../src/apply/manifest.ts';
import { Failure } from '../../../src/core/errors.ts';
import { printJson } from '../../../src/core/json.ts';
import { openInput } from '../../../src/rows/input.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost } from '../../support/test-host.ts';
import { usual } from '../rows/rows-from.ts';

async function seedFrom(
  name: string,
  content: string | Uint8Array,
  { rows = usual, ...options }: Partial<SeedOptions> = {},
): Promise<Seed> {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, name), content);
  const input = await openInput(join(directory.path, name), { host: testHost(), spoolDirectory: directory.path });
  try {
    return await readSeed({ ...input, name }, { rows, ...options });
  } finally {
    input.close();
  }
}

async function failureOf(...args: Parameters<typeof seedFrom>): Promise<string> {
  const error = await seedFrom(...args).catch((reason: unknown) => reason);
  if (!(error instanceof Failure)) throw new Error(`no failure: ${String(error)}`);
  expect(error.kind).toBe('usage');
  return error.message;
}

const told = ({ site, list, key, items }: Seed) => ({
  ...{ site, list, key },
  items: items.map((item) => `${item.line} ${item.key} ${printJson(item.fields)}`),
});

const yaml =
  'site: demo\nlist: 12\nkey: Title\nitems:\n  - Title: one\n    Count: 1.10\n  - fields: {Title: 007, Done: true}\n';
const same = {
  site: 'demo',
  list: '12',
  key: 'Title',
  items: ['5 one {"Title":"one","Count":1.10}', '7 7 {"Title":7,"Done":true}'],
};

test('a seed in YAML names its list and its key at its top, and its items by field', async () => {
  expect(told(await seedFrom('seed.yaml', yaml))).toEqual(same);
  expect(told(await seedFrom('seed.yml.gz', gzipSync(yaml)))).toEqual(same);
  expect(told(await seedFrom('seed.conf', yaml, { isYaml: true }))).toEqual(same);
});

test('the same object may be JSON', async () => {
  const json =
    '{"site":"demo","list":12,"key":"Title",\n"items":[\n{"Title":"one","Count":1.10},\n\n{"fields":{"Title":7,"Done":true}}]}\n';

  expect(told(await seedFrom('seed.json', json))).toEqual({
    ...same,
    items: ['3 one {"Title":"one","Count":1.10}', '5 7 {"Title":7,"Done":true}'],
  });
});

test.each([
  ['seed.yaml', '- {Title: a, N: 1}\n- {Title: b}\n'],
  ['seed.json', '[{"Title":"a","N":1},\n{"Title":"b"}]'],
  ['seed.jsonl', '{"Title":"a","N":1}\n{"Title":"b"}\n'],
])('%s may be a plain list of items', async (name, content) => {
  const { items } = await seedFrom(name, content, { key: 'Title' });

  expect(items.map(({ key, line, fields }) => [key, line, printJson(fields)])).toEqual([
    ['a', 1, '{"Title":"a","N":1}'],
    ['b', 2, '{"Title":"b"}'],
  ]);
});

test('CSV and TSV are read as --from reads them', async () => {
  const types = new Map([['N', 'number' as const]]);
  const rows = { ...usual, types, rename: new Map([['Name', 'Title']]) };
  const csv = await seedFrom('seed.csv', 'Name,N\na,1.10\n"b\nc",\n', { rows, key: 'Title' });
  const tsv = await seedFrom('seed.tsv', 'Name\tN\na\t2\n', { rows, key: 'N' });

  expect(csv.items.map(({ key, line, fields }) => [key, line, printJson(fields)])).toEqual([
    ['a', 2, '{"Title":"a","N":1.10}'],
    ['b\nc', 3, '{"Title":"b\\nc"}'],
  ]);
  expect(tsv.items.map(({ key }) => key)).toEqual(['2']);
});

test('a key is a text, a number by its digits, true or false', async () => {
  const { items } = await seedFrom('seed.yaml', '- k: " a "\n- k: 12345678901234567890\n- k: 1.0\n- k: true\n', {
    key: 'k',
  });

  expect(items.map(({ key }) => key)).toEqual([' a ', '12345678901234567890', '1.0', 'true']);
});

test('the hash is of the bytes on disk, however they are read', async () => {
  const content = '[{"Title":"a"}]';
  const [json, document] = [
    await seedFrom('a.json', content, { key: 'Title' }),
    await seedFrom('a.yaml', content, { key: 'Title' }),
  ];

  expect(json.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(document.sha256).toBe(json.sha256);
  expect(document.sizeBytes).toBe(content.length);
});

test.each([
  [
    'seed.yaml',
    '- k: a\n- k: b\n- k: a\n',
    'seed.yaml: 1 item of 3 cannot be used: line 3: the key "a" stands in line 1 already',
  ],
  ['seed.csv', 'k\n1\n1\n', 'seed.csv: 1 item of 2 cannot be used: line 3: the key "1" stands in line 2 already'],
  [
    'seed.json',
    '[{"k":1},\n{"k":"1"}]',
    'seed.json: 1 item of 2 cannot be used: line 2: the key "1" stands in line 1 already',
  ],
  ['seed.yaml', '- k: ""\n', 'seed.yaml: 1 item of 1 cannot be used: line 1: its key "k" is empty'],
  ['seed.csv', 'k,v\n,1\n', 'seed.csv: 1 item of 1 cannot be used: line 2: it has no "k", which is its key'],
  ['seed.yaml', '- v: 1\n', 'seed.yaml: 1 item of 1 cannot be used: line 1: it has no "k", which is its key'],
  [
    'seed.yaml',
    '- k: [1]\n',
    'seed.yaml: 1 item of 1 cannot be used: line 1: its key "k" is no text, number, true or false',
  ],
  [
    'seed.yaml',
    '- k:\n',
    'seed.yaml: 1 item of 1 cannot be used: line 1: its key "k" is no text, number, true or false',
  ],
  ['seed.yaml', '- toString: 1\n', 'seed.yaml: 1 item of 1 cannot be used: line 1: it has no "k", which is its key'],
])('I15: in %s %j: %#', async (name, content, message) => {
  expect(await failureOf(name, content, { key: 'k' })).toBe(message);
});

test('an inherited name is no key', async () => {
  expect(await failureOf('seed.yaml', '- a: 1\n', { key: 'toString' })).toMatch(/it has no "toString"/);
  expect((await seedFrom('seed.yaml', '- __proto__: a\n', { key: '__proto__' })).items).toMatchObject([{ key: 'a' }]);
});

test('several problems are told one by one, each with its place, and counted', async () => {
  const told: unknown[] = [];
  const content = `k\n${'same\n'.repeat(24)}`;
  const onProblems = (...problems: readonly [readonly Failure[], number]) => told.push(...problems);

  expect(await failureOf('seed.csv', content, { key: 'k', onProblems })).toBe(
    'seed.csv: 23 items of 24 cannot be used: line 3: the key "same" stands in line 2 already',
  );
  const [failures, count] = told as [readonly Failure[], number];
  expect([failures.length, count]).toEqual([23, 23]);
  expect(failures[19]).toMatchObject({
    message: 'line 22: the key "same" stands in line 2 already',
    details: { about: { row: 21, line: 22, key: 'same', reason: 'the key "same" stands in line 2 already' } },
  });
});

test.each([
  ['seed.yaml', 'baseUrl: https://evil.example\nitems: []\n', 'seed.yaml, line 1: a seed has no member "baseUrl"'],
  ['seed.yaml', 'items: []\ntoken: x\n', 'seed.yaml, line 2: a seed has no member "token"'],
  ['seed.json', '{"items":[],\n "token":"x"}', 'seed.json, line 2, column 10: a seed has no member "token"'],
  ['seed.json', '{"__proto__":{},"items":[]}', 'seed.json, line 1, column 14: a seed has no member "__proto__"'],
  ['seed.json', '{"listctl":"plan","version":1}', 'seed.json, line 1, column 12: a seed has no member "listctl"'],
])('D: %s names no address and no token: %j', async (name, content, message) => {
  expect(await failureOf(name, content, { key: 'k' })).toBe(message);
});

test('D: nothing in a seed makes a file be read', async () => {
  const { items } = await seedFrom('seed.yaml', '- k: "@/etc/hostname"\n  "v@": /etc/hostname\n', { key: 'k' });

  expect(items).toMatchObject([{ key: '@/etc/hostname', fields: { k: '@/etc/hostname', 'v@': '/etc/hostname' } }]);
});

test.each([
  [
    'seed.yaml',
    'key: k\nitems:\n  - k: a\n    k: b\n',
    'seed.yaml, line 4, column 5: no YAML that is taken: duplicate key "k"',
  ],
  ['seed.yaml', 'key: k\n', 'seed.yaml: it has no items: for a list that is to be empty, write items: []'],
  ['seed.yaml', 'key: k\nitems:\n', 'seed.yaml, line 2: items is no list'],
  ['seed.yaml', 'site: ..\nitems: []', 'seed.yaml, line 1: the site id is "..", which is not a path segment'],
  ['seed.yaml', 'list: [1]\nitems: []', 'seed.yaml, line 1: list is no text'],
  ['seed.yaml', '', 'seed.yaml: it is neither a list of items nor an object with site, list, key and items'],
  ['seed.yaml', 'just text', 'seed.yaml: it is neither a list of items nor an object with site, list, key and items'],
  [
    'seed.json',
    '{"items":[{"k":1},\n  {"k":}]}',
    'seed.json: 1 item of 2 cannot be used: line 2, column 8: invalid JSON at "}"',
  ],
  ['seed.json', '{"items":[{"k":1}\n', 'seed.json, line 2, column 1: invalid JSON: unexpected end'],
  ['seed.json', '{"items":[]}x', 'seed.json, line 1, column 13: invalid JSON at "x"'],
  ['seed.json', '{"items":{}}', 'seed.json, line 1, column 10: items is no list'],
  ['seed.json', '{"items":[],"items":[]}', 'seed.json, line 1, column 13: duplicate member "items"'],
  ['seed.yaml', '- 1\n', 'seed.yaml: 1 item of 1 cannot be used: line 1: not a JSON object'],
])('%s %j is refused: %s', async (name, content, message) => {
  expect(await failureOf(name, content, { key: 'k' })).toBe(message);
});

test('a key that flag and seed name differently is refused, and one that nobody names', async () => {
  expect(await failureOf('seed.yaml', 'key: a\nitems: []', { key: 'b' })).toBe(
    '--key "b" is not what seed.yaml says: its key is "a"',
  );
  expect(await failureOf('seed.yaml', 'items: []')).toBe('which field tells the items of seed.yaml apart?');
  expect((await seedFrom('seed.yaml', 'key: a\nitems: []', { key: 'a' })).items).toEqual([]);
});

test('what could not be read back of a state is refused in the seed', async () => {
  const wide = `[{"k":1,${Array.from({ length: 9_990 }, (_, at) => `"f${at}":1`).join(',')}}]`;
  const deep = `k,v:json\na,"${'['.repeat(127)}${']'.repeat(127)}"\n`;

  expect(await failureOf('seed.json', wide, { key: 'k' })).toMatch(/more than 9990 members/);
  expect(await failureOf('seed.csv', deep, { key: 'k' })).toMatch(/nested deeper than 126/);
});

test('what is not sent of an item is said once', async () => {
  const { notices } = await seedFrom(
    'seed.yaml',
    '- {id: 1, fields: {k: a}, x: 1}\n- {id: 2, fields: {k: b}, x: 1}\n',
    { key: 'k' },
  );

  expect(notices).toEqual([expect.stringContaining('ids'), expect.stringContaining('"x"')]);
});

test('flags for cells are refused beside YAML, as beside JSON', async () => {
  expect(await failureOf('seed.yaml', '[]', { key: 'k', rows: { ...usual, empty: 'null' } })).toMatch(
    /^--empty requires CSV/,
  );
});

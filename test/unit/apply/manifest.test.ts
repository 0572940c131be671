import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Manifest } from '../../../src/apply/manifest.ts';
import { type ManifestOptions, readManifest } from '../../../src/apply/manifest.ts';
import { Failure } from '../../../src/core/errors.ts';
import { printJson } from '../../../src/core/json.ts';
import { openInput } from '../../../src/rows/input.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost } from '../../support/test-host.ts';
import { usual } from '../rows/rows-from.ts';

async function seedFrom(
  name: string,
  content: string | Uint8Array,
  { rows = usual, ...options }: Partial<ManifestOptions> = {},
): Promise<Manifest> {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, name), content);
  const input = await openInput(join(directory.path, name), { host: testHost(), spoolDirectory: directory.path });
  try {
    return await readManifest({ ...input, name }, { rows, ...options });
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

const told = ({ site, list, key, items }: Manifest) => ({
  ...{ site, list, key },
  items: items.map((item) => `${item.line} ${item.key} ${printJson(item.fields)}`),
});

const yaml =
  'site: demo\nlist: 12\nkey: Title\nitems:\n  - Title: one\n    Count: 1.10\n  - fields: {Title: 007, Done: true}\n';
const same = {
  site: 'demo',
  list: '12',
  key: 'Title',
  items: ['5 one {"Title":"one","Count":1.10}', '7 007 {"Title":"007","Done":true}'],
};

test('a manifest in YAML names its list and its key at its top, and its items by field', async () => {
  expect(told(await seedFrom('manifest.yaml', yaml))).toEqual(same);
  expect(told(await seedFrom('manifest.yml.gz', gzipSync(yaml)))).toEqual(same);
  expect(told(await seedFrom('manifest.conf', yaml, { rows: { ...usual, format: 'yaml' } }))).toEqual(same);
});

test('the same object may be JSON', async () => {
  const json =
    '{"site":"demo","list":12,"key":"Title",\n"items":[\n{"Title":"one","Count":1.10},\n\n{"fields":{"Title":"007","Done":true}}]}\n';

  expect(told(await seedFrom('manifest.json', json))).toEqual({
    ...same,
    items: ['3 one {"Title":"one","Count":1.10}', '5 007 {"Title":"007","Done":true}'],
  });
});

test('a key is a text, a number by its digits, true or false', async () => {
  const { items } = await seedFrom('manifest.yaml', '- k: " a "\n- k: 12345678901234567890\n- k: 1.0\n- k: true\n', {
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
  ['yaml', '- k: a\n- k: b\n- k: a\n', '1 of 3 items invalid: line 3: the key "a" is already used in line 1'],
  ['csv', 'k\n1\n1\n', '1 of 2 items invalid: line 3: the key "1" is already used in line 2'],
  ['json', '[{"k":1},\n{"k":"1"}]', '1 of 2 items invalid: line 2: the key "1" is already used in line 1'],
  ['yaml', '- k: ""\n', '1 of 1 item invalid: line 1: the key field "k" is empty'],
  ['csv', 'k,v\n,1\n', '1 of 1 item invalid: line 2: the key field "k" is missing'],
  ['yaml', '- v: 1\n', '1 of 1 item invalid: line 1: the key field "k" is missing'],
  ['yaml', '- k: [1]\n', '1 of 1 item invalid: line 1: the key field "k" is not a string, number or boolean'],
  ['yaml', '- k:\n', '1 of 1 item invalid: line 1: the key field "k" is not a string, number or boolean'],
  ['yaml', '- toString: 1\n', '1 of 1 item invalid: line 1: the key field "k" is missing'],
  ['yaml', '- 1\n', '1 of 1 item invalid: line 1: not a JSON object'],
  ['yaml', 'key: k\n', 'items is required (write items: [] for an empty list)'],
  ['yaml', '', 'expected a list of items, or an object with items, and name, site, list and key'],
  ['yaml', 'just text', 'expected a list of items, or an object with items, and name, site, list and key'],
  ['json', '{"items":[{"k":1},\n  {"k":}]}', '1 of 2 items invalid: line 2, column 8: invalid JSON at "}"'],
])('I15: in a manifest in %s %j is refused: %s', async (format, content, message) => {
  const name = `manifest.${format}`;

  expect(await failureOf(name, content, { key: 'k' })).toBe(`${name}: ${message}`);
});

test('an inherited name is not a key', async () => {
  expect(await failureOf('manifest.yaml', '- a: 1\n', { key: 'toString' })).toMatch(
    /the key field "toString" is missing/,
  );
  expect((await seedFrom('manifest.yaml', '- __proto__: a\n', { key: '__proto__' })).items).toMatchObject([
    { key: 'a' },
  ]);
});

test('reports several problems one by one, each with its place, and counts them', async () => {
  const told: unknown[] = [];
  const content = `k\n${'same\n'.repeat(24)}`;
  const onProblems = (...problems: readonly [readonly Failure[], number]) => told.push(...problems);

  expect(await failureOf('manifest.csv', content, { key: 'k', onProblems })).toBe(
    'manifest.csv: 23 of 24 items invalid: line 3: the key "same" is already used in line 2',
  );
  const [failures, count] = told as [readonly Failure[], number];
  expect([failures.length, count]).toEqual([23, 23]);
  expect(failures[19]).toMatchObject({
    message: 'line 22: the key "same" is already used in line 2',
    details: { about: { row: 21, line: 22, key: 'same', reason: 'the key "same" is already used in line 2' } },
  });
});

test('D: nothing in a manifest makes a file be read', async () => {
  const { items } = await seedFrom('manifest.yaml', '- k: "@/etc/hostname"\n  "v@": /etc/hostname\n', { key: 'k' });

  expect(items).toMatchObject([{ key: '@/etc/hostname', fields: { k: '@/etc/hostname', 'v@': '/etc/hostname' } }]);
});

test.each([
  ['csv', 'v,w\n1,2\n3,4\n', 'line 1: invalid header: no column is the key field "k"'],
  ['yaml', 'key: k\nitems:\n  - k: a\n    k: b\n', 'line 4, column 5: invalid YAML: duplicate key "k"'],
  ['yaml', 'key: k\nitems:\n', 'line 2: items is not a list'],
  ['yaml', 'site: ..\nitems: []', 'line 1: the site id is "..", which is not a path segment'],
  ['yaml', 'list: [1]\nitems: []', 'line 1: list is not a string'],
  ['yaml', 'name: ""\nitems: []', 'line 1: name is empty'],
  ['json', '{"items":[{"k":1}\n', 'line 2, column 1: invalid JSON: unexpected end'],
  ['json', '{"items":[]}x', 'line 1, column 13: invalid JSON at "x"'],
  ['json', '{"items":{}}', 'line 1, column 10: items is not a list'],
  ['json', '{"items":[],"items":[]}', 'line 1, column 13: duplicate member "items"'],
  // D: it names no address and no token.
  ['yaml', 'baseUrl: https://evil.example\nitems: []\n', 'line 1: unknown member "baseUrl"'],
  ['yaml', 'items: []\ntoken: x\n', 'line 2: unknown member "token"'],
  ['json', '{"items":[],\n "token":"x"}', 'line 2, column 10: unknown member "token"'],
  ['json', '{"__proto__":{},"items":[]}', 'line 1, column 14: unknown member "__proto__"'],
  ['json', '{"listctl":"plan","version":1}', 'line 1, column 12: unknown member "listctl"'],
])('a manifest in %s %j is refused as a whole: %s', async (format, content, message) => {
  const name = `manifest.${format}`;

  expect(await failureOf(name, content, { key: 'k' })).toBe(`${name}, ${message}`);
});

test('refuses a key field that differs between flag and manifest, and a missing one', async () => {
  expect(await failureOf('manifest.yaml', 'key: a\nitems: []', { key: 'b' })).toBe(
    '--key "b" conflicts with manifest.yaml: its key is "a"',
  );
  expect(await failureOf('manifest.yaml', 'items: []')).toBe('no key field given for manifest.yaml');
  expect((await seedFrom('manifest.yaml', 'key: a\nitems: []', { key: 'a' })).items).toEqual([]);
});

test('what could not be read back of a state is refused in the manifest', async () => {
  const wide = `[{"k":1,${Array.from({ length: 9_990 }, (_, at) => `"f${at}":1`).join(',')}}]`;
  const deep = `k,v:json\na,"${'['.repeat(127)}${']'.repeat(127)}"\n`;

  expect(await failureOf('manifest.json', wide, { key: 'k' })).toMatch(/more than 9990 members/);
  expect(await failureOf('manifest.csv', deep, { key: 'k' })).toMatch(/nested deeper than 126/);
});

test('what is not sent of an item is said once', async () => {
  const { notices } = await seedFrom(
    'manifest.yaml',
    '- {id: 1, fields: {k: a}, x: 1}\n- {id: 2, fields: {k: b}, x: 1}\n',
    { key: 'k' },
  );

  expect(notices).toEqual([expect.stringContaining('ids'), expect.stringContaining('"x"')]);
});

test('flags for cells are refused beside YAML, as beside JSON', async () => {
  expect(await failureOf('manifest.yaml', '[]', { key: 'k', rows: { ...usual, empty: 'null' } })).toMatch(
    /^--empty requires CSV/,
  );
});

/** `state export --all`: a list of Microsoft Graph as a manifest. */
import { describe, expect, test } from 'vitest';
import { graphServer } from '../support/graph-server.ts';
import { run } from '../support/test-host.ts';

const columns = [
  { name: 'Title', text: {} },
  { name: 'Count', number: {} },
  { name: 'Tags', choice: { choices: ['a', 'b'], displayAs: 'checkBoxes' } },
  { name: 'Owner', personOrGroup: {} },
  { name: 'Owners', personOrGroup: { allowMultipleSelection: true } },
  { name: 'Link', hyperlinkOrPicture: {} },
];

const rows = [
  {
    ...{ Title: '007', Count: 2, OwnerLookupId: 10 },
    ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['a', 'b'] },
    ...{ 'OwnersLookupId@odata.type': 'Collection(Edm.Int32)', OwnersLookupId: [10, 14] },
  },
  { Title: 'Eden' },
  { Title: 'Eden', Count: 1.5 },
  { Count: 3 },
];

async function books(items: readonly object[] = rows) {
  const server = await graphServer({ Books: columns });
  server.file('rows.jsonl', items.map((row) => JSON.stringify({ fields: row })).join('\n'));
  if (items.length > 0) await server.listctl('items create --from rows.jsonl --concurrency 1 -o none');
  return server;
}

test('the items are in the form that is written, page by page, without a state', async () => {
  await using server = await books();

  const { exitCode, stdout, stderr } = await server.listctl('state export --all --key Title');

  expect({ exitCode, manifest: stdout.replace(/^(site|list): .+$/gm, '$1: …') }).toEqual({
    exitCode: 0,
    manifest: `site: …
list: …
key: Title
items:
  - Title: "007"
    Count: 2
    OwnerLookupId: 10
    Tags:
      - a
      - b
    OwnersLookupId:
      - 10
      - 14
  - Title: Eden
  - Title: Eden
    Count: 1.5
  - Count: 3
`,
  });
  expect(stderr).toBe(
    'apply refuses 1 item without a value and 1 item with the value of another one in the key field "Title"\n',
  );
});

test('-o jsonl and -o csv have the ids; columns without a value are columns of csv', async () => {
  await using server = await books();
  const jsonl = await server.listctl('state export --all -o jsonl');
  expect(jsonl.stdout.split('\n')[1]).toBe('{"id":"2","fields":{"Title":"Eden"}}');
  const csv = await server.listctl('state export --all -o csv');
  expect(csv.stdout.split('\n').slice(0, 3)).toEqual([
    'id,Title,Count,Tags,OwnerLookupId,OwnersLookupId',
    '1,007,2,"[""a"",""b""]",10,"[10,14]"',
    '2,Eden,,,,',
  ]);
  expect(csv.stderr).toBe('');
});

test.each(['pretty', 'jsonl', 'csv'])('-o %s can be applied, and changes nothing', async (format) => {
  await using server = await books(rows.slice(0, 2));
  const name = `books.${format === 'pretty' ? 'yaml' : format}`;
  server.file(name, (await server.listctl(`state export --all --key Title -o ${format}`)).stdout);

  const words = `apply ${name} --key Title --init --yes --detailed-exitcode --dry-run`;
  const { exitCode, stdout, stderr } = await server.listctl(words);
  expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0 });
});

test('with a manifest, lookups are in the form that is written as well', async () => {
  await using server = await books([]);
  server.file('books.yaml', 'items: [{Title: Dune, OwnerLookupId: 10, OwnersLookupId: [10, 14], Tags: [a]}]');
  const applied = await server.listctl('apply books.yaml --key Title --init --yes -o none');
  expect(applied).toMatchObject({ exitCode: 0 });
  const { stdout } = await server.listctl('state export books.yaml -o jsonl');
  expect(JSON.parse(stdout).fields).toEqual({
    Title: 'Dune',
    OwnerLookupId: 10,
    OwnersLookupId: [10, 14],
    Tags: ['a'],
  });
});

test('a list without items is an empty manifest', async () => {
  await using server = await books([]);
  expect((await server.listctl('state export --all')).stdout).toMatch(/^site: .+\nlist: .+\nitems: \[\]\n$/);
});

test('a list without columns, of a service without a schema, has any fields', async () => {
  await using server = await graphServer({});
  const env = { LISTCTL_BASE_URL: `local:${server.path}/items` };
  await server.listctl('items create -f Title=Dune -f Count:=2 -o none', { env });
  const yaml = await server.listctl('state export --all --key Title', { env });
  expect(yaml.stdout).toContain('key: Title\nitems:\n  - Title: Dune\n    Count: 2\n');
  expect((await server.listctl('state export --all -o csv', { env })).stdout).toBe('id,Title,Count\n1,Dune,2\n');
});

describe('is refused', () => {
  test.each([
    { words: '--all --key Titel', says: 'did you mean "Title"?' },
    { words: '--all --key Owner', says: 'that can be a key' },
    { words: '--all --key Link', says: 'that can be a key' },
    { words: '--all manifest.yaml', says: '--all cannot be used with a manifest' },
    { words: '', says: "missing required argument 'manifest'" },
    { words: '--all --no-quotes', says: '--no-quotes cannot be used with --all' },
    { words: '--all --state x', says: '--state cannot be used with --all' },
  ])('with "$words"', async ({ words, says }) => {
    await using server = await books([]);
    const { exitCode, stdout, stderr } = await server.listctl(`state export ${words}`.trim());
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(says);
  });

  test('of a list with more lookups than a page may have', async () => {
    const lookups = Array.from({ length: 13 }, (_, at) => ({ name: `Shelf${at}`, lookup: {} }));
    await using server = await graphServer({ Books: lookups });
    const { exitCode, stderr } = await server.listctl('state export --all');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('13 lookup columns, more than 12: Shelf0');
  });

  test('by the ordinary service', async () => {
    const env = { LISTCTL_BASE_URL: 'local:', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
    const { exitCode, stderr } = await run(['state', 'export', '--all'], { env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('listctl state export MANIFEST');
  });
});

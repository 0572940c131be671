/** What listctl reads from Microsoft Graph and writes back: edit, undo, and rows that were rejected. */
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { graphServer } from '../support/graph-server.ts';
import { testHost } from '../support/test-host.ts';

const columns = [
  { name: 'Note', text: { allowMultipleLines: true } },
  { name: 'Count', number: {} },
  { name: 'Due', dateTime: {} },
  { name: 'Tags', choice: { choices: ['a', 'b', 'c'], displayAs: 'checkBoxes' } },
  { name: 'Shelf', lookup: {} },
  { name: 'Owner', personOrGroup: {} },
  { name: 'Owners', personOrGroup: { allowMultipleSelection: true } },
  { name: 'Link', hyperlinkOrPicture: {} },
];

const dune = {
  ...{ Title: 'Dune', Count: 2, Due: '2026-01-31T10:00:00Z', ShelfLookupId: 3, OwnerLookupId: 10 },
  ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: ['a', 'b'] },
  ...{ 'OwnersLookupId@odata.type': 'Collection(Edm.Int32)', OwnersLookupId: [10, 14] },
};

async function booksWithDune() {
  const server = await graphServer({ Books: columns });
  server.file('dune.json', JSON.stringify(dune));
  const { exitCode, stderr } = await server.listctl('items create --fields dune.json -o none');
  if (exitCode !== 0) throw new Error(stderr);
  const read = async (id = '1') => {
    const { fields } = (await server.json(`items get ${id} -o json`)) as { readonly fields: Record<string, unknown> };
    const own = ['Title', 'Note', 'Count', 'Due', 'Tags', 'ShelfLookupId', 'OwnerLookupId', 'Owners'];
    return Object.fromEntries(own.filter((name) => name in fields).map((name) => [name, fields[name]]));
  };
  return { ...server, read, before: await read() };
}

type Books = Awaited<ReturnType<typeof booksWithDune>>;

/** Starts `items edit` with a program that edits the file; the answers follow their questions. */
async function edit(server: Books, perl: string, ...answers: readonly (readonly [string, string])[]) {
  const seen = join(server.path, 'seen');
  const editor = server.file('editor', `#!/bin/sh\ncp "$1" '${seen}'\nperl -0pi -e '${perl}' "$1"\n`);
  chmodSync(editor, 0o700);
  const env = { ...server.env, EDITOR: editor, NO_COLOR: '1' };
  const host = testHost({ env, terminal: 120, cwd: server.path });
  const running = main(['items', 'edit', '1', '-o', 'none'], { ...host, env: { ...host.env, ...env } });
  for (const [question, answer] of answers) await host.answer(question, answer);
  return { exitCode: await running, stderr: host.printed.stderr, seen: readFileSync(seen, 'utf8') };
}

test('edit shows what can be written, by plain names, and sends what changed in the form of the columns', async () => {
  await using server = await booksWithDune();
  const program =
    's/OwnerLookupId: 10/OwnerLookupId: 11/; s/Tags:\\n.*?- b\\n/Tags: [c]\\n/s; s/OwnersLookupId:\\n.*?- 14\\n//s';

  const { exitCode, seen } = await edit(server, program, ['Send these 3 changes', 'y\n']);

  expect(exitCode).toBe(0);
  expect(seen.split('\n\n')[1]).toBe(`Title: Dune
Count: 2
Due: "2026-01-31T10:00:00Z"
ShelfLookupId: 3
OwnerLookupId: 10
Tags:
  - a
  - b
OwnersLookupId:
  - 10
  - 14
`);
  expect(await server.read()).toEqual({ ...server.before, OwnerLookupId: '11', Tags: ['c'], Owners: [] });
});

test('edit sends no value of the wrong type: it says which one, and opens the editor again', async () => {
  await using server = await booksWithDune();

  const { exitCode, stderr } = await edit(server, 's/Count: 2/Count: many/', ['Open the editor again?', 'n\n']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('"Count"');
  expect(await server.read()).toEqual(server.before);
});

const changes = {
  ...{ id: '1', Note: 'new', OwnerLookupId: 12, Count: 3 },
  ...{ 'Tags@odata.type': 'Collection(Edm.String)', Tags: [] },
  ...{ 'OwnersLookupId@odata.type': 'Collection(Edm.Int32)', OwnersLookupId: [12] },
};

test.each([
  { words: 'items update --from rows.jsonl', id: '1' },
  { words: 'items delete --from rows.jsonl --yes', id: '2' },
])('the undo of $words --keep-before leaves the item as it was', async ({ words, id }) => {
  await using server = await booksWithDune();
  server.file('rows.jsonl', JSON.stringify(words.includes('delete') ? { id: '1' } : changes));
  expect(await server.listctl(`${words} --keep-before -o none`)).toMatchObject({ exitCode: 0 });
  expect(await server.listctl('runs undo last --yes -o none')).toMatchObject({ exitCode: 0 });
  expect(await server.read(id)).toEqual(server.before);
});

test('an undo restores fields that were empty, and a row that was rejected is sent again as it is', async () => {
  await using server = await booksWithDune();
  await server.listctl('items create -f Title=Eden -o none');
  server.file('rows.jsonl', `${JSON.stringify({ ...changes, id: '2' })}\n${JSON.stringify({ ...changes, id: '9' })}\n`);
  const update = 'items update --from rows.jsonl --keep-before --rejects rejects.jsonl -o none';
  expect(await server.listctl(update)).toMatchObject({ exitCode: 9 });
  expect(await server.listctl('runs undo last --yes -o none')).toMatchObject({ exitCode: 0 });
  expect(await server.read('2')).toEqual({ Title: 'Eden', Owners: [] });

  const rejected = readFileSync(join(server.path, 'rejects.jsonl'), 'utf8').replace('"9"', '"2"');
  server.file('rejects.jsonl', rejected);
  expect(await server.listctl('items update --from rejects.jsonl -o none')).toMatchObject({ exitCode: 0 });
  expect(await server.read('2')).toMatchObject({ Note: 'new', Tags: [], OwnerLookupId: '12' });
});

test.each([
  ['Books', 'from list "Books" (LIST) of site "contoso.sharepoint.com:/sites/team" on'],
  [
    'https://contoso.sharepoint.com/sites/team/Lists/Books',
    'from list https://contoso.sharepoint.com/sites/team/Lists/Books (LIST) on',
  ],
])('a question names the list as it was typed: %s', async (list, asked) => {
  await using server = await booksWithDune();
  const env = { ...server.env, LISTCTL_LIST: list, NO_COLOR: '1' };
  server.file('ids.txt', '1\n');
  const host = testHost({ env, terminal: 300, cwd: server.path });
  const running = main(['items', 'delete', '--from', 'ids.txt'], { ...host, env: { ...host.env, ...env } });
  await host.answer('Delete the 1 item', 'n\n');
  expect(await running).toBe(2);
  expect(
    host.printed.stderr.replaceAll('\n', '').replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'LIST'),
  ).toContain(asked);
});

test('so does a plan', async () => {
  await using server = await booksWithDune();
  const manifest = server.file('books.csv', 'Title,Count\nDune,2\nEmma,1\n');
  const { stdout } = await server.listctl(['apply', manifest, '--key', 'Title', '--init', '--dry-run']);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /list "Books" \([\da-f-]{36}\) of site "contoso.sharepoint.com:\/sites\/team" at http/,
  );
});

/** What the blocks of docs/graph.md work with: a list of books at Microsoft Graph, which `init` has set up, and files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { graphServer } from '../support/graph-server.ts';

const columns = [
  { name: 'Title', text: {}, required: true, indexed: true },
  { name: 'ISBN', text: {}, indexed: true, enforceUniqueValues: true },
  { name: 'Publication_x0020_Year', displayName: 'Publication Year', number: {} },
  { name: 'Status', choice: { choices: ['New', 'Old'], displayAs: 'dropDownMenu' }, indexed: true },
  { name: 'Genres', choice: { choices: ['Novel', 'Satire'], displayAs: 'checkBoxes' } },
  { name: 'Price', currency: { locale: 'en-us' } },
  { name: 'Owner', personOrGroup: {} },
  { name: 'ImportKey', displayName: 'Import key', text: {}, indexed: true, enforceUniqueValues: true },
];

const items = `Title,ISBN,Status,Price
Dune,0441172717,New,9.5
Solaris,0156027607,Old,11
Eden,0156278065,Old,8
Dune,0593099322,New,18
`;

const files = {
  'books.csv': `Title;ISBN;Publication Year;Price;Genres;Owner
Ubik;0547572298;1969;9,90;Novel,Satire;ann@contoso.com
Kindred;0807083690;1979;12,50;Novel;
`,
  'prices.csv': `ISBN,Price
0441172717,8.5
0156027607,11
`,
  'export.csv': `ISBN,Title,Price
0441172717,Dune,9.5
0156027607,Solaris,12
0575079932,Roadside Picnic,9
`,
  'seed.yaml': `- Title: Test 1
  Owner: ann@contoso.com
- Title: Test 2
`,
};

/** Serves the list, and puts the files into a directory. */
export async function booksService(directory: string): ReturnType<typeof graphServer> {
  const server = await graphServer({ Books: columns }, [{ id: 7, EMail: 'ann@contoso.com' }]);
  server.file('items.csv', items);
  const { exitCode, stderr } = await server.listctl('items create --from items.csv --concurrency 1 -o none');
  if (exitCode !== 0) throw new Error(stderr);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return server;
}

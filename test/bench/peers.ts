/**
 * The same import through listctl and through the clients of others, against `listctl serve --service graph` with faults
 * and limits: what became of the rows is read from the list itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { listctlFile } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startServe } from './child.ts';

const pnpImport = join(import.meta.dirname, 'pnp-import.js');
const rowCount = 1000;
const token = 'bench-token';

/** A column of each type that is imported. */
const schema = {
  lists: [
    {
      title: 'Books',
      columns: [
        { name: 'Ref', text: {}, indexed: true },
        { name: 'Count', number: {} },
        { name: 'Done', boolean: {} },
        { name: 'Due', dateTime: {} },
        { name: 'Status', choice: { choices: ['New', 'Old'], displayAs: 'dropDownMenu' } },
        { name: 'Tags', choice: { choices: ['a', 'b', 'c'], displayAs: 'checkBoxes' } },
        { name: 'Shelf', lookup: { columnName: 'Title' } },
        { name: 'ImportKey', text: {}, indexed: true, enforceUniqueValues: true },
      ],
    },
  ],
};

function cellsOf(at: number): readonly string[] {
  const due = new Date(Date.UTC(2026, 0, 1) + at * 3_600_000).toISOString().replace('.000', '');
  const [status, tags] = [at % 3 === 0 ? 'Old' : 'New', at % 2 === 0 ? 'a' : 'a;c'];
  return [`r${at}`, `00${at}`, String(at / 4), String(at % 5 === 0), due, status, tags, String((at % 7) + 1)];
}

/** The same row as Graph returns its fields. */
function fieldsOf(at: number): Readonly<Record<string, unknown>> {
  const [Ref, Title, Count, Done, Due, Status, Tags = '', ShelfLookupId] = cellsOf(at);
  const values = { Count: Number(Count), Done: Done === 'true', Tags: Tags.split(';') };
  return { Ref, Title, ...values, Due, Status, ShelfLookupId };
}

const faults = ['--fail-rate', '0.1', '--seed', '17'];
const conditions = [
  { name: 'a tenth of the requests fail', flags: faults },
  { name: 'and 1,250 resource units a minute', flags: [...faults, '--units-per-minute', '1250'] },
] as const;

interface Place {
  readonly node: string;
  readonly file: string;
  readonly directory: string;
  readonly url: string;
}

interface Client {
  readonly name: string;
  readonly words: (place: Place) => readonly string[];
}

const pnp = (name: string, cells: 'text' | 'typed'): Client => ({
  name,
  words: ({ file, url }) => [pnpImport, file, url, token, cells],
});

const listctl = (name: string, ...flags: readonly string[]): Client => ({
  name,
  words: ({ file, directory }) => [
    ...[listctlFile, 'items', 'create', '--from', file, '--split', ';', ...flags],
    ...['-o', 'none', '--quiet', '--journal', join(directory, 'journal'), '--summary-json', '-'],
  ],
});

const clients: readonly Client[] = [
  pnp('@pnp/graph, cells as they are', 'text'),
  pnp('@pnp/graph, cells converted', 'typed'),
  listctl('listctl items create'),
  listctl('  --key-field ImportKey', '--key-field', 'ImportKey'),
];

/** Runs each client under each condition, on a list of its own. */
export async function measurePeers(node: string, say: (text: string) => void): Promise<void> {
  for (const { name, flags } of conditions) {
    say(`\n${name}\n${'client'.padEnd(32)}right  wrong   lost  doubled  seconds  it says\n`);
    for (const client of clients) say(await resultLine(client, node, flags));
  }
}

async function resultLine(client: Client, node: string, flags: readonly string[]): Promise<string> {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'rows.csv');
  const schemaFile = join(directory.path, 'schema.json');
  const lines = Array.from({ length: rowCount }, (_, at) => cellsOf(at).join(','));
  writeFileSync(file, `Ref,Title,Count,Done,Due,Status,Tags,Shelf\n${lines.join('\n')}\n`);
  writeFileSync(schemaFile, JSON.stringify(schema));
  const serveWords = ['--service', 'graph', '--data', join(directory.path, 'items'), '--schema', schemaFile];
  const ended = await (async () => {
    await using service = await startServe(node, [...serveWords, ...flags], token);
    return await runClient(client, { node, file, directory: directory.path, url: service.url });
  })();
  await using service = await startServe(node, serveWords, token);
  const { right, wrong, lost, doubled } = judge(await readAll(service.url));
  const counts = `${pad(right, 5)}${pad(wrong, 7)}${pad(lost, 7)}${pad(doubled, 9)}`;
  return `${client.name.padEnd(32)}${counts}${pad(ended.seconds.toFixed(0), 9)}  ${ended.said}\n`;
}

function pad(value: number | string, width: number): string {
  return String(value).padStart(width);
}

/** What became of the rows: there once with every value, once with others, not at all, or more than once. */
function judge(items: readonly { readonly fields: Readonly<Record<string, unknown>> }[]) {
  const byRef = new Map<unknown, (typeof items)[number][]>();
  for (const item of items) {
    const ref = item.fields['Ref'];
    byRef.set(ref, [...(byRef.get(ref) ?? []), item]);
  }
  const counts = { right: 0, wrong: 0, lost: 0, doubled: 0 };
  for (let at = 0; at < rowCount; at += 1) {
    const expected = fieldsOf(at);
    const [found, ...others] = byRef.get(expected['Ref']) ?? [];
    const isRight = Object.entries(expected).every(
      ([name, value]) => JSON.stringify(found?.fields[name]) === JSON.stringify(value),
    );
    if (found === undefined) counts.lost += 1;
    else if (others.length > 0) counts.doubled += 1;
    else if (isRight) counts.right += 1;
    else counts.wrong += 1;
  }
  return counts;
}

async function readAll(url: string) {
  const items: { readonly fields: Readonly<Record<string, unknown>> }[] = [];
  for (let next = `${url}/sites/root/lists/Books/items?$expand=fields&$top=1000`; next !== ''; ) {
    const response = await fetch(next, { headers: { authorization: `Bearer ${token}` } });
    const page = (await response.json()) as { value: typeof items; '@odata.nextLink'?: string };
    items.push(...page.value);
    next = page['@odata.nextLink'] ?? '';
  }
  return items;
}

/** Of a peer, or of `--summary-json`. */
type Summary = Readonly<Partial<Record<'created' | 'done' | 'failed' | 'inDoubt', number>>>;

async function runClient(
  { words }: Client,
  place: Place,
): Promise<{ readonly seconds: number; readonly said: string }> {
  const settings = { LISTCTL_BASE_URL: place.url, LISTCTL_TOKEN: token, LISTCTL_SERVICE: 'graph' };
  const target = { LISTCTL_SITE: 'root', LISTCTL_LIST: 'Books', LISTCTL_STATE_DIR: place.directory };
  const startedAt = performance.now();
  const child = spawn(place.node, [...words(place)], {
    env: { PATH: env['PATH'], HOME: place.directory, ...settings, ...target },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let errors = '';
  child.stdout.on('data', (piece: Buffer) => {
    printed += piece;
  });
  child.stderr.on('data', (piece: Buffer) => {
    errors += piece;
  });
  const [code] = (await once(child, 'close')) as [number];
  if (printed === '') throw new Error(`it ended with ${code}: ${errors}`);
  const { total, ...own } = JSON.parse(printed) as Summary & { readonly total?: Summary };
  const { done, created = done, failed, inDoubt } = total ?? own;
  const counts = Object.entries({ created, failed, 'in doubt': inDoubt }).filter(([, count]) => count);
  const said = counts.map(([name, count]) => `${count} ${name}`).join(', ');
  return { seconds: (performance.now() - startedAt) / 1000, said: `${said} (exit ${code})` };
}

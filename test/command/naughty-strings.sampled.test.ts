/** Naughty strings as values, names and keys: in by every kind of file and flag, out by every format, the same again. */
import { parse as parseCsv } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { naughtyStrings as allNaughtyStrings, loneSurrogates } from '../corpora/naughty-strings.ts';
import { sampled } from '../support/sampled.ts';
import { jsonLines, type ManyWorld, manyWorld } from './bulk/bulk-world.ts';

const naughtyStrings = sampled(allNaughtyStrings, 10);
const anyText = [...naughtyStrings, ...loneSurrogates];

/** A text as a cell of CSV, whatever it is. */
function cell(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const rowsOf = (texts: readonly string[]) => texts.map((text) => ({ Title: text }));

/** Files of rows with each of these texts as the title. */
const files = [
  { name: 'a.json', texts: anyText, write: (texts: readonly string[]) => JSON.stringify(rowsOf(texts)) },
  {
    name: 'a.jsonl',
    texts: anyText,
    write: (texts: readonly string[]) => lines(rowsOf(texts).map((row) => JSON.stringify(row))),
  },
  { name: 'a.csv', texts: naughtyStrings, write: (texts: readonly string[]) => lines(['Title', ...texts.map(cell)]) },
  { name: 'a.tsv', texts: naughtyStrings, write: (texts: readonly string[]) => lines(['Title', ...texts.map(cell)]) },
];

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/** The titles of printed items. */
const readers: Readonly<Record<string, (text: string) => readonly unknown[]>> = {
  json: (text) => (JSON.parse(text) as Titled[]).map(titleOf),
  jsonl: (text) => (jsonLines(text) as unknown as Titled[]).map(titleOf),
  yaml: (text) => (parseYaml(text) as Titled[]).map(titleOf),
  csv: (text) => (parseCsv(text, { columns: true }) as { Title: string }[]).map(({ Title }) => Title),
  tsv: (text) => (parseCsv(text, { columns: true, delimiter: '\t' }) as { Title: string }[]).map(({ Title }) => Title),
};

interface Titled {
  readonly fields: { readonly Title: unknown };
}

function titleOf({ fields }: Titled): unknown {
  return fields.Title;
}

/** Creates an item for each row of a file, and gives a file with their ids. */
async function created(world: ManyWorld, file: string): Promise<string> {
  const { exitCode, stdout, stderr } = await world.run(['items', 'create', '--from', file, '-o', 'id']);
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
  return world.file(`${file.split('/').at(-1)}.ids`, stdout);
}

describe('as values', () => {
  test.each(files)('$name makes items that hold them', async ({ name, texts, write }) => {
    await using world = await manyWorld({ url: 'local:' });

    const ids = await created(world, world.file(name, write(texts)));
    const { stdout } = await world.run(['items', 'get', '--from', ids, '-o', 'jsonl']);

    expect(readers['jsonl']?.(stdout)).toEqual(texts);
  });

  test('every format prints them, and the output as CSV, JSON and JSONL is valid input of create and update', async () => {
    await using world = await manyWorld({ url: 'local:' });
    const ids = await created(world, world.file('a.json', JSON.stringify(rowsOf(naughtyStrings))));

    for (const [format, titles] of Object.entries(readers)) {
      const { exitCode, stdout } = await world.run(['items', 'get', '--from', ids, '-o', format]);
      expect({ format, exitCode, titles: titles(stdout) }).toEqual({ format, exitCode: 0, titles: naughtyStrings });
      if (format === 'yaml') continue;
      const shown = world.file(`shown.${format}`, stdout);
      const put = await world.run(['items', 'update', '--from', shown, '-o', 'jsonl']);
      const copied = await world.run(['items', 'create', '--from', shown, '-l', `copies-${format}`, '-o', 'jsonl']);
      expect([put.exitCode, copied.exitCode]).toEqual([0, 0]);
      expect(jsonLines(copied.stdout)).toHaveLength(naughtyStrings.length);
      const after = await world.run(['items', 'get', '--from', ids, '-o', 'json']);
      expect(readers['json']?.(after.stdout)).toEqual(naughtyStrings);
    }
    const removed = await world.run(['items', 'delete', '--from', ids, '--yes', '-o', 'none']);
    expect(removed.exitCode).toBe(0);
  });

  test.each([
    {
      flag: 'key=value',
      pair: (at: number, text: string) => `f${at}=${text}`,
      texts: naughtyStrings.filter((text) => !text.includes('\ufffd')),
    },
    { flag: 'key:=json', pair: (at: number, text: string) => `f${at}:=${escaped(text)}`, texts: anyText },
    { flag: 'key@=FILE', pair: (at: number) => `f${at}@=value-${at}`, texts: naughtyStrings },
    { flag: 'key:@=FILE', pair: (at: number) => `f${at}:@=json-${at}`, texts: anyText },
  ])('--field $flag takes them', async ({ pair, texts }) => {
    await using world = await manyWorld({ url: 'local:' });
    for (const [at, text] of texts.entries()) {
      world.file(`value-${at}`, text);
      world.file(`json-${at}`, JSON.stringify(text));
    }

    const words = texts.flatMap((text, at) => ['-f', pair(at, text)]);
    const made = await world.run(['items', 'create', ...words, '-o', 'id']);
    const { stdout } = await world.run(['items', 'get', made.stdout.trim(), '-o', 'json']);

    expect(made.exitCode).toBe(0);
    expect(Object.values(JSON.parse(stdout).fields)).toEqual(texts);
  });

  test('what Node has replaced in an argument is refused', async () => {
    await using world = await manyWorld({ url: 'local:' });

    const made = await world.run(['items', 'create', '-f', 'Title=a\ufffd']);

    expect(made).toMatchObject({ exitCode: 2, stdout: '' });
  });
});

describe('as names of fields', () => {
  const named = (names: readonly string[]) => Object.fromEntries(names.map((name, at) => [name, at]));
  /** In a file of rows these are ours: what a rejects file says of a row. */
  const isOurs = (name: string) => name.startsWith('listctl:');

  test.each([
    { kind: '--fields FILE', names: anyText, words: ['--fields', 'all.json'] },
    { kind: 'JSON', names: anyText.filter((name) => !isOurs(name)), words: ['--from', 'rows.json'] },
    { kind: 'JSONL', names: anyText.filter((name) => !isOurs(name)), words: ['--from', 'rows.jsonl'] },
  ])('by $kind', async ({ names, words }) => {
    await using world = await manyWorld({ url: 'local:' });
    const item = { fields: named(names) };
    world.file('all.json', JSON.stringify(item));
    world.file('rows.json', JSON.stringify([item]));
    world.file('rows.jsonl', `${JSON.stringify(item)}\n`);

    const made = await world.run(['items', 'create', ...words, '-o', 'id']);
    const shown = async (format: string) =>
      (await world.run(['items', 'get', made.stdout.trim(), '-o', format])).stdout;

    expect(made.exitCode).toBe(0);
    expect(entriesOf(JSON.parse(await shown('json')))).toEqual(Object.entries(item.fields));
    expect(entriesOf(JSON.parse(await shown('jsonl')))).toEqual(Object.entries(item.fields));
    expect(entriesOf(parseYaml(await shown('yaml')))).toEqual(Object.entries(item.fields));
  });

  test('by the header of CSV, and back', async () => {
    await using world = await manyWorld({ url: 'local:' });
    // A colon and a type behind a name is that column's type; and an id is no field.
    const names = naughtyStrings.filter((name) => !isOurs(name) && !/:(number|json)$/.test(name) && name !== 'id');
    const file = world.file('a.csv', lines([names.map(cell).join(), names.map((_, at) => `${at}`).join()]));

    const ids = await created(world, file);
    const got = await world.run(['items', 'get', '--from', ids, '-o', 'csv']);
    const put = await world.run(['items', 'update', '--from', world.file('b.csv', got.stdout), '-o', 'none']);
    const [header = [], row = []] = parseCsv(got.stdout) as string[][];

    expect(header.slice(1)).toEqual(sorted(names));
    expect(header.slice(1).map((name, at) => names[Number(row[at + 1])] === name)).not.toContain(false);
    expect(put.exitCode).toBe(0);
  });

  test('by --field', async () => {
    await using world = await manyWorld({ url: 'local:' });
    // The first = ends a name, and : and @ before it say what the value is.
    const names = naughtyStrings.filter((name) => !/=|[:@]$|\ufffd/.test(name));

    const made = await world.run([
      'items',
      'create',
      ...names.flatMap((name, at) => ['-f', `${name}:=${at}`]),
      '-o',
      'id',
    ]);
    const { stdout } = await world.run(['items', 'get', made.stdout.trim(), '-o', 'json']);

    expect(made.exitCode).toBe(0);
    expect(entriesOf(JSON.parse(stdout))).toEqual(Object.entries(named(names)));
  });
});

test.each([
  { name: 'manifest.yaml', keys: anyText },
  { name: 'manifest.json', keys: anyText },
  { name: 'manifest.jsonl', keys: anyText },
  { name: 'manifest.csv', keys: naughtyStrings },
])('as keys of $name: applied once, there is nothing more to do', async ({ name, keys }) => {
  await using world = await manyWorld({ url: 'local:' });
  const items = keys.map((Title) => ({ Title, Text: Title }));
  const texts: Readonly<Record<string, string>> = {
    'manifest.yaml': JSON.stringify({ key: 'Title', items }),
    'manifest.json': JSON.stringify(items),
    'manifest.jsonl': lines(items.map((item) => JSON.stringify(item))),
    'manifest.csv': lines(['Title,Text', ...keys.map((key) => `${cell(key)},${cell(key)}`)]),
  };
  world.file(name, texts[name] ?? '');

  const first = await world.run(['apply', name, '--key', 'Title', '--init', '--yes', '-o', 'none']);
  const second = await world.run(['apply', name, '--key', 'Title', '--dry-run', '-o', 'json']);
  const state = JSON.parse(world.text(`${name}.state.json`)) as { items: Record<string, { fields: { Text: string } }> };
  const exported = await world.run(['state', 'export', name, '--key', 'Title']);

  expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
  expect(Object.entries(state.items).map(([key, { fields }]) => fields.Text === key)).not.toContain(false);
  expect(Object.keys(state.items).sort()).toEqual([...keys].sort());
  expect(exported.exitCode).toBe(0);
  expect((parseYaml(exported.stdout) as { items: { Title: string }[] }).items.map(({ Title }) => Title).sort()).toEqual(
    [...keys].sort(),
  );
});

/** JSON with no byte that an argument can't hold. */
function escaped(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function entriesOf(shown: unknown): readonly (readonly [string, unknown])[] {
  const { fields } = (Array.isArray(shown) ? shown[0] : shown) as { fields: Record<string, unknown> };
  return Object.entries(fields);
}

/** In the order in which an object has them: whole numbers first. */
function sorted(names: readonly string[]): readonly string[] {
  return Object.keys(Object.fromEntries(names.map((name) => [name, 0])));
}

/** Reads what a list is to hold out of a file. */
import { Failure } from '../errors.ts';
import { checkRows } from '../rows/check-rows.ts';
import { decodedText } from '../rows/decoded-text.ts';
import { contentBytes, contentHash, isEmpty } from '../rows/file-bytes.ts';
import { type Input, nameOf } from '../rows/input.ts';
import { jsonInterpreter } from '../rows/json-meaning.ts';
import { rowFrom } from '../rows/meaning.ts';
import { checkRename } from '../rows/names.ts';
import { openRows } from '../rows/open-rows.ts';
import { quoted } from '../rows/raw-row.ts';
import { checkOptions, formatOfName } from '../rows/row-format.ts';
import type { RowsOptions } from '../rows/rows-options.ts';
import { skipBlanks } from './json-parts.ts';
import type { Seed } from './seed.ts';
import { readJsonSeed, readYamlSeed, type SeedDocument } from './seed-document.ts';
import { SeedItems } from './seed-items.ts';

/** How a seed is read. */
export interface SeedOptions {
  /** As the flags of `--from` say it. */
  readonly rows: Omit<RowsOptions, 'action' | 'shard'>;
  /** That it is YAML, whatever its name says. */
  readonly isYaml?: boolean | undefined;
  /** The name of the field that tells the items apart, as a flag says it. */
  readonly key?: string | undefined;
  /** Is told what is wrong with items, where something is: of the first 1,000, and how many there are. */
  readonly onProblems?: ((failures: readonly Failure[], count: number) => void) | undefined;
}

/** The longest YAML, and the longest JSON object, in UTF-16 units: they are read as a whole, rows are not. */
const lengthMax = { yaml: 8 * 1024 * 1024, json: 128 * 1024 * 1024 } as const;

/**
 * Reads a seed: CSV, TSV, JSON and JSONL as `--from` reads them for a create, YAML by its name (`.yaml`, `.yml`), or a
 * JSON object in a file named `.json`. All of it is checked; it names no address, and no other file is read.
 *
 * @throws {Failure} usage, with line and column, when it can't be used as it is: no key, a key twice, a member that no
 *   seed has; local-file, when it can't be read
 */
export async function readSeed(input: Input, options: SeedOptions): Promise<Seed> {
  const rows: RowsOptions = { ...options.rows, action: 'create' };
  const document = await documentOf(input, rows, options);
  return document === undefined ? rowsSeed(input, rows, options) : documentSeed(input, document, rows, options);
}

async function rowsSeed(input: Input, rows: RowsOptions, options: SeedOptions): Promise<Seed> {
  const key = keyName(undefined, options, input);
  if (await isEmpty(input, rows)) {
    const sha256 = await contentHash(input, rows);
    return { key, items: [], sha256, sizeBytes: 0, isBlank: true, notices: [] };
  }
  const file = await openRows(input, rows);
  const items = new SeedItems(key, file.header);
  const { sha256, sizeBytes, notices, rows: count } = await checkRows(file, (row) => items.add(row));
  const isBlank = count === 0 && (file.format !== 'json' || (await firstCharacter(input, rows)) === undefined);
  return { key, items: itemsOf(items, input, options), sha256, sizeBytes, isBlank, notices };
}

async function documentSeed(
  input: Input,
  document: SeedDocument,
  rows: RowsOptions,
  options: SeedOptions,
): Promise<Seed> {
  checkOptions('json', rows);
  checkRename(rows.rename);
  const { site, list } = document;
  const key = keyName(document.key, options, input);
  const items = new SeedItems(key);
  const interpreter = jsonInterpreter(rows);
  for (const [at, raw] of document.rows.entries()) items.add(rowFrom(at + 1, raw, 'create', interpreter));
  const unknown = interpreter.unknownName();
  if (unknown !== undefined) throw unknown;
  const { sizeBytes } = input;
  const sha256 = await contentHash(input, rows);
  const facts = { sha256, sizeBytes, isBlank: false, notices: interpreter.notices() };
  return { site, list, key, items: itemsOf(items, input, options), ...facts };
}

/** The seed as one value, where that is what it is. */
async function documentOf(input: Input, rows: RowsOptions, { isYaml }: SeedOptions): Promise<SeedDocument | undefined> {
  const name = nameOf(input.name);
  if (isYaml ?? (rows.format === undefined && /\.ya?ml(?:\.gz)?$/i.test(input.name))) {
    return readYamlSeed(await wholeText(input, rows, lengthMax.yaml), name);
  }
  const isJson = (rows.format ?? formatOfName(input.name)) === 'json';
  if (!isJson || (await firstCharacter(input, rows)) !== '{') return undefined;
  return readJsonSeed(await wholeText(input, rows, lengthMax.json), name);
}

/** The first character that is not blank; undefined without one. */
async function firstCharacter(input: Input, rows: RowsOptions): Promise<string | undefined> {
  for await (const part of textOf(input, rows)) {
    const at = skipBlanks(part, 0);
    if (at < part.length) return part[at];
  }
  return undefined;
}

async function wholeText(input: Input, rows: RowsOptions, max: number): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const part of textOf(input, rows)) {
    length += part.length;
    if (length > max) {
      throw new Failure('usage', `${nameOf(input.name)} is longer than ${max / 1024 / 1024} MiB`, {
        hint: 'nothing was sent; as CSV or JSONL a seed may be as long as it is',
      });
    }
    parts.push(part);
  }
  return parts.join('');
}

function textOf(input: Input, { blockBytes, encoding }: RowsOptions): AsyncGenerator<string> {
  return decodedText(contentBytes(input, { blockBytes }), { encoding, name: nameOf(input.name) });
}

/** What the file and the flag say, which must be the same where both do. */
function keyName(said: string | undefined, { key }: SeedOptions, input: Input): string {
  if (said !== undefined && key !== undefined && said !== key) {
    throw new Failure(
      'usage',
      `--key ${quoted(key)} is not what ${nameOf(input.name)} says: its key is ${quoted(said)}`,
      {
        hint: 'nothing was sent; leave the flag out, or change the file',
      },
    );
  }
  const name = key ?? said ?? '';
  if (name !== '') return name;
  throw new Failure('usage', `which field tells the items of ${nameOf(input.name)} apart?`, {
    hint: 'pass --key FIELD, or write key: FIELD at the top of the seed; nothing was sent',
  });
}

function itemsOf(items: SeedItems, input: Input, { onProblems }: SeedOptions) {
  const name = nameOf(input.name);
  const failure = items.failure(name);
  if (failure === undefined) return items.items;
  onProblems?.(items.problems.failures, items.problems.count);
  throw failure;
}

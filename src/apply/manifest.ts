/** A manifest: what a list is to hold, as a file says it. */
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, ownField } from '../core/item.ts';
import { isObject, type JsonValue, NumberToken } from '../core/json.ts';
import {
  type Extent,
  eachElement,
  eachMember,
  JsonFault,
  parsePart,
  placeText,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import { countOf } from '../core/text.ts';
import { readYaml, YamlSyntaxError } from '../core/yaml.ts';
import { badRowFailure, checkRows } from '../rows/check.ts';
import { checkRename } from '../rows/columns.ts';
import { decodeText } from '../rows/decode.ts';
import { contentBytes, contentHash, type Input, isEmpty, nameOf } from '../rows/input.ts';
import { createJsonParser } from '../rows/json-rows.ts';
import { checkOptions, findFormat, jsonRow, openRows } from '../rows/read.ts';
import { type BadRow, quoted, type RawRow, type Row, type RowsOptions, rowLengthMax, toRow } from '../rows/types.ts';

/** What a manifest file says. */
export interface Manifest {
  /** As the file names them; undefined where it does not. */
  readonly site?: string | undefined;
  readonly list?: string | undefined;
  /** The name of field that uniquely identifies an item. */
  readonly key: string;
  /** In the order of the file; no key stands twice. */
  readonly items: readonly ManifestItem[];
  /** Of the content, unpacked: 64 hex digits. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Whether the file holds no value: no bytes, blank lines, or a header alone. An empty list is a value. */
  readonly isBlank: boolean;
  /** What of the file is not used, each said once. */
  readonly notices: readonly string[];
}

/** One item that a list is to hold. */
export interface ManifestItem {
  /** What stands in the key's field: a text as it is, a number by its digits, true or false. Never empty. */
  readonly key: string;
  /** All that the manifest says of it, the key's field included. */
  readonly fields: Fields;
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
}

/** What a document says. */
export interface ManifestDocument extends ManifestHead {
  readonly rows: readonly RawRow[];
}

/** What may stand above the items. */
export interface ManifestHead {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Reads a manifest in YAML.
 *
 * @param name the file's, for messages
 * @throws {Failure} usage, with line and column
 */
function parseYamlManifest(text: string, name: string): ManifestDocument {
  try {
    const { value, placeOf } = readYaml(text);
    const lineOf = (of: JsonValue, member?: string | number) => placeOf(of, member)?.line ?? 1;
    const rowsOf = (items: readonly JsonValue[]) =>
      items.map((item, at): RawRow => ({ line: lineOf(items, at), source: { kind: 'json', value: item } }));
    if (isList(value)) return { rows: rowsOf(value) };
    if (!isObject(value)) throw notAManifest(name);
    const where = (member: string) => `${name}, line ${lineOf(value, member)}`;
    const items = value['items'];
    const head = new Head(where);
    for (const [member, said] of Object.entries(value)) head.add(member, () => said);
    if (!Object.hasOwn(value, 'items')) throw noItems(name);
    if (!isList(items)) throw wrong(where('items'), 'items is not a list');
    return { ...head.said, rows: rowsOf(items) };
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    const { line, column } = error.place;
    throw wrong(`${name}, line ${line}, column ${column}`, `invalid YAML: ${error.reason}`);
  }
}

/**
 * Reads a manifest that is a JSON object. Its items are read one by one: there may be a hundred thousand.
 *
 * @param name the file's, for messages
 * @throws {Failure} usage, with line and column; what is wrong within an item is its row's fault
 */
function parseJsonManifest(text: string, name: string): ManifestDocument {
  try {
    const rows: RawRow[] = [];
    let items: Extent | undefined;
    let place = '';
    const head = new Head(() => place);
    const end = eachMember(text, skipBlanks(text, 0), (member, value) => {
      place = `${name}, ${placeText(text, value.start)}`;
      if (member === 'items') items = value;
      head.add(member, () => parsePart(text, value));
    });
    refuseRest(text, end);
    if (items === undefined) throw noItems(name);
    const { start } = items;
    if (text[start] !== '[') throw wrong(`${name}, ${placeText(text, start)}`, 'items is not a list');
    const lines = lineCounter(text);
    eachElement(text, start, (extent) => rows.push(...rowOf(text, extent, lines(extent.start))));
    return { ...head.said, rows };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw wrong(`${name}, ${placeText(text, error.at)}`, error.message);
  }
}

function rowOf(text: string, { start, end }: Extent, { line, lineAt }: LinePlace): readonly RawRow[] {
  const isTooLong = end - start > rowLengthMax;
  const part = text.slice(start, isTooLong ? start + 1_000 : end);
  const row = jsonRow({ line, column: start - lineAt + 1, text: part, isTooLong });
  return row === undefined ? [] : [row];
}

/** A line, from 1, and the offset at which it begins. */
interface LinePlace {
  readonly line: number;
  readonly lineAt: number;
}

/** The line of an offset; offsets are asked for in their order, so that the text is looked through once. */
function lineCounter(text: string): (offset: number) => LinePlace {
  let [line, lineAt] = [1, 0];
  let next = text.indexOf('\n');
  return (offset) => {
    for (; next !== -1 && next < offset; next = text.indexOf('\n', next + 1)) {
      line += 1;
      lineAt = next + 1;
    }
    return { line, lineAt };
  };
}

/** The members above the items, each what it should be. */
class Head {
  said: ManifestHead = {};
  readonly #where: (member: string) => string;

  /** @param where says where a member stands */
  constructor(where: (member: string) => string) {
    this.#where = where;
  }

  /** @throws {Failure} usage */
  add(member: string, value: () => JsonValue): void {
    switch (member) {
      case 'items':
        return;
      case 'site':
      case 'list':
        this.said = { ...this.said, [member]: this.#id(member, value()) };
        return;
      case 'key':
        this.said = { ...this.said, key: this.#text(member, value()) };
        return;
      default:
        // An address here would send the user's token to the author of the file.
        throw new Failure('usage', `${this.#where(member)}: unknown member ${quoted(member)}`, {
          hint: 'remove it: the members are site, list, key and items; nothing was sent\naddresses and tokens come only from flags, the environment and your own settings',
        });
    }
  }

  #id(member: 'site' | 'list', value: JsonValue): string {
    const id = value instanceof NumberToken ? value.digits : typeof value === 'number' ? String(value) : value;
    const text = this.#text(member, id);
    try {
      return checkId(text, member);
    } catch (error) {
      throw error instanceof Failure ? wrong(this.#where(member), error.message) : error;
    }
  }

  #text(member: string, value: JsonValue): string {
    if (typeof value === 'string' && value !== '') return value;
    throw wrong(this.#where(member), `${member} is ${value === '' ? 'empty' : 'not a string'}`);
  }
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function notAManifest(name: string): Failure {
  return wrong(name, 'expected a list of items, or an object with site, list, key and items');
}

function noItems(name: string): Failure {
  return wrong(name, 'items is required (write items: [] for an empty list)');
}

function wrong(where: string, problem: string): Failure {
  return new Failure('usage', `${where}: ${problem}`, { hint: 'nothing was sent' });
}

/** So many problems are named; of the others only how many. */
const namedMax = 1000;

/** Gathers the items of one manifest. */
class ItemCollector {
  readonly items: ManifestItem[] = [];
  readonly #key: string;
  readonly #columns: { readonly header: readonly string[] };
  readonly #lines = new Map<string, number>();
  readonly #problems: Failure[] = [];
  #problemCount = 0;
  #rows = 0;

  /**
   * @param key the name of field that uniquely identifies an item
   * @param columns of CSV and TSV: the header
   */
  constructor(key: string, columns: readonly string[] = []) {
    this.#key = key;
    this.#columns = { header: columns };
  }

  add(row: Row | BadRow): void {
    this.#rows += 1;
    if (row.problem !== undefined) {
      this.#refuse(row, row.problem);
      return;
    }
    const { fields, line } = row;
    const read = keyOf(fields, this.#key);
    if ('problem' in read) {
      this.#refuse(row, read.problem);
      return;
    }
    const problem = this.#take({ key: read.key, fields, line });
    if (problem !== undefined) this.#refuse(row, problem, read.key);
  }

  #take(item: ManifestItem): string | undefined {
    const first = this.#lines.get(item.key);
    if (first !== undefined) return `the key ${quoted(item.key)} is already used in line ${first}`;
    this.#lines.set(item.key, item.line);
    this.items.push(item);
    return undefined;
  }

  #refuse(row: Row | BadRow, problem: string, key?: string): void {
    this.#problemCount += 1;
    if (this.#problems.length >= namedMax) return;
    const { number, line, source } = row;
    const column = row.problem === undefined ? undefined : row.column;
    const bad = { number, line, column, source, problem };
    this.#problems.push(badRowFailure(bad, this.#columns).about({ key }));
  }

  /** What is wrong with each of the first 1,000 bad items, and how many there are. */
  get problems(): { readonly failures: readonly Failure[]; readonly count: number } {
    return { failures: this.#problems, count: this.#problemCount };
  }

  /** The failure of a manifest with problems; undefined for one without. */
  failure(name: string): Failure | undefined {
    const [first] = this.#problems;
    if (first === undefined) return undefined;
    return new Failure(
      'usage',
      `${name}: ${this.#problemCount} of ${countOf(this.#rows, 'item')} invalid: ${first.message}`,
      {
        outcome: 'not-sent',
        about: this.#problemCount === 1 ? first.details.about : undefined,
        hint: `fix them: each item needs a unique value in the key field ${quoted(this.#key)}; nothing was sent`,
      },
    );
  }
}

/** The key of an item: the text of one of its fields. */
function keyOf(fields: Fields, name: string): { readonly key: string } | { readonly problem: string } {
  const value = ownField(fields, name);
  if (value === undefined) return { problem: `the key field ${quoted(name)} is missing` };
  const key = keyText(value);
  if (key === '') return { problem: `the key field ${quoted(name)} is empty` };
  return key === undefined ? { problem: `the key field ${quoted(name)} is not a string, number or boolean` } : { key };
}

/** The text that a key has as a field's value; undefined for a value that cannot be a key. */
export function keyText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** How a manifest is read. */
export interface ManifestOptions {
  /** As the flags of `--from` say it. */
  readonly rows: Omit<RowsOptions, 'action' | 'shard'>;
  /** That it is YAML, whatever its name says. */
  readonly isYaml?: boolean | undefined;
  /** The name of field that uniquely identifies an item, as a flag says it. */
  readonly key?: string | undefined;
  /** Is told what is wrong with items, where something is: of the first 1,000, and how many there are. */
  readonly onProblems?: ((failures: readonly Failure[], count: number) => void) | undefined;
}

/** The longest YAML, and the longest JSON object, in UTF-16 units: they are read as a whole, rows are not. */
const lengthMax = { yaml: 8 * 1024 * 1024, json: 128 * 1024 * 1024 } as const;

/**
 * Reads a manifest: CSV, TSV, JSON and JSONL as `--from` reads them for a create, YAML by its name (`.yaml`, `.yml`), or a
 * JSON object in a file named `.json`. All of it is checked; it names no address, and no other file is read.
 *
 * @throws {Failure} usage, with line and column, when it cannot be used as it is: no key, a key twice, a member that no
 *   manifest has; local-file, when it cannot be read
 */
export async function readManifest(input: Input, options: ManifestOptions): Promise<Manifest> {
  const rows: RowsOptions = { ...options.rows, action: 'create' };
  const document = await parseDocument(input, rows, options);
  return document === undefined ? readRows(input, rows, options) : readDocument(input, document, rows, options);
}

async function readRows(input: Input, rows: RowsOptions, options: ManifestOptions): Promise<Manifest> {
  const key = keyName(undefined, options, input);
  if (await isEmpty(input, rows)) {
    const sha256 = await contentHash(input, rows);
    return { key, items: [], sha256, sizeBytes: 0, isBlank: true, notices: [] };
  }
  const file = await openRows(input, rows);
  const items = new ItemCollector(key, file.header);
  const { sha256, sizeBytes, notices, rows: count } = await checkRows(file, (row) => items.add(row));
  const isBlank = count === 0 && (file.format !== 'json' || (await firstCharacter(input, rows)) === undefined);
  return { key, items: itemsOf(items, input, options), sha256, sizeBytes, isBlank, notices };
}

async function readDocument(
  input: Input,
  document: ManifestDocument,
  rows: RowsOptions,
  options: ManifestOptions,
): Promise<Manifest> {
  checkOptions('json', rows);
  checkRename(rows.rename);
  const { site, list } = document;
  const key = keyName(document.key, options, input);
  const items = new ItemCollector(key);
  const interpreter = createJsonParser(rows);
  for (const [at, raw] of document.rows.entries()) items.add(toRow(at + 1, raw, 'create', interpreter));
  const unknown = interpreter.unknownName();
  if (unknown !== undefined) throw unknown;
  const { sizeBytes } = input;
  const sha256 = await contentHash(input, rows);
  const facts = { sha256, sizeBytes, isBlank: false, notices: interpreter.notices() };
  return { site, list, key, items: itemsOf(items, input, options), ...facts };
}

/** The manifest as one value, where that is what it is. */
async function parseDocument(
  input: Input,
  rows: RowsOptions,
  { isYaml }: ManifestOptions,
): Promise<ManifestDocument | undefined> {
  const name = nameOf(input.name);
  if (isYaml ?? (rows.format === undefined && /\.ya?ml(?:\.gz)?$/i.test(input.name))) {
    return parseYamlManifest(await wholeText(input, rows, lengthMax.yaml), name);
  }
  const isJson = (rows.format ?? findFormat(input.name)) === 'json';
  if (!isJson || (await firstCharacter(input, rows)) !== '{') return undefined;
  return parseJsonManifest(await wholeText(input, rows, lengthMax.json), name);
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
        hint: 'use CSV or JSONL, which have no limit; nothing was sent',
      });
    }
    parts.push(part);
  }
  return parts.join('');
}

function textOf(input: Input, { blockBytes, encoding }: RowsOptions): AsyncGenerator<string> {
  return decodeText(contentBytes(input, { blockBytes }), nameOf(input.name), encoding);
}

/** What the file and the flag say, which must be the same where both do. */
function keyName(said: string | undefined, { key }: ManifestOptions, input: Input): string {
  if (said !== undefined && key !== undefined && said !== key) {
    throw new Failure(
      'usage',
      `--key ${quoted(key)} conflicts with ${nameOf(input.name)}: its key is ${quoted(said)}`,
      {
        hint: 'leave out --key, or change the file; nothing was sent',
      },
    );
  }
  const name = key ?? said ?? '';
  if (name !== '') return name;
  throw new Failure('usage', `no key field given for ${nameOf(input.name)}`, {
    hint: 'pass --key <field>, or write "key: <field>" at the top of the manifest; nothing was sent',
  });
}

function itemsOf(items: ItemCollector, input: Input, { onProblems }: ManifestOptions) {
  const name = nameOf(input.name);
  const failure = items.failure(name);
  if (failure === undefined) return items.items;
  onProblems?.(items.problems.failures, items.problems.count);
  throw failure;
}

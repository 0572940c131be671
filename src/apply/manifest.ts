/** Manifests: the items of a list in a file. */

import { Failure } from '../core/errors.ts';
import type { FieldEncoder } from '../core/field-encoder.ts';
import { type Fields, idProblem, ownField } from '../core/item.ts';
import { isList, isObject, type JsonValue, NumberToken } from '../core/json.ts';
import {
  type Extent,
  eachElement,
  eachMember,
  formatPosition,
  JsonFault,
  parsePart,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import { countOf, quoted } from '../core/text.ts';
import { readYaml } from '../core/yaml.ts';
import { badRowFailure, checkRows } from '../rows/check.ts';
import { checkRename } from '../rows/columns.ts';
import { contentHash, type Input, isEmpty, nameOf } from '../rows/input.ts';
import { JsonParser } from '../rows/json-rows.ts';
import { checkOptions, findFormat, jsonRow, openRows, textOf, wholeText, yamlLengthMax } from '../rows/read.ts';
import {
  type BadRow,
  type RawRow,
  type Row,
  type RowFault,
  type RowsOptions,
  rowLengthMax,
  toRow,
} from '../rows/types.ts';
import { withYamlPlaces } from '../rows/yaml-rows.ts';

export interface Manifest extends ManifestHead {
  readonly key: string;
  /** In the order of the file; no key is used twice. */
  readonly items: readonly ManifestItem[];
  /** The hash of the content, unpacked: 64 hex digits. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Whether the file has no value: no bytes, blank lines, or a header alone. An empty list is a value. */
  readonly isBlank: boolean;
  readonly notices: readonly string[];
}

export interface ManifestItem {
  /** The value of the key field: a string, the digits of a number, true or false. Never empty. */
  readonly key: string;
  readonly fields: Fields;
  /** The line in which it begins, from 1. */
  readonly line: number;
}

interface ManifestDocument extends ManifestHead {
  readonly rows: readonly RawRow[];
}

export interface ManifestHead {
  /** Part of the idempotency keys of creates instead of the name of the file. */
  readonly name?: string | undefined;
  readonly site?: string | undefined;
  readonly list?: string | undefined;
  readonly key?: string | undefined;
}

function parseYamlManifest(text: string, name: string): ManifestDocument {
  return withYamlPlaces(name, () => {
    const { value, placeOf } = readYaml(text);
    const lineOf = (of: JsonValue, member?: string | number) => placeOf(of, member)?.line ?? 1;
    const rowsOf = (items: readonly JsonValue[]) =>
      items.map((item, at): RawRow => ({ line: lineOf(items, at), source: { kind: 'json', value: item } }));
    if (isList(value)) return { rows: rowsOf(value) };
    if (!isObject(value)) throw notAManifest(name);
    const where = (member: string) => `${name}, line ${lineOf(value, member)}`;
    const items = value['items'];
    const head = Object.entries(value).map(([member, each]) => readHead(member, () => each, where(member)));
    if (!Object.hasOwn(value, 'items')) throw noItems(name);
    if (!isList(items)) throw invalid(where('items'), 'items is not a list');
    return { ...Object.assign({}, ...head), rows: rowsOf(items) };
  });
}

/** Parses a JSON object. Its items are parsed one by one, since there may be a hundred thousand. */
function parseJsonManifest(text: string, name: string): ManifestDocument {
  try {
    const rows: RawRow[] = [];
    let items: Extent | undefined;
    let head: ManifestHead = {};
    const end = eachMember(text, skipBlanks(text, 0), (member, value) => {
      if (member === 'items') items = value;
      const where = `${name}, ${formatPosition(text, value.start)}`;
      head = { ...head, ...readHead(member, () => parsePart(text, value), where) };
    });
    refuseRest(text, end);
    if (items === undefined) throw noItems(name);
    const { start } = items;
    if (text[start] !== '[') throw invalid(`${name}, ${formatPosition(text, start)}`, 'items is not a list');
    const lines = lineCounter(text);
    eachElement(text, start, (extent) => rows.push(...rowOf(text, extent, lines(extent.start))));
    return { ...head, rows };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw invalid(`${name}, ${formatPosition(text, error.at)}`, error.message);
  }
}

function rowOf(
  text: string,
  { start, end }: Extent,
  { line, lineAt }: ReturnType<ReturnType<typeof lineCounter>>,
): readonly RawRow[] {
  const isTooLong = end - start > rowLengthMax;
  const part = text.slice(start, isTooLong ? start + 1_000 : end);
  const row = jsonRow({ line, column: start - lineAt + 1, text: part, isTooLong });
  return row === undefined ? [] : [row];
}

/** Finds the line of offsets in ascending order, from 1, and where it begins. */
function lineCounter(text: string): (offset: number) => { readonly line: number; readonly lineAt: number } {
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

function readHead(member: string, read: () => JsonValue, where: string): ManifestHead {
  switch (member) {
    case 'items':
      return {};
    case 'site':
    case 'list':
      return { [member]: readId(member, read(), where) };
    case 'key':
    case 'name':
      return { [member]: readString(member, read(), where) };
    default:
      // A service address here would send the user's token to the author of the file.
      throw new Failure('usage', `${where}: unknown member ${quoted(member)}`, {
        hint: 'remove it: the members are name, site, list, key and items\naddresses and tokens come only from flags, the environment and your own settings',
      });
  }
}

function readId(member: 'site' | 'list', value: JsonValue, where: string): string {
  const id = value instanceof NumberToken ? value.digits : typeof value === 'number' ? String(value) : value;
  const text = readString(member, id, where);
  const problem = idProblem(text, member);
  if (problem !== undefined) throw invalid(where, problem);
  return text;
}

function readString(member: string, value: JsonValue, where: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(where, `${member} is ${value === '' ? 'empty' : 'not a string'}`);
}

function notAManifest(name: string): Failure {
  return invalid(name, 'expected a list of items, or an object with items, and name, site, list and key');
}

function noItems(name: string): Failure {
  return invalid(name, 'items is required (write items: [] for an empty list)');
}

function invalid(where: string, problem: string): Failure {
  return new Failure('usage', `${where}: ${problem}`);
}

const reportedMax = 1000;

/** Collects the items of a manifest, and what is wrong with others. */
class ItemCollector {
  readonly items: ManifestItem[] = [];
  readonly failures: Failure[] = [];
  invalidCount = 0;
  #lacksKeys = false;
  /** Undefined to look at the rows alone. */
  readonly #key: string | undefined;
  readonly #columns: { readonly header: readonly string[] };
  readonly #compared: ((key: string) => string) | undefined;
  /** The first line of each key, by what keys are told apart by. */
  readonly #lines = new Map<string, Pick<ManifestItem, 'key' | 'line'>>();
  #rows = 0;

  /** @param header of CSV and TSV */
  constructor(key: string | undefined, columns: ManifestColumns | undefined, header: readonly string[] = []) {
    this.#key = key;
    this.#compared = key === undefined ? undefined : columns?.comparedBy(key);
    this.#columns = { header };
  }

  add(row: Row | BadRow): void {
    this.#rows += 1;
    if (row.problem !== undefined) {
      this.#refuse(row, [row, ...(row.more ?? [])]);
      return;
    }
    if (this.#key === undefined) return;
    const { fields, line } = row;
    const read = readKey(fields, this.#key);
    if ('problem' in read) {
      this.#refuseKey(row, read.problem);
      return;
    }
    const { key } = read;
    const compared = this.#compared?.(key) ?? key;
    const first = this.#lines.get(compared);
    if (first !== undefined) {
      const same = first.key === key ? '' : ` as ${quoted(first.key)}, and the column is unique without regard to case`;
      this.#refuseKey(row, `the key ${quoted(key)} is already used in line ${first.line}${same}`, key);
      return;
    }
    this.#lines.set(compared, { key, line });
    this.items.push({ key, fields, line });
  }

  #refuseKey(row: Row, problem: string, key?: string): void {
    this.#lacksKeys = true;
    this.#refuse(row, [{ problem, column: undefined }], key);
  }

  #refuse({ number, line, source }: Row | BadRow, faults: readonly RowFault[], key?: string): void {
    this.invalidCount += 1;
    if (this.failures.length >= reportedMax) return;
    for (const { problem, column } of faults) {
      const bad = { number, line, source, problem, column };
      this.failures.push(badRowFailure(bad, this.#columns).about({ key }));
    }
  }

  failure(name: string): Failure | undefined {
    const [first] = this.failures;
    if (first === undefined) return undefined;
    return new Failure(
      'usage',
      `${name}: ${this.invalidCount} of ${countOf(this.#rows, 'item')} invalid: ${first.message}`,
      {
        outcome: 'not-sent',
        about: this.failures.length === 1 ? first.details.about : undefined,
        hint: this.#lacksKeys
          ? `fix them: each item needs a unique value in the key field ${quoted(this.#key ?? '')}`
          : undefined,
      },
    );
  }
}

function readKey(fields: Fields, name: string): { readonly key: string } | { readonly problem: string } {
  const value = ownField(fields, name);
  if (value === undefined) return { problem: `the key field ${quoted(name)} is missing` };
  const key = keyText(value);
  if (key === '') return { problem: `the key field ${quoted(name)} is empty` };
  return key === undefined ? { problem: `the key field ${quoted(name)} is not a string, number or boolean` } : { key };
}

/** The key for a value of the key field; undefined for a value that cannot be one. */
export function keyText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** What the columns of a list say of a manifest. */
export interface ManifestColumns {
  /** Undefined if fields may have any names and values. */
  readonly rowsForm: FieldEncoder | undefined;
  /** The field of the column that identifies items; throws a Failure if it cannot. */
  keyNamed(typed: string): string;
  /** What the service tells keys apart by, where that is less than the keys. */
  comparedBy(keyField: string): ((key: string) => string) | undefined;
}

export interface ManifestOptions {
  readonly rows: Omit<RowsOptions, 'action' | 'shard'>;
  readonly key?: string | undefined;
  /** The key field of an earlier run, if it is given neither as an option nor in the file. */
  readonly stateKey?: (() => string | undefined) | undefined;
  /** Opens the list of a manifest, whose columns say what its values are; undefined for any names and values. */
  readonly openColumns?: ((head: ManifestHead) => Promise<ManifestColumns>) | undefined;
  /** Receives the first 1,000 invalid items, and their number. */
  readonly onProblems?: ((failures: readonly Failure[], count: number) => void) | undefined;
}

/** The longest JSON object, which is parsed as a whole, in UTF-16 units. */
const jsonLengthMax = 128 * 1024 * 1024;

/**
 * Reads a manifest: rows of CSV, TSV, JSON and JSONL as a create with `--from` does, YAML (`.yaml`, `.yml`), or a JSON
 * object. All of it is checked.
 *
 * @throws {Failure} usage, with line and column; local-file, if it cannot be read
 */
export async function readManifest(input: Input, options: ManifestOptions): Promise<Manifest> {
  const rows: RowsOptions = { ...options.rows, action: 'create' };
  const document = await parseDocument(input, rows);
  return document === undefined ? readRows(input, rows, options) : readDocument(input, document, rows, options);
}

async function readRows(input: Input, given: RowsOptions, options: ManifestOptions): Promise<Manifest> {
  const typed = keyName(undefined, options, input);
  if (options.openColumns !== undefined) await checkRowsAlone(input, given, options);
  const columns = await options.openColumns?.({});
  const rows = { ...given, form: columns?.rowsForm };
  const key = keyIn(typed, columns);
  if (await isEmpty(input, rows)) {
    const sha256 = await contentHash(input, rows);
    return { key, items: [], sha256, sizeBytes: 0, isBlank: true, notices: [] };
  }
  const file = await openRows(input, { ...rows, manifestKey: key });
  const items = new ItemCollector(key, columns, file.header);
  const { sha256, sizeBytes, notices, rows: count } = await checkRows(file, (row) => items.add(row));
  const isBlank = count === 0 && (file.format !== 'json' || (await firstCharacter(input, rows)) === undefined);
  return { key, items: checkedItems(items, input, options), sha256, sizeBytes, isBlank, notices };
}

/** Checks what the file alone shows, before the service is asked about its list. */
async function checkRowsAlone(input: Input, rows: RowsOptions, options: ManifestOptions): Promise<void> {
  if (await isEmpty(input, rows)) return;
  const file = await openRows(input, rows);
  const items = new ItemCollector(undefined, undefined, file.header);
  await checkRows(file, (row) => items.add(row));
  checkedItems(items, input, options);
}

async function readDocument(
  input: Input,
  document: ManifestDocument,
  given: RowsOptions,
  options: ManifestOptions,
): Promise<Manifest> {
  checkOptions('json', given);
  checkRename(given.rename);
  const { name, site, list } = document;
  const typed = keyName(document.key, options, input);
  const columns = await options.openColumns?.(document);
  const rows = { ...given, form: columns?.rowsForm };
  const key = keyIn(typed, columns);
  const items = new ItemCollector(key, columns);
  const interpreter = new JsonParser(rows);
  const toRows = () => document.rows.map((raw, at) => toRow(at + 1, raw, 'create', interpreter));
  let found = toRows();
  if (rows.form?.isIncomplete) {
    await rows.form.complete();
    found = toRows();
  }
  for (const row of found) items.add(row);
  const unknown = interpreter.unknownName();
  if (unknown !== undefined) throw unknown;
  const { sizeBytes } = input;
  const sha256 = await contentHash(input, rows);
  const facts = { sha256, sizeBytes, isBlank: false, notices: interpreter.notices() };
  return { name, site, list, key, items: checkedItems(items, input, options), ...facts };
}

/** Parses a manifest that is a single value; undefined for rows. */
async function parseDocument(input: Input, rows: RowsOptions): Promise<ManifestDocument | undefined> {
  const name = nameOf(input.name);
  const format = rows.format ?? findFormat(input.name);
  if (format === 'yaml') return parseYamlManifest(await wholeText(input, rows, yamlLengthMax), name);
  if (format !== 'json' || (await firstCharacter(input, rows)) !== '{') return undefined;
  return parseJsonManifest(await wholeText(input, rows, jsonLengthMax), name);
}

async function firstCharacter(input: Input, rows: RowsOptions): Promise<string | undefined> {
  for await (const part of textOf(input, rows)) {
    const at = skipBlanks(part, 0);
    if (at < part.length) return part[at];
  }
  return undefined;
}

/** The name of the key field: in the file, in --key or in the state. */
function keyName(
  inFile: string | undefined,
  { key, stateKey }: ManifestOptions,
  input: Input,
): { readonly typed: string } | { readonly known: string } {
  if (inFile !== undefined && key !== undefined && inFile !== key) {
    throw new Failure(
      'usage',
      `--key ${quoted(key)} conflicts with ${nameOf(input.name)}: its key is ${quoted(inFile)}`,
      { hint: 'leave out --key, or change the file' },
    );
  }
  const typed = key ?? inFile ?? '';
  if (typed !== '') return { typed };
  const known = stateKey?.() ?? '';
  if (known !== '') return { known };
  throw new Failure('usage', `no key field given for ${nameOf(input.name)}`, {
    hint: 'pass --key <field>, or write "key: <field>" at the top of the manifest',
  });
}

/** The field of the key: a state has it, and a typed name may be that of a column. */
function keyIn(key: ReturnType<typeof keyName>, columns: ManifestColumns | undefined): string {
  if ('known' in key) return key.known;
  return columns === undefined ? key.typed : columns.keyNamed(key.typed);
}

function checkedItems(items: ItemCollector, input: Input, { onProblems }: ManifestOptions): readonly ManifestItem[] {
  const failure = items.failure(nameOf(input.name));
  if (failure === undefined) return items.items;
  onProblems?.(items.failures, Math.max(items.invalidCount, items.failures.length));
  throw failure;
}

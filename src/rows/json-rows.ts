/** The rows of JSON files: elements of an array, which is never in memory as a whole, and their objects. */

import { Failure } from '../core/errors.ts';
import type { EncodedFields, FieldEncoder } from '../core/field-encoder.ts';
import { ownField } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom } from '../core/json.ts';
import { isBlank } from '../core/json-scan.ts';
import { quoted } from '../core/text.ts';
import { isReservedName, requestedColumns, unknownName, unsentIds } from './columns.ts';
import type { TextPart } from './decode.ts';
import {
  beginningOf,
  faultOf,
  missingText,
  type ParsedRow,
  type RowFault,
  type RowParser,
  type RowSource,
  type RowsOptions,
  rowLengthMax,
} from './types.ts';

/**
 * Splits an array into its elements by brackets and quotes alone: an error in one is found when it is parsed, and does
 * not affect others.
 *
 * @param name of the input, for messages
 * @throws {Failure} usage, if the text does not begin with an array
 */
export async function* splitElements(text: AsyncIterable<string>, name: string): AsyncGenerator<readonly TextPart[]> {
  const splitter = new ArraySplitter(name);
  for await (const part of text) {
    const elements = splitter.split(part);
    if (elements.length > 0) yield elements;
  }
  const last = splitter.end();
  if (last.length > 0) yield last;
}

/** Splits an array that comes in parts; core/json-scan.ts reads one that is a whole text. */
class ArraySplitter {
  readonly #name: string;
  #where: 'before' | 'inside' | 'after' = 'before';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #line = 1;
  #column = 1;
  /** The element that has begun, from its first character that is not blank. */
  #begun: { text: string; isTooLong: boolean; readonly line: number; readonly column: number } | undefined;
  /** The offset in the current part of the text that is not copied yet. */
  #from = 0;
  /** An element must follow a comma. */
  #isAwaited = false;
  #elements: TextPart[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  split(part: string): readonly TextPart[] {
    this.#elements = [];
    this.#from = 0;
    for (let at = 0; at < part.length; at += 1) {
      const code = part.charCodeAt(at);
      this.#take(part, at, code);
      this.#column += 1;
      if (code !== 0x0a) continue;
      this.#line += 1;
      this.#column = 1;
    }
    if (this.#begun !== undefined) this.#keep(part.slice(this.#from));
    return this.#elements;
  }

  end(): readonly TextPart[] {
    this.#elements = [];
    if (this.#where === 'before') {
      throw new Failure('usage', `cannot read ${this.#name}: no JSON array found`);
    }
    if (this.#where === 'inside') {
      // An incomplete element is reported by its parser.
      const isCut = this.#depth > 0 || this.#isInString;
      this.#begun ??= this.#here();
      this.#finish(isCut ? undefined : 'the array is not closed: the file ends before "]"');
    } else if (this.#begun !== undefined) {
      this.#finish('unexpected text after the array (for one JSON value per line use jsonl)');
    }
    return this.#elements;
  }

  #take(part: string, at: number, code: number): void {
    if (this.#where === 'inside') this.#inside(part, at, code);
    else if (isBlank(code)) return;
    else if (this.#where === 'after') this.#begin(at);
    else this.#open(code);
  }

  #open(code: number): void {
    if (code !== 0x5b) throw notAnArray(this.#name, code);
    this.#where = 'inside';
  }

  #inside(part: string, at: number, code: number): void {
    if (this.#isInString) {
      this.#inString(code);
      return;
    }
    if (this.#depth === 0 && (code === 0x2c || code === 0x5d)) {
      this.#separate(part, at, code);
      return;
    }
    if (isBlank(code)) return;
    this.#begin(at);
    if (code === 0x22) this.#isInString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if ((code === 0x7d || code === 0x5d) && this.#depth > 0) this.#depth -= 1;
  }

  #inString(code: number): void {
    // JSON strings have no line ends, so an unclosed one affects only its line.
    if (code === 0x0a) this.#isInString = false;
    else if (this.#isEscaped) this.#isEscaped = false;
    else if (code === 0x5c) this.#isEscaped = true;
    else if (code === 0x22) this.#isInString = false;
  }

  /** A comma between two elements, or the end of the array. */
  #separate(part: string, at: number, code: number): void {
    const isComma = code === 0x2c;
    if (this.#begun !== undefined) {
      this.#keep(part.slice(this.#from, at));
      this.#finish(undefined);
    } else if (isComma || this.#isAwaited) {
      this.#begun = this.#here();
      this.#finish('missing element next to a comma');
    }
    this.#isAwaited = isComma;
    if (!isComma) this.#where = 'after';
  }

  #begin(at: number): void {
    if (this.#begun !== undefined) return;
    this.#begun = this.#here();
    this.#from = at;
  }

  #here() {
    return { text: '', isTooLong: false, line: this.#line, column: this.#column };
  }

  #keep(text: string): void {
    const begun = this.#begun;
    this.#from = 0;
    if (begun === undefined || begun.isTooLong) return;
    begun.text += text;
    if (begun.text.length <= rowLengthMax) return;
    begun.text = beginningOf(begun.text);
    begun.isTooLong = true;
  }

  #finish(problem: string | undefined): void {
    if (this.#begun !== undefined) this.#elements.push({ ...this.#begun, problem });
    this.#begun = undefined;
    this.#isEscaped = false;
  }
}

function notAnArray(name: string, code: number): Failure {
  const hint =
    code === 0x7b
      ? 'pass a single object with --fields; for one object per line, pass --input-format jsonl'
      : 'put the rows between [ and ]';
  const first = JSON.stringify(String.fromCharCode(code));
  return new Failure('usage', `${name} is not a JSON array: it begins with ${first}`, { hint });
}

/** For get, update and delete a string or number is the id itself. */
function parseBareId(value: JsonValue, { action, common }: RowsOptions): ParsedRow | undefined {
  const id = action === 'create' ? undefined : idText(value);
  return id === undefined ? undefined : { id, fields: action === 'update' ? common : {} };
}

/** Parses JSON rows, and collects the names that they have, and those that are not sent. */
export class JsonParser implements RowParser {
  readonly idColumn = undefined;
  readonly #options: RowsOptions;
  /** The names in options that no row has so far, each with its option. */
  readonly #missing: Map<string, string>;
  /** Names of rows, enough to find a similar one. */
  readonly #names = new Set<string>();
  readonly #dropped = new Set<string>();
  readonly #readOnly = new Set<string>();
  readonly #unwritten = new Set<string>();
  #hasUnsentId = false;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#missing = new Map(requestedColumns(options));
  }

  parse(source: RowSource): ParsedRow | RowFault {
    const value = source.kind === 'json' ? source.value : null;
    const row = parseBareId(value, this.#options) ?? this.#parseObject(value);
    return typeof row === 'string' ? wholeRow(row) : row;
  }

  /** The row of an object, or why it is not valid. */
  #parseObject(value: JsonValue): ParsedRow | RowFault | string {
    const { action, idColumn } = this.#options;
    if (!isObject(value)) return action === 'create' ? 'not a JSON object' : 'neither a JSON object nor an id';
    if (Object.hasOwn(value, 'listctl:text'))
      return 'this row could not be read: fix its listctl:text and put that here';
    const parts = partsOf(value, this.#options);
    if (parts === undefined) return 'not an item: no "fields" object';
    const idValue = ownField(value, idColumn);
    this.#collect(parts, idValue !== undefined);
    const id = idText(idValue);
    if (idValue !== undefined && id === undefined && action !== 'create')
      return `${quoted(idColumn)} is neither a string nor a number`;
    if (action !== 'create' && action !== 'update') return { id, fields: {} };
    const sent = sentFrom(parts, idValue, this.#options, (name) => this.#unwritten.add(name));
    return 'problem' in sent ? sent : { id, fields: sent.fields };
  }

  #collect({ members, others, readOnly }: Parts, hasId: boolean): void {
    const { action, idColumn, rename } = this.#options;
    for (const [name] of members) this.#see(name);
    if (hasId) this.#see(idColumn);
    if (action === 'create' && hasId && !rename.has(idColumn)) this.#hasUnsentId = true;
    if (action === 'delete' || action === 'get') return;
    for (const name of others) if (this.#dropped.size < 100) this.#dropped.add(name);
    for (const name of readOnly) if (this.#readOnly.size < 100) this.#readOnly.add(name);
  }

  #see(name: string): void {
    this.#missing.delete(name);
    if (this.#names.size < 1_000) this.#names.add(name);
  }

  notices(): readonly string[] {
    const notice = (what: string, names: ReadonlySet<string>) =>
      names.size === 0 ? [] : [`${what}: ${[...names].map(quoted).join(', ')}`];
    return [
      ...(this.#hasUnsentId ? [unsentIds(this.#options.idColumn)] : []),
      ...notice('only the fields of items are sent; ignored', this.#dropped),
      ...notice('fields that only the service sets are not sent', this.#readOnly),
      ...notice('fields that cannot be written are not sent', this.#unwritten),
    ];
  }

  unknownName(): Failure | undefined {
    const [missing] = this.#missing;
    // Without rows no name is missing.
    if (missing === undefined || this.#names.size === 0) return undefined;
    const [name, option] = missing;
    return unknownName(option, 'member', name, [...this.#names]);
  }
}

function wholeRow(problem: string): RowFault {
  return { problem, column: undefined };
}

interface Parts {
  /** It has the shape of an item. */
  readonly isItem: boolean;
  /** Those that may become fields. */
  readonly members: readonly (readonly [string, JsonValue])[];
  /** The names of members of an item that are not sent, without the id. */
  readonly others: readonly string[];
  /** The names of fields of an item that only the service sets. */
  readonly readOnly: readonly string[];
}

/** Undefined for an object that is not an item and must be one. */
function partsOf(object: JsonObject, options: RowsOptions): Parts | undefined {
  const { action, idColumn, rows } = options;
  const all = Object.entries(object).filter(([name]) => !isReservedName(name));
  const inner = ownField(object, 'fields');
  const others = () => all.map(([name]) => name).filter((name) => name !== 'fields' && name !== idColumn);
  if (rows === 'items' && !isObject(inner)) {
    // get and delete need only the id.
    const needsFields = action === 'create' || inner !== undefined;
    return needsFields ? undefined : { isItem: true, members: [], others: others(), readOnly: [] };
  }
  const looksLikeItem = all.length === 1 || Object.hasOwn(object, 'id') || Object.hasOwn(object, idColumn);
  if (isObject(inner) && rows !== 'fields' && (rows === 'items' || looksLikeItem)) {
    const members = Object.entries(inner).filter(([name]) => !isReservedName(name));
    const readOnly = members.map(([name]) => name).filter((name) => isReadOnly(name, options));
    const sent = readOnly.length === 0 ? members : members.filter(([name]) => !readOnly.includes(name));
    return { isItem: true, members: sent, others: others(), readOnly };
  }
  return { isItem: false, members: all.filter(([name]) => name !== idColumn), others: [], readOnly: [] };
}

function isReadOnly(name: string, { readOnly = [], rename, only = [] }: RowsOptions): boolean {
  if (rename.has(name) || only.includes(name)) return false;
  return readOnly.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
}

/** The fields to send, overridden by the common ones; or why they are not valid. */
function sentFrom(
  { members, isItem }: Parts,
  idValue: JsonValue | undefined,
  options: RowsOptions,
  onLeftOut: (name: string) => void,
): Pick<ParsedRow, 'fields'> | RowFault {
  const { rename, only, idColumn, common, form } = options;
  const fields = new Map<string, JsonValue>();
  const isWanted = (name: string) => only === undefined || only.includes(name);
  const idField = rename.get(idColumn);
  if (idValue !== undefined && idField !== undefined && isWanted(idColumn)) fields.set(idField, idValue);
  for (const [name, value] of members) {
    if (!isWanted(name)) continue;
    // In an item, a field with the name of the id column is an ordinary field.
    const field = (name === idColumn ? undefined : rename.get(name)) ?? name;
    if (fields.has(field)) return wholeRow(`two members would both become field ${quoted(field)}`);
    fields.set(field, value);
  }
  if (form !== undefined) {
    const formed = isItem ? formedItem(fields, form, options, onLeftOut) : form.fields(fields);
    return checkedFields(formed, form, options);
  }
  return { fields: objectFrom([...fields, ...Object.entries(common)]) };
}

function formedItem(
  fields: Iterable<readonly [string, JsonValue]>,
  form: FieldEncoder,
  { only = [], rename }: RowsOptions,
  onLeftOut: (name: string) => void,
) {
  const named = new Set([...only, ...rename.values()]);
  const formed = form.fieldsOfItem(objectFrom(fields), (name) => named.has(name));
  for (const name of formed.leftOut) onLeftOut(name);
  return formed;
}

function checkedFields(
  { fields: own, problems }: EncodedFields,
  form: FieldEncoder,
  { common, action }: RowsOptions,
): Pick<ParsedRow, 'fields'> | RowFault {
  const fields = { ...own, ...common };
  const missing = action === 'create' && problems.length === 0 ? form.missing(fields) : [];
  const texts = [...problems.map(({ problem }) => problem), ...missing.map(({ typed }) => missingText(typed))];
  return faultOf(texts.map(wholeRow)) ?? { fields };
}

function idText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' ? String(value) : undefined;
}

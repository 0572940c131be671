/** The elements of one JSON array, as texts: so a file of them is never in memory as a whole. */
import { Failure } from '../core/errors.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom } from '../core/json.ts';
import { isReservedName, requestedColumns, unknownName, unsentIds } from './columns.ts';
import type { TextPart } from './decode.ts';
import { beginningOf, type ParsedRow, quoted, type RowParser, type RowsOptions, rowLengthMax } from './types.ts';

/**
 * Splits the outermost array. Errors inside an element are found when it is parsed, and spoil no other element.
 *
 * @param name of the input, for the message
 * @throws {Failure} usage, when the text does not begin with an array
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

/** A splitter of one array, to which its text is given part by part. */
class ArraySplitter {
  readonly #name: string;
  #where: 'before' | 'inside' | 'behind' = 'before';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #line = 1;
  #column = 1;
  /** The element that has begun, from its first character on that is no blank; undefined before that. */
  #begun: { text: string; isTooLong: boolean; readonly line: number; readonly column: number } | undefined;
  /** The offset in the current part from which its text has not been copied. */
  #from = 0;
  /** Whether an element must follow: there was a comma. */
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
      throw new Failure('usage', `cannot read ${this.#name}: no JSON array found`, { hint: 'nothing was sent' });
    }
    if (this.#where === 'inside') {
      // Who parses an element that is itself cut short finds the place.
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
    else if (this.#where === 'behind') this.#begin(at);
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
    // JSON strings cannot contain line ends, so an unclosed one spoils only its line.
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
    if (!isComma) this.#where = 'behind';
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

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function notAnArray(name: string, code: number): Failure {
  const hint =
    code === 0x7b
      ? 'pass a single object with --fields; for one object per line, pass --input-format jsonl'
      : 'put the rows between [ and ]; nothing was sent';
  return new Failure(
    'usage',
    `${name} is not a JSON array: it begins with ${JSON.stringify(String.fromCharCode(code))}`,
    {
      hint,
    },
  );
}

export function createJsonParser(options: RowsOptions): RowParser {
  const found = new SeenNames(options);
  return {
    idColumn: undefined,
    parse: (source) => {
      const value = source.kind === 'json' ? source.value : null;
      const row = parseBareId(value, options) ?? parseObject(value, options, found);
      return typeof row === 'string' ? { problem: row, column: undefined } : row;
    },
    notices: () => found.notices(),
    unknownName: () => found.unknownName(),
  };
}

/** For get, update and delete a string or number is the id itself. */
function parseBareId(value: JsonValue, { action, common }: RowsOptions): ParsedRow | undefined {
  const id = action === 'create' ? undefined : idText(value);
  return id === undefined ? undefined : { id, fields: action === 'update' ? common : {} };
}

/** What an object says, or what is wrong with it. */
function parseObject(value: JsonValue, options: RowsOptions, found: SeenNames): ParsedRow | string {
  if (!isObject(value)) return options.action === 'create' ? 'not a JSON object' : 'neither a JSON object nor an id';
  if (Object.hasOwn(value, 'listctl:text')) return 'this row could not be read: fix its listctl:text and put that here';
  const parts = partsOf(value, options);
  if (parts === undefined) return 'not an item: no "fields" object';
  found.add(parts);
  const { id, hasId } = parts;
  if (hasId && id === undefined && options.action !== 'create') {
    return `${quoted(options.idColumn)} is neither a string nor a number`;
  }
  return options.action === 'create' || options.action === 'update' ? sentFrom(parts, options) : { id, fields: {} };
}

/** What is found out over all rows: the names that they have, and what is left out of them. */
class SeenNames {
  readonly #options: RowsOptions;
  /** The names that options ask for, each with the option that does, until a row has it. */
  readonly #missing: Map<string, string>;
  /** Enough of those that rows have to find the nearest. */
  readonly #names = new Set<string>();
  readonly #dropped = new Set<string>();
  #hasUnsentId = false;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#missing = new Map(requestedColumns(options));
  }

  add({ members, others, hasId }: Parts): void {
    const { action, idColumn, rename } = this.#options;
    for (const [name] of members) this.#see(name);
    if (hasId) this.#see(idColumn);
    if (action === 'create' && hasId && !rename.has(idColumn)) this.#hasUnsentId = true;
    if (action === 'delete' || action === 'get') return;
    for (const name of others) if (this.#dropped.size < 100) this.#dropped.add(name);
  }

  #see(name: string): void {
    this.#missing.delete(name);
    if (this.#names.size < 1_000) this.#names.add(name);
  }

  notices(): readonly string[] {
    const names = [...this.#dropped].map(quoted).join(', ');
    return [
      ...(this.#hasUnsentId ? [unsentIds(this.#options.idColumn)] : []),
      ...(names === '' ? [] : [`only the fields of items are sent; ignored: ${names}`]),
    ];
  }

  unknownName(): Failure | undefined {
    const [missing] = this.#missing;
    // Without rows there is nothing that a name could be missing in.
    if (missing === undefined || this.#names.size === 0) return undefined;
    const [name, option] = missing;
    return unknownName(option, 'member', name, [...this.#names]);
  }
}

/** An object, taken apart. */
interface Parts {
  /** What may become a field. */
  readonly members: readonly (readonly [string, JsonValue])[];
  /** The names of what is left out of an item, but for the id. */
  readonly others: readonly string[];
  readonly hasId: boolean;
  /** Undefined too where it is neither text nor number. */
  readonly id: string | undefined;
  /** The id as it stood there. */
  readonly idValue: JsonValue;
}

/** Undefined where it has to be an item, and is none. */
function partsOf(object: JsonObject, { action, idColumn, rows }: RowsOptions): Parts | undefined {
  const all = Object.entries(object).filter(([name]) => !isReservedName(name));
  const hasId = Object.hasOwn(object, idColumn);
  const idValue = hasId ? (object[idColumn] ?? null) : null;
  const id = idText(idValue);
  const inner = Object.hasOwn(object, 'fields') ? object['fields'] : undefined;
  const others = () => all.map(([name]) => name).filter((name) => name !== 'fields' && name !== idColumn);
  if (rows === 'items' && !isObject(inner)) {
    // get and delete need only the id.
    const needsFields = action === 'create' || inner !== undefined;
    return needsFields ? undefined : { members: [], others: others(), hasId, id, idValue };
  }
  const looksLikeItem = all.length === 1 || Object.hasOwn(object, 'id') || hasId;
  if (isObject(inner) && rows !== 'fields' && (rows === 'items' || looksLikeItem)) {
    const members = Object.entries(inner).filter(([name]) => !isReservedName(name));
    return { members, others: others(), hasId, id, idValue };
  }
  return { members: all.filter(([name]) => name !== idColumn), others: [], hasId, id, idValue };
}

/** What is to be sent, common fields over the others; what is wrong where two members would be one field. */
function sentFrom(
  { members, hasId, id, idValue }: Parts,
  { rename, only, idColumn, common }: RowsOptions,
): ParsedRow | string {
  const fields = new Map<string, JsonValue>();
  const isWanted = (name: string) => only === undefined || only.includes(name);
  const idField = rename.get(idColumn);
  if (hasId && idField !== undefined && isWanted(idColumn)) fields.set(idField, idValue);
  for (const [name, value] of members) {
    if (!isWanted(name)) continue;
    // Inside an item a field may have the name of the id; it is another thing.
    const field = (name === idColumn ? undefined : rename.get(name)) ?? name;
    if (fields.has(field)) return `two members would both become field ${quoted(field)}`;
    fields.set(field, value);
  }
  for (const [name, value] of Object.entries(common)) fields.set(name, value);
  return { id, fields: objectFrom(fields) };
}

/** A text or a number as an id, its digits kept. */
function idText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' ? String(value) : undefined;
}

/** A seed that is one value, as YAML or JSON: a list of items, or an object that says of which list they are. */
import { Failure } from '../errors.ts';
import { checkId } from '../item.ts';
import { isObject, type JsonValue, NumberToken } from '../json.ts';
import { quoted, type RawRow } from '../rows/raw-row.ts';
import { rowLengthMax } from '../rows/row-length.ts';
import { jsonRow } from '../rows/text-rows.ts';
import { readYaml, YamlSyntaxError } from '../yaml.ts';
import { placeText } from './json-members.ts';
import { type Extent, eachElement, eachMember, JsonFault, parsePart, refuseRest, skipBlanks } from './json-parts.ts';

/** What a document says. */
export interface SeedDocument extends SeedHead {
  readonly rows: readonly RawRow[];
}

/** What may stand above the items. */
export interface SeedHead {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Reads a seed in YAML.
 *
 * @param name the file's, for messages
 * @throws {Failure} usage, with line and column
 */
export function readYamlSeed(text: string, name: string): SeedDocument {
  try {
    const { value, placeOf } = readYaml(text);
    const lineOf = (of: JsonValue, member?: string | number) => placeOf(of, member)?.line ?? 1;
    const rowsOf = (items: readonly JsonValue[]) =>
      items.map((item, at): RawRow => ({ line: lineOf(items, at), source: { kind: 'json', value: item } }));
    if (isList(value)) return { rows: rowsOf(value) };
    if (!isObject(value)) throw noSeed(name);
    const where = (member: string) => `${name}, line ${lineOf(value, member)}`;
    const items = value['items'];
    const head = new Head(where);
    for (const [member, said] of Object.entries(value)) head.add(member, () => said);
    if (!Object.hasOwn(value, 'items')) throw noItems(name);
    if (!isList(items)) throw wrong(where('items'), 'items is no list');
    return { ...head.said, rows: rowsOf(items) };
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    const { line, column } = error.place;
    throw wrong(`${name}, line ${line}, column ${column}`, `no YAML that is taken: ${error.reason}`);
  }
}

/**
 * Reads a seed that is a JSON object. Its items are read one by one: there may be a hundred thousand.
 *
 * @param name the file's, for messages
 * @throws {Failure} usage, with line and column; what is wrong within an item is its row's fault
 */
export function readJsonSeed(text: string, name: string): SeedDocument {
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
    if (text[start] !== '[') throw wrong(`${name}, ${placeText(text, start)}`, 'items is no list');
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
  said: SeedHead = {};
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
        // An address here would send somebody's token to whoever wrote the file (reliability, D).
        throw new Failure('usage', `${this.#where(member)}: a seed has no member ${quoted(member)}`, {
          hint: 'nothing was sent; its members are site, list, key and items: addresses and tokens come from flags,\nthe environment and your own settings alone',
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
    throw wrong(this.#where(member), `${member} is ${value === '' ? 'empty' : 'no text'}`);
  }
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function noSeed(name: string): Failure {
  return wrong(name, 'it is neither a list of items nor an object with site, list, key and items');
}

function noItems(name: string): Failure {
  return wrong(name, 'it has no items: for a list that is to be empty, write items: []');
}

function wrong(where: string, problem: string): Failure {
  return new Failure('usage', `${where}: ${problem}`, { hint: 'nothing was sent' });
}

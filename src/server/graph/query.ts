/** The query options that the service has: `$select`, `$expand`, `$filter`, `$top` and `$skiptoken` of OData, and `token`. */
import { type JsonValue, NumberToken } from '../../core/json.ts';
import { type Column, toInstant } from './columns.ts';
import { invalidRequest } from './errors.ts';

export interface Query {
  readonly select: ReadonlySet<string> | undefined;
  /** What `$expand` names, each with its own `$select`. */
  readonly expand: ReadonlyMap<string, ReadonlySet<string> | undefined>;
  /** All must hold. */
  readonly filter: readonly Condition[];
  readonly top: number;
  /** A page begins after it: the id of an item, or a number of lists. */
  readonly after: number;
  /** Of a delta query: where the changes begin. */
  readonly token?: string | undefined;
}

export interface Condition {
  /** A name in `fields`. */
  readonly field: string;
  readonly operator: Operator;
  readonly value: string | number | boolean | null;
}

type Operator = 'eq' | 'ne' | 'lt' | 'gt' | 'le' | 'ge' | 'startswith';

/** Items on a page (listitem-list). */
const defaultTop = 200;
const topMax = 5000;

/** @param options those that the resource has */
export function parseQuery(text: string, options: readonly string[]): Query {
  const given = new URLSearchParams(text);
  const stranger = [...given.keys()].find((name) => !options.includes(name));
  if (stranger !== undefined) throw invalidRequest(`The query option '${stranger}' is not supported here`);
  const select = given.get('$select');
  const top = given.get('$top') ?? String(defaultTop);
  if (!/^[1-9]\d{0,8}$/.test(top)) throw invalidRequest(`Invalid value '${top}' for $top`);
  return {
    select: select === null ? undefined : namesIn(select),
    expand: parseExpand(given.get('$expand') ?? ''),
    filter: parseFilter(given.get('$filter') ?? ''),
    top: Math.min(Number(top), topMax),
    after: parseSkipToken(given.get('$skiptoken')),
    token: given.get('token') ?? undefined,
  };
}

function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.split(',').map((name) => name.trim()));
}

const expansion = /^\s*(?<name>\w+)(?:\((?<options>[^()]*)\))?\s*(?:,|$)/;

function parseExpand(text: string): Query['expand'] {
  const expanded = new Map<string, ReadonlySet<string> | undefined>();
  for (let rest = text; rest !== ''; ) {
    const match = expansion.exec(rest);
    const { name = '', options } = match?.groups ?? {};
    const select = /^\s*\$select=(?<names>[^;]*)$/.exec(options ?? '')?.groups?.['names'];
    // Without its dollar sign, $select is invalid here, though a page of Microsoft had it so.
    if (match === null || (options !== undefined && select === undefined)) {
      throw invalidRequest(`The expression "${rest.slice(0, 100)}" is not valid.`);
    }
    expanded.set(name, select === undefined ? undefined : namesIn(select));
    rest = rest.slice(match[0].length);
  }
  return expanded;
}

const path = String.raw`fields\/(?<FIELD>\w+)`;
const literal = String.raw`(?<VALUE>'(?:[^']|'')*'|[^\s()',]+)`;
const condition = new RegExp(
  String.raw`^\s*(?<open>\()?\s*(?:${path.replace('FIELD', 'field')}\s+(?<operator>eq|ne|lt|gt|le|ge)\s+${literal.replace('VALUE', 'value')}` +
    String.raw`|startswith\(\s*${path.replace('FIELD', 'prefixed')}\s*,\s*${literal.replace('VALUE', 'prefix')}\s*\))\s*(?<close>\))?\s*(?:and\b|$)`,
);

function parseFilter(text: string): readonly Condition[] {
  const conditions: Condition[] = [];
  for (let rest = text; rest !== ''; ) {
    const match = condition.exec(rest);
    const { field, operator, value, prefixed, prefix, open, close } = match?.groups ?? {};
    if (match === null || (open === undefined) !== (close === undefined)) throw invalidFilter(rest);
    conditions.push({
      field: field ?? prefixed ?? '',
      operator: (operator as Operator | undefined) ?? 'startswith',
      value: parseLiteral(value ?? prefix ?? '', rest),
    });
    rest = rest.slice(match[0].length);
    if (rest === '' && / and$/.test(match[0])) throw invalidFilter(match[0]);
  }
  return conditions;
}

function invalidFilter(text: string) {
  return invalidRequest(`Invalid filter clause: ${JSON.stringify(text.slice(0, 200))}`);
}

const words: ReadonlyMap<string, true | false | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function parseLiteral(text: string, rest: string): Condition['value'] {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  const word = words.get(text);
  if (word !== undefined) return word;
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (toInstant(text) !== undefined) return text;
  throw invalidFilter(rest);
}

const token = /^Paged=TRUE&p_ID=(?<id>\d{1,15})$/;

function parseSkipToken(text: string | null): number {
  if (text === null) return 0;
  const id = token.exec(Buffer.from(text, 'base64url').toString())?.groups?.['id'];
  if (id === undefined) throw invalidRequest('The $skiptoken is invalid');
  return Number(id);
}

/** The query of the page after an item. */
export function nextQuery(text: string, after: number): string {
  return withOption(text, '$skiptoken', Buffer.from(`Paged=TRUE&p_ID=${after}`).toString('base64url'));
}

/** The query of a delta with a token, or without one. */
export function deltaQuery(text: string, token: string | undefined): string {
  return withOption(text, 'token', token);
}

function withOption(text: string, name: string, value: string | undefined): string {
  const named = new RegExp(`^${name.replace('$', '(\\$|%24)')}=`, 'i');
  const others = text.split('&').filter((each) => each !== '' && !named.test(each));
  return [...others, ...(value === undefined ? [] : [`${name}=${value}`])].join('&');
}

export function isMet(condition: Condition, value: JsonValue | undefined, column: Column | undefined): boolean {
  const { operator } = condition;
  const expected = comparable(condition.value, column);
  const actual = comparable(value ?? null, column);
  if (operator === 'eq') return actual === expected;
  if (operator === 'ne') return actual !== expected;
  if (actual === null || expected === null || typeof actual !== typeof expected) return false;
  if (operator === 'startswith') return String(actual).startsWith(String(expected));
  if (operator === 'lt') return actual < expected;
  if (operator === 'gt') return actual > expected;
  return operator === 'le' ? actual <= expected : actual >= expected;
}

/** A value in the form by which it is compared: strings without case, as SharePoint does, dates as instants. */
export function comparable(value: JsonValue, column: Column | undefined): string | number | boolean | null {
  if (column?.type === 'lookup') return value === null ? null : String(value);
  // A filter has 1 for true: `eq true` finds the opposite (SharePoint/sp-dev-docs#5594).
  if (column?.type === 'boolean' && typeof value === 'boolean') return Number(value);
  if (value instanceof NumberToken) return Number(value.digits);
  if (typeof value === 'string')
    return (column?.type === 'dateTime' ? toInstant(value) : undefined) ?? value.toLowerCase();
  // Several values are never equal to one.
  return typeof value === 'object' ? null : value;
}

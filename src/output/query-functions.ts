/** The functions of JMESPath that meet numbers or objects, over values that keep their digits. */
import { parseJson, printJson } from '../json.ts';
import {
  isQueryList,
  isQueryObject,
  isSame,
  jsonValueOf,
  order,
  plainValueOf,
  type QueryValue,
  queryObject,
  queryValueOf,
} from './query-value.ts';

/** What a function is given in the place of an `&expression`: asks it of a value. */
export type Ask = (value: QueryValue) => QueryValue;

/** One function: the types of its arguments, and what it makes of them. */
export interface QueryFunction {
  readonly takes: readonly ArgumentType[];
  /** Any number of further arguments like the last. */
  readonly isVariadic?: boolean;
  // The types vouch for the arguments, which TypeScript can't follow.
  readonly act: (...values: never[]) => QueryValue;
}

type Argument = QueryValue | Ask;
type List = readonly QueryValue[];
type Members = Readonly<Record<string, QueryValue>>;

const isNumber = (value: Argument) => typeof value === 'number' || typeof value === 'symbol';
const isText = (value: Argument) => typeof value === 'string';
const areNumbers = (value: Argument) => isQueryList(value) && value.every(isNumber);
const areTexts = (value: Argument) => isQueryList(value) && value.every(isText);
const isObject = (value: Argument) => typeof value !== 'function' && isQueryObject(value);
const isPair = (value: Argument) => isQueryList(value) && value.length === 2 && typeof value[0] === 'string';

const argumentTypes = {
  number: isNumber,
  string: isText,
  array: isQueryList,
  object: isObject,
  'array of numbers': areNumbers,
  'array of strings': areTexts,
  'array of [string, value]': (value: Argument) => isQueryList(value) && value.every(isPair),
  'array of numbers or of strings': (value: Argument) => areNumbers(value) || areTexts(value),
  'array or string': (value: Argument) => isQueryList(value) || isText(value),
  'array, object or string': (value: Argument) => isQueryList(value) || isText(value) || isObject(value),
  value: (value: Argument) => typeof value !== 'function',
  '&expression': (value: Argument) => typeof value === 'function',
} satisfies Record<string, (value: Argument) => boolean>;

type ArgumentType = keyof typeof argumentTypes;

/** By the name that an expression calls them by. */
export const queryFunctions: ReadonlyMap<string, QueryFunction> = new Map<string, QueryFunction>([
  ['abs', { takes: ['number'], act: absolute }],
  ['avg', { takes: ['array of numbers'], act: (all: List) => (all.length === 0 ? null : total(all) / all.length) }],
  ['ceil', { takes: ['number'], act: (value: QueryValue) => rounded(value, Math.ceil) }],
  ['contains', { takes: ['array or string', 'value'], act: contains }],
  ['floor', { takes: ['number'], act: (value: QueryValue) => rounded(value, Math.floor) }],
  ['from_items', { takes: ['array of [string, value]'], act: (all: [string, QueryValue][]) => queryObject(all) }],
  ['group_by', { takes: ['array', '&expression'], act: groupBy }],
  ['items', { takes: ['object'], act: (members: Members) => Object.entries(members) }],
  ['join', { takes: ['string', 'array of strings'], act: (glue: string, all: readonly string[]) => all.join(glue) }],
  ['keys', { takes: ['object'], act: (members: Members) => Object.keys(members) }],
  ['length', { takes: ['array, object or string'], act: lengthOf }],
  ['map', { takes: ['&expression', 'array'], act: (ask: Ask, all: List) => all.map((value) => ask(value)) }],
  ['max', { takes: ['array of numbers or of strings'], act: (all: List) => outermost(all, itself, 1) }],
  ['max_by', { takes: ['array', '&expression'], act: (all: List, key: Ask) => outermost(all, key, 1) }],
  [
    'merge',
    { takes: ['object'], isVariadic: true, act: (...all: Members[]) => queryObject(all.flatMap(Object.entries)) },
  ],
  ['min', { takes: ['array of numbers or of strings'], act: (all: List) => outermost(all, itself, -1) }],
  ['min_by', { takes: ['array', '&expression'], act: (all: List, key: Ask) => outermost(all, key, -1) }],
  ['sort', { takes: ['array of numbers or of strings'], act: (all: List) => sortedBy(all, itself) }],
  ['sort_by', { takes: ['array', '&expression'], act: sortedBy }],
  ['sum', { takes: ['array of numbers'], act: total }],
  ['to_number', { takes: ['value'], act: toNumber }],
  ['to_string', { takes: ['value'], act: toText }],
  ['type', { takes: ['value'], act: typeOf }],
  ['values', { takes: ['object'], act: (members: Members) => Object.values(members) }],
]);

/**
 * Calls a function of these.
 *
 * @throws {Error} when an argument is of another type
 */
export function callQueryFunction(
  name: string,
  { takes, act }: QueryFunction,
  values: readonly Argument[],
): QueryValue {
  for (const [at, value] of values.entries()) {
    const type = takes[Math.min(at, takes.length - 1)] ?? 'value';
    if (argumentTypes[type](value)) continue;
    throw new Error(`${name}() takes ${/^[aeiou&]/.test(type) ? 'an' : 'a'} ${type}, and got ${nameOf(value)}`);
  }
  return act(...(values as never[]));
}

function nameOf(value: Argument): string {
  return typeof value === 'function' ? 'an &expression' : typeOf(value);
}

const itself: Ask = (value) => value;

function absolute(value: QueryValue): QueryValue {
  if (typeof value === 'symbol') return Symbol(value.description?.replace(/^-/, ''));
  return Math.abs(Number(value));
}

/** A number without a fraction keeps its digits: most of those that a double can't hold have none. */
function rounded(value: QueryValue, round: (value: number) => number): QueryValue {
  const plain = Number(plainValueOf(value));
  return Number.isInteger(plain) || !Number.isFinite(plain) ? value : round(plain);
}

function total(values: List): number {
  return values.reduce((sum: number, value) => sum + Number(plainValueOf(value)), 0);
}

function contains(where: string | List, what: QueryValue): boolean {
  if (typeof where === 'string') return typeof what === 'string' && where.includes(what);
  return where.some((element) => isSame(element, what));
}

function groupBy(values: List, key: Ask): QueryValue {
  const groups = new Map<string, QueryValue[]>();
  for (const value of values) {
    const name = key(value);
    if (typeof name !== 'string') throw new Error(`group_by() groups by strings, and got ${typeOf(name)}`);
    const group = groups.get(name) ?? [];
    group.push(value);
    groups.set(name, group);
  }
  return queryObject(groups);
}

/** Characters of a text, as code points. */
function lengthOf(value: string | List | Members): number {
  return typeof value === 'string' ? [...value].length : Object.keys(value).length;
}

/** The first of the largest (`sign` 1) or smallest (-1). */
function outermost(values: List, key: Ask, sign: 1 | -1): QueryValue {
  let best: { readonly value: QueryValue; readonly key: QueryValue } | undefined;
  for (const value of values) {
    const own = key(value);
    if (ordered(own, best === undefined ? own : best.key) * sign > 0 || best === undefined) best = { value, key: own };
  }
  return best?.value ?? null;
}

function sortedBy(values: List, key: Ask): QueryValue {
  const keyed = values.map((value) => ({ value, key: key(value) }));
  const [first] = keyed;
  // One value alone is never compared, and its key may still be none.
  if (first !== undefined) ordered(first.key, first.key);
  return keyed.toSorted((a, b) => ordered(a.key, b.key)).map(({ value }) => value);
}

function ordered(a: QueryValue, b: QueryValue): number {
  const found = order(a, b);
  if (found !== undefined) return found;
  throw new Error(`numbers or strings have an order, and not ${typeOf(a)} beside ${typeOf(b)}`);
}

function toNumber(value: QueryValue): QueryValue {
  if (typeof value === 'number' || typeof value === 'symbol') return value;
  if (typeof value !== 'string' || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)) return null;
  return queryValueOf(parseJson(value));
}

function toText(value: QueryValue): string {
  return typeof value === 'string' ? value : printJson(jsonValueOf(value));
}

function typeOf(value: QueryValue): string {
  if (value === null) return 'null';
  if (typeof value === 'symbol') return 'number';
  return isQueryList(value) ? 'array' : typeof value;
}

/** The door to @jmespath-community/jmespath: only --query comes through it. */
import { compile, registerFunction, TreeInterpreter, TYPE_ANY, tokenize } from '@jmespath-community/jmespath';
import { Failure } from '../core/errors.ts';
import {
  isObject as isJsonObject,
  type JsonValue,
  NumberToken,
  objectFrom,
  parseJson,
  printJson,
} from '../core/json.ts';
import { isList } from './layout.ts';

/** A decimal: `0.significant` times ten to the power of `point`; no zeros at either end of the significant digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly significant: string;
  readonly point: number;
}

/** Compares two numbers by what their digits say, however many: below 0, 0, or above 0. */
export function compareNumbers(a: number | NumberToken, b: number | NumberToken): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [decimalOf(a), decimalOf(b)];
  if (left.isNegative !== right.isNegative) return left.isNegative ? -1 : 1;
  return left.isNegative ? compareSizes(right, left) : compareSizes(left, right);
}

function decimalOf(value: number | NumberToken): Decimal {
  const digits = typeof value === 'number' ? String(value) : value.digits;
  const [, minus = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? [];
  const all = whole + part;
  const significant = all.replace(/^0+/, '').replace(/0+$/, '');
  const zeros = all.length - all.replace(/^0+/, '').length;
  // Zero is neither negative nor of any size.
  if (significant === '') return { isNegative: false, significant, point: Number.NEGATIVE_INFINITY };
  return { isNegative: minus !== '', significant, point: Number(exponent) + whole.length - zeros };
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.point !== b.point) return a.point < b.point ? -1 : 1;
  if (a.significant === b.significant) return 0;
  return a.significant < b.significant ? -1 : 1;
}

/**
 * What a query sees: numbers that fit a double as numbers, and a symbol that tells the digits where they do not. A
 * symbol is no object to look into, and fails loudly where someone computes with it. Objects have no prototype, so
 * that `constructor` is nothing unless it came.
 */
export type QueryValue = null | boolean | number | string | symbol | readonly QueryValue[] | QueryObject;

/** Members by name, without a prototype. */
export interface QueryObject {
  readonly [name: string]: QueryValue;
}

/** The value, for a query. */
export function queryValueOf(value: JsonValue): QueryValue {
  if (value instanceof NumberToken) return Symbol(value.digits);
  if (isList(value)) return value.map(queryValueOf);
  if (!isJsonObject(value)) return value;
  return queryObject(Object.entries(value).map(([name, member]) => [name, queryValueOf(member)]));
}

/**
 * The value that a query gave.
 *
 * @throws {Error} when it is a number that JSON has no digits for
 */
export function jsonValueOf(value: QueryValue | undefined): JsonValue {
  if (typeof value === 'symbol') return tokenOf(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('the result is too large for a number');
  if (isQueryList(value)) return value.map(jsonValueOf);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return objectFrom(Object.entries(value).map(([name, member]) => [name, jsonValueOf(member)]));
}

/** Makes an object in which every name is an ordinary one. */
export function queryObject(members: Iterable<readonly [string, QueryValue]>): QueryObject {
  // fromEntries defines, it does not assign; the prototype goes last.
  return Object.setPrototypeOf(Object.fromEntries(members), null);
}

/** Whether the value is an array. */
function isQueryList(value: unknown): value is readonly QueryValue[] {
  return Array.isArray(value);
}

/** Whether two values are the same; numbers are by what their digits say. */
export function isSame(a: QueryValue, b: QueryValue): boolean {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return compareNumbers(left, right) === 0;
  if (isQueryList(a) && isQueryList(b)) {
    return a.length === b.length && a.every((element, at) => isSame(element, b[at] ?? null));
  }
  if (!isQueryObject(a) || !isQueryObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name] ?? null, b[name] ?? null))
  );
}

/**
 * Which of two numbers, or of two texts, comes first: below 0, 0, or above 0; undefined where they have no order.
 * Texts go by code points (JMESPath, "sort").
 */
export function order(a: QueryValue, b: QueryValue): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') {
    // The order of code points is the order of their bytes in UTF-8.
    return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
  }
  const [left, right] = [numberOf(a), numberOf(b)];
  return left === undefined || right === undefined ? undefined : compareNumbers(left, right);
}

/** A number as a double, as near as it comes; anything else as it is. */
export function plainValueOf(value: QueryValue): QueryValue {
  return typeof value === 'symbol' ? Number(value.description) : value;
}

/** Whether the value has members. */
function isQueryObject(value: QueryValue | undefined): value is QueryObject {
  return typeof value === 'object' && value !== null && !isQueryList(value);
}

function numberOf(value: QueryValue): number | NumberToken | undefined {
  if (typeof value === 'symbol') return tokenOf(value);
  return typeof value === 'number' ? value : undefined;
}

function tokenOf(value: symbol): NumberToken {
  return new NumberToken(value.description ?? '0');
}

/** An expression that was read. Its other members are nodes too, by names that depend on the type. */
export interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A word of an expression. */
export interface Token {
  readonly type: string;
  readonly value: unknown;
  /** Where it begins, in UTF-16 units. */
  readonly start: number;
}

// `foo` between backticks is text, as az and aws take it.
const options = { enable_legacy_literals: true };

/** @throws {Error} when the text is no expression */
function parseExpression(text: string): Node {
  return compile(text, options) as unknown as Node;
}

/** @throws {Error} at a character that begins no word */
function tokensOf(text: string): readonly Token[] {
  return tokenize(text, options);
}

/** @throws {Error} when the values are not what the expression needs */
export function evaluate(node: Node, value: QueryValue): QueryValue {
  type Search = typeof TreeInterpreter.search;
  return TreeInterpreter.search(node as unknown as Parameters<Search>[0], value as Parameters<Search>[1]) as QueryValue;
}

/** Evaluates a part of the expression that is being evaluated: `$` is still the whole value. */
export function evaluatePart(node: Node, value: QueryValue): QueryValue {
  type Visit = typeof TreeInterpreter.visit;
  return TreeInterpreter.visit(node as unknown as Parameters<Visit>[0], value as Parameters<Visit>[1]) as QueryValue;
}

/** How many arguments one of the library's functions takes; undefined where it has none of that name. */
export function argumentCounts(name: string): { readonly least: number; readonly most: number } | undefined {
  const functions = TreeInterpreter.runtime._functionTable;
  const takes = Object.hasOwn(functions, name) ? functions[name]?._signature : undefined;
  if (takes === undefined) return undefined;
  return {
    least: takes.filter(({ optional }) => optional !== true).length,
    most: takes.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : takes.length,
  };
}

/** Makes a function known, by a name that no expression can spell. It checks its arguments itself. */
export function defineFunction(name: string, act: (values: QueryValue[]) => QueryValue): void {
  type Define = typeof registerFunction;
  const takesAnything = [{ types: [TYPE_ANY], variadic: true, optional: true }];
  registerFunction(name, act as unknown as Parameters<Define>[1], takesAnything, { override: true });
}

/** What a function is given in the place of an `&expression`: asks it of a value. */
export type Ask = (value: QueryValue) => QueryValue;

/** One function: the types of its arguments, and what it makes of them. */
export interface QueryFunction {
  readonly takes: readonly ArgumentType[];
  /** Any number of further arguments like the last. */
  readonly isVariadic?: boolean;
  // The types vouch for the arguments, which TypeScript cannot follow.
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

/** A number without a fraction keeps its digits: most of those that a double cannot hold have none. */
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

/** An expression, and the values of its literals, which it names by `literalIndex`. */
export interface Expression {
  readonly tree: Node;
  readonly literals: readonly JsonValue[];
}

/**
 * Reads an expression.
 *
 * @throws {Failure} usage, when it is none, naming the place
 */
export function readExpression(text: string): Expression {
  const literals: JsonValue[] = [];
  let copy = '';
  for (let at = 0; at < text.length; ) {
    const next = wordAfter(text, at);
    if (text[at] === '`') {
      copy += `\`"\\u0000${literals.length}"\``;
      literals.push(literalOf(text, at, next - 1));
    } else {
      copy += text.slice(at, next);
    }
    at = next;
  }
  attempt(text);
  const tree = parseExpression(copy);
  if (isDeeper(tree, depthMax)) throw expressionFailure('it nests too deep', text, undefined);
  return { tree, literals };
}

/** Far from where rewriting or evaluating it would overflow the stack; `a.b.c` nests as `((a).b).c`. */
const depthMax = 1_000;

/** Level by level, since recursion is what a deep tree breaks. */
function isDeeper(tree: Node, levels: number): boolean {
  let level: readonly unknown[] = [tree];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? Object.values(node) : []));
  }
  return false;
}

/** Which of the expression's literals a node stands for; undefined for text, which stands for itself. */
export function literalIndex({ value }: Node): number | undefined {
  // No argument of a process holds a NUL, so no text in quotes begins with one.
  return typeof value === 'string' && value.startsWith('\0') ? Number(value.slice(1)) : undefined;
}

/** What is wrong with an expression, and where: `at` in UTF-16 units, undefined for its end. */
export function expressionFailure(reason: string, text: string, at: number | undefined): Failure {
  // A reader counts characters, from 1.
  const place = at === undefined ? 'at its end' : `at character ${[...text.slice(0, at)].length + 1}`;
  return new Failure('usage', `--query is no JMESPath expression: ${reason}, ${place}`, {
    hint: "a number stands between backticks, a text between single quotes: [?Count > `5` && Status == 'Done']",
  });
}

function attempt(text: string): void {
  const reason = reasonAgainst(text);
  if (reason === undefined) return;
  const said = reason.replace(/^syntax(?: error)?[:,]? */i, '');
  if (/EOF|end of JSON/.test(reason)) throw expressionFailure('it is incomplete', text, undefined);
  throw expressionFailure(said, text, placeOf(reason, text));
}

function reasonAgainst(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    return error instanceof RangeError ? 'it nests too deep' : (error as Error).message;
  }
}

/** The library tells no place. It reads from left to right, so the word that is wrong ends where it first complains. */
function placeOf(reason: string, text: string): number | undefined {
  const end = Array.from({ length: Math.min(text.length, 1_000) }, (_, at) => at + 1).find(
    (length) => reasonAgainst(text.slice(0, length)) === reason,
  );
  if (end === undefined) return undefined;
  try {
    return tokensOf(text.slice(0, end)).at(-1)?.start;
  } catch {
    return end - 1;
  }
}

/** Where what begins at `start` ends: a text in quotes with its closing one, which the library does not insist on. */
function wordAfter(text: string, start: number): number {
  const quote = text[start];
  if (quote !== '`' && quote !== "'" && quote !== '"') return start + 1;
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at + 1;
    if (text[at] === '\\' && (text[at + 1] === '\\' || text[at + 1] === quote)) at += 1;
  }
  throw expressionFailure(`the ${quote} is never closed`, text, start);
}

function literalOf(text: string, start: number, close: number): JsonValue {
  const content = text.slice(start + 1, close).replaceAll('\\`', '`');
  try {
    return parseJson(content);
  } catch {
    // What begins like JSON was meant to be JSON; anything else is text, as in az and aws.
    if (/^\s*(?:[[{]|$)|["\\]/.test(content)) throw expressionFailure('a literal is not JSON', text, start);
    return content.trimStart();
  }
}

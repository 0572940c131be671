/** JMESPath queries. Wraps @jmespath-community/jmespath; to be loaded for queries alone. */
import { isDeepStrictEqual } from 'node:util';
import {
  compile,
  TreeInterpreter,
  TYPE_EXPREF,
  TYPE_NUMBER,
  TYPE_OBJECT,
  tokenize,
} from '@jmespath-community/jmespath';
import { Failure } from '../core/errors.ts';
import { isSameValue } from '../core/item.ts';
import { isList, isObject, type JsonValue, NumberToken, objectFrom, parseJson, printJson } from '../core/json.ts';
import { shellWord } from '../core/text.ts';
import {
  bareLine,
  bareText,
  eachLayout,
  jsonText,
  type Layout,
  loadHighlight,
  type PrinterOptions,
  plainText,
  wholeLayout,
} from './layout.ts';
import type { View } from './view.ts';

/**
 * Compiles a JMESPath expression. A number that a double cannot represent is opaque: it keeps its digits, equals nothing,
 * and cannot be calculated with or sorted.
 *
 * @returns the query, which throws a Failure, refused, if the expression fails on the value
 * @throws {Failure} usage, for an invalid expression
 */
export function compileQuery(text: string): (value: JsonValue) => JsonValue {
  const tree = parse(text);
  return (value) => {
    try {
      return toJson(TreeInterpreter.search(tree as never, toQueryValue(value) as never) as QueryValue);
    } catch (error) {
      const message = (error as Error).message.replace('Invalid type: ', '');
      const reason = /symbol/i.test(message) ? 'a number has too many digits to compare or calculate with' : message;
      throw new Failure('refused', `--query failed: ${reason}`, {
        hint: 'fix the query; the request itself succeeded, only its result was not printed',
        cause: error,
      });
    }
  };
}

/** A symbol is an opaque number, with its digits as description. */
type QueryValue = null | boolean | number | string | symbol | readonly QueryValue[] | QueryObject;

interface QueryObject {
  readonly [name: string]: QueryValue;
}

function toQueryValue(value: JsonValue): QueryValue {
  if (value instanceof NumberToken) {
    const number = Number(value.digits);
    return isSameValue(value, number) ? number : Symbol(value.digits);
  }
  if (isList(value)) return value.map(toQueryValue);
  if (!isObject(value)) return value;
  return toObject(Object.entries(value).map(([name, member]) => [name, toQueryValue(member)]));
}

function toJson(value: QueryValue | undefined): JsonValue {
  if (typeof value === 'symbol') return new NumberToken(value.description ?? '0');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('the result is too large for a number');
  if (isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return objectFrom(Object.entries(value).map(([name, member]) => [name, toJson(member)]));
}

// fromEntries defines members: `__proto__` is one like any other.
const toObject = (members: Iterable<readonly [string, QueryValue]>): QueryObject => Object.fromEntries(members);
const isArray = (value: unknown): value is readonly QueryValue[] => Array.isArray(value);
const isMembers = (value: unknown): value is QueryObject =>
  typeof value === 'object' && value !== null && !isArray(value);

/** A part of an expression; its members that are objects are parts, too. */
interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Compares two numbers or two strings, strings by code points (JMESPath, "sort"); undefined for anything else. */
function compare(one: QueryValue, other: QueryValue): number | undefined {
  // The order of UTF-8 bytes is that of code points.
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  if (typeof one !== 'number' || typeof other !== 'number') return undefined;
  return one < other ? -1 : Number(one > other);
}

const orderings: Readonly<Record<string, (difference: number) => boolean>> = {
  LT: (difference) => difference < 0,
  LTE: (difference) => difference <= 0,
  GT: (difference) => difference > 0,
  GTE: (difference) => difference >= 0,
};

/** Private parts of the library, replaced here: it accepts inherited members, and data that looks like an &expression. */
interface Evaluator {
  visit(node: Node, value: QueryValue): QueryValue;
}
const evaluator = Object.getPrototypeOf(TreeInterpreter) as Evaluator;
const functionTypes = Object.getPrototypeOf(TreeInterpreter.runtime) as {
  getTypeName(value: unknown): number | undefined;
  validateArity(name: string, values: readonly unknown[], signature: unknown): void;
};
const functions = TreeInterpreter.runtime._functionTable;
const references = new WeakSet<object>();

const { visit } = evaluator;
evaluator.visit = function (this: Evaluator, node, value) {
  const inOrder = node.type === 'Comparator' ? orderings[node['name'] as string] : undefined;
  if (inOrder !== undefined) {
    // Strings have an order, as in az and aws: dates are strings.
    const [left, right] = [node['left'], node['right']].map((side) => this.visit(side as Node, value));
    const difference = compare(left ?? null, right ?? null);
    return difference === undefined ? null : inOrder(difference);
  }
  if (node.type === 'Field') {
    const name = node['name'] as string;
    return isMembers(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null;
  }
  if (node.type === 'MultiSelectHash') {
    const pairs = node['children'] as readonly { readonly name: string; readonly value: Node }[];
    return value === null ? null : toObject(pairs.map((pair) => [pair.name, this.visit(pair.value, value)]));
  }
  const result = visit.call(this, node, value);
  if (node.type === 'ExpressionReference') references.add(result as object);
  return result;
};

const { getTypeName } = functionTypes;
functionTypes.getTypeName = (value) => {
  if (typeof value === 'symbol') return TYPE_NUMBER;
  if (!isMembers(value)) return getTypeName(value);
  return references.has(value) ? TYPE_EXPREF : TYPE_OBJECT;
};

type Key = (value: QueryValue) => QueryValue;
const itself: Key = (value) => value;
const toKey =
  (reference: Node): Key =>
  (value) =>
    visitFrom(reference, value);
const visitFrom = TreeInterpreter.visit.bind(TreeInterpreter) as unknown as Evaluator['visit'];

type List = readonly QueryValue[];

/** Those of the library sort numbers as strings, order strings by locale, compare by identity, or lose members or digits. */
const replacements: Readonly<Record<string, (...values: never[]) => QueryValue>> = {
  contains: (all: string | List, wanted: QueryValue) =>
    typeof all === 'string'
      ? typeof wanted === 'string' && all.includes(wanted)
      : all.some((element) => isDeepStrictEqual(element, wanted)),
  group_by: (all: List, reference: Node) => groupBy(all, toKey(reference)),
  max: (all: List) => findExtreme(all, itself, 1),
  max_by: (all: List, reference: Node) => findExtreme(all, toKey(reference), 1),
  merge: (...all: QueryObject[]) => toObject(all.flatMap((members) => Object.entries(members))),
  min: (all: List) => findExtreme(all, itself, -1),
  min_by: (all: List, reference: Node) => findExtreme(all, toKey(reference), -1),
  sort: (all: List) => sortBy(all, itself),
  sort_by: (all: List, reference: Node) => sortBy(all, toKey(reference)),
  to_number: toNumber,
  to_string: (value: QueryValue) => (typeof value === 'string' ? value : printJson(toJson(value))),
};
for (const [name, act] of Object.entries(replacements)) {
  Object.assign(functions[name] as object, { _func: (values: never[]) => act(...values) });
}

function order(one: QueryValue, other: QueryValue): number {
  const difference = compare(one, other);
  if (difference !== undefined) return difference;
  // As arithmetic does.
  if (typeof one === 'symbol' || typeof other === 'symbol') throw new TypeError('cannot convert a symbol to a number');
  throw new Error(`cannot compare ${[one, other].map(formatType).join(' with ')}: expected numbers or strings`);
}

function formatType(value: QueryValue): string {
  return value === null ? 'null' : isArray(value) ? 'array' : typeof value;
}

function sortBy(values: List, key: Key, inOrder = order): List {
  const keyed = values.map((value) => ({ value, key: key(value) }));
  // The key of a single value is checked as well.
  for (const { key } of keyed.slice(0, 1)) order(key, key);
  return keyed.sort((one, other) => inOrder(one.key, other.key)).map(({ value }) => value);
}

/** The first of the largest (1) or smallest (-1). */
function findExtreme(values: List, key: Key, sign: 1 | -1): QueryValue {
  const sorted = sortBy(values, key, sign === 1 ? (one, other) => order(other, one) : order);
  return sorted[0] ?? null;
}

function groupBy(values: List, key: Key): QueryValue {
  const groups = new Map<string, QueryValue[]>();
  for (const value of values) {
    const name = key(value);
    if (typeof name !== 'string')
      throw new Error(`group_by() expected a string as key, but received ${formatType(name)}`);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [value]);
    else group.push(value);
  }
  return toObject(groups);
}

function toNumber(value: QueryValue): QueryValue {
  if (typeof value === 'number' || typeof value === 'symbol') return value;
  if (typeof value !== 'string' || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)) return null;
  return toQueryValue(parseJson(value));
}

// `foo` in backticks is a string, as in az and aws.
const options = { enable_legacy_literals: true };

/** The maximum depth, since evaluation is recursive; `a.b.c` nests as `((a).b).c`. */
const depthMax = 1_000;

function parse(text: string): Node {
  checkQuotes(text);
  const tree = attempt(text);
  if (tree instanceof Error) throw syntaxFailure(tree, text);
  check(tree, text, 0);
  return tree;
}

function attempt(text: string): Node | Error {
  try {
    return compile(text, options) as unknown as Node;
  } catch (error) {
    return error as Error;
  }
}

/** Refuses what the library accepts: unclosed strings, and numbers that it would round. */
function checkQuotes(text: string): void {
  const rest = text.replace(/`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs, (found, at: number) => {
    const [, digits] = /^`\s*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*`$/.exec(found) ?? [];
    if (digits !== undefined && typeof toQueryValue(new NumberToken(digits)) === 'symbol') {
      throw invalid(`${digits} has too many digits to compare or calculate with`, text, at);
    }
    return ' '.repeat(found.length);
  });
  const at = rest.search(/[`'"]/);
  if (at !== -1) throw invalid(`the ${rest[at]} is never closed`, text, at);
}

function syntaxFailure(error: Error, text: string): Failure {
  if (error instanceof RangeError) return invalid('it is nested too deeply', text, undefined);
  if (/EOF|end of JSON/.test(error.message)) return invalid('it is incomplete', text, undefined);
  const reason = error.message.replace(/^syntax(?: error)?[:,]? */i, '');
  // The library gives no place: the wrong token ends where the shortest prefix fails with the same error.
  const isWrong = (end: number) => {
    const found = attempt(text.slice(0, end));
    return found instanceof Error && found.message === error.message;
  };
  const end = Array.from({ length: Math.min(text.length, 1_000) }, (_, at) => at + 1).find(isWrong);
  if (end === undefined) return invalid(reason, text, undefined);
  try {
    return invalid(reason, text, tokenize(text.slice(0, end), options).at(-1)?.start);
  } catch {
    return invalid(reason, text, end - 1);
  }
}

/** Checks what the library would notice only on evaluation, after a request was sent. */
function check(node: Node, text: string, depth: number, isReferenceExpected = false): void {
  if (depth > depthMax) throw invalid('it is nested too deeply', text, undefined);
  if (node.type === 'Literal') return;
  if (node.type === 'ExpressionReference' && !isReferenceExpected) {
    throw invalid('an &expression is not valid here', text, text.indexOf('&'));
  }
  const isCall = node.type === 'Function';
  if (isCall) checkCall(node['name'] as string, node['children'] as readonly Node[], text);
  for (const part of Object.values(node).flat()) if (isNode(part)) check(part, text, depth + 1, isCall);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

function checkCall(name: string, values: readonly Node[], text: string): void {
  const at = text.search(new RegExp(`\\b${name}\\s*\\(`));
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (found === undefined) throw invalid(`unknown function ${name}()`, text, at);
  try {
    functionTypes.validateArity(name, values, found._signature);
  } catch (error) {
    throw invalid((error as Error).message.replace('Invalid arity: ', ''), text, at);
  }
}

/** @param at in UTF-16 units; undefined for the end */
function invalid(reason: string, text: string, at: number | undefined): Failure {
  // jq's expressions begin with a dot.
  if (/^\s*\.[\w"[]/.test(text)) {
    return new Failure('usage', 'invalid JMESPath expression: it begins with a dot, as in jq', {
      hint: `write ${shellWord(text.trim().slice(1))}`,
    });
  }
  const place = at === undefined ? 'at its end' : `at character ${[...text.slice(0, at)].length + 1}`;
  return new Failure('usage', `invalid JMESPath expression: ${reason}, ${place}`, {
    hint: "write numbers in backticks and strings in single quotes: [?Count > `5` && Status == 'Done']",
  });
}

/**
 * Applies a query to each line of `jsonl`, else to the whole output: an array if several values are expected. Strings,
 * numbers and booleans are printed bare, each on a line, and null as nothing, unless JSON was requested by name.
 *
 * @throws {Failure} usage, for an invalid expression
 */
export async function createQueryLayout<T>(
  { json, printsNone = false }: View<T>,
  expression: string,
  options: PrinterOptions,
): Promise<Layout<T>> {
  const query = compileQuery(expression);
  const { format, isSeveral, isJsonExplicit = false, screen } = options;
  const printValue = await createPrint(options);
  const print = (result: JsonValue): string => {
    if (isJsonExplicit && (format === 'json' || format === 'jsonl')) return printValue(result);
    if (result === null) return '';
    if (isScalar(result)) return bareText(plainText(result), screen);
    const areLines = format === 'json' && Array.isArray(result) && result.length > 0 && result.every(isScalar);
    return areLines ? result.map((each) => bareText(plainText(each), screen)).join('') : printValue(result);
  };
  if (format === 'jsonl') return eachLayout((value) => print(query(json(value))));
  return wholeLayout((values) => {
    const all = values.map(json);
    const [first = null] = all;
    return format === 'none' ? '' : print(query(isSeveral || all.length > 1 ? all : first));
  }, isSeveral && printsNone);
}

async function createPrint(options: PrinterOptions): Promise<(result: JsonValue) => string> {
  const { format, screen, columns } = options;
  const isDocument = format === 'json' || format === 'yaml' || format === 'jsonl';
  const paint = (isDocument ? await loadHighlight(options) : undefined) ?? ((text: string) => text);
  switch (format) {
    case 'json':
      return (result) => paint(`${jsonText(result, 2)}\n`);
    case 'yaml': {
      const { yamlDocument } = await import('../core/yaml.ts');
      return (result) => paint(yamlDocument(result));
    }
    case 'csv':
    case 'tsv': {
      const { csvText } = await import('./csv.ts');
      return (result) => csvText(result, options);
    }
    case 'pretty': {
      const { drawValue } = await import('./table.ts');
      return (result) => {
        const text = drawValue(result, screen, columns);
        return text === '' ? '' : `${text}\n`;
      };
    }
    case 'id':
      return (result) =>
        (isList(result) ? result : [result])
          .map(findId)
          .filter((id) => id !== null)
          .map((id) => bareLine(plainText(id), screen))
          .join('');
    default:
      return (result) => paint(`${jsonText(result)}\n`);
  }
}

/** The member `id`; a scalar is its own id. */
function findId(value: JsonValue): JsonValue {
  if (isScalar(value)) return value;
  return isObject(value) && Object.hasOwn(value, 'id') ? (value['id'] ?? null) : null;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value instanceof NumberToken;
}

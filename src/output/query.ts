/** Asks JMESPath of values. `import()` it, and only where there is a query. */
import { Failure } from '../core/errors.ts';
import { isObject, type JsonValue, NumberToken } from '../core/json.ts';
import {
  bareLine,
  csvStyleOf,
  isList,
  jsonText,
  type Layout,
  type PrinterOptions,
  plainText,
  wholeLayout,
} from './layout.ts';
import {
  type Ask,
  argumentCounts,
  callQueryFunction,
  defineFunction,
  type Expression,
  evaluate,
  evaluatePart,
  expressionFailure,
  isSame,
  jsonValueOf,
  literalIndex,
  type Node,
  order,
  plainValueOf,
  type QueryValue,
  queryFunctions,
  queryObject,
  queryValueOf,
  readExpression,
} from './query-functions.ts';
import type { View } from './view.ts';

/**
 * Makes a question of a JMESPath expression. Numbers compare, sort and are equal by what their digits say; one that is
 * picked keeps the digits it came with. Sums are those of doubles.
 *
 * @returns the question; it throws a Failure, refused, where a value is not what the expression needs
 * @throws {Failure} usage, when it is no expression, names a function that is none, or gives it too few arguments
 */
export function compileQuery(text: string): (value: JsonValue) => JsonValue {
  const expression = readExpression(text);
  const tree = rewrite(expression.tree, { ...expression, text });
  return (value) => {
    try {
      return jsonValueOf(evaluate(tree, queryValueOf(value)));
    } catch (error) {
      throw new Failure('refused', `--query does not fit what came: ${(error as Error).message}`, {
        hint: 'the request itself was answered; only its result was not printed',
        cause: error,
      });
    }
  };
}

/** What the library does for numbers of JavaScript and objects with a prototype, done for ours. */
const helpers = {
  call: '#call',
  compare: '#compare',
  object: '#object',
  plain: '#plain',
} as const;

defineFunction(helpers.call, ([name, ...values]) => {
  const found = queryFunctions.get(name as string);
  // Which functions there are was checked when the expression was read.
  return found === undefined ? null : callQueryFunction(name as string, found, values);
});
defineFunction(helpers.compare, ([operator, a = null, b = null]) => compare(operator as Operator, a, b));
defineFunction(helpers.object, ([current, names, ...values]) => {
  // Nothing has no members to be picked from (JMESPath, "MultiSelect Hash").
  if (current === null) return null;
  return queryObject((names as readonly string[]).map((name, at) => [name, values[at] ?? null]));
});
defineFunction(helpers.plain, ([value = null]) => plainValueOf(value));

const comparisons = {
  LT: (difference: number) => difference < 0,
  LTE: (difference: number) => difference <= 0,
  GT: (difference: number) => difference > 0,
  GTE: (difference: number) => difference >= 0,
} as const;

type Operator = keyof typeof comparisons | 'EQ' | 'NE';

/** As in az and aws, texts have an order too: dates are texts. */
function compare(operator: Operator, a: QueryValue, b: QueryValue): boolean | null {
  if (operator === 'EQ') return isSame(a, b);
  if (operator === 'NE') return !isSame(a, b);
  const difference = order(a, b);
  return difference === undefined ? null : comparisons[operator](difference);
}

type Reading = Expression & { readonly text: string };

/** The expression with our own functions in the place of what would lose digits, or look into prototypes. */
function rewrite(node: Node, reading: Reading): Node {
  switch (node.type) {
    case 'Literal':
      return literal(literalOf(node, reading));
    case 'Comparator':
      return call(helpers.compare, [literal(node['name'] as string), ...parts(node, ['left', 'right'], reading)]);
    case 'Arithmetic':
    case 'Unary':
      return withParts(node, (part) => call(helpers.plain, [rewrite(part, reading)]));
    case 'MultiSelectHash':
      return rewriteHash(node['children'] as readonly Node[], reading);
    case 'Function':
      return rewriteFunction(node['name'] as string, node['children'] as readonly Node[], reading);
    case 'ExpressionReference':
      throw expressionFailure(
        'an &expression stands where no function takes it',
        reading.text,
        reading.text.indexOf('&'),
      );
    default:
      return withParts(node, (part) => rewrite(part, reading));
  }
}

function literalOf(node: Node, { literals }: Reading): QueryValue {
  const index = literalIndex(node);
  return index === undefined ? (node['value'] as string) : queryValueOf(literals[index] ?? null);
}

function rewriteHash(pairs: readonly Node[], reading: Reading): Node {
  const names = pairs.map(({ name }) => name as string);
  const values = pairs.map(({ value }) => rewrite(value as Node, reading));
  return call(helpers.object, [{ type: 'Current' }, literal(names), ...values]);
}

function rewriteFunction(name: string, values: readonly Node[], reading: Reading): Node {
  checkCall(name, values.length, reading);
  if (queryFunctions.has(name)) {
    return call(helpers.call, [literal(name), ...values.map((value) => rewriteArgument(value, reading))]);
  }
  const keepsDigits = name === 'not_null' || name === 'to_array';
  const rewritten = values.map((value) => rewrite(value, reading));
  return call(name, keepsDigits ? rewritten : rewritten.map((value) => call(helpers.plain, [value])));
}

function rewriteArgument(node: Node, reading: Reading): Node {
  if (node.type !== 'ExpressionReference') return rewrite(node, reading);
  const part = rewrite(node['child'] as Node, reading);
  // A function itself, which no data can pretend to be.
  return literal(((value) => evaluatePart(part, value)) satisfies Ask);
}

function checkCall(name: string, count: number, { text }: Reading): void {
  const own = queryFunctions.get(name);
  const counts =
    own === undefined
      ? argumentCounts(name)
      : { least: own.takes.length, most: own.isVariadic ? Number.POSITIVE_INFINITY : own.takes.length };
  const at = text.search(new RegExp(`\\b${name}\\s*\\(`));
  if (counts === undefined || name.startsWith('#')) {
    throw expressionFailure(`there is no function ${name}()`, text, at);
  }
  const { least, most } = counts;
  if (count >= least && count <= most) return;
  const takes = least === most ? `${least}` : `${least} to ${most}`;
  throw expressionFailure(`${name}() takes ${takes} argument${takes === '1' ? '' : 's'}, and got ${count}`, text, at);
}

function parts(node: Node, names: readonly string[], reading: Reading): Node[] {
  return names.map((name) => rewrite(node[name] as Node, reading));
}

/** The node with every node in it replaced. */
function withParts(node: Node, replace: (part: Node) => Node): Node {
  const members = Object.entries(node).map(([name, value]) => {
    if (Array.isArray(value)) return [name, value.map(replace)];
    return [name, isNode(value) ? replace(value) : value];
  });
  return Object.fromEntries(members);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

function call(name: string, children: readonly Node[]): Node {
  return { type: 'Function', name, children };
}

function literal(value: QueryValue | Ask): Node {
  return { type: 'Literal', value };
}

/**
 * Asks a query of the lines of `jsonl` one by one, else of everything that would be printed: an array where several
 * were asked for.
 *
 * A single string, number or boolean is printed bare, and null as nothing, unless JSON was asked for by name.
 *
 * @throws {Failure} usage, when it is no JMESPath expression
 */
export async function queriedLayout<T>(
  { json, printsNone = false }: View<T>,
  expression: string,
  options: PrinterOptions,
): Promise<Layout<T>> {
  const ask = compileQuery(expression);
  const { format, isSeveral } = options;
  const print = await textFor(options);
  if (format === 'jsonl') return { add: (value) => print(ask(json(value))), end: async () => {} };
  return wholeLayout((values) => {
    const all = values.map(json);
    const [first = null] = all;
    return format === 'none' ? '' : print(ask(isSeveral || all.length > 1 ? all : first));
  }, isSeveral && printsNone);
}

type Print = (result: JsonValue) => string;

async function textFor(options: PrinterOptions): Promise<Print> {
  const { isJsonExplicit = false, screen, format } = options;
  const print = await formFor(options);
  if (isJsonExplicit && (format === 'json' || format === 'jsonl')) return print;
  return (result) => {
    if (result === null) return '';
    return isScalar(result) ? bareLine(plainText(result), screen) : print(result);
  };
}

async function formFor(options: PrinterOptions): Promise<Print> {
  const { format, screen, columns } = options;
  switch (format) {
    case 'json':
      return (result) => `${jsonText(result, 2)}\n`;
    case 'yaml': {
      const { yamlDocument } = await import('./yaml.ts');
      return yamlDocument;
    }
    case 'csv':
    case 'tsv': {
      const { csvText } = await import('./csv.ts');
      return (result) => csvText(result, columns, csvStyleOf(options));
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
          .map(idOf)
          .filter((id) => id !== null)
          .map((id) => bareLine(plainText(id), screen))
          .join('');
    default:
      return (result) => `${jsonText(result)}\n`;
  }
}

/** What a result is named by: its `id`, or what it is itself. */
function idOf(result: JsonValue): JsonValue {
  if (isScalar(result)) return result;
  return isObject(result) && Object.hasOwn(result, 'id') ? (result['id'] ?? null) : null;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value instanceof NumberToken;
}

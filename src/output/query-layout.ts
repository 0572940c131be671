/** What `--query` makes of results. `import()` it, and only where there is a query. */
import { isObject, type JsonValue, NumberToken } from '../json.ts';
import { bareLine } from './json-layout.ts';
import { jsonText } from './json-text.ts';
import { type Layout, wholeLayout } from './layout.ts';
import { csvStyleOf, type PrinterOptions } from './printer-options.ts';
import { compileQuery } from './query.ts';
import { isList, plainText } from './row.ts';
import type { View } from './view.ts';

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
      const { yamlDocument } = await import('./yaml-text.ts');
      return yamlDocument;
    }
    case 'csv':
    case 'tsv': {
      const { csvText } = await import('./csv-layout.ts');
      return (result) => csvText(result, columns, csvStyleOf(options));
    }
    case 'pretty': {
      const { drawValue } = await import('./row-table.ts');
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

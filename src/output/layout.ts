/** The forms of values that the formats share, and the text of each. */
import type { Output } from '../core/host.ts';
import { isList, isObject, type JsonObject, type JsonValue, NumberToken, printJson } from '../core/json.ts';
import { hiddenCharacters, printable } from '../core/text.ts';
import { type PrintFormat, plainStyle, type Row, type Screen, type View } from './view.ts';

/** Turns values that come one at a time into the text of a stream. */
export interface Layout<T> {
  /** Returns the text that can be printed now. */
  readonly add: (value: T) => string;
  /** Writes the rest, also without any value. */
  readonly end: (write: (text: string) => Promise<void>) => Promise<void>;
}

/** A layout of each value by itself. */
export function eachLayout<T>(add: (value: T) => string): Layout<T> {
  return { add, end: async () => {} };
}

/** A layout of all values together; without any, it prints nothing, except with `printsNone`. */
export function wholeLayout<T>(
  textOf: (values: readonly T[]) => Promise<string> | string,
  printsNone = false,
): Layout<T> {
  const values: T[] = [];
  return {
    add: (value) => {
      values.push(value);
      return '';
    },
    end: async (write) => {
      if (values.length > 0 || printsNone) await write(await textOf(values));
    },
  };
}

/**
 * Formats a value as JSON that is safe on a terminal: numbers keep their digits, and control characters and those that
 * hide or reorder text are `\uXXXX` (docs/faults.md, O03).
 */
export function jsonText(value: JsonValue, indent = 0): string {
  const text = printJson(value, indent);
  if (/^[ -~\n]*$/.test(text)) return text;
  // Other characters than ASCII are in strings only, where escapes are valid.
  return text.replace(hiddenCharacters(), (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at).toString(16).padStart(4, '0'));
    return units.map((digits) => `\\u${digits}`).join('');
  });
}

export function rowOf<T>(value: T, view: View<T>): Row {
  return view.row === undefined ? rowFrom(view.json(value)) : view.row(value);
}

/** The members of an object; a column `value` for anything else. */
export function rowFrom(value: JsonValue): Row {
  return new Map(isObject(value) ? Object.entries(value) : [['value', value]]);
}

/** The names of all columns, in the order first seen. */
export function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => [...row.keys()]))];
}

/** The rows of an array as a table: all objects, all arrays, or scalars, one a line. */
export function shapeOf(
  values: readonly JsonValue[],
):
  | { readonly kind: 'objects'; readonly rows: readonly JsonObject[] }
  | { readonly kind: 'lists'; readonly rows: readonly (readonly JsonValue[])[] }
  | { readonly kind: 'scalars'; readonly rows: readonly JsonValue[] } {
  if (values.every(isObject)) return { kind: 'objects', rows: values };
  if (values.every(isList)) return { kind: 'lists', rows: values };
  return { kind: 'scalars', rows: values };
}

/** A string as it is, null as nothing, anything else as JSON on one line. */
export function plainText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof NumberToken ? value.digits : jsonText(value);
}

/** Loads the function that colors JSON, or YAML; undefined without color, so that a pipe takes no time. */
export async function loadHighlight({
  format,
  screen: { style },
}: Pick<PrinterOptions, 'format' | 'screen'>): Promise<((text: string) => string) | undefined> {
  if (style === plainStyle) return undefined;
  const { highlightJson, loadYamlHighlight } = await import('./highlight.ts');
  const highlight = format === 'yaml' ? await loadYamlHighlight() : highlightJson;
  return (text) => highlight(text, style);
}

export const jsonView: View<JsonValue> = {
  pretty: async (values, screen) => {
    const paint = (await loadHighlight({ format: 'json', screen })) ?? ((text: string) => text);
    return values.map((value) => paint(jsonText(value, 2))).join('\n');
  },
  json: (value) => value,
  id: (value) => (isObject(value) && typeof value['id'] === 'string' ? value['id'] : undefined),
};

/** A text as a line: exact in a pipe, and printable on a terminal. */
export function bareLine(text: string, { columns }: Screen): string {
  return `${columns === undefined ? text : printable(text)}\n`;
}

/** A text as it is, with its newlines and tabs; on a terminal, other control characters are escaped. */
export function bareText(text: string, { columns }: Screen): string {
  return `${columns === undefined ? text : text.replaceAll('\r\n', '\n').replace(/[^\n\t]+/g, printable)}\n`;
}

/**
 * An output with a progress line below it, which `takeAway` removes before each write. Only whole lines are written, so
 * that it is never drawn over half a line.
 */
export function wholeLines(output: Pick<Output, 'write' | 'isClosed'>, takeAway: () => void) {
  let begun = '';
  const write = async (text: string) => {
    takeAway();
    await output.write(text);
  };
  return {
    get isClosed() {
      return output.isClosed;
    },
    write: async (text: string) => {
      const all = begun + text;
      const end = all.lastIndexOf('\n') + 1;
      begun = all.slice(end);
      if (end > 0) await write(all.slice(0, end));
    },
    flush: async () => {
      const rest = begun;
      begun = '';
      if (rest !== '') await write(rest);
    },
  };
}

/** How the results of a command are printed. */
export interface PrinterOptions {
  readonly format: PrintFormat;
  /** Whether `json` and `yaml` are a list, even of one value. */
  readonly isSeveral: boolean;
  readonly screen: Screen;
  readonly columns?: readonly string[] | undefined;
  readonly csvSafe?: boolean | undefined;
  readonly query?: string | undefined;
  /** Whether JSON was requested by name: then a string from a query is JSON as well. */
  readonly isJsonExplicit?: boolean | undefined;
}

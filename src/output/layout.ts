import type { Output } from '../core/host.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, printJson } from '../core/json.ts';
import { hiddenCharacters, printable } from '../core/text.ts';
import type { PrintFormat, Row, Screen, View } from './view.ts';

/** How values that come one at a time become the text of a stream. */
export interface Layout<T> {
  /** The text that can be said now; '' while it cannot. */
  readonly add: (value: T) => string;
  /** Says what is left, also where nothing was added. */
  readonly end: (write: (text: string) => Promise<void>) => Promise<void>;
}

/** A layout that says nothing before it has seen every value; nothing at all where there is none, but to `printsNone`. */
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

/** What an array looks like where it is printed element by element, and what one value does. */
export interface ListForm<T> {
  readonly one: (value: T) => string;
  readonly open: string;
  readonly element: (value: T) => string;
  readonly separator: string;
  readonly close: string;
  /** What is printed of several where there is none. */
  readonly none: string;
}

/**
 * One value as one document, several as a list, each printed as it comes.
 *
 * @param isSeveral a list even of one; two values are a list whatever was expected
 */
export function listLayout<T>(isSeveral: boolean, form: ListForm<T>): Layout<T> {
  let count = 0;
  let first: T | undefined;
  const begin = (value: T) => form.open + form.element(value);
  const next = (value: T) => form.separator + form.element(value);
  return {
    add: (value) => {
      count += 1;
      if (isSeveral) return count === 1 ? begin(value) : next(value);
      if (count > 2) return next(value);
      if (count === 2) return begin(first as T) + next(value);
      first = value;
      return '';
    },
    end: async (write) => {
      if (isSeveral || count > 1) await write(count === 0 ? form.none : form.close);
      else if (count === 1) await write(form.one(first as T));
    },
  };
}

/**
 * A value as JSON that is safe to show on a terminal: equal after parsing, numbers with the digits they came with, and
 * every control character and every character that hides or reorders text as `\uXXXX` (RFC 8259, section 7;
 * docs/faults.md, O03).
 *
 * @param indent spaces for each level; 0 is one line
 */
export function jsonText(value: JsonValue, indent = 0): string {
  const text = printJson(value, indent);
  if (/^[ -~\n]*$/.test(text)) return text;
  // Only strings and names hold anything but ASCII, so an escape is valid wherever it falls.
  return text.replace(hiddenCharacters(), (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at).toString(16).padStart(4, '0'));
    return units.map((digits) => `\\u${digits}`).join('');
  });
}

/** The row of a value: what its view says, else the members of its JSON. */
export function rowOf<T>(value: T, view: View<T>): Row {
  return view.row === undefined ? rowFrom(view.json(value)) : view.row(value);
}

/** The members of a JSON object; anything else is one column, `value`. */
export function rowFrom(value: JsonValue): Row {
  return new Map(isObject(value) ? Object.entries(value) : [['value', value]]);
}

/** The names of all the rows' columns, in the order first seen. */
export function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => [...row.keys()]))];
}

/** How a value that is no list is told from one that is: `objects` have names, `lists` have places, `scalars` neither. */
export type Shape =
  | { readonly kind: 'objects'; readonly rows: readonly JsonObject[] }
  | { readonly kind: 'lists'; readonly rows: readonly (readonly JsonValue[])[] }
  | { readonly kind: 'scalars'; readonly rows: readonly JsonValue[] };

/** What an array is a table of: objects alone, arrays alone, or anything else, one value a line. */
export function shapeOf(values: readonly JsonValue[]): Shape {
  if (values.every(isObject)) return { kind: 'objects', rows: values };
  if (values.every(isList)) return { kind: 'lists', rows: values };
  return { kind: 'scalars', rows: values };
}

/** Whether the value is an array. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A value as text: a string as it is, null as nothing, anything else as JSON on one line. */
export function plainText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof NumberToken ? value.digits : jsonText(value);
}

/** Any JSON that a service answers with: itself in every format. */
export const jsonView: View<JsonValue> = {
  pretty: (values) => values.map((value) => jsonText(value, 2)).join('\n'),
  json: (value) => value,
  id: (value) => (isObject(value) && typeof value['id'] === 'string' ? value['id'] : undefined),
};

/** Nothing at all. */
export const silentLayout: Layout<unknown> = { add: () => '', end: async () => {} };

/** `json`: one document. */
export function jsonLayout<T>({ json, printsNone = false }: View<T>, isSeveral: boolean): Layout<T> {
  return listLayout(isSeveral, {
    one: (value: T) => `${jsonText(json(value), 2)}\n`,
    open: '[\n',
    // No string has a newline in it, so each one begins a line of the document.
    element: (value) => `  ${jsonText(json(value), 2).replaceAll('\n', '\n  ')}`,
    separator: ',\n',
    close: '\n]\n',
    none: printsNone ? '[]\n' : '',
  });
}

/** `jsonl`: a line for each value. */
export function lineLayout<T>({ json }: View<T>): Layout<T> {
  return { add: (value) => `${jsonText(json(value))}\n`, end: async () => {} };
}

/** `id`: a line for each value that has one. */
export function idLayout<T>({ id }: View<T>, screen: Screen): Layout<T> {
  return {
    add: (value) => {
      const text = id(value);
      return text === undefined ? '' : bareLine(text, screen);
    },
    end: async () => {},
  };
}

/** A text as a line: exact in a pipe, since a command will read it; a terminal must not be steered by it. */
export function bareLine(text: string, { columns }: Screen): string {
  return `${columns === undefined ? text : printable(text)}\n`;
}

/** Where results are printed. */
export interface ResultOutput extends Pick<Output, 'isClosed'> {
  write(text: string): Promise<void>;
}

/**
 * A screen on which a line is drawn meanwhile that is not of the text: it is taken away before each write, and comes back
 * only below whole lines, since it would be drawn over half of one.
 *
 * @param takeAway takes that line away
 */
export function wholeLines(output: ResultOutput, takeAway: () => void): ResultOutput & { flush(): Promise<void> } {
  let begun = '';
  const write = async (text: string) => {
    takeAway();
    await output.write(text);
  };
  return {
    get isClosed() {
      return output.isClosed;
    },
    write: async (text) => {
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

/** Text on its way to a stream, in pieces that are worth a system call. */
export interface Batch {
  /** Takes a text; undefined while there is room, else it resolves when the stream has taken what was there. */
  write(text: string): Promise<void> | undefined;
  /** Resolves when the stream has taken everything. */
  flush(): Promise<void>;
}

/** UTF-16 units that may wait: many lines, and no memory to speak of. */
const waitingMax = 65_536;

/**
 * Joins short texts on their way to a stream. Nothing waits longer than for what is ready in this turn of the event
 * loop, or for the stream to take what came before, so that a reader of a slow run sees each line when it is known.
 */
export function batched(output: Pick<Output, 'write'>): Batch {
  let waiting = '';
  let isScheduled = false;
  let hasFailed = false;
  let writing: Promise<void> | undefined;
  const drain = async () => {
    while (waiting !== '') {
      const text = waiting;
      waiting = '';
      await output.write(text);
    }
  };
  const flush = () => {
    // After a failure nothing more is written, and whoever asks next hears of it.
    writing ??= drain().then(
      () => {
        writing = undefined;
      },
      (error: unknown) => {
        hasFailed = true;
        throw error;
      },
    );
    return writing;
  };
  return {
    flush,
    write: (text) => {
      waiting += text;
      if (hasFailed || waiting.length >= waitingMax) return flush();
      if (isScheduled || writing !== undefined) return undefined;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        flush().catch(() => {});
      });
      return undefined;
    },
  };
}

/** How the results of a command are to be printed. */
export interface PrinterOptions {
  readonly format: PrintFormat;
  /** Several were asked for: `json` and `yaml` are a list, even of one. */
  readonly isSeveral: boolean;
  readonly screen: Screen;
  /** What `csv`, `tsv` and tables show, in this order. */
  readonly columns?: readonly string[] | undefined;
  /** `csv` and `tsv` for spreadsheets: no cell of text runs as a formula. */
  readonly csvSafe?: boolean | undefined;
  /** A JMESPath expression over what would be printed; with `jsonl`, over each line. */
  readonly query?: string | undefined;
  /** JSON was asked for by name: what a query ends in is JSON, even a single string. */
  readonly isJsonExplicit?: boolean | undefined;
}

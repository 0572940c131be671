/** Prints the results of a command. */
import { Failure } from '../core/errors.ts';
import type { Output } from '../core/host.ts';
import { objectFrom } from '../core/json.ts';
import {
  bareLine,
  eachLayout,
  jsonText,
  type Layout,
  loadHighlight,
  type PrinterOptions,
  rowOf,
  wholeLayout,
} from './layout.ts';
import type { Row, Screen, View } from './view.ts';

export interface Printer<T> {
  /**
   * Prints a result, as far as the format allows it already.
   *
   * @returns undefined if there is nothing to wait for
   * @throws {Failure} local-file; refused, if the query fails on the value; also as a rejection
   */
  print(value: T): Promise<void> | undefined;
  /** Prints the rest; also after a failure, so that a list is closed. */
  end(): Promise<void>;
}

/** Makes a printer, and loads what the format needs; throws for an invalid query, and curl for results (usage). */
export async function openPrinter<T>(
  view: View<T>,
  options: PrinterOptions,
  output: Pick<Output, 'write' | 'isClosed'>,
): Promise<Printer<T>> {
  const layout = await layoutFor(view, options);
  const batch = openBatch(output);
  return {
    print: (value) => {
      if (output.isClosed) return undefined;
      const text = layout.add(value);
      return text === '' ? undefined : batch.write(text);
    },
    end: async () => {
      await layout.end(async (text) => {
        if (!output.isClosed) await batch.write(text);
      });
      await batch.flush();
    },
  };
}

async function layoutFor<T>(whole: View<T>, options: PrinterOptions): Promise<Layout<T>> {
  const { format, query, isSeveral, screen, columns } = options;
  // Also with `none`, so that an invalid query is reported.
  if (query !== undefined) return queryLayout(whole, query, options);
  const isDocument = format === 'json' || format === 'jsonl' || format === 'yaml';
  const view = columns !== undefined && isDocument ? { ...whole, json: membersOf(whole, columns) } : whole;
  const { line } = view;
  switch (format) {
    case 'none':
      return eachLayout(() => '');
    case 'curl':
      return curlLayout(view);
    case 'markdown':
      throw notAPlan();
    case 'json':
      return highlighted(jsonLayout(view, isSeveral), options);
    case 'jsonl':
      return highlighted(
        eachLayout((value: T) => `${jsonText(view.json(value))}\n`),
        options,
      );
    case 'id':
      return idLayout(view, screen);
    case 'yaml':
      return highlighted(await yamlLayout(view, isSeveral), options);
    case 'csv':
    case 'tsv':
      return csvLayout(view, options);
    case 'pretty':
      if (view.inPages) return pagesLayout(view, columns ?? view.columns, screen);
      if (columns !== undefined) return columnsLayout(view, columns, options);
      if (line !== undefined) return eachLayout((value: T) => `${line(value, screen)}\n`);
      return wholeLayout(async (values) => endLine(await view.pretty(values, screen)));
  }
}

/**
 * One value as a document, several as a list whose elements are printed as they come.
 *
 * @param isSeveral prints a list, even of one; two values are always a list
 * @param form the parts of a list; `one` formats a single document, and `none` is the empty list
 */
function listLayout<T>(
  isSeveral: boolean,
  form: Readonly<
    Record<'open' | 'separator' | 'close' | 'none', string> & Record<'one' | 'element', (value: T) => string>
  >,
): Layout<T> {
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

/** The named cells of a value as an object; null for one that it does not have. */
function membersOf<T>(view: View<T>, columns: readonly string[]): View<T>['json'] {
  return (value) => {
    const row = rowOf(value, view);
    return objectFrom(columns.map((name) => [name, row.get(name) ?? null]));
  };
}

function jsonLayout<T>({ json, printsNone = false }: View<T>, isSeveral: boolean): Layout<T> {
  return listLayout(isSeveral, {
    one: (value: T) => `${jsonText(json(value), 2)}\n`,
    open: '[\n',
    // JSON strings contain no newlines.
    element: (value) => `  ${jsonText(json(value), 2).replaceAll('\n', '\n  ')}`,
    separator: ',\n',
    close: '\n]\n',
    none: printsNone ? '[]\n' : '',
  });
}

function idLayout<T>({ id }: View<T>, screen: Screen): Layout<T> {
  return eachLayout((value) => {
    const text = id(value);
    return text === undefined ? '' : bareLine(text, screen);
  });
}

async function highlighted<T>(layout: Layout<T>, options: PrinterOptions): Promise<Layout<T>> {
  const paint = await loadHighlight(options);
  if (paint === undefined) return layout;
  return {
    add: (value) => paint(layout.add(value)),
    end: (write) => layout.end((text) => write(paint(text))),
  };
}

function curlLayout<T>({ curl }: View<T>): Layout<T> {
  if (curl !== undefined) return eachLayout((value) => `${curl(value)}\n`);
  throw new Failure('usage', 'only a request that is not sent can be printed as curl', {
    hint: 'pass another --output',
  });
}

/** The failure of `--output markdown` for anything but a plan, which has its own page. */
export function notAPlan(): Failure {
  return new Failure('usage', 'only a plan can be printed as markdown', {
    hint: 'use listctl plan, or pass another --output',
  });
}

async function queryLayout<T>(view: View<T>, query: string, options: PrinterOptions): Promise<Layout<T>> {
  const { format } = options;
  if (format === 'curl' || format === 'markdown') {
    throw new Failure('usage', `--query cannot be used with --output ${format}`);
  }
  const { createQueryLayout } = await import('./query.ts');
  return createQueryLayout(view, query, options);
}

async function yamlLayout<T>({ json, printsNone = false }: View<T>, isSeveral: boolean): Promise<Layout<T>> {
  const { yamlDocument, yamlElement } = await import('../core/yaml.ts');
  return listLayout(isSeveral, {
    one: (value: T) => yamlDocument(json(value)),
    element: (value) => yamlElement(json(value)),
    ...{ open: '', separator: '', close: '', none: printsNone ? '[]\n' : '' },
  });
}

async function csvLayout<T>(view: View<T>, options: PrinterOptions): Promise<Layout<T>> {
  const { rowsLayout } = await import('./csv.ts');
  const { add, end } = rowsLayout(options.columns ?? view.columns, options, view.printsNone ?? false);
  return { add: (value) => add(rowOf(value, view)), end };
}

async function columnsLayout<T>(
  view: View<T>,
  columns: readonly string[],
  { screen, isSeveral }: PrinterOptions,
): Promise<Layout<T>> {
  const { drawRows } = await import('./table.ts');
  return wholeLayout((values) => {
    const rows = values.map((value) => rowOf(value, view));
    return endLine(drawRows(rows, screen, columns, isSeveral || rows.length > 1));
  });
}

const pageRows = 100;

async function pagesLayout<T>(
  view: View<T>,
  columns: readonly string[] | undefined,
  screen: Screen,
): Promise<Layout<T>> {
  const { rowsInPages } = await import('./table.ts');
  const table = rowsInPages(columns, screen);
  let rows: Row[] = [];
  const draw = () => {
    const text = endLine(table.draw(rows));
    rows = [];
    return text;
  };
  return {
    add: (value) => {
      rows.push(rowOf(value, view));
      return rows.length < pageRows ? '' : draw();
    },
    end: async (write) => {
      if (rows.length > 0) await write(draw());
      const note = table.note();
      if (note !== undefined) await write(endLine(note));
    },
  };
}

function endLine(text: string): string {
  return text === '' ? '' : `${text}\n`;
}

/**
 * Joins short texts before they are written. A text waits for the end of this turn of the event loop, or until the
 * stream has taken what came before, so that the lines of a slow run appear one by one. `write` returns undefined while
 * there is room; `flush` resolves when all is written.
 */
function openBatch(output: Pick<Output, 'write'>) {
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
  const flush = (): Promise<void> => {
    // A failure is final, and that of each later write.
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
    write: (text: string): Promise<void> | undefined => {
      waiting += text;
      if (hasFailed || waiting.length >= 65_536) return flush();
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

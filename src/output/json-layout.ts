/** The formats that need nothing but JSON: what a script reads must not wait for libraries. */
import { jsonText } from './json-text.ts';
import { type Layout, listLayout } from './layout.ts';
import { printable } from './printable.ts';
import type { Screen, View } from './view.ts';

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

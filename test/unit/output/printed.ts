import { type JsonValue, parseJson } from '../../../src/core/json.ts';
import type { PrinterOptions } from '../../../src/output/layout.ts';
import { openPrinter } from '../../../src/output/printer.ts';
import { plainStyle, type View } from '../../../src/output/view.ts';

/** Where there is no terminal. */
export const pipe = { columns: undefined, style: plainStyle };
/** 80 columns, without color. */
export const terminal = { columns: 80, style: plainStyle };

/** What a test says of a printer; the rest is several values as JSON into a pipe. */
export type Wish = Partial<PrinterOptions>;

/** Everything that is printed of these values. */
export async function printed<T>(view: View<T>, values: Iterable<T>, wish: Wish = {}): Promise<string> {
  const stdout = recorder();
  const printer = await openPrinter(view, { format: 'json', isSeveral: true, screen: pipe, ...wish }, stdout);
  for (const value of values) await printer.print(value);
  await printer.end();
  return stdout.texts.join('');
}

/** An output that remembers each write. */
export function recorder() {
  const texts: string[] = [];
  return {
    texts,
    isClosed: false,
    write: async (text: string | Uint8Array) => {
      texts.push(text.toString());
    },
  };
}

/** JSON values, looked at as they are. */
export const jsonView: View<JsonValue> = {
  pretty: (values) => `${values.length} values`,
  json: (value) => value,
  id: () => undefined,
};

/** Each text read as JSON, digits kept. */
export function valuesFrom(...texts: string[]): JsonValue[] {
  return texts.map(parseJson);
}

/** Texts that would steer a terminal, hide in it or forge a line (O01, O02, O04). */
export const hostileTexts = [
  ['an escape sequence', '\x1b[2J\x1b]0;owned\x07'],
  ['a C1 control sequence', '\x9b31m'],
  ['backspaces and a carriage return', 'ok\b\b\rno'],
  ['newlines', 'one\nrow 2 created: 7\r\n'],
  ['a bidirectional override', 'exe\u202egpj\u2066'],
  ['tags and a byte order mark', '\ufeff\u{e0061}\u{e007f}'],
] as const;

/** Matches what none of them may leave on one line of a screen without color. */
export const forbidden = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff\u{e0000}-\u{e007f}]/u;

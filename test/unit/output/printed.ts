import type { PrinterOptions } from '../../../src/output/layout.ts';
import { openPrinter } from '../../../src/output/printer.ts';
import type { View } from '../../../src/output/view.ts';
import { plainStyle } from '../../../src/output/view.ts';

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

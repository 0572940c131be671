/** What goes to stderr, and how it looks there. */
import type { Failure } from '../errors.ts';
import type { Host, Output } from '../host.ts';
import { failureJson, failureText } from '../output/failure-text.ts';
import { printable } from '../output/printable.ts';
import { loadStyle } from '../output/style.ts';
import type { Screen } from '../output/view.ts';
import { asksForJson } from './asked-format.ts';
import type { Context } from './context.ts';

/** When to use colours. */
export type ColorChoice = 'auto' | 'always' | 'never';

/** Prints a failure on stderr, as a JSON line where JSON was asked for. */
export async function reportFailure(failure: Failure, context: Context): Promise<void> {
  const { host, errors } = context;
  const asJson = errors.asJson ?? asksForJson(context.words, host);
  const { style } = await screenOf(host.stderr, errors.color, host);
  await host.stderr.write(asJson ? failureJson(failure) : failureText(failure, style));
}

/** Prints an error that nobody foresaw, with what is needed to mend it. */
export async function reportBug(error: unknown, { host, version }: Context): Promise<void> {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const lines = stack.split('\n').map(printable).join('\n');
  await host.stderr.write(
    `listctl: this is a bug in listctl ${version}; please report it with these lines\n${lines}\n`,
  );
}

/** What the text for a stream is made for. */
export async function screenOf(output: Output, color: ColorChoice, host: Host): Promise<Screen> {
  return { columns: output.columns, style: await loadStyle(colorLevel(output, color, host)) };
}

/** 0 for none, 1 for the 16 colours that every terminal has (no-color.org, force-color.org). */
function colorLevel({ isTTY }: Output, color: ColorChoice, { env }: Host): 0 | 1 {
  if (color !== 'auto') return color === 'always' ? 1 : 0;
  const forced = env['FORCE_COLOR'];
  if (forced) return forced === '0' || forced === 'false' ? 0 : 1;
  return isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? 1 : 0;
}

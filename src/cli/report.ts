/** What goes to stderr, and how it looks there: text for a person; JSON lines, and nothing else, where JSON was asked for. */
import { exitCodes, type Failure } from '../core/errors.ts';
import type { Host, Output } from '../core/host.ts';
import type { JsonObject } from '../core/json.ts';
import { printable } from '../core/text.ts';
import { failureJson, failureText, jsonLine } from '../output/failure.ts';
import { loadStyle, type Screen } from '../output/view.ts';
import { findValue } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import type { Context } from './context.ts';
import { globalFlags } from './flags.ts';

/**
 * Whether errors are wanted as JSON, as far as the bare words and the settings tell: a command line that does not parse
 * has no options yet. What follows `-f` is a value, whatever it looks like.
 */
function asksForJson(words: readonly string[], host: Host): boolean {
  const format = typedFormat(words) ?? settingOf(words, host);
  return format === 'json' || format === 'jsonl';
}

function typedFormat(words: readonly string[]): string | undefined {
  let format: string | undefined;
  for (let at = 0; at < words.length && words[at] !== '--'; at += 1) {
    const [word = '', next] = words.slice(at, at + 2);
    if (word === '-f' || word === '--field') at += 1;
    else if (word === '--json') format = 'json';
    else if (word === '-o' || word === '--output') format = next;
    else if (word.startsWith('--output=')) format = word.slice('--output='.length);
    else if (/^-o./.test(word)) format = word.slice('-o'.length);
  }
  return format;
}

function settingOf(words: readonly string[], host: Host): string | undefined {
  const named = words.findIndex((word) => word === '-p' || word === '--profile');
  try {
    const sources = openSources({ '--profile': named === -1 ? undefined : words[named + 1] }, host, false);
    return findValue(globalFlags.output, sources);
  } catch {
    // Settings that cannot be read have a failure of their own; this one is about something else.
    return undefined;
  }
}

/** When to use colors. */
export type ColorChoice = 'auto' | 'always' | 'never';

/** Whether stderr is JSON lines. */
export function isJsonWanted({ errors, words, host }: Context): boolean {
  return errors.asJson ?? asksForJson(words, host);
}

/**
 * Prints a failure on stderr.
 *
 * @param exit the status that the process ends with, where the failure is the last one
 */
export async function reportFailure(failure: Failure, context: Context, exit?: number): Promise<void> {
  const { host, errors } = context;
  if (isJsonWanted(context)) return host.stderr.write(failureJson(failure, exit));
  const { style } = await screenOf(host.stderr, errors.color, host);
  await host.stderr.write(failureText(failure, style));
}

/** Prints an error that nobody foresaw, with what is needed to fix it. */
export async function reportBug(error: unknown, context: Context): Promise<void> {
  const { host, version } = context;
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = `this is a bug in listctl ${version}; please report it with these lines`;
  if (isJsonWanted(context)) {
    return host.stderr.write(jsonLine('error', { kind: 'bug', exit: exitCodes.bug, message, stack }));
  }
  const lines = stack.split('\n').map(printable).join('\n');
  await host.stderr.write(`listctl: ${message}\n${lines}\n`);
}

/** Prints one line on stderr that is not a failure: `{"notice": …}`, or the line itself, printable. */
export function writeNotice(text: string, context: Context): Promise<void> {
  const { stderr } = context.host;
  // Who reads JSON knows which program it comes from.
  if (isJsonWanted(context)) return stderr.write(jsonLine('notice', text.replace(/^listctl: /, '')));
  return stderr.write(`${printable(text)}\n`);
}

/** An output that takes the lines of another program, and prints a notice for each. */
export function noticesInto(stderr: Output): Pick<Output, 'isTTY' | 'write'> {
  return {
    isTTY: stderr.isTTY,
    write: (text) => {
      const lines = text.toString().split('\n');
      return stderr.write(lines.flatMap((line) => (line === '' ? [] : [jsonLine('notice', line)])).join(''));
    },
  };
}

/** Prints what a run did on stderr: `{"summary": …}`, or the lines, which are printable. */
async function writeSummary(
  object: JsonObject,
  lines: () => Promise<readonly string[]>,
  context: Context,
): Promise<void> {
  const { stderr } = context.host;
  if (isJsonWanted(context)) await stderr.write(jsonLine('summary', object));
  else for (const line of await lines()) await stderr.write(`${line}\n`);
}

/** Prints lines about the connection on stderr, each with its newline and printable: `{"trace": …}` for each, or as they are. */
export function writeTrace(lines: string, context: Context): Promise<void> {
  const { stderr } = context.host;
  if (!isJsonWanted(context)) return stderr.write(lines);
  const texts = lines.split('\n').slice(0, -1);
  return stderr.write(texts.map((text) => jsonLine('trace', text)).join(''));
}

/** What the text for a stream is made for. */
export async function screenOf(output: Output, color: ColorChoice, host: Host): Promise<Screen> {
  return { columns: output.columns, style: await loadStyle(colorLevel(output, color, host)) };
}

/** 0 for none, 1 for the 16 colors that every terminal has (no-color.org, force-color.org). */
function colorLevel({ isTTY }: Output, color: ColorChoice, { env }: Host): 0 | 1 {
  if (color !== 'auto') return color === 'always' ? 1 : 0;
  const forced = env['FORCE_COLOR'];
  if (forced) return forced === '0' || forced === 'false' ? 0 : 1;
  return isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? 1 : 0;
}

/** Messages on stderr. */
export interface Messages {
  readonly isQuiet: boolean;
  /** Whether stderr is JSON lines. */
  readonly isJsonWanted: boolean;
  errorScreen(): Promise<Screen>;
  /** Prints a failure; the command continues. */
  report(failure: Failure): Promise<void>;
  /** Prints a line for a person; silent with --quiet and off a terminal. */
  notice(text: string): Promise<void>;
  /** Prints a line that scripts need too; silent with --quiet only. */
  say(text: string): Promise<void>;
  /**
   * Prints the summary of a run; silent with --quiet.
   *
   * @param lines the same for a person, printable
   */
  summarize(object: JsonObject, lines: () => Promise<readonly string[]>): Promise<void>;
}

/** Makes the messages of a command. */
export function commandMessages(context: Context, isQuiet: boolean): Messages {
  const { host } = context;
  const say = async (text: string) => {
    if (!isQuiet) await writeNotice(text, context);
  };
  return {
    isQuiet,
    isJsonWanted: isJsonWanted(context),
    errorScreen: () => screenOf(host.stderr, context.errors.color, host),
    report: (failure) => reportFailure(failure, context),
    say,
    notice: async (text) => {
      if (host.stderr.isTTY) await say(text);
    },
    summarize: async (object, lines) => {
      if (!isQuiet) await writeSummary(object, lines, context);
    },
  };
}

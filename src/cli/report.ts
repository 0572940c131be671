/** Messages on stderr: text, or JSON lines with --output json. */
import { exitCodes, Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host, Output } from '../core/host.ts';
import type { JsonObject } from '../core/json.ts';
import { printable } from '../core/text.ts';
import { failureJson, failureText, jsonLine } from '../output/failure.ts';
import { dryRunFormats, loadStyle, type Screen } from '../output/view.ts';
import { findValue } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import type { Context } from './command.ts';
import { globalFlags, normalizeFormat } from './flags.ts';

/** The value of --output in a command line that was not parsed. The word after `-f` is always a value. */
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
  return format === undefined ? undefined : normalizeFormat(format);
}

function formatSetting(words: readonly string[], host: Host): string | undefined {
  const profileAt = words.findIndex((word) => word === '-p' || word === '--profile');
  const flags = { '--profile': profileAt === -1 ? undefined : words[profileAt + 1] };
  // Unreadable settings and a missing profile are reported elsewhere.
  const setting = attempt(() => findValue(globalFlags.output, openSources(flags, host)));
  return setting ?? attempt(() => findValue(globalFlags.output, { flags, env: host.env }));
}

/** Whether messages are JSON lines. */
export function isJsonWanted({ errors, words, host }: Context): boolean {
  if (errors.asJson !== undefined) return errors.asJson;
  const typed = typedFormat(words);
  const isKnown = dryRunFormats.some((each) => each === typed);
  const format = isKnown ? typed : formatSetting(words, host);
  return format === 'json' || format === 'jsonl';
}

/** Prints the version; as JSON only if that was typed: scripts compare the text. */
export async function printVersion({ version, words, host }: Context): Promise<void> {
  const format = typedFormat(words);
  const isJson = format === 'json' || format === 'jsonl';
  await host.stdout.write(isJson ? `${JSON.stringify({ version })}\n` : `${version}\n`);
}

/** Prints a failure, with the exit code if the command ends with it: then it says so if nothing was sent. */
export async function reportFailure(failure: Failure, context: Context, exit?: number): Promise<void> {
  const { host, errors, ending } = context;
  const isUnsent = exit !== undefined && ending.writes === 0 && mayBeUnsent(failure);
  const { kind, message, details } = failure;
  const shown = isUnsent ? new Failure(kind, message, { ...details, outcome: 'not-sent' }) : failure;
  if (isJsonWanted(context)) return host.stderr.write(failureJson(shown, exit));
  const { style } = await screenOf(host.stderr, errors.color, host);
  const text = failureText(failure, style, isUnsent ? '  nothing was sent\n' : '');
  await host.stderr.write(await wrapped(text, host.stderr));
}

/** Not of a response, nor of rows, which an earlier command may have sent. */
function mayBeUnsent({ kind, details: { outcome = 'not-sent' } }: Failure): boolean {
  return outcome === 'not-sent' && kind !== 'incomplete';
}

/** Prints an unexpected error, with its stack. */
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

/** Prints a line that is not a failure: `{"notice": …}` as JSON. */
export function writeNotice(text: string, context: Context): Promise<void> {
  const { stderr } = context.host;
  if (isJsonWanted(context)) return stderr.write(jsonLine('notice', text.replace(/^listctl: /, '')));
  return wrapped(`${printable(text)}\n`, stderr).then((lines) => stderr.write(lines));
}

/** Wraps the lines of messages on a terminal; elsewhere a message stays on one line. */
async function wrapped(lines: string, { columns }: Output): Promise<string> {
  if (columns === undefined) return lines;
  const { wrapMessage } = await import('../output/wrap.ts');
  return lines.replace(/.+/g, (line) => wrapMessage(line, columns || 80));
}

/** Wraps an output so that each line of another program becomes a notice. */
export function noticesInto(stderr: Output): Pick<Output, 'isTTY' | 'write'> {
  return {
    isTTY: stderr.isTTY,
    write: (text) => {
      const lines = text.toString().split('\n');
      return stderr.write(lines.flatMap((line) => (line === '' ? [] : [jsonLine('notice', line)])).join(''));
    },
  };
}

/** Prints the lines of a trace, which are printable and end with a newline: each as `{"trace": …}` as JSON. */
export function writeTrace(lines: string, context: Context): Promise<void> {
  const { stderr } = context.host;
  if (!isJsonWanted(context)) return stderr.write(lines);
  const texts = lines.split('\n').slice(0, -1);
  return stderr.write(texts.map((text) => jsonLine('trace', text)).join(''));
}

/** The width and the style of an output. */
export async function screenOf(output: Output, color: Context['errors']['color'], host: Host): Promise<Screen> {
  return { columns: output.columns, style: await loadStyle(colorLevel(output, color, host)) };
}

/** 0 for no colors, 1 for 16 (no-color.org, force-color.org). */
function colorLevel({ isTTY }: Output, color: Context['errors']['color'], { env }: Host): 0 | 1 {
  if (color !== 'auto') return color === 'always' ? 1 : 0;
  const forced = env['FORCE_COLOR'];
  if (forced) return forced === '0' || forced === 'false' ? 0 : 1;
  return isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? 1 : 0;
}

export interface Messages {
  readonly isQuiet: boolean;
  readonly isJsonWanted: boolean;
  errorScreen(): Promise<Screen>;
  /** Prints a failure, and the command continues. */
  report(failure: Failure): Promise<void>;
  /** Prints a line on a terminal, unless --quiet. */
  notice(text: string): Promise<void>;
  /** Prints a line, unless --quiet. */
  say(text: string): Promise<void>;
  /** Prints the summary of a run, unless --quiet: the object as JSON, or the lines, which must be printable. */
  summarize(object: JsonObject, lines: () => Promise<readonly string[]>): Promise<void>;
}

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
      if (isQuiet) return;
      if (isJsonWanted(context)) await host.stderr.write(jsonLine('summary', object));
      else for (const line of await lines()) await host.stderr.write(await wrapped(`${line}\n`, host.stderr));
    },
  };
}

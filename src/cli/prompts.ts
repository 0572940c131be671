/** Prompts, by Inquirer. Call them only if `Session.prompts.mayPrompt`. */
import type { Readable, Writable } from 'node:stream';
import { Failure, Stopped } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { printable } from '../core/text.ts';
import { plainStyle, type Screen } from '../output/view.ts';

/** The part of a session that prompts need. */
export interface PromptContext {
  readonly host: Host;
  readonly messages: { errorScreen(): Promise<Screen> };
}

/** Asks a yes-or-no question on stderr. The default is no; so is the end of the input. */
export async function confirm(question: string, context: PromptContext): Promise<boolean> {
  const { default: ask } = await import('@inquirer/confirm');
  const message = await wrapped(question, ' (y/N)'.length, context);
  const config = { message, default: false, ...(await toTheme(context)) };
  return (await prompt((streams) => ask(config, streams), context.host)) ?? false;
}

/** Asks for a line of text until `problem` finds nothing wrong with it; the end of the input is a usage failure. */
export async function askText(
  question: string,
  options: { readonly initial?: string | undefined; readonly problem?: (answer: string) => string | undefined },
  context: PromptContext,
): Promise<string> {
  const { initial, problem } = options;
  const { default: ask } = await import('@inquirer/input');
  const validate = (answer: string) => {
    const found = problem?.(answer.trim() || (initial ?? ''));
    return found === undefined ? true : printable(found);
  };
  const initialOption = initial === undefined ? {} : { default: initial };
  const message = await wrapped(question, ' '.length, context);
  const config = { message, validate, ...initialOption, ...(await toTheme(context)) };
  return requireInput(await prompt((streams) => ask(config, streams), context.host)).trim();
}

/** Asks for a secret in the same way. Nothing that is typed is shown, not even its length. */
export async function askSecret(
  question: string,
  problem: (answer: string) => string | undefined,
  context: PromptContext,
): Promise<string> {
  const { default: ask } = await import('@inquirer/password');
  // Without toggleMask, Ctrl-T would show what was typed.
  const config = { message: printable(question), mask: false, toggleMask: false, ...(await toTheme(context)) };
  for (;;) {
    const answer = requireInput(await prompt((streams) => ask(config, streams), context.host));
    const found = problem(answer);
    if (found === undefined) return answer;
    // Inquirer's own validation would keep the invalid answer in the line, unseen.
    outputOf(context.host).write(`the input ${printable(found)}\n`);
  }
}

/** Wraps a question at words, where Inquirer would break one; `room` is for what it adds to the last line. */
async function wrapped(question: string, room: number, { messages }: PromptContext): Promise<string> {
  const text = printable(question);
  const { columns } = await messages.errorScreen();
  if (columns === undefined) return text;
  const { wrapMessage } = await import('../output/wrap.ts');
  return wrapMessage(`? ${text}${'x'.repeat(room)}`, columns || 80).slice('? '.length, -room);
}

/** Inquirer reads the environment for colors, but not `--no-color`. */
async function toTheme({ messages }: PromptContext) {
  const { style } = await messages.errorScreen();
  return style === plainStyle ? { theme: plainTheme } : {};
}

const plain = (text: string) => text;

const plainTheme = {
  prefix: '?',
  style: {
    ...{ answer: plain, message: plain, help: plain, highlight: plain },
    key: (text: string) => `<${text}>`,
    error: (text: string) => `> ${text}`,
    defaultAnswer: (text: string) => `(${text})`,
  },
};

function requireInput(answer: string | undefined): string {
  if (answer !== undefined) return answer;
  throw new Failure('usage', 'input closed; nothing was changed');
}

/** stderr, or the terminal itself while stderr is redirected. */
function outputOf({ terminal, stderr }: Host): Writable {
  return terminal ?? stderr.stream;
}

/**
 * Shows a prompt; undefined at the end of the input, at which Inquirer would wait forever. Throws `Stopped` on Ctrl-C,
 * after the terminal is restored.
 */
async function prompt<T>(ask: Parameters<typeof promptOnce<T>>[0], host: Host): Promise<T | undefined> {
  for (;;) {
    const answered = await promptOnce(ask, host);
    if (answered !== 'continued') return answered?.value;
  }
}

/** Shows a prompt once; `continued` after Ctrl-Z and fg, when it must be shown again. */
async function promptOnce<T>(
  ask: (streams: {
    readonly input: NodeJS.ReadableStream;
    readonly output: NodeJS.WritableStream;
    readonly signal: AbortSignal;
  }) => Promise<T>,
  host: Host,
): Promise<{ readonly value: T } | 'continued' | undefined> {
  const input: Keyboard = host.stdin.stream;
  const output = outputOf(host);
  const ended = new AbortController();
  let isContinued = false;
  let isHungUp = false;
  // In raw mode the input ends only if the terminal was closed. At a normal exit Node would abort with a core file,
  // since it cannot restore such a terminal.
  const onEnd = () => {
    isHungUp = input.isRaw !== undefined;
    ended.abort();
  };
  // readline pauses its input when it closes, and when the process continues after Ctrl-Z, where it would not resume.
  const onPause = () =>
    setImmediate(() => {
      isContinued = input.isRaw === true && input.readable;
      ended.abort();
    });
  // The prompt for a secret hides the cursor: show it for the shell after Ctrl-Z.
  const onKey = (
    _: unknown,
    key: { readonly ctrl?: boolean; readonly name?: string; readonly sequence?: string } = {},
  ) => {
    if (key.ctrl && key.name === 'z') output.write('\u001b[?25h');
    // An end of input from before raw mode, as of `script … < /dev/null`: Linux leaves it as a NUL (n_tty.c).
    if (key.sequence === '\0') ended.abort();
  };
  const restore = tolerateClosing(input);
  input.on('keypress', onKey).on('pause', onPause).on('end', onEnd).on('error', onEnd);
  try {
    const signal = AbortSignal.any([ended.signal, host.signal]);
    return { value: await ask({ input, output, signal }) };
  } catch (error) {
    host.signal.throwIfAborted();
    if (isHungUp) throw new Stopped('SIGHUP');
    if (!(error instanceof Error)) throw error;
    // Only the message distinguishes Ctrl-C from the end of the process.
    if (error.name === 'ExitPromptError' && error.message.includes('SIGINT')) throw new Stopped('SIGINT');
    if (error.name === 'ExitPromptError' || error.name === 'AbortPromptError')
      return isContinued ? 'continued' : undefined;
    throw error;
  } finally {
    input.off('keypress', onKey).off('pause', onPause).off('end', onEnd).off('error', onEnd);
    restore();
  }
}

/** stdin, if it is a terminal. */
type Keyboard = Readable & { readonly isRaw?: boolean; setRawMode?: (isRaw: boolean) => unknown };

/** Ignores the error when readline leaves raw mode on a closed terminal: nothing could catch it. */
function tolerateClosing(input: Keyboard): () => void {
  const { setRawMode } = input;
  if (setRawMode === undefined) return () => {};
  input.setRawMode = (isRaw) => {
    try {
      return setRawMode.call(input, isRaw);
    } catch {
      return input;
    }
  };
  return () => {
    input.setRawMode = setRawMode;
  };
}

/** Questions to a person: the door to Inquirer. Only asked where `Session.mayPrompt` says so. */
import type { Readable } from 'node:stream';
import { Failure, Stopped } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { printable } from '../core/text.ts';
import type { Screen } from '../output/view.ts';
import { plainStyle } from '../output/view.ts';

/** What a question needs of a session. */
export interface Asker {
  readonly host: Host;
  readonly messages: { errorScreen(): Promise<Screen> };
}

/**
 * Asks a yes-or-no question on stderr. No is the default; an end of input means no.
 *
 * @throws {Stopped} on Ctrl-C, the terminal as it was before
 */
export async function confirm(question: string, asker: Asker): Promise<boolean> {
  const { default: ask } = await import('@inquirer/confirm');
  const config = { message: printable(question), default: false, ...(await themeFor(asker)) };
  return (await asked((context) => ask(config, context), asker.host)) ?? false;
}

/** What is asked for, beside the words. */
export interface TextQuestion {
  /** What Enter alone means. */
  readonly initial?: string | undefined;
  /** Gives what is wrong with an answer, so that it is asked for again; undefined for a good one. */
  readonly problem?: (answer: string) => string | undefined;
}

/**
 * Asks for a line of text.
 *
 * @throws {Stopped} on Ctrl-C, the terminal as it was before
 * @throws {Failure} usage, at an end of input
 */
export async function askText(question: string, { initial, problem }: TextQuestion, asker: Asker): Promise<string> {
  const { default: ask } = await import('@inquirer/input');
  const validate = (answer: string) => checked(answer.trim() || (initial ?? ''), problem);
  const known = initial === undefined ? {} : { default: initial };
  const config = { message: printable(question), validate, ...known, ...(await themeFor(asker)) };
  return given(await asked((context) => ask(config, context), asker.host)).trim();
}

/**
 * Asks for a line that nobody may see, until it is a good one: nothing that is typed appears, not even how long it is.
 *
 * @param problem gives what is wrong with an answer, without repeating it: `is empty`
 * @throws {Stopped} on Ctrl-C, the terminal as it was before
 * @throws {Failure} usage, at an end of input
 */
export async function askSecret(
  question: string,
  problem: (answer: string) => string | undefined,
  asker: Asker,
): Promise<string> {
  const { default: ask } = await import('@inquirer/password');
  // Without toggleMask, Ctrl-T would show what was typed.
  const config = { message: printable(question), mask: false, toggleMask: false, ...(await themeFor(asker)) };
  for (;;) {
    const answer = given(await asked((context) => ask(config, context), asker.host));
    const found = problem(answer);
    if (found === undefined) return answer;
    // Asked anew: Inquirer's own way would leave the bad answer in the line, where nobody sees it.
    await asker.host.stderr.write(`the input ${printable(found)}\n`);
  }
}

/** Inquirer looks at the environment, and knows nothing of `--no-color`. */
async function themeFor(asker: Asker) {
  const { style } = await asker.messages.errorScreen();
  return style === plainStyle ? { theme: plainTheme } : {};
}

const asItIs = (text: string) => text;

const plainTheme = {
  prefix: '?',
  style: {
    ...{ answer: asItIs, message: asItIs, help: asItIs, highlight: asItIs },
    key: (text: string) => `<${text}>`,
    error: (text: string) => `> ${text}`,
    defaultAnswer: (text: string) => `(${text})`,
  },
};

function checked(answer: string, problem: TextQuestion['problem']): string | true {
  const found = problem?.(answer);
  return found === undefined ? true : printable(found);
}

function given(answer: string | undefined): string {
  if (answer !== undefined) return answer;
  throw new Failure('usage', 'input closed; nothing was changed');
}

/** What Inquirer is told beside the question. */
interface PromptContext {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** Asks, and gives undefined at an end of input, which Inquirer would wait behind for ever. */
async function asked<T>(ask: (context: PromptContext) => Promise<T>, host: Host): Promise<T | undefined> {
  for (;;) {
    const answered = await askedOnce(ask, host);
    if (answered !== 'continued') return answered?.value;
  }
}

/** As `asked`; `continued` where somebody was elsewhere meanwhile (Ctrl-Z, fg), so that it is to be asked anew. */
async function askedOnce<T>(
  ask: (context: PromptContext) => Promise<T>,
  host: Host,
): Promise<{ readonly value: T } | 'continued' | undefined> {
  const input: Keyboard = host.stdin.stream;
  const ended = new AbortController();
  let isContinued = false;
  let isLost = false;
  // A terminal in raw mode has no end of input: it was closed. Node would abort at a usual exit, with a core file, since
  // it cannot restore such a terminal.
  const onLost = () => {
    isLost = input.isRaw !== undefined;
    ended.abort();
  };
  // readline pauses its input when it closes: after the answer, and at Ctrl-D or the end. And when the process goes on
  // after Ctrl-Z: there it reads keys as before, but shows nothing, and nobody would resume it.
  const onPause = () =>
    setImmediate(() => {
      isContinued = input.isRaw === true && input.readable;
      ended.abort();
    });
  // A secret is asked for without a cursor, which the shell that Ctrl-Z leads to wants back.
  const onKey = (_: unknown, key: { readonly ctrl?: boolean; readonly name?: string } = {}) => {
    if (key.ctrl && key.name === 'z') host.stderr.stream.write('\u001b[?25h');
  };
  const restore = tolerateClosing(input);
  input.on('keypress', onKey).on('pause', onPause).on('end', onLost).on('error', onLost);
  try {
    const value = await ask({
      input,
      output: host.stderr.stream,
      signal: AbortSignal.any([ended.signal, host.signal]),
    });
    return { value };
  } catch (error) {
    host.signal.throwIfAborted();
    if (isLost) throw new Stopped('SIGHUP');
    if (!(error instanceof Error)) throw error;
    // Its message is all that tells Ctrl-C from the end of the process.
    if (error.name === 'ExitPromptError' && error.message.includes('SIGINT')) throw new Stopped('SIGINT');
    if (error.name === 'ExitPromptError' || error.name === 'AbortPromptError')
      return isContinued ? 'continued' : undefined;
    throw error;
  } finally {
    input.off('keypress', onKey).off('pause', onPause).off('end', onLost).off('error', onLost);
    restore();
  }
}

/** What stdin is where it is a terminal. */
type Keyboard = Readable & { readonly isRaw?: boolean; setRawMode?: (isRaw: boolean) => unknown };

/** Lets a terminal that was closed fail to leave raw mode: readline would throw where nothing can catch it. */
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

/** Questions to a person: the door to Inquirer. Only asked where `Session.mayPrompt` says so. */
import { Failure, Stopped } from '../errors.ts';
import type { Host } from '../host.ts';
import { printable } from '../output/printable.ts';

/**
 * Asks a yes-or-no question on stderr. No is the default; an end of input means no.
 *
 * @throws {Stopped} on Ctrl-C, the terminal as it was before
 */
export async function confirm(question: string, host: Host): Promise<boolean> {
  const { default: ask } = await import('@inquirer/confirm');
  return (await asked((context) => ask({ message: printable(question), default: false }, context), host)) ?? false;
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
export async function askText(question: string, { initial, problem }: TextQuestion, host: Host): Promise<string> {
  const { default: ask } = await import('@inquirer/input');
  const validate = (answer: string) => checked(answer.trim() || (initial ?? ''), problem);
  const config = { message: printable(question), validate, ...(initial === undefined ? {} : { default: initial }) };
  return given(await asked((context) => ask(config, context), host)).trim();
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
  host: Host,
): Promise<string> {
  const { default: ask } = await import('@inquirer/password');
  // Without toggleMask, Ctrl-T would show what was typed.
  const config = { message: printable(question), mask: false, toggleMask: false };
  for (;;) {
    const answer = given(await asked((context) => ask(config, context), host));
    const found = problem(answer);
    if (found === undefined) return answer;
    // Asked anew: Inquirer's own way would leave the bad answer in the line, where nobody sees it.
    await host.stderr.write(`what was typed ${printable(found)}\n`);
  }
}

function checked(answer: string, problem: TextQuestion['problem']): string | true {
  const found = problem?.(answer);
  return found === undefined ? true : printable(found);
}

function given(answer: string | undefined): string {
  if (answer !== undefined) return answer;
  throw new Failure('usage', 'the input ended before the answer: nothing was changed');
}

/** What Inquirer is told beside the question. */
interface PromptContext {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** Asks, and gives undefined at an end of input, which Inquirer would wait behind for ever. */
async function asked<T>(ask: (context: PromptContext) => Promise<T>, host: Host): Promise<T | undefined> {
  const input = host.stdin.stream;
  const ended = new AbortController();
  // readline pauses its input when it closes: after the answer, and at Ctrl-D or the end.
  const onPause = () => setImmediate(() => ended.abort());
  input.on('pause', onPause).on('end', onPause);
  try {
    return await ask({
      input,
      output: host.stderr.stream,
      signal: AbortSignal.any([ended.signal, host.signal]),
    });
  } catch (error) {
    host.signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    // Its message is all that tells Ctrl-C from the end of the process.
    if (error.name === 'ExitPromptError' && error.message.includes('SIGINT')) throw new Stopped('SIGINT');
    if (error.name === 'ExitPromptError' || error.name === 'AbortPromptError') return undefined;
    throw error;
  } finally {
    input.off('pause', onPause).off('end', onPause);
  }
}

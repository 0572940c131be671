import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { Host, Input, Output } from '../../src/core/host.ts';
import { main } from '../../src/main.ts';

/** What a test may say about the world; the rest is an empty environment, no terminal and no input. */
export interface World {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** What it is: a pipe, unless a test says otherwise. */
  readonly stdinKind?: NonNullable<Input['kind']>;
  /** The width of the terminal of all three streams; undefined without a terminal. */
  readonly terminal?: number;
  readonly signal?: AbortSignal;
  readonly forceStop?: AbortSignal;
  /** Where it is started: a directory with nothing of ours above it, unless a test says otherwise. */
  readonly cwd?: string;
  /** The home that the passwd database has; empty where the user has no entry, since an empty one counts for nothing. */
  readonly passwdHome?: string;
  /** What the wall clock says: the real time, unless a test says otherwise. */
  readonly now?: () => number;
  /** The random source: always the middle, unless a test sets it. */
  readonly random?: () => number;
  /** The transport that carries the requests: the light one, unless a test says otherwise. */
  readonly transport?: 'one' | 'many';
}

/** A Host of plain values: what was printed is text to look at, and waits take no time but the clock's own. */
export interface TestHost extends Host {
  readonly printed: { stdout: string; stderr: string };
  /** The waits that were asked for, in milliseconds. */
  readonly sleptMs: number[];
  /** How long it has been in use, by its own clock: real time and the waits. */
  elapsedMs(): number;
  type(text: string): void;
  /** Waits until the question is on the terminal, wherever the prompt breaks its lines, and types the answer. */
  answer(question: string | RegExp, typed: string): Promise<void>;
}

/** A directory that is never created. */
const nowhere = join(tmpdir(), `listctl-nowhere-${process.pid}`, 'listctl');

export function testHost({
  env = {},
  stdin = '',
  stdinKind,
  terminal,
  signal = new AbortController().signal,
  forceStop = new AbortController().signal,
  cwd = '/',
  passwdHome = nowhere,
  now = () => Date.now(),
  random = () => 0.5,
}: World = {}): TestHost {
  const printed = { stdout: '', stderr: '' };
  const sleptMs: number[] = [];
  let allSleptMs = 0;
  const monotonicMs = () => performance.now() + allSleptMs;
  const madeAtMs = monotonicMs();
  const keyboard = new PassThrough();
  const isTTY = terminal !== undefined;
  const stderr = outputInto(printed, 'stderr', terminal);
  return {
    // Whoever runs the tests may have settings of their own.
    env: { LISTCTL_CONFIG_DIR: nowhere, ...env },
    platform: 'linux',
    cwd,
    uid: process.geteuid?.(),
    passwdHome,
    processes: { own: process.pid, isRunning: (id) => id === process.pid },
    killGroup: (id) => process.kill(-id, 'SIGKILL'),
    signal,
    forceStop,
    escalateStop: () => {},
    printed,
    sleptMs,
    elapsedMs: () => monotonicMs() - madeAtMs,
    random,
    clock: {
      now,
      monotonicMs,
      sleep: async (ms, stop) => {
        stop.throwIfAborted();
        sleptMs.push(ms);
        allSleptMs += ms;
      },
      every: () => () => {},
    },
    stdin: { isTTY, kind: stdinKind, stream: isTTY ? keyboard : Readable.from([Buffer.from(stdin)]) },
    stdout: outputInto(printed, 'stdout', terminal),
    stderr,
    terminal: isTTY ? stderr.stream : undefined,
    type: (text) => keyboard.write(text),
    answer: async (question, typed) => {
      await untilShown(printed, question);
      keyboard.write(typed);
    },
  };
}

/** Waits until the question is on stderr. A prompt that shows it listens already. */
async function untilShown(printed: TestHost['printed'], question: string | RegExp): Promise<void> {
  const joined = (text: string) => text.replaceAll(/\s/g, '');
  const isShown = () =>
    typeof question === 'string'
      ? joined(printed.stderr).includes(joined(question))
      : question.test(joined(printed.stderr));
  // Far longer than any question takes: a test that waits for another one fails, and says which.
  for (const end = performance.now() + 20_000; !isShown(); ) {
    if (performance.now() > end) throw new Error(`"${question}" was not asked, but:\n${printed.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** How one run ended, and what it printed. */
export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly host: TestHost;
}

/** Runs the whole program in this process. */
export async function run(argv: readonly string[], world: World = {}): Promise<Run> {
  const host = testHost(world);
  const exitCode = await main(argv, host, world.transport === undefined ? {} : { transport: world.transport });
  return { exitCode, ...host.printed, host };
}

/** Runs it on a terminal, and types each answer when its question is there: with Enter, unless it ends with a control. */
export async function converse(
  argv: readonly string[],
  answers: Readonly<Record<string, string>>,
  world: World = {},
): Promise<Run> {
  const host = testHost({ terminal: 120, ...world });
  const running = main(argv, host);
  for (const [question, typed] of Object.entries(answers)) {
    await host.answer(question, /\p{Cc}$/u.test(typed) ? typed : `${typed}\n`);
  }
  return { exitCode: await running, ...host.printed, host };
}

function outputInto(
  printed: TestHost['printed'],
  name: keyof TestHost['printed'],
  columns: number | undefined,
): Output {
  const stream = new PassThrough();
  // As with the real ones: the end of a pipe into it ends nothing.
  stream.end = () => stream;
  stream.on('data', (chunk: Buffer) => {
    printed[name] += chunk.toString();
  });
  return {
    stream,
    isTTY: columns !== undefined,
    columns,
    isClosed: false,
    write: async (text) => {
      printed[name] += Buffer.from(text).toString();
    },
  };
}

/**
 * The process behind one interface, which tests make from plain values. Nothing else reads `process`, so nothing else can
 * end it, print past a full pipe, or wait for real time.
 */
import { setMaxListeners } from 'node:events';
import { createWriteStream, openSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { errnoCode, Stopped, type StopSignal, stopSignals } from './errors.ts';
import { attempt } from './files.ts';
import { lazily, type Output, outputTo, stdinKind } from './streams.ts';

export type { Output } from './streams.ts';

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds of a clock that is never set. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds of monotonic time; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Repeats work until the returned function is called; does not keep the process alive. */
  every(ms: number, work: () => void): () => void;
}

export interface Input {
  readonly isTTY: boolean;
  /** Undefined for a pipe, a terminal or a device. */
  readonly kind?: ReturnType<typeof stdinKind>;
  readonly stream: Readable;
}

/** What the rest of the program knows of its process. */
export interface Host {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** For questions: stderr, or the terminal that stdin is while stderr is redirected; undefined without a terminal. */
  readonly terminal: Writable | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The absolute working directory; empty if it was removed. */
  readonly cwd: string;
  /** Undefined on Windows. */
  readonly uid: number | undefined;
  /** The home directory in the passwd database, if HOME is not an absolute path and the user has an entry. */
  readonly passwdHome: string | undefined;
  /** The processes of this machine, by their ids. */
  readonly processes: { readonly own: number; isRunning(id: number): boolean };
  /** Ends a process and its group with SIGKILL. */
  killGroup(id: number): void;
  readonly clock: Clock;
  /** A number from 0 up to 1, for jitter; not for secrets. */
  random(): number;
  /** Aborts at the first stop signal, with a `Stopped` as its reason. */
  readonly signal: AbortSignal;
  /** Aborts at the second stop signal. If nothing has read this property, the second ends the process; else the third. */
  readonly forceStop: AbortSignal;
  /** Acts as if a second stop signal came. */
  escalateStop(): void;
}

/** The environment for a program that listctl starts: without the token. */
export function withoutToken({ LISTCTL_TOKEN: _, ...env }: Host['env']): Host['env'] {
  return env;
}

/** Makes the Host of the real process. Streams and most signal handlers are made on first use, for a fast start. */
export async function hostFromProcess(process: NodeJS.Process) {
  const env = { ...process.env };
  // A report of an uncaught exception (--report-uncaught-exception) contains the environment.
  delete process.env['LISTCTL_TOKEN'];
  const kind = lazily(stdinKind);
  const stdin = lazily(() => ({
    isTTY: process.stdin.isTTY === true,
    stream: process.stdin,
    get kind() {
      return kind();
    },
  }));
  const stdout = lazily(() => outputTo(1, 'standard output', () => process.stdout));
  const stderr = lazily(() => outputTo(2, 'standard error', () => process.stderr));
  const terminal = lazily(() => (stderr().isTTY ? stderr().stream : stdin().isTTY ? openTerminal() : undefined));
  const stops = lazily(() => stopSignalsOf(process));
  // Node would open its inspector, through which any user of the machine could read the token.
  process.on('SIGUSR1', () => {});
  if (isInit(process)) endBySignals(process);
  // After the handlers: it waits, and a signal may come meanwhile.
  const passwdHome = isAbsolute(env['HOME'] ?? '') ? undefined : await readPasswdHome();
  return {
    env,
    platform: process.platform,
    get cwd() {
      return attempt(() => process.cwd()) ?? '';
    },
    get uid() {
      return process.geteuid?.();
    },
    passwdHome,
    processes: { own: process.pid, isRunning: (id: number) => isRunning(process, id) },
    // It may have just ended.
    killGroup: (id: number) => void attempt(() => process.kill(-id, 'SIGKILL')),
    clock: clockOf(process),
    random: () => Math.random(),
    get stdin() {
      return stdin();
    },
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
    get terminal() {
      return terminal();
    },
    get signal() {
      return stops().signal;
    },
    get forceStop() {
      return stops().forceStop();
    },
    escalateStop: () => stops().escalateStop(),
  } satisfies Host;
}

/** The controlling terminal (tty(4)); undefined if there is none. */
function openTerminal(): Writable | undefined {
  // Without a listener an error of the stream would be uncaught.
  return attempt(() => createWriteStream('', { fd: openSync('/dev/tty', 'w') }).on('error', () => {}));
}

async function readPasswdHome(): Promise<string | undefined> {
  // Loaded late: it takes 1.5 ms.
  const { userInfo } = await import('node:os');
  // Not homedir(), which returns HOME, even if it is empty or relative. In many containers the user has no entry.
  return attempt(() => userInfo().homedir);
}

function isRunning(process: NodeJS.Process, id: number): boolean {
  try {
    // Signal 0 only checks (kill(2)).
    return process.kill(id, 0);
  } catch (error) {
    return errnoCode(error) === 'EPERM';
  }
}

/** Ends the process with an exit code; one that a signal stopped ends by that signal, as a shell expects. */
export function endProcess(
  process: NodeJS.Process,
  exitCode: number,
  { stdout, stderr }: Awaited<ReturnType<typeof hostFromProcess>>,
): void {
  const signal = signalNames.find((name) => stopSignals[name] === exitCode);
  if (signal !== undefined) {
    endBySignal(process, signal);
    return;
  }
  process.exitCode = exitCode;
  // Ending by itself takes Node 3 ms, and waits for open handles.
  if (stdout.isFlushed && stderr.isFlushed) process.exit();
}

function endBySignal(process: NodeJS.Process, signal: StopSignal): void {
  process.exitCode = stopSignals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  if (isInit(process)) process.exit();
}

const signalNames = Object.keys(stopSignals) as readonly StopSignal[];

/** Whether it is process 1 of a container, to which the kernel delivers only signals with a handler (kill(2)). */
function isInit({ pid }: NodeJS.Process): boolean {
  return pid === 1;
}

/** Ends the process at a stop signal that nothing else handles. */
function endBySignals(process: NodeJS.Process): void {
  for (const signal of signalNames) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(stopSignals[signal]);
    });
  }
}

function stopSignalsOf(process: NodeJS.Process) {
  const first = stopController();
  let second: AbortController | undefined;
  for (const signal of signalNames) {
    const stop = () => {
      const isFirst = !first.signal.aborted;
      (isFirst ? first : second)?.abort(new Stopped(signal));
      if (!isFirst) endSoon(process, signal);
      // The next signal has its default effect. Removed later, since another listener of this signal (Inquirer, which
      // restores the terminal) would take itself for the last one, and end the process now.
      if (!isFirst || second === undefined) setImmediate(() => process.off(signal, stop));
    };
    process.on(signal, stop);
  }
  const forceStop = () => {
    second ??= stopController();
    return second.signal;
  };
  const escalateStop = () => {
    const { reason } = first.signal;
    if (!(reason instanceof Stopped) || second?.signal.aborted) return;
    second?.abort(reason);
    endSoon(process, reason.signal);
  };
  return { signal: first.signal, forceStop, escalateStop };
}

/** Does not wait for what is still open, such as a pipe without a reader. */
function endSoon(process: NodeJS.Process, signal: StopSignal): void {
  setTimeout(() => endBySignal(process, signal), forceStopMs).unref();
}

/** Less than the second that docs/decisions.md, stops-1, allows after a second signal. */
const forceStopMs = 800;

function stopController(): AbortController {
  const controller = new AbortController();
  // Everything in progress listens.
  setMaxListeners(0, controller.signal);
  return controller;
}

function clockOf(process: NodeJS.Process): Clock {
  // Not `performance`, which takes 0.6 ms to load.
  const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
  const every = (ms: number, work: () => void) => {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  };
  return { now: () => Date.now(), monotonicMs, sleep: (ms, signal) => sleep(ms, signal, monotonicMs), every };
}

function sleep(ms: number, signal: AbortSignal, monotonicMs: () => number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const endAt = monotonicMs() + ms;
    let timer: NodeJS.Timeout;
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const wait = () => {
      const leftMs = Math.ceil(endAt - monotonicMs());
      if (leftMs > 0) {
        // A delay beyond 31 bits would fire at once, and a timer may fire a little early.
        timer = setTimeout(wait, Math.min(leftMs, 2 ** 31 - 1));
        return;
      }
      signal.removeEventListener('abort', stop);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    wait();
  });
}

/** The result of work; rejects with the signal's reason if it aborts first, and does not wait for the work. */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([stopped, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

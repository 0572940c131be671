/**
 * How the world comes in: one value made here for the real process, and from plain values by tests. Nothing
 * else reads `process`, so nothing else can end it, print past a full pipe, or wait for real time.
 */
import { setMaxListeners } from 'node:events';
import { isAbsolute } from 'node:path';
import type { Readable } from 'node:stream';
import { Stopped, type StopSignal, stopSignals } from './errors.ts';
import { lazily, type Output, outputTo, type ProcessOutput, type StdinKind, stdinKind } from './streams.ts';

export type { Output } from './streams.ts';

/** Time as the program sees it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since some point: for how long something took, whatever is done to the clock meanwhile. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds of monotonic time; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Does the work again and again, until the function that it gives is called. Keeps no process from ending. */
  every(ms: number, work: () => void): () => void;
}

/** A stream that gives bytes: stdin. */
export interface Input {
  readonly isTTY: boolean;
  /** Undefined for a pipe, a terminal, a device: what has to be read to know what is in it. */
  readonly kind?: StdinKind | undefined;
  readonly stream: Readable;
}

/** The processes of this machine, as locks need to know them. */
export interface Processes {
  /** The id of this one. */
  readonly own: number;
  /** Whether there is a process with this id. */
  isRunning(id: number): boolean;
}

/** The process, as the rest of the program may know it. */
export interface Host {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The directory that listctl was started in: an absolute path; empty where it is no longer there. */
  readonly cwd: string;
  /** Who runs listctl, as the system numbers users; undefined where it does not (Windows). */
  readonly uid: number | undefined;
  /**
   * The user's home directory in the passwd database, where HOME is no absolute path; undefined where the user has no
   * entry there.
   */
  readonly passwdHome: string | undefined;
  readonly processes: Processes;
  /** Ends a process and all of its group at once (SIGKILL). */
  killGroup(id: number): void;
  readonly clock: Clock;
  /** A number from 0 up to, not including, 1: for waits that differ from one client to the next. Holds no secret. */
  random(): number;
  /** Aborts, with a `Stopped` as its reason, when somebody asks listctl to stop. */
  readonly signal: AbortSignal;
  /**
   * Aborts when somebody asks a second time. Who never looks at it is ended by that at once; who does, by the third.
   */
  readonly forceStop: AbortSignal;
  /** As if somebody asked a second time: what was waited for long enough after the first. */
  escalateStop(): void;
}

/** The Host of the real process, which can end it. */
export interface ProcessHost extends Host {
  readonly stdout: ProcessOutput;
  readonly stderr: ProcessOutput;
}

/** The Host of the real process. Streams and signal handlers are made on first use: a start pays for neither. */
export async function hostFromProcess(process: NodeJS.Process): Promise<ProcessHost> {
  const env = { ...process.env };
  // A report of an uncaught exception (--report-uncaught-exception) holds the environment.
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
      return directoryOf(process);
    },
    get uid() {
      return process.geteuid?.();
    },
    passwdHome,
    processes: { own: process.pid, isRunning: (id) => isRunning(process, id) },
    killGroup: (id) => killGroup(process, id),
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
    get signal() {
      return stops().signal;
    },
    get forceStop() {
      return stops().forceStop();
    },
    escalateStop: () => stops().escalateStop(),
  };
}

function directoryOf(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    // Somebody removed it.
    return '';
  }
}

async function readPasswdHome(): Promise<string | undefined> {
  // Only here: it costs a start 1.5 ms.
  const { userInfo } = await import('node:os');
  try {
    // Not homedir(): that is HOME again, empty or relative as it may be.
    return userInfo().homedir;
  } catch {
    // A user without an entry, as in many containers.
    return undefined;
  }
}

function isRunning(process: NodeJS.Process, id: number): boolean {
  try {
    // Signal 0 asks, and sends nothing (kill(2)).
    return process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function killGroup(process: NodeJS.Process, id: number): void {
  try {
    process.kill(-id, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/**
 * Ends the process, once everything is written, with this status. A process that was told to stop ends by that
 * signal itself, as a shell expects.
 */
export function endProcess(process: NodeJS.Process, exitCode: number, host: ProcessHost): void {
  const signal = signalNames.find((name) => stopSignals[name] === exitCode);
  if (signal !== undefined) {
    endBySignal(process, signal);
    return;
  }
  process.exitCode = exitCode;
  // At once where nothing is lost by it: to let Node take itself apart costs 3 ms, and waits for what was left open.
  if (host.stdout.isFlushed && host.stderr.isFlushed) process.exit();
}

function endBySignal(process: NodeJS.Process, signal: StopSignal): void {
  process.exitCode = stopSignals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  if (isInit(process)) process.exit();
}

const signalNames = Object.keys(stopSignals) as readonly StopSignal[];

/** Whether it is the first process of a container, to which the kernel delivers no signal that is not handled (kill(2)). */
function isInit({ pid }: NodeJS.Process): boolean {
  return pid === 1;
}

/** Ends the process at a signal that nothing else handles. */
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
      // The next one has Node's own effect, and ends the process at once. Not sooner than in a turn: who else listens
      // to this one (Inquirer, with a terminal to restore) would take itself for the last, and end the process now.
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

/** Whatever still waits then, such as a pipe that nobody reads, is not waited for. */
function endSoon(process: NodeJS.Process, signal: StopSignal): void {
  setTimeout(() => endBySignal(process, signal), forceStopMs).unref();
}

/** How long a process takes at most after a second signal (stops-1: 1 s). */
const forceStopMs = 800;

function stopController(): AbortController {
  const controller = new AbortController();
  // Whatever is under way listens, however much that is.
  setMaxListeners(0, controller.signal);
  return controller;
}

function clockOf(process: NodeJS.Process): Clock {
  // Not `performance`: to load that takes a start 0.6 ms.
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
        // In parts: a delay beyond 32 bits would fire at once. And again at the end: a timer may fire a little early.
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

/** The work's result, or the signal's reason where that comes first; the work itself goes on, and is not waited for. */
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

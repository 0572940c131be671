/** Injects failures into system calls: `strace -e inject`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ended, Place, RunOptions } from './place.ts';

export type ErrorCode = 'ENOSPC' | 'EIO' | 'EINTR';

/** The n-th call of that name fails so, in each thread; with `goesOn` every later one too. */
export interface Injection {
  readonly call: string;
  readonly code: ErrorCode;
  readonly nth: number;
  readonly goesOn: boolean;
}

export interface TracedRun extends Ended {
  /** Every traced call, in the order in which they ended. */
  readonly calls: readonly TracedCall[];
}

export interface TracedCall {
  readonly call: string;
  /** Which call of that name in its thread, from 1. */
  readonly nth: number;
  readonly text: string;
  /** Whether it is about something below the place's directory. */
  readonly isInside: boolean;
  readonly isInjected: boolean;
  /** Its places in the order of all that was seen: calls of several threads overlap. */
  readonly beganAt: number;
  readonly endedAt: number;
}

/** The calls that are made to fail: what opens, writes, syncs and names files. Each architecture has some of them. */
const tortured = [
  ...['openat', 'write', 'writev', 'pwrite64', 'pwritev', 'fdatasync', 'fsync', 'ftruncate', 'flock'],
  ...['rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat', 'chmod', 'fchmodat'],
];

/** Whether calls can be made to fail here, by trying it; else why not. */
export function whyNoStrace(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'listctl-strace-'));
  const words = ['-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', '-e', 'inject=?mkdir,?mkdirat:error=EIO:when=1'];
  // strace ends with 1 where it cannot do its own work, so that the success of the failure needs another number.
  const script = ['sh', '-c', 'mkdir "$0" || exit 42', join(directory, 'a')];
  const { error, status } = spawnSync('strace', [...words, ...script]);
  rmSync(directory, { recursive: true });
  if (error !== undefined) return 'strace is not installed';
  return status === 42 ? undefined : 'strace may not trace here';
}

/**
 * Runs listctl under strace.
 *
 * @param log a file for the output of strace, outside the place
 * @param injection undefined for a look at what it calls
 */
export async function runTraced(
  place: Place,
  words: readonly string[],
  { log, injection, input }: { readonly log: string; readonly injection?: Injection } & Pick<RunOptions, 'input'>,
): Promise<TracedRun> {
  const file = join(log);
  const inject = injection === undefined ? [] : ['-e', injectionText(injection)];
  // A thread that is no main one writes to wake the others up, and dies where it cannot.
  const threads = injection?.call === 'write' ? [] : ['-f', '--seccomp-bpf'];
  const traced = ['-e', `trace=${tortured.map((call) => `?${call}`).join(',')}`];
  const wrapper = ['strace', ...threads, '-qq', '-y', '-s', '4096', '-o', file, ...traced, ...inject];
  // With one worker, its calls come in one order.
  const ended = await place.run(words, { input, wrapper, environment: { UV_THREADPOOL_SIZE: '1' } });
  return { ...ended, calls: callsIn(readFileSync(file, 'utf8'), place.root) };
}

export function injectionText({ call, code, nth, goesOn }: Injection): string {
  return `inject=${call}:error=${code}:when=${nth}${goesOn ? '+' : ''}`;
}

function callsIn(log: string, root: string): readonly TracedCall[] {
  const counts = new Map<string, number>();
  const begun = new Map<string, { readonly text: string; readonly at: number }>();
  const calls: TracedCall[] = [];
  for (const [at, line] of log.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+ +)?(.*)$/.exec(line) ?? [];
    const [, start] = /^(.*) <unfinished \.\.\.>$/.exec(rest) ?? [];
    if (start !== undefined) {
      begun.set(thread, { text: start, at });
      continue;
    }
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
    const before = end === undefined ? undefined : begun.get(thread);
    // The directory that it starts in is no file that it touches.
    const text = `${before?.text ?? ''}${end ?? rest}`.replaceAll(/AT_FDCWD<[^>]*>/g, 'AT_FDCWD');
    const [, call] = /^(\w+)\(/.exec(text) ?? [];
    if (call === undefined) continue;
    const nth = (counts.get(thread + call) ?? 0) + 1;
    counts.set(thread + call, nth);
    const isInjected = text.endsWith('(INJECTED)');
    calls.push({ call, nth, text, isInside: isAbout(root, text), isInjected, beganAt: before?.at ?? at, endedAt: at });
  }
  return calls;
}

/** Of a write only its destination is kept: the text may contain the name of a file. */
function isAbout(root: string, text: string): boolean {
  const [, written] = /^\w*write\w*\((.*?>)/.exec(text) ?? [];
  return (written ?? text).includes(`${root}/`);
}

/** Processes of a bench: one that is measured, and one that serves the others. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { listctlFile } from '../support/listctl.ts';

export interface Usage {
  readonly wallMs: number;
  /** User and system time of all its threads; undefined where the system has no /proc. */
  readonly cpuMs: number | undefined;
  readonly peakMiB: number | undefined;
  readonly said: string;
}

/** Looked at so often, the last time just before it ends. */
const lookMs = 10;
/** A tick of /proc/PID/stat (proc_pid_stat(5); sysconf(_SC_CLK_TCK) is 100 on every Linux). */
const tickMs = 10;

/** Runs a program to its end. Throws where that is not exit code 0. */
export async function measure(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Usage> {
  const startedAt = performance.now();
  const child = spawn(program, args, { env: { ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => {
    said += piece;
  });
  let last: Pick<Usage, 'cpuMs' | 'peakMiB'> = { cpuMs: undefined, peakMiB: undefined };
  const looking = setInterval(() => {
    last = lookAt(child.pid) ?? last;
  }, lookMs);
  const [code] = await once(child, 'close');
  clearInterval(looking);
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said}`);
  return { wallMs: performance.now() - startedAt, ...last, said };
}

function lookAt(pid: number | undefined): Pick<Usage, 'cpuMs' | 'peakMiB'> | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name, in parentheses: the fields from the third on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peak = /^VmHWM:\s+(?<kib>\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.groups?.['kib'];
    if (peak === undefined) return undefined;
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, peakMiB: Number(peak) / 1024 };
  } catch {
    // It has ended, or there is no /proc.
    return undefined;
  }
}

/** Starts a script that prints its address and ends with its stdin. */
export async function serving(node: string, script: string, args: readonly string[] = []) {
  const child: ChildProcess & { stdout: Readable } = spawn(node, [script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [url] = (await once(lines, 'line')) as [string];
  lines.close();
  return { url, [Symbol.dispose]: () => void child.stdin?.end() };
}

/** Runs clients in turns, and returns what each took in every round but the first, which warms up. */
export async function takeTurns(
  clients: readonly (readonly [name: string, run: () => Promise<Usage>])[],
  rounds: number,
): Promise<readonly Usage[][]> {
  const usages = clients.map((): Usage[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [at, [, run]] of clients.entries()) {
      const usage = await run();
      if (round >= 0) usages[at]?.push(usage);
    }
  }
  return usages;
}

/** The medians of rounds of so many rows or items each. */
export function figuresOf(usages: readonly Usage[], count: number) {
  const medianOf = (value: (usage: Usage) => number) => median(usages.map(value));
  return {
    perSecond: (count * 1000) / medianOf(({ wallMs }) => wallMs),
    cpuMicros: (medianOf(({ cpuMs = Number.NaN }) => cpuMs) * 1000) / count,
    peakMiB: medianOf(({ peakMiB = Number.NaN }) => peakMiB),
  };
}

/** Starts `listctl serve`, which ends with the block that holds it. */
export async function startServe(node: string, words: readonly string[], token: string) {
  const child: ChildProcess & { stdout: Readable } = spawn(
    node,
    [listctlFile, 'serve', '--port', '0', '-o', 'json', ...words],
    {
      env: { PATH: env['PATH'], LISTCTL_TOKEN: token },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  lines.close();
  return {
    url: JSON.parse(line).url as string,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Sends damaged inputs to one target and records the results. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { type SeededRandom, seededRandom } from '../support/seeded-random.ts';
import { mutated } from './mutate.ts';
import { type PeakMemory, peakMemory } from './peak-memory.ts';
import type { FuzzTarget, OpenTarget } from './target.ts';
import { startWatchdog } from './watchdog.ts';

/**
 * No single run may take longer, nor let the process grow by more. A second is one of the processor, which another
 * process cannot take from it, for each begun 64 KiB of input. What does not come back at all is killed after a minute.
 */
const limits = { runMs: 1000, perBytes: 65_536, growthBytes: 64 * 1024 * 1024, hangMs: 60_000 } as const;

export interface FuzzOptions {
  readonly seed: number;
  /** It ends with whichever comes first. */
  readonly runsMax?: number;
  readonly secondsMax?: number;
  /** The longest input, but for one in 64, which may be 16 times as long. */
  readonly bytesMax?: number;
  /** Where an input goes that is a finding, as `TARGET-HASH`; undefined where it is not kept. */
  readonly findings?: string;
}

/** An input that the target should have taken otherwise. */
export interface Finding {
  readonly bytes: Buffer;
  /** What it threw, how long it took, by how much the process grew. */
  readonly reason: string;
  readonly file: string | undefined;
}

export interface FuzzEnd {
  readonly runs: number;
  readonly tookMs: number;
  /** How long the slowest run took, of the processor's time. */
  readonly worstMs: number;
  /** How many ends there are, by their words. */
  readonly kinds: number;
  /** By how much the process grew at most. */
  readonly grownBytes: number;
  readonly findings: readonly Finding[];
}

export function corpusOf({ name }: FuzzTarget): readonly Buffer[] {
  const directory = join(import.meta.dirname, 'corpus', name);
  return readdirSync(directory)
    .sort()
    .map((file) => readFileSync(join(directory, file)));
}

/** Runs a target: first what is kept, then damages of it; what ends in a new way is damaged further. */
export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzEnd> {
  const directory = mkdtempSync(join(tmpdir(), 'listctl-fuzz-'));
  const open = await target.open(directory);
  const memory = peakMemory();
  try {
    return await new Loop(target, { ...options, open, memory }).run();
  } finally {
    memory.close();
    await open.close?.();
    rmSync(directory, { recursive: true, force: true });
  }
}

class Loop {
  readonly #target: FuzzTarget;
  readonly #open: OpenTarget;
  readonly #memory: PeakMemory;
  readonly #options: FuzzOptions;
  readonly #random: SeededRandom;
  readonly #pool: Buffer[];
  readonly #kinds = new Set<string>();
  readonly #findings = new Map<string, Finding>();
  #runs = 0;
  #worstMs = 0;

  constructor(target: FuzzTarget, options: FuzzOptions & { readonly open: OpenTarget; readonly memory: PeakMemory }) {
    this.#target = target;
    this.#open = options.open;
    this.#memory = options.memory;
    this.#options = options;
    this.#random = seededRandom(options.seed).branch(target.name);
    this.#pool = [...corpusOf(target)];
  }

  async run(): Promise<FuzzEnd> {
    const { runsMax = Number.POSITIVE_INFINITY, secondsMax = Number.POSITIVE_INFINITY } = this.#options;
    const watchdog = startWatchdog(join(tmpdir(), `listctl-fuzz-${this.#target.name}-hang`), limits.hangMs);
    const startedAtMs = performance.now();
    const kept = [...this.#pool];
    // What is loaded late has been loaded by then.
    for (const bytes of kept) await this.#once(bytes, watchdog);
    const before = this.#memory.bytes();
    while (this.#runs < runsMax && performance.now() - startedAtMs < secondsMax * 1000) {
      await this.#once(this.#next(), watchdog);
    }
    await watchdog.stop();
    return {
      runs: this.#runs,
      tookMs: performance.now() - startedAtMs,
      worstMs: this.#worstMs,
      kinds: this.#kinds.size,
      grownBytes: this.#memory.bytes() - before,
      findings: [...this.#findings.values()],
    };
  }

  #next(): Buffer {
    const { words, fix } = this.#target;
    const { bytesMax = 16_384 } = this.#options;
    const random = this.#random;
    const isLong = random.whole(64) === 0;
    const input = this.#pool[random.whole(this.#pool.length)] ?? Buffer.alloc(0);
    const bytes = mutated(input, { random, pool: this.#pool, words, bytesMax: isLong ? bytesMax * 16 : bytesMax });
    return fix === undefined || random.whole(4) === 0 ? bytes : fix(bytes, random);
  }

  async #once(bytes: Buffer, watchdog: { begin(bytes: Buffer): void; end(): void }): Promise<void> {
    const before = this.#memory.bytes();
    watchdog.begin(bytes);
    const { words, error, busyMs } = await timed(this.#open, bytes);
    watchdog.end();
    this.#runs += 1;
    const grownBytes = this.#memory.bytes() - before;
    if (error !== undefined) this.#found(bytes, reasonOf(error));
    else this.#note(words, bytes);
    if (grownBytes > limits.growthBytes) this.#found(bytes, `it grew by ${Math.round(grownBytes / 1024 / 1024)} MiB`);
    const leastMs = isSlow(bytes, busyMs) ? await this.#again(bytes, busyMs) : busyMs;
    this.#worstMs = Math.max(this.#worstMs, leastMs);
    if (isSlow(bytes, leastMs)) this.#found(bytes, `it took ${Math.round(leastMs)} ms`);
  }

  /** The shortest of three: the first may have had to wait for what is loaded late. */
  async #again(bytes: Buffer, firstMs: number): Promise<number> {
    const [second, third] = [await timed(this.#open, bytes), await timed(this.#open, bytes)];
    return Math.min(firstMs, second.busyMs, third.busyMs);
  }

  /** Keeps what ended in words that were not seen before: more may be found behind it. */
  #note(words: string, bytes: Buffer): void {
    const kind = words
      .replace(/\d+/g, '0')
      .replace(/"(?:[^"\\]|\\.)*"/g, '""')
      .slice(0, 120);
    if (this.#kinds.has(kind) || this.#kinds.size >= 2000) return;
    this.#kinds.add(kind);
    // Short ones: of long ones it would come to have nothing else.
    if (bytes.length <= 4096) this.#pool.push(bytes);
  }

  #found(bytes: Buffer, reason: string): void {
    const kind = reason.replace(/\d+/g, '0').slice(0, 200);
    if (this.#findings.has(kind) || this.#findings.size >= 20) return;
    this.#findings.set(kind, { bytes, reason, file: this.#kept(bytes) });
  }

  #kept(bytes: Buffer): string | undefined {
    const { findings } = this.#options;
    if (findings === undefined) return undefined;
    mkdirSync(findings, { recursive: true });
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
    const file = join(findings, `${this.#target.name}-${hash}`);
    writeFileSync(file, bytes);
    return file;
  }
}

function isSlow({ length }: Buffer, busyMs: number): boolean {
  return busyMs > limits.runMs * Math.ceil((length + 1) / limits.perBytes);
}

interface Timed {
  readonly words: string;
  /** Of the processor's time. */
  readonly busyMs: number;
  readonly error?: unknown;
}

async function timed(open: OpenTarget, bytes: Buffer): Promise<Timed> {
  const started = process.cpuUsage();
  const busyMs = () => {
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000;
  };
  try {
    return { words: await open.run(bytes), busyMs: busyMs() };
  } catch (error) {
    return { words: '', busyMs: busyMs(), error: error ?? new Error('nothing was thrown') };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const [, at = ''] = error.stack?.match(/\n\s+at (.*)/) ?? [];
  return `${error.name}: ${error.message.slice(0, 200)} (${at})`;
}

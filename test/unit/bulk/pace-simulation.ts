/** Services that exist in numbers alone, and a run over them: hours of it in a moment, and the same each time. */
import { Pace } from '../../../src/bulk/pace.ts';

/** What a simulated service does with a request, decided when it comes in. */
export interface Reply {
  /** How long the answer takes. */
  readonly ms: number;
  /** Set where it is throttled: the Retry-After, without jitter; 'unsaid' for none. */
  readonly retryAfterMs?: number | 'unsaid';
  /** Whether nothing answers. */
  readonly isLost?: boolean;
  /** The client's budget. */
  readonly budget?: { readonly remaining: number; readonly resetMs: number };
}

/**
 * A service: given the time, the number of requests in flight including this one, and a source of numbers from
 * 0 up to 1.
 */
export type Service = (nowMs: number, inside: number, random: () => number) => Reply;

/** What a simulated run is like. */
export interface RunOptions {
  readonly service: Service;
  readonly untilMs: number;
  /** How many rows there are; without it there are always some left. One that is throttled waits, and is sent again. */
  readonly rows?: number;
  readonly limitMax?: number;
  readonly ratePerSecond?: number;
  readonly startPerSecond?: number;
  readonly maxWaitMs?: number;
  /** The time our own process needs for a row, one row at a time; given the number of rows in flight. */
  readonly ownMs?: (underWay: number, random: () => number) => number;
  readonly seed?: number;
  /** Sends at this concurrency instead of asking a pace. */
  readonly fixed?: number;
}

/** What came of it. Times in milliseconds from the start. */
export interface RunResult {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly throttles: readonly number[];
  readonly losses: readonly number[];
  /** The limit, each time that it changed. */
  readonly limits: readonly { readonly atMs: number; readonly limit: number }[];
  readonly underWayMax: number;
  readonly pace: Pace;
  readonly endedMs: number;
}

/** A source of numbers that is the same each time (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Runs until the time is over, the pace gave up, or every row is done. */
export function simulate(options: RunOptions): RunResult {
  const run = new Run(options);
  return run.run();
}

interface UnderWay {
  readonly atMs: number;
  readonly stamp: number;
  readonly reply: Reply;
}

class Run {
  readonly #options: RunOptions;
  readonly #random: () => number;
  readonly #pace: Pace;
  readonly #heap: UnderWay[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #throttles: number[] = [];
  readonly #losses: number[] = [];
  readonly #limits: { readonly atMs: number; readonly limit: number }[] = [];
  /** When each row that was throttled may be sent again, the soonest first. */
  readonly #waiting: number[] = [];
  #unsent: number;
  #nowMs = 0;
  #underWayMax = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = numbersFrom(options.seed ?? 1);
    this.#unsent = options.rows ?? Number.POSITIVE_INFINITY;
    const { limitMax = 64, maxWaitMs = 900_000, ratePerSecond, startPerSecond } = options;
    this.#pace = new Pace({ limitMax, maxWaitMs, ratePerSecond, startPerSecond }, this.#random);
  }

  run(): RunResult {
    const { untilMs, rows = Number.POSITIVE_INFINITY } = this.#options;
    while (this.#nowMs < untilMs && this.#ends.length < rows && this.#pace.outage !== 'gave-up') {
      const waitMs = this.#startAll();
      const next = this.#heap[0];
      // A timer of Node: whole milliseconds, at least one, and some lateness.
      const wakeMs = this.#nowMs + Math.max(1, Math.ceil(waitMs)) + this.#random() * 0.5;
      if (next !== undefined && next.atMs <= wakeMs) this.#end(next);
      else if (Number.isFinite(wakeMs)) this.#nowMs = wakeMs;
      else throw new Error('the run stands still');
    }
    return {
      starts: this.#starts,
      ends: this.#ends,
      throttles: this.#throttles,
      losses: this.#losses,
      limits: this.#limits,
      underWayMax: this.#underWayMax,
      pace: this.#pace,
      endedMs: this.#nowMs,
    };
  }

  #startAll(): number {
    const { fixed, service, ownMs = () => 0.02 } = this.#options;
    for (;;) {
      const limit = fixed ?? this.#pace.limit;
      if (limit !== this.#limits.at(-1)?.limit) this.#limits.push({ atMs: this.#nowMs, limit });
      if (this.#heap.length >= limit) return Number.POSITIVE_INFINITY;
      const waitMs = fixed === undefined ? this.#pace.waitMs(this.#nowMs) : 0;
      if (waitMs > 0) return waitMs;
      const rowMs = this.#takeRow();
      if (rowMs > 0) return rowMs;
      const reply = service(this.#nowMs, this.#heap.length + 1, this.#random);
      const stamp = fixed === undefined ? this.#pace.started(this.#nowMs) : 0;
      this.#starts.push(this.#nowMs);
      push(this.#heap, { atMs: this.#nowMs + reply.ms, stamp, reply });
      this.#underWayMax = Math.max(this.#underWayMax, this.#heap.length);
      this.#nowMs += ownMs(this.#heap.length, this.#random);
    }
  }

  /** Takes a row to send, a waiting one before a new one; returns how long to wait if there is none. */
  #takeRow(): number {
    const waitMs = (this.#waiting[0] ?? Number.POSITIVE_INFINITY) - this.#nowMs;
    if (waitMs > 0 && this.#unsent === 0) return waitMs;
    if (waitMs > 0) this.#unsent -= 1;
    else this.#waiting.shift();
    return 0;
  }

  #end({ atMs, stamp, reply: { isLost, retryAfterMs, budget } }: UnderWay): void {
    pop(this.#heap);
    this.#nowMs = Math.max(this.#nowMs, atMs);
    const end = isLost === true ? 'no-response' : retryAfterMs === undefined ? 'accepted' : 'throttled';
    const list = { 'no-response': this.#losses, accepted: this.#ends, throttled: this.#throttles }[end];
    list.push(this.#nowMs);
    if (this.#options.fixed !== undefined) return;
    const askedMs =
      typeof retryAfterMs === 'number'
        ? Math.ceil(retryAfterMs + this.#random() * Math.min(retryAfterMs / 10, 1000))
        : undefined;
    this.#pace.ended(stamp, end, this.#nowMs, askedMs, budget);
    if (end === 'accepted' || this.#options.rows === undefined) return;
    this.#waiting.push(this.#nowMs + (askedMs ?? 1000 * this.#random()));
    this.#waiting.sort((one, other) => one - other);
  }
}

function push(heap: UnderWay[], entry: UnderWay): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up];
    if (parent === undefined || parent.atMs <= entry.atMs) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = entry;
}

function pop(heap: UnderWay[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = left + 1;
    const child = (heap[right]?.atMs ?? Number.POSITIVE_INFINITY) < (heap[left]?.atMs ?? 0) ? right : left;
    const entry = heap[child];
    if (entry === undefined || entry.atMs >= last.atMs) break;
    heap[at] = entry;
    at = child;
  }
  heap[at] = last;
}

/** Answers each request after the same time, give or take a part of it. */
export function steady(ms: number, spread = 0): Service {
  return (_, __, random) => ({ ms: ms * (1 + spread * (2 * random() - 1)) });
}

/** Answers the later the more requests are in it. */
export function slowerWithLoad(ms: number, half: number): Service {
  return (_, inside) => ({ ms: ms * (1 + inside / half) });
}

/** A token bucket that fills at a rate; a request that finds it empty is throttled. */
export function tokenBucket(perSecond: number, size: number, retryAfterMs: number | 'unsaid', inner: Service): Service {
  let tokens = size;
  let atMs = 0;
  return (nowMs, inside, random) => {
    tokens = Math.min(size, tokens + ((nowMs - atMs) * perSecond) / 1000);
    atMs = nowMs;
    const reply = inner(nowMs, inside, random);
    if (tokens < 1) return { ...reply, retryAfterMs };
    tokens -= 1;
    return reply;
  };
}

/** A fixed number of requests per time window; the others are sent to the next window, in whole seconds. */
export function fixedWindow(most: number, windowMs: number, inner: Service): Service {
  let window = 0;
  let count = 0;
  return (nowMs, inside, random) => {
    const current = Math.floor(nowMs / windowMs);
    if (current !== window) count = 0;
    window = current;
    count += 1;
    const reply = inner(nowMs, inside, random);
    if (count <= most) return reply;
    return { ...reply, retryAfterMs: Math.max(1000, Math.ceil(((current + 1) * windowMs - nowMs) / 1000) * 1000) };
  };
}

/**
 * Resource units of Microsoft Graph: `most` in each minute, of which others spend `others` within its first `othersMs`, and
 * each request of ours `cost`. From 80 % on, responses have what is left; a client that has spent all waits for the next minute.
 */
export function resourceUnits(
  most: number,
  { others, othersMs }: { readonly others: number; readonly othersMs: number },
  cost: number,
  inner: Service,
): Service {
  let minute = 0;
  let own = 0;
  return (nowMs, inside, random) => {
    const current = Math.floor(nowMs / 60_000);
    if (current !== minute) own = 0;
    minute = current;
    const resetMs = Math.ceil(((current + 1) * 60_000 - nowMs) / 1000) * 1000;
    const used = own + others * Math.min(1, (nowMs % 60_000) / othersMs);
    const reply = inner(nowMs, inside, random);
    const headers = (left: number) => (left <= 0.2 * most ? { budget: { remaining: Math.floor(left), resetMs } } : {});
    if (used + cost > most) return { ...reply, retryAfterMs: resetMs, ...headers(most - used) };
    own += cost;
    return { ...reply, ...headers(most - used - cost) };
  };
}

/** A maximum of concurrent requests; the others are throttled at once. */
export function atMost(most: number, retryAfterMs: number, inner: Service): Service {
  const busyUntilMs: number[] = [];
  return (nowMs, inside, random) => {
    const busy = busyUntilMs.filter((endMs) => endMs > nowMs);
    busyUntilMs.splice(0, busyUntilMs.length, ...busy);
    if (busy.length >= most) return { ms: 1, retryAfterMs };
    const reply = inner(nowMs, inside, random);
    busyUntilMs.push(nowMs + reply.ms);
    return reply;
  };
}

/** Throttles a share of the requests, whatever their rate. */
export function withStrays(share: number, retryAfterMs: number, inner: Service): Service {
  return (nowMs, inside, random) => {
    const reply = inner(nowMs, inside, random);
    return reply.retryAfterMs === undefined && random() < share ? { ...reply, retryAfterMs } : reply;
  };
}

import { setMaxListeners } from 'node:events';
import { type AttemptLimits, defaultPhases, type TransportError } from './transport.ts';

/**
 * The time limits of a transport's attempts, in real time. One timer and one signal listener serve all of them: separate
 * ones cost a fifth of a request. The timer is unreferenced, since the socket of an attempt keeps the process alive.
 */
export class AttemptDeadlines {
  /** Not a Set: each table that a growing Set replaces keeps its attempts from being collected early. */
  readonly #attempts: (AttemptDeadline | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  /** @param nowMs monotonic time in milliseconds */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Starts the limits of one attempt. Calls `fail` once, for the first one exceeded, or when the signal aborts. */
  start(limits: AttemptLimits, fail: (error: TransportError) => void): AttemptDeadline {
    const index = this.#free.pop() ?? this.#attempts.length;
    const attempt = new AttemptDeadline(limits, fail, this, index);
    this.#attempts[index] = attempt;
    this.#listen(limits.signal);
    this.schedule(attempt.nextMs);
    return attempt;
  }

  /** Checks the limits at this time at the latest. */
  schedule(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timerAtMs = atMs;
    clearTimeout(this.#timer);
    // Node 21 and later warn about a negative delay.
    const delayMs = Math.max(0, Math.min(atMs - this.#nowMs(), 2 ** 31 - 1));
    this.#timer = setTimeout(() => this.#check(), delayMs).unref();
  }

  now(): number {
    return this.#nowMs();
  }

  remove(attempt: AttemptDeadline): void {
    if (this.#attempts[attempt.index] !== attempt) return;
    this.#attempts[attempt.index] = undefined;
    this.#free.push(attempt.index);
  }

  /** After a suspension, responses may be waiting in the sockets, which are read before immediates run. */
  #check(): void {
    const nowMs = this.#nowMs();
    setImmediate(() => this.#failLate(nowMs));
  }

  #failLate(nowMs: number): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    for (const attempt of [...this.#attempts]) {
      if (attempt === undefined) continue;
      const error = attempt.errorAt(nowMs);
      if (error === undefined) this.schedule(attempt.nextMs);
      else attempt.fail(error);
    }
  }

  #listen(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    // Node warns about more than ten listeners; each transport adds one.
    setMaxListeners(0, signal);
    const stop = () => {
      for (const attempt of [...this.#attempts]) {
        if (attempt?.signal === signal) attempt.fail({ kind: 'stopped', reason: 'stopped', cause: signal.reason });
      }
    };
    signal.addEventListener('abort', stop, { once: true });
  }
}

/** The limits of one attempt: as a whole, for the response headers, and between two chunks of the body. */
export class AttemptDeadline {
  readonly signal: AbortSignal;
  readonly index: number;
  readonly #timeoutMs: number;
  readonly #phases: ReturnType<typeof defaultPhases>;
  readonly #fail: (error: TransportError) => void;
  readonly #deadlines: AttemptDeadlines;
  readonly #endAtMs: number;
  #headersAtMs = Number.POSITIVE_INFINITY;
  #chunkAtMs = Number.POSITIVE_INFINITY;

  constructor(
    { signal, timeoutMs, phases = defaultPhases(timeoutMs) }: AttemptLimits,
    fail: (error: TransportError) => void,
    deadlines: AttemptDeadlines,
    index: number,
  ) {
    this.signal = signal;
    this.index = index;
    this.#timeoutMs = timeoutMs;
    this.#phases = phases;
    this.#fail = fail;
    this.#deadlines = deadlines;
    this.#endAtMs = deadlines.now() + timeoutMs;
  }

  /** Call when the first byte of the request is written. */
  written(): void {
    const { headersMs } = this.#phases;
    if (headersMs >= this.#timeoutMs) return;
    this.#headersAtMs = this.#deadlines.now() + headersMs;
    this.#deadlines.schedule(this.#headersAtMs);
  }

  /** Call for the response headers and for each chunk of the body. */
  received(): void {
    const { idleMs } = this.#phases;
    this.#headersAtMs = Number.POSITIVE_INFINITY;
    if (idleMs >= this.#timeoutMs) return;
    this.#chunkAtMs = this.#deadlines.now() + idleMs;
    this.#deadlines.schedule(this.#chunkAtMs);
  }

  end(): void {
    this.#deadlines.remove(this);
  }

  get nextMs(): number {
    return Math.min(this.#endAtMs, this.#headersAtMs, this.#chunkAtMs);
  }

  errorAt(nowMs: number): TransportError | undefined {
    const { headersMs, idleMs } = this.#phases;
    if (nowMs >= this.#chunkAtMs) return timeoutError('the response stalled: no data', idleMs);
    if (nowMs >= this.#headersAtMs) return timeoutError('no response', headersMs);
    return nowMs >= this.#endAtMs ? timeoutError('no complete response', this.#timeoutMs) : undefined;
  }

  fail(error: TransportError): void {
    this.end();
    this.#fail(error);
  }
}

function timeoutError(problem: string, ms: number): TransportError {
  return { kind: 'timeout', reason: `${problem} within ${ms / 1000} s` };
}

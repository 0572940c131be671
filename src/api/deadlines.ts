import { setMaxListeners } from 'node:events';
import { type AttemptLimits, defaultPhases, type PhaseLimits, type TransportError } from './transport.ts';

/** Ends one attempt that takes too long, or that is not wanted any more. */
export interface AttemptWatch {
  /** The request begins to be written: from here on an answer is waited for. */
  written(): void;
  /** The headers of the answer, or a piece of its body, have come. */
  received(): void;
  /** The attempt has ended: nothing is watched any more. */
  end(): void;
}

/**
 * Watches the attempts of one transport: the whole of each, the time to its headers, each pause in its body, and its
 * signal. All of it is real time: a body that drips may keep each pause short, but not the whole.
 *
 * One timer and one listener serve all of them, since three timers and a listener for each cost as much as a fifth of
 * sending one. The timer holds no process: an attempt has a socket, or one on its way, that does.
 */
export class AttemptWatches {
  /** Not a Set: each table that one outgrows keeps the attempts in it from being collected early. */
  readonly #watched: (WatchedAttempt | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #heard = new WeakSet<AbortSignal>();
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;

  /** @param nowMs milliseconds of monotonic time */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Begins to watch one attempt. `fail` is called once, with the first limit exceeded. */
  watch(limits: AttemptLimits, fail: (fault: TransportError) => void): AttemptWatch {
    const place = this.#free.pop() ?? this.#watched.length;
    const watched = new WatchedAttempt(limits, fail, this, place);
    this.#watched[place] = watched;
    this.#hear(limits.signal);
    this.due(watched.begin(this.#nowMs()));
    return watched;
  }

  /** Sees to it that the limits are looked at when this moment has come. */
  due(atMs: number): void {
    // Mostly the one before is sooner: limits are as long for each attempt, and this one began later.
    if (atMs >= this.#dueAtMs) return;
    this.#dueAtMs = atMs;
    clearTimeout(this.#timer);
    // A moment that passes meanwhile is no negative delay, of which Node 21 and later would warn on stderr.
    const delayMs = Math.max(0, Math.min(atMs - this.#nowMs(), 2 ** 31 - 1));
    this.#timer = setTimeout(() => this.#look(), delayMs).unref();
  }

  now(): number {
    return this.#nowMs();
  }

  forget(watched: WatchedAttempt): void {
    if (this.#watched[watched.place] !== watched) return;
    this.#watched[watched.place] = undefined;
    this.#free.push(watched.place);
  }

  /** A process that was stopped, or asleep, finds responses in its sockets: they are read before anything is late. */
  #look(): void {
    const nowMs = this.#nowMs();
    // Timers come before sockets in a turn of the event loop, and immediates after both.
    setImmediate(() => this.#failLate(nowMs));
  }

  #failLate(nowMs: number): void {
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    for (const watched of [...this.#watched]) {
      if (watched === undefined) continue;
      const fault = watched.faultAt(nowMs);
      if (fault === undefined) this.due(watched.dueAtMs());
      else watched.fail(fault);
    }
  }

  #hear(signal: AbortSignal): void {
    if (this.#heard.has(signal)) return;
    this.#heard.add(signal);
    // However many transports listen: Node would take more than ten for a leak, and say so.
    setMaxListeners(0, signal);
    const stop = () => {
      for (const watched of [...this.#watched]) {
        if (watched?.signal === signal) watched.fail({ kind: 'stopped', reason: 'stopped', cause: signal.reason });
      }
    };
    signal.addEventListener('abort', stop, { once: true });
  }
}

/** One attempt: the moments by which its parts must have come. */
class WatchedAttempt implements AttemptWatch {
  readonly signal: AbortSignal;
  readonly place: number;
  readonly #limits: AttemptLimits;
  readonly #phases: PhaseLimits;
  readonly #fail: (fault: TransportError) => void;
  readonly #watches: AttemptWatches;
  #wholeAtMs = 0;
  #headersAtMs = Number.POSITIVE_INFINITY;
  #pieceAtMs = Number.POSITIVE_INFINITY;

  constructor(limits: AttemptLimits, fail: (fault: TransportError) => void, watches: AttemptWatches, place: number) {
    this.signal = limits.signal;
    this.place = place;
    this.#limits = limits;
    this.#phases = limits.phases ?? defaultPhases(limits.timeoutMs);
    this.#fail = fail;
    this.#watches = watches;
  }

  begin(nowMs: number): number {
    this.#wholeAtMs = nowMs + this.#limits.timeoutMs;
    return this.#wholeAtMs;
  }

  written(): void {
    const { timeoutMs } = this.#limits;
    const { headersMs } = this.#phases;
    if (headersMs >= timeoutMs) return;
    this.#headersAtMs = this.#watches.now() + headersMs;
    this.#watches.due(this.#headersAtMs);
  }

  received(): void {
    const { timeoutMs } = this.#limits;
    const { idleMs } = this.#phases;
    this.#headersAtMs = Number.POSITIVE_INFINITY;
    if (idleMs >= timeoutMs) return;
    this.#pieceAtMs = this.#watches.now() + idleMs;
    this.#watches.due(this.#pieceAtMs);
  }

  end(): void {
    this.#watches.forget(this);
  }

  dueAtMs(): number {
    return Math.min(this.#wholeAtMs, this.#headersAtMs, this.#pieceAtMs);
  }

  faultAt(nowMs: number): TransportError | undefined {
    const { timeoutMs } = this.#limits;
    const { headersMs, idleMs } = this.#phases;
    if (nowMs >= this.#pieceAtMs) return late('the response stalled: no data', idleMs);
    if (nowMs >= this.#headersAtMs) return late('no response', headersMs);
    return nowMs >= this.#wholeAtMs ? late('no complete response', timeoutMs) : undefined;
  }

  fail(fault: TransportError): void {
    this.end();
    this.#fail(fault);
  }
}

function late(what: string, ms: number): TransportError {
  return { kind: 'timeout', reason: `${what} within ${ms / 1000} s` };
}

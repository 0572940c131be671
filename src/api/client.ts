/** Sends requests with retries, and determines their outcome. */
import type { Clock } from '../core/host.ts';
import { type AttemptContext, type AttemptOptions, Attempts, type RequestAttempts, repeat } from './attempts.ts';
import type { Operation } from './operation.ts';
import { parseHttpDate, parseSeconds } from './outcome.ts';
import { type AttemptLimits, isRead, type ResponseHead, type Transport } from './transport.ts';

/** The time of the service, from the `Date` of its responses. */
class ServiceClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #date = '';
  #dateMs = 0;
  #receivedAtMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A cached response is as old as its `Age` (RFC 9111, section 5.1). */
  update({ headers: { date = '', age = '' } }: ResponseHead): void {
    if (date === this.#date) return;
    const ms = parseHttpDate(date);
    if (ms === undefined) return;
    this.#date = date;
    this.#dateMs = ms + (parseSeconds(age) ?? 0);
    this.#receivedAtMs = this.#clock.monotonicMs();
  }

  now(): number | undefined {
    return this.#date === '' ? undefined : this.#dateMs + this.#clock.monotonicMs() - this.#receivedAtMs;
  }
}

export interface Client {
  /** The base URL for messages, without user info or query. */
  readonly address: string;
  readonly hide: (text: string) => string;
  /**
   * Sends a request, with retries where they are safe, and returns the result of `read`. The outcome is that of the
   * worst attempt, unless a later one proves it: a DELETE of unknown outcome was applied if the next attempt gets 404
   * (outcomes-4). A stop ends reads and waits at once, and a sent write soon (stops-2).
   *
   * @throws {Failure} in-doubt, if a write may have been applied; else by the outcome
   */
  send<T>(operation: Operation<T>): Promise<T>;
  /** The same, one attempt at a time, for callers with their own retry logic. */
  startAttempts<T>(operation: Operation<T>): RequestAttempts<T>;
  /** The time of the service in milliseconds since the Unix epoch; undefined before the first response. */
  serviceMs(): number | undefined;
}

export interface ClientOptions extends AttemptLimits, AttemptOptions {
  /** The wait for the response to a write after a stop (default `stopGraceMs`; stops-2). */
  readonly stopGraceMs?: number;
  /** Ends that wait at once; called when a write is sent. */
  readonly forceStop?: () => AbortSignal;
}

/** The time that a command waits for the response to a write that was sent before a stop. */
export const stopGraceMs = 2000;

export function createClient(transport: Transport, options: ClientOptions): Client {
  const { timeoutMs, phases, signal, stopGraceMs: graceMs = stopGraceMs, forceStop } = options;
  const writeSignal = graceMs === 0 ? () => signal : delaySignal(signal, graceMs, forceStop);
  const sendOnce: AttemptContext['send'] = (request, isFresh) => {
    const isReading = isRead(request.method);
    if (!isReading) options.countWrite?.(1);
    const until = isReading ? signal : writeSignal();
    return transport.send(request, { timeoutMs, signal: until, isFresh, phases });
  };
  const service = new ServiceClock(options.clock);
  const shared = { transport, send: sendOnce, service, options };
  const startAttempts = <T>(operation: Operation<T>) => new Attempts(operation, shared);
  const send = async <T>(operation: Operation<T>) => runAttempts(startAttempts(operation), options);
  const { address, hide } = transport;
  return { address, hide, startAttempts, send, serviceMs: () => service.now() };
}

async function runAttempts<T>(attempts: Attempts<T>, options: ClientOptions): Promise<T> {
  const { signal } = options;
  signal.throwIfAborted();
  const result = await repeat(attempts, options);
  if (result.isDone) return result.value;
  const settled = attempts.isInDoubt && !signal.aborted ? await attempts.settle?.() : undefined;
  if (settled?.isDone) return settled.value;
  throw (settled ?? result).failure();
}

/** Returns a function that creates, once, a signal that aborts some time after another one, or with `forceStop`. */
function delaySignal(signal: AbortSignal, graceMs: number, forceStop?: () => AbortSignal): () => AbortSignal {
  let delayed: AbortController | undefined;
  return () => {
    if (delayed) return delayed.signal;
    const controller = new AbortController();
    delayed = controller;
    const wait = () => {
      setTimeout(() => controller.abort(signal.reason), graceMs).unref();
    };
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait);
    forceStop?.().addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    return controller.signal;
  };
}

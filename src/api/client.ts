/** Sends requests with retries, and determines their outcome. */
import type { Outcome } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import { type Doubt, inDoubt, type Purpose, toFailure, tooLongToWait, unusableResponse } from './failures.ts';
import {
  delayMs,
  type FailureScope,
  isDoubtful,
  isRetryable,
  isThrottled,
  keyWindowMs,
  parseHttpDate,
  parseSeconds,
  type RetryPolicy,
  retryAfterMs,
  type ServiceSignal,
  toFailureScope,
  toOutcome,
  toServiceSignal,
} from './outcome.ts';
import { decodeAttempt, ForeignResponse, isHtml, isJson, isUncompressed } from './response.ts';
import {
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  isRead,
  type Method,
  type ResponseHead,
  type ServiceResponse,
  type Transport,
} from './transport.ts';
import type { WriteCheck } from './verify-write.ts';

/** The time of the service, from the `Date` of its responses. */
class ServiceClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #said = '';
  #saidMs = 0;
  #heardAtMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A cached response is as old as its `Age` (RFC 9111, section 5.1). */
  hear({ headers: { date = '', age = '' } }: ResponseHead): void {
    if (date === this.#said) return;
    const ms = parseHttpDate(date);
    if (ms === undefined) return;
    this.#said = date;
    this.#saidMs = ms + (parseSeconds(age) ?? 0);
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Milliseconds since the Unix epoch; undefined before the first `Date`. */
  now(): number | undefined {
    return this.#said === '' ? undefined : this.#saidMs + this.#clock.monotonicMs() - this.#heardAtMs;
  }
}

export interface Client {
  /** The base URL for messages, without user info or query. */
  readonly address: string;
  /** Removes the token, which a response may have repeated, from a string. */
  readonly hide: (text: string) => string;
  /**
   * Sends a request, with retries where they are safe, and returns what `read` returns for its 2xx response.
   *
   * The result is that of the worst attempt, unless a later one proves it: an unknown DELETE followed by 404 was applied,
   * an unknown PATCH that is then refused may have been. A stop ends reads and waits at once; a write that was sent is
   * given a moment for its response (stops-2).
   *
   * @throws {Failure} in-doubt, where a write may or may not have happened; else by the outcome
   */
  send<T>(operation: Operation<T>): Promise<T>;
  /** The same, one attempt at a time, for callers with their own retry logic. Sends nothing yet. */
  startAttempts<T>(operation: Operation<T>): RequestAttempts<T>;
  /** The time of the service in milliseconds since the Unix epoch; undefined before the first response. */
  serviceMs(): number | undefined;
}

export interface Operation<T> {
  readonly request: ApiRequest;
  /** For messages. */
  readonly purpose: () => Purpose;
  /** Throws a SyntaxError, with the reason for the message, if the response is unusable. */
  readonly read: (response: ServiceResponse) => T;
  /** A read that may prove whether a write of unknown outcome was applied. */
  readonly check?: (() => WriteCheck<T>) | undefined;
  /** How long ago an earlier process may have sent the same request without learning its outcome. */
  readonly sentMsAgo?: number | undefined;
}

export interface RequestAttempts<T> {
  /** Sends the request once more. Never rejects. Not to be called after the outcome is known. */
  attempt(): Promise<AttemptResult<T>>;
}

export type AttemptResult<T> = Done<T> | NotDone;

export interface Done<T> extends AttemptInfo {
  readonly isDone: true;
  readonly value: T;
}

export interface NotDone extends AttemptInfo {
  readonly isDone: false;
  /** The wait before the next attempt in milliseconds; undefined if the request must not be retried. */
  readonly waitMs: number | undefined;
  /** The wait is the service's Retry-After. */
  readonly isRetryAfter: boolean;
  readonly scope: FailureScope;
  /** The error if there is no further attempt: a `Failure`, or the reason of the stop. */
  readonly failure: () => unknown;
}

export interface AttemptInfo {
  readonly outcome: Outcome;
  readonly service: ServiceSignal;
  readonly tookMs: number;
}

export interface ClientOptions extends AttemptLimits, RetryPolicy {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** The service is known to honor Idempotency-Key, so creates may be retried. */
  readonly honorsKeys: boolean;
  /** How long to wait for the response to a write after the signal (default 2 s; stops-2). */
  readonly stopGraceMs?: number;
  readonly onAttempt?: ((report: AttemptReport) => Promise<void>) | undefined;
}

export interface AttemptReport {
  readonly request: ApiRequest;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** From 1. */
  readonly number: number;
  readonly numberMax: number;
  readonly waitMs: number | undefined;
}

export function createClient(transport: Transport, options: ClientOptions): Client {
  const { address } = transport;
  const { timeoutMs, phases, signal, stopGraceMs = 2000 } = options;
  const writeSignal = stopGraceMs === 0 ? () => signal : laterThan(signal, stopGraceMs);
  const sendOnce: SendOnce = (request, isFresh) => {
    const until = isRead(request.method) ? signal : writeSignal();
    return transport.send(request, { timeoutMs, signal: until, isFresh, phases });
  };
  const service = new ServiceClock(options.clock);
  const shared = { address, hide: transport.hide, send: sendOnce, service, options };
  const startAttempts = <T>(operation: Operation<T>) => new Attempts(operation, shared);
  const send = async <T>(operation: Operation<T>) => outcomeOfAll(startAttempts(operation), options);
  const { hide = (text: string) => text } = transport;
  return { address, hide, startAttempts, send, serviceMs: () => service.now() };
}

type SendOnce = (request: ApiRequest, isFresh: boolean) => Promise<Attempt>;

interface Shared {
  readonly address: string;
  readonly hide: Transport['hide'];
  readonly send: SendOnce;
  readonly service: ServiceClock;
  readonly options: ClientOptions;
}

async function outcomeOfAll<T>(attempts: Attempts<T>, { retries, signal, clock }: ClientOptions): Promise<T> {
  signal.throwIfAborted();
  for (let left = retries; ; left -= 1) {
    const step = await attempts.attempt(left > 0);
    if (step.isDone) return step.value;
    if (step.waitMs === undefined) throw step.failure();
    await clock.sleep(step.waitMs, signal).catch((reason: unknown) => {
      throw attempts.isInDoubt ? step.failure() : reason;
    });
  }
}

interface Judged {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Why the body of a 2xx cannot be used. */
  readonly unusable?: string | undefined;
  /** The response belongs to another request. */
  readonly isForeign?: boolean;
}

interface Wait {
  readonly ms?: number;
  readonly isRetryAfter?: boolean;
  readonly tooLongMs?: number;
}

class Attempts<T> implements RequestAttempts<T> {
  readonly #operation: Operation<T>;
  readonly #shared: Shared;
  readonly #method: Method;
  #number = 0;
  /** When this process first sent the request, by each clock. */
  #firstSent: readonly (number | undefined)[] = [];
  #isFresh = false;
  /** The last attempt that may have applied the write. */
  #doubt: Omit<Doubt, 'times'> | undefined;

  constructor(operation: Operation<T>, shared: Shared) {
    this.#operation = operation;
    this.#shared = shared;
    this.#method = operation.request.method;
    if (operation.sentMsAgo !== undefined) this.#doubt = before;
  }

  get isInDoubt(): boolean {
    return this.#doubt !== undefined;
  }

  attempt(mayRepeat = true): Promise<AttemptResult<T>> {
    const startedAtMs = this.#shared.options.clock.monotonicMs();
    if (this.#number === 0 && this.#hasKey) this.#firstSent = this.#times(startedAtMs);
    if (this.#isKeyOld(0)) return Promise.resolve(this.#heldBack());
    // Not an async function, which costs a promise more per request.
    return this.#shared.send(this.#operation.request, this.#isFresh).then((sent) => {
      const tookMs = this.#shared.options.clock.monotonicMs() - startedAtMs;
      this.#number += 1;
      if (isUncompressed(sent)) return this.#ended(sent, tookMs, mayRepeat);
      return decodeAttempt(sent).then((attempt) => this.#ended(attempt, tookMs, mayRepeat));
    });
  }

  #ended(attempt: Attempt, tookMs: number, mayRepeat: boolean): AttemptResult<T> | Promise<AttemptResult<T>> {
    const head = attempt.response ?? attempt.head;
    if (head !== undefined) this.#shared.service.hear(head);
    const ended = this.#judge(attempt);
    if (!('value' in ended)) return this.#notDone(ended, tookMs, mayRepeat);
    const done: Done<T> = { isDone: true, value: ended.value, outcome: 'applied', service: 'ok', tookMs };
    if (this.#shared.options.onAttempt === undefined) return done;
    return this.#report({ attempt, outcome: 'applied' }, tookMs, undefined).then(() => done);
  }

  async #notDone(ended: Judged, tookMs: number, mayRepeat: boolean): Promise<AttemptResult<T>> {
    this.#isFresh = ended.unusable !== undefined;
    const wasInDoubt = this.isInDoubt;
    if (isDoubtful(this.#method, ended.outcome)) this.#doubt = ended;
    const wait: Wait = mayRepeat ? this.#waitAfter(ended) : {};
    await this.#report(ended, tookMs, wait.ms);
    const info = { outcome: ended.outcome, service: toServiceSignal(ended.attempt), tookMs };
    const proven = await this.#prove(ended, wasInDoubt);
    if (proven) return { isDone: true, value: proven.value, ...info };
    const { attempt, unusable, isForeign } = ended;
    const scope =
      wait.tooLongMs === undefined ? toFailureScope(this.#method, attempt, unusable !== undefined, isForeign) : 'run';
    const failure = () => this.#failure(ended, wait.tooLongMs);
    return { isDone: false, waitMs: wait.ms, isRetryAfter: wait.isRetryAfter === true, scope, failure, ...info };
  }

  #judge(attempt: Attempt): Judged | { readonly value: T } {
    const outcome = toOutcome(this.#method, attempt);
    if (outcome !== 'applied' || !attempt.response) return { attempt, outcome };
    const { response } = attempt;
    if (response.unreadable !== undefined) return { attempt, outcome: 'unknown', unusable: response.unreadable };
    try {
      return { value: this.#operation.read(response) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const isForeign = error instanceof ForeignResponse;
      // The responses to the next requests on this connection may be as far behind.
      if (isForeign) response.connection?.drop();
      return { attempt, outcome: 'unknown', unusable: error.message, isForeign };
    }
  }

  #waitAfter(ended: Judged): Wait {
    const { maxWaitMs, random, clock } = this.#shared.options;
    if (!this.#mayRepeat(ended)) return {};
    const { response } = ended.attempt;
    const askedMs = response && retryAfterMs(response, clock.now());
    if (askedMs !== undefined && askedMs > maxWaitMs) return { tooLongMs: askedMs };
    const ms = delayMs({ attempt: this.#number, isThrottled: isThrottled(response), askedMs }, random);
    return this.#isKeyOld(ms) ? {} : { ms, isRetryAfter: askedMs !== undefined };
  }

  /** By the monotonic clock, which stops while the machine sleeps, the wall clock, and that of the service. */
  #times(monotonicMs: number): readonly (number | undefined)[] {
    const { service, options } = this.#shared;
    return [monotonicMs, options.clock.now(), service.now()];
  }

  get #hasKey(): boolean {
    return this.#method === 'POST' && 'idempotency-key' in this.#operation.request.headers;
  }

  /** Whether the service may have forgotten the key of a create in doubt by then (keys-3). */
  #isKeyOld(waitMs: number): boolean {
    if (!this.isInDoubt || !this.#hasKey) return false;
    const { sentMsAgo = 0 } = this.#operation;
    const times = this.#number === 0 ? this.#firstSent : this.#times(this.#shared.options.clock.monotonicMs());
    const ages = times.map((ms = 0, at) => ms - (this.#firstSent[at] ?? ms));
    return sentMsAgo + Math.max(...ages) + waitMs > keyWindowMs;
  }

  /** The result in place of an attempt that would be too late for the key. */
  #heldBack(): NotDone {
    const failure = () => this.#failure({ ...before, outcome: 'unknown' });
    const info = { outcome: 'unknown', service: 'ok', tookMs: 0 } as const;
    return { isDone: false, waitMs: undefined, isRetryAfter: false, scope: 'row', failure, ...info };
  }

  #mayRepeat({ attempt, outcome, unusable, isForeign }: Judged): boolean {
    const { response } = attempt;
    const isKeyHonored = this.#shared.options.honorsKeys && 'idempotency-key' in this.#operation.request.headers;
    // The first attempt is still in progress (the Idempotency-Key draft, section 2.6).
    if (response?.status === 409 && isKeyHonored && this.isInDoubt) return true;
    if (unusable !== undefined && response && !isForeign && isFinal(this.#method, response)) return false;
    return isRetryable({ method: this.#method, attempt, outcome, isKeyHonored });
  }

  /** What a later response, or one read, proves about a write in doubt. */
  async #prove({ attempt }: Judged, wasInDoubt: boolean): Promise<{ readonly value: T } | undefined> {
    const { read } = this.#operation;
    const head = attempt.response ?? attempt.head;
    if (!this.isInDoubt || head === undefined) return undefined;
    const proof = this.#operation.check?.();
    if (this.#method === 'DELETE' && wasInDoubt && saysGone(head)) return { value: read(nothing) };
    const look = proof?.findRead(head, this.#shared.address);
    if (!proof || !look) return undefined;
    const { response } = await decodeAttempt(await this.#shared.send(look.request, true));
    if (response === undefined || response.status !== 200) return undefined;
    try {
      const value = look.read(response);
      if (value !== undefined) return { value };
      if (proof.mayDisprove) this.#doubt = undefined;
      return undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #failure({ attempt, outcome, unusable }: Judged, tooLongMs?: number): unknown {
    const { address, hide, options } = this.#shared;
    const request = { ...this.#operation.purpose(), address, method: this.#method, hide };
    const times = this.#number;
    if (this.#doubt) return inDoubt(request, { ...this.#doubt, times, isKeyOld: this.#isKeyOld(0) });
    if (attempt.error?.kind === 'stopped') return options.signal.reason;
    if (tooLongMs !== undefined && attempt.response) {
      return tooLongToWait(request, attempt.response, { waitMs: tooLongMs, maxWaitMs: options.maxWaitMs });
    }
    if (unusable !== undefined && attempt.response) return unusableResponse(request, attempt.response, unusable);
    return toFailure(request, attempt, outcome, times);
  }

  async #report({ attempt, outcome }: Judged, tookMs: number, waitMs: number | undefined): Promise<void> {
    const { options } = this.#shared;
    const numbers = { number: this.#number, numberMax: options.retries + 1 };
    const report = { request: this.#operation.request, attempt, outcome, tookMs, waitMs, ...numbers };
    // A trace that cannot be written does not change the result.
    await options.onAttempt?.(report).catch(() => {});
  }
}

/** An HTML page says nothing about an item. */
function saysGone(head: ResponseHead): boolean {
  return (head.status === 404 || head.status === 410) && !isHtml(head);
}

/** In place of the attempt of an earlier process. */
const before: Omit<Doubt, 'times'> = {
  attempt: { error: { kind: 'lost', reason: 'listctl ended before the response arrived' }, wasSent: true },
};

/** In place of the response to a DELETE that an earlier attempt applied. */
const nothing: ServiceResponse = { status: 204, headers: {}, body: new Uint8Array() };

/**
 * Whether a retry would get the same unusable 2xx: HTML comes from another server, and JSON that is not an item is the
 * service's response to a read. Anything else may have been truncated.
 */
function isFinal(method: Method, response: ServiceResponse): boolean {
  return isHtml(response) || (isRead(method) && (response.unreadable !== undefined || isJson(response)));
}

/** Creates, once, a signal that aborts some time after another one. */
function laterThan(signal: AbortSignal, graceMs: number): () => AbortSignal {
  let later: AbortController | undefined;
  return () => {
    if (later) return later.signal;
    const made = new AbortController();
    later = made;
    const wait = () => {
      setTimeout(() => made.abort(signal.reason), graceMs).unref();
    };
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait);
    return made.signal;
  };
}

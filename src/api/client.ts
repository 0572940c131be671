/** Sends requests with retries, and determines their outcome. */
import { Failure, type Outcome } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import type { Fields, Item, ItemRef, ListRef } from '../core/item.ts';
import {
  type Doubt,
  type ErrorWording,
  inDoubt,
  type Purpose,
  toFailure,
  tooLongToWait,
  unusableResponse,
} from './failures.ts';
import {
  type Budget,
  delayMs,
  type FailureScope,
  isDoubtful,
  isRetryable,
  keyWindowMs,
  parseHttpDate,
  parseSeconds,
  type RetryPolicy,
  retryAfterMs,
  type ServiceSignal,
  toBudget,
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

/** The operations on items as one kind of service has them: their requests, and the meaning of the responses. */
export interface ItemOperations {
  /**
   * @param given the ids that other creates of the run returned: a response with one of them belongs to another request
   * @param sent when an earlier process sent the same request
   */
  create(
    list: ListRef,
    fields: Fields,
    idempotencyKey: string | undefined,
    given?: GivenIds,
    sent?: SentEarlier,
  ): Operation<Item>;
  get(ref: ItemRef): Operation<Item>;
  /** Requires the entity tag `ifMatch`, if given. */
  update(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item>;
  delete(ref: ItemRef, ifMatch?: string): Operation<void>;
}

export interface Client {
  readonly items: ItemOperations;
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

export interface Operation<T> {
  readonly request: ApiRequest;
  readonly purpose: () => Purpose;
  /** Parses a 2xx response; throws a SyntaxError, with the reason for the message, if it is unusable. */
  readonly read: (response: ServiceResponse) => T;
  /** A read that may prove whether a write in doubt was applied. */
  readonly check?: (() => WriteCheck<T>) | undefined;
  /** Undefined for those of docs/decisions.md. */
  readonly errors?: ErrorWording | undefined;
  /** The time since an earlier process may have sent the same request without learning its outcome. */
  readonly sentMsAgo?: number | undefined;
  /** The service refuses a repeat of a create that it has applied, so that it may be sent again (keys-6). */
  readonly isRepeatable?: boolean | undefined;
  /** An earlier process may have applied the same create: a 400 is in doubt until it is looked up. */
  readonly mayExist?: boolean | undefined;
  /** A read that finds the result of a write in doubt. */
  readonly lookUp?: (() => Operation<Finding<T>>) | undefined;
}

/** One read that can prove that a write was applied. */
export interface WriteCheck<T> {
  /** Returns the read, if this response to the write allows one. A `Location` outside of `address` proves nothing. */
  readonly findRead: (head: ResponseHead, address: string) => VerifyingRead<T> | undefined;
  /** A different item proves that the write was not applied. */
  readonly mayDisprove: boolean;
}

/** A read with the result of a write; undefined if it was not applied. */
export type VerifyingRead<T> = Pick<Operation<T | undefined>, 'request' | 'read'>;

/** The ids that the creates of one run returned. */
export interface GivenIds {
  /** Adds an id; returns false if it was there already. */
  add(id: string): boolean;
}

/** A request that an earlier process sent. */
export interface SentEarlier {
  /** Its age in milliseconds at a time of the service, the maximum by all clocks; undefined if unknown. */
  ageMs(serviceMs: number): number | undefined;
}

/**
 * The result of a write in doubt, or the reason why it was not found: `isMissing` if the service has no such item, and
 * `isTaken` if it has another one, beside which it would have refused the write.
 */
export type Finding<T> =
  | { readonly value: T; readonly reason?: undefined }
  | { readonly isMissing: boolean; readonly isTaken?: boolean; readonly reason: string };

export interface RequestAttempts<T> {
  /** Sends the request once more. Never rejects. Not to be called after the outcome is known. */
  attempt(): Promise<AttemptResult<T>>;
  /** Looks up a write that would stay in doubt, with the retries of a read; undefined if it cannot be looked up. */
  readonly settle?: (() => Promise<AttemptResult<T>>) | undefined;
}

export type AttemptResult<T> =
  | ({ readonly isDone: true; readonly value: T } & Pick<NotDone, 'outcome' | 'service' | 'tookMs' | 'budget'>)
  | NotDone;

export interface NotDone {
  readonly isDone: false;
  readonly outcome: Outcome;
  readonly service: ServiceSignal;
  readonly tookMs: number;
  readonly budget?: Budget | undefined;
  /** The wait before the next attempt in milliseconds; undefined if the request must not be retried. */
  readonly waitMs: number | undefined;
  /** The wait is the service's Retry-After. */
  readonly isRetryAfter: boolean;
  readonly scope: FailureScope;
  /** The error if there is no further attempt: a `Failure`, or the reason of the stop. */
  readonly failure: () => unknown;
}

export interface ClientOptions extends AttemptLimits, RetryPolicy {
  readonly items: ItemOperations;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** The service is known to honor Idempotency-Key (keys-2). */
  readonly honorsKeys: boolean;
  /** The wait for the response to a write after a stop (default `stopGraceMs`; stops-2). */
  readonly stopGraceMs?: number;
  /** Ends that wait at once; called when a write is sent. */
  readonly forceStop?: () => AbortSignal;
  readonly onAttempt?: ((report: AttemptReport) => Promise<void>) | undefined;
}

export interface AttemptReport {
  readonly request: ApiRequest;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly tookMs: number;
  readonly number: number;
  readonly numberMax: number;
  readonly waitMs: number | undefined;
}

/** The time that a command waits for the response to a write that was sent before a stop. */
export const stopGraceMs = 2000;

export function createClient(transport: Transport, options: ClientOptions): Client {
  const { timeoutMs, phases, signal, stopGraceMs: graceMs = stopGraceMs, forceStop } = options;
  const writeSignal = graceMs === 0 ? () => signal : delaySignal(signal, graceMs, forceStop);
  const sendOnce: Shared['send'] = (request, isFresh) => {
    const until = isRead(request.method) ? signal : writeSignal();
    return transport.send(request, { timeoutMs, signal: until, isFresh, phases });
  };
  const service = new ServiceClock(options.clock);
  const shared = { transport, send: sendOnce, service, options };
  const startAttempts = <T>(operation: Operation<T>) => new Attempts(operation, shared);
  const send = async <T>(operation: Operation<T>) => runAttempts(startAttempts(operation), options);
  const { address, hide } = transport;
  return { items: options.items, address, hide, startAttempts, send, serviceMs: () => service.now() };
}

interface Shared {
  readonly transport: Transport;
  readonly send: (request: ApiRequest, isFresh: boolean) => Promise<Attempt>;
  readonly service: ServiceClock;
  readonly options: ClientOptions;
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

/** Sends a request until its outcome is known, it must not be retried, or the command is stopped. */
async function repeat<T>(attempts: Attempts<T>, { retries, signal, clock }: ClientOptions): Promise<AttemptResult<T>> {
  for (let left = retries; ; left -= 1) {
    const result = await attempts.attempt(left > 0);
    if (result.isDone || result.waitMs === undefined) return result;
    try {
      await clock.sleep(result.waitMs, signal);
    } catch (reason) {
      return attempts.isInDoubt ? result : { ...result, failure: () => reason };
    }
  }
}

interface FailedAttempt {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** The reason why the body of a 2xx is unusable. */
  readonly unusable?: string | undefined;
  /** The response belongs to another request. */
  readonly isForeign?: boolean;
}

class Attempts<T> implements RequestAttempts<T> {
  readonly #operation: Operation<T>;
  readonly #shared: Shared;
  readonly #method: Method;
  #number = 0;
  /** The time of the first attempt, by each clock. */
  #firstSent: readonly (number | undefined)[] = [];
  #isFresh = false;
  /** The last attempt that may have applied the write. */
  #doubt: Omit<Doubt, 'times'> | undefined;
  /** A later response says that the item to update is missing. */
  #wasInDoubt = false;
  #last: FailedAttempt | undefined;
  /** The attempts that may have applied the write, and those of them with status 500. */
  #doubts = 0;
  #faults = 0;
  /** The reason why the last look-up did not settle it, and whether it showed that the write was refused. */
  #notFound: string | undefined;
  #isTaken = false;

  constructor(operation: Operation<T>, shared: Shared) {
    this.#operation = operation;
    this.#shared = shared;
    this.#method = operation.request.method;
    if (operation.sentMsAgo === undefined) return;
    this.#doubt = earlierProcess;
    this.#doubts = 1;
  }

  get isInDoubt(): boolean {
    return this.#doubt !== undefined;
  }

  attempt(mayRetry = true): Promise<AttemptResult<T>> {
    const startedAtMs = this.#shared.options.clock.monotonicMs();
    if (this.#number === 0 && this.#hasKey) this.#firstSent = this.#times(startedAtMs);
    if (this.#isKeyOld(0)) return Promise.resolve(this.#notSent());
    // Not an async function, which costs one more promise per request.
    return this.#shared.send(this.#operation.request, this.#isFresh).then((sent) => {
      const tookMs = this.#shared.options.clock.monotonicMs() - startedAtMs;
      this.#number += 1;
      if (isUncompressed(sent)) return this.#finish(sent, tookMs, mayRetry);
      return decodeAttempt(sent).then((attempt) => this.#finish(attempt, tookMs, mayRetry));
    });
  }

  #finish(attempt: Attempt, tookMs: number, mayRetry: boolean): AttemptResult<T> | Promise<AttemptResult<T>> {
    const head = attempt.response ?? attempt.head;
    if (head !== undefined) this.#shared.service.update(head);
    const parsed = this.#parse(attempt);
    if (!('value' in parsed)) return this.#notDone(parsed, tookMs, mayRetry);
    const budget = head && toBudget(head);
    const done = { isDone: true, value: parsed.value, outcome: 'applied', service: 'ok', tookMs, budget } as const;
    if (this.#shared.options.onAttempt === undefined) return done;
    return this.#report({ attempt, outcome: 'applied' }, tookMs, undefined).then(() => done);
  }

  async #notDone(failed: FailedAttempt, tookMs: number, mayRetry: boolean): Promise<AttemptResult<T>> {
    const { attempt, outcome, unusable, isForeign } = failed;
    const { freshAfter = [] } = this.#operation.errors ?? {};
    this.#isFresh = unusable !== undefined || freshAfter.includes(attempt.response?.status ?? 0);
    const wasInDoubt = this.isInDoubt;
    this.#last = failed;
    if (isDoubtful(this.#method, outcome)) this.#addDoubt(failed);
    else if (this.#operation.mayExist && attempt.response?.status === 400) this.#doubt ??= earlierProcess;
    const { waitMs, isRetryAfter = false, tooLongMs } = mayRetry ? this.#wait(failed) : {};
    await this.#report(failed, tookMs, waitMs);
    const { response } = attempt;
    const proven = await this.#prove(attempt, wasInDoubt);
    // A value that the service cannot take, and no outage, if it responds to a read.
    const service = proven !== undefined && this.#operation.isRepeatable ? 'ok' : this.#signal(attempt);
    const info = { outcome, service, tookMs, budget: response && toBudget(response) } as const;
    if (proven && 'value' in proven) return { isDone: true, value: proven.value, ...info };
    const scope =
      tooLongMs === undefined ? toFailureScope(this.#method, attempt, unusable !== undefined, isForeign) : 'run';
    const failure = () => this.#failure(failed, tooLongMs);
    return { isDone: false, waitMs, isRetryAfter, scope, failure, ...info };
  }

  #parse(attempt: Attempt): FailedAttempt | { readonly value: T } {
    const outcome = toOutcome(this.#method, attempt);
    if (outcome !== 'applied' || !attempt.response) {
      return { attempt, outcome: this.#meaning(attempt) === undefined ? outcome : 'refused' };
    }
    const { response } = attempt;
    if (response.unreadable !== undefined) return { attempt, outcome: 'unknown', unusable: response.unreadable };
    try {
      return { value: this.#operation.read(response) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const isForeign = error instanceof ForeignResponse;
      // The next responses on this connection would be foreign too (responses-4).
      if (isForeign) response.connection?.drop();
      return { attempt, outcome: 'unknown', unusable: error.message, isForeign };
    }
  }

  #meaning({ response }: Attempt): ReturnType<ErrorWording['meaning']> {
    return response && this.#operation.errors?.meaning(this.#operation.request, response);
  }

  #signal(attempt: Attempt): ServiceSignal {
    const meaning = this.#meaning(attempt);
    if (meaning === undefined) return toServiceSignal(attempt);
    return meaning === 'throttled' ? 'throttled' : 'ok';
  }

  /** The wait before the next attempt, if there may be one; `tooLongMs` is longer than --max-wait (retries-4). */
  #wait(failed: FailedAttempt): { waitMs?: number; isRetryAfter?: boolean; tooLongMs?: number } {
    const { maxWaitMs, random, clock } = this.#shared.options;
    if (!this.#mayRetry(failed)) return {};
    const { response } = failed.attempt;
    const wasThrottled = this.#signal(failed.attempt) === 'throttled';
    const requestedMs = response && retryAfterMs(response, clock.now(), wasThrottled);
    if (requestedMs !== undefined && requestedMs > maxWaitMs) return { tooLongMs: requestedMs };
    const waitMs = delayMs(this.#number, { wasThrottled, requestedMs }, random);
    return this.#isKeyOld(waitMs) ? {} : { waitMs, isRetryAfter: requestedMs !== undefined };
  }

  /** By the monotonic clock, which stops while the machine sleeps, the wall clock and the service's (keys-4). */
  #times(monotonicMs: number): readonly (number | undefined)[] {
    const { service, options } = this.#shared;
    return [monotonicMs, options.clock.now(), service.now()];
  }

  get #hasKey(): boolean {
    return this.#method === 'POST' && 'idempotency-key' in this.#operation.request.headers;
  }

  /** After the wait the service may have forgotten the key of a create in doubt (keys-3). */
  #isKeyOld(waitMs: number): boolean {
    if (!this.isInDoubt || !this.#hasKey) return false;
    const { sentMsAgo = 0 } = this.#operation;
    const times = this.#number === 0 ? this.#firstSent : this.#times(this.#shared.options.clock.monotonicMs());
    const ages = times.map((ms = 0, at) => ms - (this.#firstSent[at] ?? ms));
    return sentMsAgo + Math.max(...ages) + waitMs > keyWindowMs;
  }

  /** The result if it is too late to send the key again. */
  #notSent(): NotDone {
    const failure = () => this.#failure({ ...earlierProcess, outcome: 'unknown' });
    const info = { outcome: 'unknown', service: 'ok', tookMs: 0 } as const;
    return { isDone: false, waitMs: undefined, isRetryAfter: false, scope: 'row', failure, ...info };
  }

  #mayRetry({ attempt, outcome, unusable, isForeign }: FailedAttempt): boolean {
    const { response } = attempt;
    const meaning = this.#meaning(attempt);
    if (meaning !== undefined) return meaning !== 'final';
    const { request, isRepeatable = false } = this.#operation;
    const isKeyHonored = this.#shared.options.honorsKeys && 'idempotency-key' in request.headers;
    // The first attempt is still in progress (the Idempotency-Key draft, section 2.6).
    if (response?.status === 409 && isKeyHonored && this.isInDoubt) return true;
    if (unusable !== undefined && response && !isForeign && isFinal(this.#method, response)) return false;
    return isRetryable({ method: this.#method, attempt, outcome, isRepeatable: isKeyHonored || isRepeatable });
  }

  /** Resolves a write in doubt by a later response, or by one read; without a value if that read proved nothing. */
  async #prove(attempt: Attempt, wasInDoubt: boolean): Promise<{ readonly value?: T } | undefined> {
    const head = attempt.response ?? attempt.head;
    if (!this.isInDoubt || head === undefined) return undefined;
    const deleted = wasInDoubt && isNotFound(head) ? this.#settleMissing(attempt) : undefined;
    if (deleted) return deleted;
    const check = this.#operation.check?.();
    const verifying = check?.findRead(head, this.#shared.transport.address);
    if (!check || !verifying) return undefined;
    const { response } = await decodeAttempt(await this.#shared.send(verifying.request, true));
    if (response === undefined || response.status !== 200) return undefined;
    try {
      const value = verifying.read(response);
      if (value !== undefined) return { value };
      if (check.mayDisprove) this.#doubt = undefined;
      return {};
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  get settle(): (() => Promise<AttemptResult<T>>) | undefined {
    const { lookUp } = this.#operation;
    return lookUp && (() => this.#settle(lookUp()));
  }

  async #settle(lookUp: Operation<Finding<T>>): Promise<AttemptResult<T>> {
    const step = await repeat(new Attempts(lookUp, this.#shared), this.#shared.options);
    const { service, tookMs } = step;
    const finding = step.isDone ? step.value : { isMissing: false, reason: unreadReason(step.failure()) };
    if (finding.reason === undefined)
      return { isDone: true, value: finding.value, outcome: 'applied', service, tookMs };
    this.#notFound = finding.reason;
    this.#isTaken = finding.isTaken === true;
    if (this.#isTaken || (finding.isMissing && this.#isDisproved())) this.#doubt = undefined;
    const outcome = this.isInDoubt ? 'unknown' : 'refused';
    const failure = () => this.#failure({ ...(this.#last ?? earlierProcess), outcome });
    return { isDone: false, outcome, service, tookMs, waitMs: undefined, isRetryAfter: false, scope: 'row', failure };
  }

  /**
   * A create that was not found was not applied if the service failed each time, or refused it in the end. But right after
   * a lost answer the refusal may be about the item that it made, which a look-up does not find yet.
   */
  #isDisproved(): boolean {
    const isRefused = this.#last?.attempt.response?.status === 400;
    const earlier = isRefused && this.#operation.sentMsAgo !== undefined ? 1 : 0;
    return this.#doubts - earlier === this.#faults && (isRefused || this.#faults > 1);
  }

  #addDoubt(failed: FailedAttempt): void {
    this.#doubt = failed;
    this.#doubts += 1;
    if (failed.attempt.response?.status === 500) this.#faults += 1;
  }

  /** Resolves a write in doubt whose item is missing now: a delete is done, an update has failed (outcomes-4). */
  #settleMissing({ response }: Attempt): { readonly value: T } | undefined {
    if (this.#method === 'DELETE') return { value: this.#operation.read(noContent) };
    if (this.#method === 'PATCH' && response) {
      this.#doubt = undefined;
      this.#wasInDoubt = true;
    }
    return undefined;
  }

  #failure({ attempt, outcome, unusable }: FailedAttempt, tooLongMs?: number): unknown {
    const { transport, options } = this.#shared;
    const { address, hide, tokenHint } = transport;
    const { errors } = this.#operation;
    const context = {
      ...this.#operation.purpose(),
      ...{ address, method: this.#method, hide, tokenHint, errors, wasInDoubt: this.#wasInDoubt },
    };
    const times = this.#number;
    const notFound = this.#notFound;
    if (this.#doubt) return inDoubt(context, { ...this.#doubt, times, notFound, isKeyOld: this.#isKeyOld(0) });
    if (this.#isTaken) {
      const { status } = attempt.response ?? {};
      return new Failure('refused', `cannot ${context.task}: ${notFound}`, { outcome: 'refused', status });
    }
    if (attempt.error?.kind === 'stopped') return options.signal.reason ?? attempt.error.cause;
    if (tooLongMs !== undefined && attempt.response) {
      return tooLongToWait(context, attempt.response, { waitMs: tooLongMs, maxWaitMs: options.maxWaitMs });
    }
    if (unusable !== undefined && attempt.response) return unusableResponse(context, attempt.response, unusable);
    return toFailure(context, attempt, outcome, times);
  }

  async #report({ attempt, outcome }: FailedAttempt, tookMs: number, waitMs: number | undefined): Promise<void> {
    const { options } = this.#shared;
    const numbers = { number: this.#number, numberMax: options.retries + 1 };
    const report = { request: this.#operation.request, attempt, outcome, tookMs, waitMs, ...numbers };
    // A trace that cannot be written does not change the result.
    await options.onAttempt?.(report).catch(() => {});
  }
}

/** An HTML page is not the service's response (outcomes-4). */
function isNotFound(head: ResponseHead): boolean {
  return (head.status === 404 || head.status === 410) && !isHtml(head);
}

function unreadReason(error: unknown): string {
  return error instanceof Failure ? error.message : 'the look-up was stopped';
}

/** Stands for the attempt of an earlier process. */
const earlierProcess: Omit<Doubt, 'times'> = {
  attempt: { error: { kind: 'lost', reason: 'listctl ended before the response arrived' }, wasSent: true },
};

/** Stands for the response to a DELETE that an earlier attempt applied. */
const noContent: ServiceResponse = { status: 204, headers: {}, body: new Uint8Array() };

/** A retry would get the same unusable 2xx; one that is neither HTML nor JSON may have been truncated. */
function isFinal(method: Method, response: ServiceResponse): boolean {
  return isHtml(response) || (isRead(method) && (response.unreadable !== undefined || isJson(response)));
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

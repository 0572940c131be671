/** The attempts of one request: what became of each, and whether there may be another. */
import { Failure, type Outcome } from '../core/errors.ts';
import type { Clock } from '../core/host.ts';
import { earlierProcess, KeyAge, type ServiceTime, WriteDoubt } from './doubt.ts';
import { inDoubt, toFailure, tooLongToWait, unusableResponse } from './failures.ts';
import type { Finding, Operation } from './operation.ts';
import {
  type Budget,
  delayMs,
  type FailureScope,
  isDoubtful,
  isRetryable,
  type RetryPolicy,
  retryAfterMs,
  type ServiceSignal,
  toBudget,
  toFailureScope,
  toOutcome,
  toServiceSignal,
} from './outcome.ts';
import { checkWrite, isNotFound, noContent } from './proof.ts';
import { decodeAttempt, ForeignResponse, isHtml, isJson, isUncompressed } from './response.ts';
import {
  type ApiRequest,
  type Attempt,
  isRead,
  type Method,
  type ResponseHead,
  type ServiceResponse,
  type Transport,
} from './transport.ts';

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

export interface AttemptReport {
  readonly request: ApiRequest;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly tookMs: number;
  readonly number: number;
  readonly numberMax: number;
  readonly waitMs: number | undefined;
}

/** What all requests of a client share. */
export interface AttemptContext {
  readonly transport: Transport;
  readonly send: (request: ApiRequest, isFresh: boolean) => Promise<Attempt>;
  readonly service: ServiceTime & { update(head: ResponseHead): void };
  readonly options: AttemptOptions;
}

export interface AttemptOptions extends RetryPolicy {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The service is known to honor Idempotency-Key (keys-2). */
  readonly honorsKeys: boolean;
  /** Counts a write that is handed to the transport, and subtracts one that was not sent. */
  readonly countWrite?: ((change: 1 | -1) => void) | undefined;
  readonly onAttempt?: ((report: AttemptReport) => Promise<void>) | undefined;
}

export interface FailedAttempt {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** The reason why the body of a 2xx is unusable. */
  readonly unusable?: string | undefined;
  /** The response belongs to another request. */
  readonly isForeign?: boolean;
}

/** Sends a request until its outcome is known, it must not be retried, or the command is stopped. */
export async function repeat<T>(
  attempts: Attempts<T>,
  { retries, signal, clock }: AttemptOptions,
): Promise<AttemptResult<T>> {
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

/** A result after which the row is not sent again. */
const final = { isDone: false, waitMs: undefined, isRetryAfter: false, scope: 'row' } as const;

/** One request: counts its attempts, and keeps what they leave in doubt. */
export class Attempts<T> implements RequestAttempts<T> {
  readonly #operation: Operation<T>;
  readonly #context: AttemptContext;
  /** Of a create with an idempotency key. */
  readonly #key: KeyAge | undefined;
  #number = 0;
  #isFresh = false;
  #last: FailedAttempt | undefined;
  #doubt: WriteDoubt | undefined;

  constructor(operation: Operation<T>, context: AttemptContext) {
    this.#operation = operation;
    this.#context = context;
    const { request, sentMsAgo } = operation;
    const hasKey = request.method === 'POST' && 'idempotency-key' in request.headers;
    if (hasKey) this.#key = new KeyAge(context.options.clock, context.service, sentMsAgo);
    if (sentMsAgo !== undefined) this.#openDoubt().add(earlierProcess);
  }

  get isInDoubt(): boolean {
    return this.#doubt?.isOpen === true;
  }

  attempt(mayRetry = true): Promise<AttemptResult<T>> {
    const { clock } = this.#context.options;
    const startedAtMs = clock.monotonicMs();
    if (this.#number === 0) this.#key?.start();
    if (this.#isKeyOld(0)) return Promise.resolve(this.#notSent());
    // Not an async function, which costs one more promise per request.
    return this.#context.send(this.#operation.request, this.#isFresh).then((sent) => {
      const tookMs = clock.monotonicMs() - startedAtMs;
      this.#number += 1;
      if (isUncompressed(sent)) return this.#finish(sent, tookMs, mayRetry);
      return decodeAttempt(sent).then((attempt) => this.#finish(attempt, tookMs, mayRetry));
    });
  }

  get settle(): (() => Promise<AttemptResult<T>>) | undefined {
    const { lookUp } = this.#operation;
    return lookUp && (() => this.#settle(lookUp()));
  }

  #finish(attempt: Attempt, tookMs: number, mayRetry: boolean): AttemptResult<T> | Promise<AttemptResult<T>> {
    const head = attempt.response ?? attempt.head;
    if (head !== undefined) this.#context.service.update(head);
    const parsed = parseAttempt(this.#operation, attempt);
    if (!('value' in parsed)) return this.#notDone(parsed, tookMs, mayRetry);
    const budget = head && toBudget(head);
    const done = { isDone: true, value: parsed.value, outcome: 'applied', service: 'ok', tookMs, budget } as const;
    if (this.#context.options.onAttempt === undefined) return done;
    return this.#report({ attempt, outcome: 'applied' }, tookMs, undefined).then(() => done);
  }

  async #notDone(failed: FailedAttempt, tookMs: number, mayRetry: boolean): Promise<AttemptResult<T>> {
    const { attempt, outcome, unusable, isForeign } = failed;
    const { request, errors, mayExist, isRepeatable } = this.#operation;
    const status = attempt.response?.status ?? 0;
    this.#isFresh = unusable !== undefined || errors?.freshAfter?.includes(status) === true;
    const wasInDoubt = this.isInDoubt;
    this.#last = failed;
    if (outcome === 'not-sent' && !isRead(request.method)) this.#context.options.countWrite?.(-1);
    if (isDoubtful(request.method, outcome)) this.#openDoubt().add(failed);
    else if (mayExist && status === 400) this.#openDoubt().addRefusal();
    const { waitMs, isRetryAfter = false, tooLongMs } = mayRetry ? this.#wait(failed) : {};
    await this.#report(failed, tookMs, waitMs);
    const proven = await this.#prove(attempt, wasInDoubt);
    // A value that the service cannot take, and no outage, if it responds to a read.
    const service = proven !== undefined && isRepeatable ? 'ok' : signalOf(this.#operation, attempt);
    const info = { outcome, service, tookMs, budget: attempt.response && toBudget(attempt.response) } as const;
    if (proven && 'value' in proven) return { isDone: true, value: proven.value as T, ...info };
    const scope = tooLongMs ? 'run' : toFailureScope(request.method, attempt, unusable !== undefined, isForeign);
    const failure = () => this.#failure(failed, tooLongMs);
    return { isDone: false, waitMs, isRetryAfter, scope, failure, ...info };
  }

  /** The wait before the next attempt, if there may be one; `tooLongMs` is longer than --max-wait (retries-4). */
  #wait(failed: FailedAttempt): { waitMs?: number; isRetryAfter?: boolean; tooLongMs?: number } {
    const { maxWaitMs, random, clock, honorsKeys } = this.#context.options;
    if (!mayRepeat(this.#operation, failed, { honorsKeys, isInDoubt: this.isInDoubt })) return {};
    const { response } = failed.attempt;
    const wasThrottled = signalOf(this.#operation, failed.attempt) === 'throttled';
    const requestedMs = response && retryAfterMs(response, clock.now(), wasThrottled);
    if (requestedMs !== undefined && requestedMs > maxWaitMs) return { tooLongMs: requestedMs };
    const waitMs = delayMs(this.#number, { wasThrottled, requestedMs }, random);
    return this.#isKeyOld(waitMs) ? {} : { waitMs, isRetryAfter: requestedMs !== undefined };
  }

  /** After the wait the service may have forgotten the key of a create in doubt (keys-3). */
  #isKeyOld(waitMs: number): boolean {
    const key = this.isInDoubt ? this.#key : undefined;
    return key !== undefined && (this.#number === 0 ? key.isOldAtStart : key.isOldAfter(waitMs));
  }

  /** The result if it is too late to send the key again. */
  #notSent(): NotDone {
    const failure = () => this.#failure({ ...earlierProcess, outcome: 'unknown' });
    return { ...final, outcome: 'unknown', service: 'ok', tookMs: 0, failure };
  }

  #openDoubt(): WriteDoubt {
    this.#doubt ??= new WriteDoubt();
    return this.#doubt;
  }

  /** Settles a write in doubt by a later response, or by one read; without a value if that read proved nothing. */
  async #prove(attempt: Attempt, wasInDoubt: boolean): Promise<{ readonly value?: T } | undefined> {
    const head = attempt.response ?? attempt.head;
    const doubt = this.#doubt;
    if (!doubt?.isOpen || head === undefined) return undefined;
    const { request, read, check } = this.#operation;
    if (wasInDoubt && isNotFound(head)) {
      // The item is missing now: a delete is done, an update has failed (outcomes-4).
      if (request.method === 'DELETE') return { value: read(noContent) };
      if (request.method === 'PATCH' && attempt.response) {
        doubt.disprove();
        doubt.isItemMissing = true;
      }
    }
    const { transport, send } = this.#context;
    const sendFresh = (again: ApiRequest) => send(again, true);
    const proven = await checkWrite(check?.(), head, { address: transport.address, send: sendFresh });
    if (proven?.isDisproved) doubt.disprove();
    return proven;
  }

  async #settle(lookUp: Operation<Finding<T>>): Promise<AttemptResult<T>> {
    const step = await repeat(new Attempts(lookUp, this.#context), this.#context.options);
    const { service, tookMs } = step;
    const finding = step.isDone ? step.value : { isMissing: false, reason: unreadReason(step.failure()) };
    if (finding.reason === undefined)
      return { isDone: true, value: finding.value, outcome: 'applied', service, tookMs };
    this.#openDoubt().addLookUp(finding, this.#last, this.#operation.sentMsAgo !== undefined);
    const outcome = this.isInDoubt ? 'unknown' : 'refused';
    const failure = () => this.#failure({ ...(this.#last ?? earlierProcess), outcome });
    return { ...final, outcome, service, tookMs, failure };
  }

  #failure(failed: FailedAttempt, tooLongMs?: number): unknown {
    const state = { doubt: this.#doubt, times: this.#number, isKeyOld: () => this.#isKeyOld(0), tooLongMs };
    return failureOf(failed, this.#operation, this.#context, state);
  }

  async #report({ attempt, outcome }: FailedAttempt, tookMs: number, waitMs: number | undefined): Promise<void> {
    const { options } = this.#context;
    const numbers = { number: this.#number, numberMax: options.retries + 1 };
    const report = { request: this.#operation.request, attempt, outcome, tookMs, waitMs, ...numbers };
    // A trace that cannot be written does not change the result.
    await options.onAttempt?.(report).catch(() => {});
  }
}

/** What is known of a request when its failure is described. */
interface RequestState {
  readonly doubt: WriteDoubt | undefined;
  readonly times: number;
  readonly isKeyOld: () => boolean;
  readonly tooLongMs: number | undefined;
}

function failureOf(
  { attempt, outcome, unusable }: FailedAttempt,
  { purpose, request, errors }: Operation<unknown>,
  { transport, options }: AttemptContext,
  { doubt, times, isKeyOld, tooLongMs }: RequestState,
): unknown {
  const { address, hide, tokenHint } = transport;
  const { notFound, facts, isTaken = false, isItemMissing: wasInDoubt = false } = doubt ?? {};
  const context = { ...purpose(), address, method: request.method, hide, tokenHint, errors, wasInDoubt };
  if (facts) return inDoubt(context, { ...facts, times, isKeyOld: isKeyOld() });
  if (isTaken) {
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

/** The value of a response, or what failed. */
function parseAttempt<T>(operation: Operation<T>, attempt: Attempt): FailedAttempt | { readonly value: T } {
  const outcome = toOutcome(operation.request.method, attempt);
  const { response } = attempt;
  if (outcome !== 'applied' || !response) {
    return { attempt, outcome: meaningOf(operation, attempt) === undefined ? outcome : 'refused' };
  }
  if (response.unreadable !== undefined) return { attempt, outcome: 'unknown', unusable: response.unreadable };
  try {
    return { value: operation.read(response) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const isForeign = error instanceof ForeignResponse;
    // The next responses on this connection would be foreign too (responses-4).
    if (isForeign) response.connection?.drop();
    return { attempt, outcome: 'unknown', unusable: error.message, isForeign };
  }
}

/** What the service means by an error, where that is not its status. */
function meaningOf({ request, errors }: Operation<unknown>, { response }: Attempt) {
  return response && errors?.meaning(request, response);
}

function signalOf(operation: Operation<unknown>, attempt: Attempt): ServiceSignal {
  const meaning = meaningOf(operation, attempt);
  if (meaning === undefined) return toServiceSignal(attempt);
  return meaning === 'throttled' ? 'throttled' : 'ok';
}

/** Whether a request may be sent again after an attempt that failed. */
function mayRepeat(
  operation: Operation<unknown>,
  { attempt, outcome, unusable, isForeign }: FailedAttempt,
  { honorsKeys, isInDoubt }: { readonly honorsKeys: boolean; readonly isInDoubt: boolean },
): boolean {
  const { response } = attempt;
  const meaning = meaningOf(operation, attempt);
  if (meaning !== undefined) return meaning !== 'final';
  const { request, isRepeatable = false } = operation;
  const { method } = request;
  const isKeyHonored = honorsKeys && 'idempotency-key' in request.headers;
  // The first attempt is still in progress (the Idempotency-Key draft, section 2.6).
  if (response?.status === 409 && isKeyHonored && isInDoubt) return true;
  if (unusable !== undefined && response && !isForeign && isFinal(method, response)) return false;
  return isRetryable({ method, attempt, outcome, isRepeatable: isKeyHonored || isRepeatable });
}

function unreadReason(error: unknown): string {
  return error instanceof Failure ? error.message : 'the look-up was stopped';
}

/** A retry would get the same unusable 2xx; one that is neither HTML nor JSON may have been truncated. */
function isFinal(method: Method, response: ServiceResponse): boolean {
  return isHtml(response) || (isRead(method) && (response.unreadable !== undefined || isJson(response)));
}

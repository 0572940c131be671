/** One request, up to its outcome: whatever is asked of the service goes through here. */
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

/** Knows what time it is for a service, as soon as a response has said it. */
class ServiceClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #said = '';
  #saidMs = 0;
  #heardAtMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Takes the time of a response; one out of a cache is as old as its `Age` says (RFC 9111, section 5.1). */
  hear({ headers: { date = '', age = '' } }: ResponseHead): void {
    // There are many responses in one second.
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

/** The way to one service. */
export interface Client {
  /** Where requests go, for messages: never with user info or a query. */
  readonly address: string;
  /** The text without the token, which a response may have repeated. */
  readonly hide: (text: string) => string;
  /**
   * Sends a request, again where that is safe and may help, and gives what `read` makes of its answer, a complete 2xx.
   *
   * Its result is that of its worst attempt, unless a later one proves it: an unknown DELETE that finds nothing (404)
   * was done, an unknown PATCH that is then refused may have been. A stop ends a read, and any wait, at once; a write
   * that was sent is given a moment for its answer.
   *
   * @throws {Failure} of the kind that the outcome has; in-doubt, where a write may or may not have happened
   */
  send<T>(operation: Operation<T>): Promise<T>;
  /** The same one attempt at a time, for who decides by itself when the next one goes. Nothing is sent yet. */
  startAttempts<T>(operation: Operation<T>): RequestAttempts<T>;
  /** The time of the service, in milliseconds since the Unix epoch; undefined until a response has said it. */
  serviceMs(): number | undefined;
}

/** What is asked of the service. */
export interface Operation<T> {
  readonly request: ApiRequest;
  /** What it is for; called where something has to be said of it. */
  readonly purpose: () => Purpose;
  /** Throws a SyntaxError, with a reason for people, where the answer is not what it must be. */
  readonly read: (response: ServiceResponse) => T;
  /** One read that may prove a write whose outcome is unknown. */
  readonly check?: (() => WriteCheck<T>) | undefined;
  /** How long ago the same request may have been sent by a process that never learned what became of it. */
  readonly sentMsAgo?: number | undefined;
}

/** One request on its way to its outcome. */
export interface RequestAttempts<T> {
  /** Sends it once more. Never rejects: whatever happens is told by the step. Not to be called after the outcome is known. */
  attempt(): Promise<AttemptResult<T>>;
}

/** What one attempt came to: the outcome, or what may be done about it. */
export type AttemptResult<T> = Done<T> | NotDone;

/** The request was applied, or a read answered. */
export interface Done<T> extends AttemptInfo {
  readonly isDone: true;
  readonly value: T;
}

/** There is no such outcome yet. */
export interface NotDone extends AttemptInfo {
  readonly isDone: false;
  /** The wait before the next attempt, in milliseconds; undefined where there must be none. */
  readonly waitMs: number | undefined;
  /** Whether it was the service that asked for so long a wait. */
  readonly isAsked: boolean;
  /** Whom it is about: this request alone, or whatever is asked of this service; `every-create` until one was done. */
  readonly concerns: FailureScope;
  /** What the whole has come to, if there is no further attempt: a `Failure`, or why it was stopped. */
  readonly failure: () => unknown;
}

/** What an attempt tells of the service. */
export interface AttemptInfo {
  readonly outcome: Outcome;
  /** It answered; it asked to be left alone; or nothing says that it is there (no answer, 500, 502, 504, a bare 503). */
  readonly sign: ServiceSignal;
  readonly tookMs: number;
}

/** How requests are sent over a wire. */
export interface ClientOptions extends AttemptLimits, RetryPolicy {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Whether a create with an Idempotency-Key may be sent again: the service is known to honor it. */
  readonly honorsKeys: boolean;
  /** How long a write that was sent is waited for after the signal: 2 s, without it (reliability, P03). */
  readonly stopGraceMs?: number;
  /** Told of each attempt once it has ended, before what follows. */
  readonly onAttempt?: ((report: AttemptReport) => Promise<void>) | undefined;
}

/** One attempt, for whoever watches. */
export interface AttemptReport {
  readonly request: ApiRequest;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** Which one it was, from 1, and how many there may be. */
  readonly number: number;
  readonly numberMax: number;
  /** The wait before the next attempt; undefined where there is none. */
  readonly waitMs: number | undefined;
}

/** The way through a transport: one loop for every request, whatever the transport is. */
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

/** Sends once; where that is asked for, on a connection of its own. */
type SendOnce = (request: ApiRequest, isFresh: boolean) => Promise<Attempt>;

/** What the requests over one wire share. */
interface Shared {
  readonly address: string;
  readonly hide: Transport['hide'];
  readonly send: SendOnce;
  readonly service: ServiceClock;
  readonly options: ClientOptions;
}

/** Attempt after attempt, with the waits between them. */
async function outcomeOfAll<T>(asking: Attempts<T>, { retries, signal, clock }: ClientOptions): Promise<T> {
  signal.throwIfAborted();
  for (let left = retries; ; left -= 1) {
    const step = await asking.attempt(left > 0);
    if (step.isDone) return step.value;
    if (step.waitMs === undefined) throw step.failure();
    await clock.sleep(step.waitMs, signal).catch((reason: unknown) => {
      throw asking.isInDoubt ? step.failure() : reason;
    });
  }
}

/** An attempt, and what it came to. */
interface Judged {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Why the body of a 2xx cannot be used. */
  readonly unusable?: string | undefined;
  /** Whether it belongs to another request: the same request on another connection may have its own. */
  readonly isForeign?: boolean;
}

/** The wait before the next attempt, if there is to be one; or the one that is too long. */
interface Wait {
  readonly ms?: number;
  readonly isAsked?: boolean;
  readonly tooLongMs?: number;
}

/** One request, as often as it is sent. */
class Attempts<T> implements RequestAttempts<T> {
  readonly #question: Operation<T>;
  readonly #shared: Shared;
  readonly #method: Method;
  #number = 0;
  /** When this process first sent it, by each clock. */
  #firstSent: readonly (number | undefined)[] = [];
  #isFresh = false;
  /** The last attempt of a write that may have happened: what the whole is, unless a later one proves it. */
  #doubt: Omit<Doubt, 'times'> | undefined;

  constructor(operation: Operation<T>, shared: Shared) {
    this.#question = operation;
    this.#shared = shared;
    this.#method = operation.request.method;
    if (operation.sentMsAgo !== undefined) this.#doubt = before;
  }

  get isInDoubt(): boolean {
    return this.#doubt !== undefined;
  }

  /** @param mayRepeat whether a wait is worth telling */
  attempt(mayRepeat = true): Promise<AttemptResult<T>> {
    const startedAtMs = this.#shared.options.clock.monotonicMs();
    if (this.#number === 0 && this.#hasKey) this.#firstSent = this.#times(startedAtMs);
    if (this.#isKeyOld(0)) return Promise.resolve(this.#heldBack());
    // No async function: there are many attempts, and mostly nothing has to be waited for behind the answer.
    return this.#shared.send(this.#question.request, this.#isFresh).then((sent) => {
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
    const done: Done<T> = { isDone: true, value: ended.value, outcome: 'applied', sign: 'answered', tookMs };
    if (this.#shared.options.onAttempt === undefined) return done;
    return this.#report({ attempt, outcome: 'applied' }, tookMs, undefined).then(() => done);
  }

  async #notDone(ended: Judged, tookMs: number, mayRepeat: boolean): Promise<AttemptResult<T>> {
    this.#isFresh = ended.unusable !== undefined;
    const wasInDoubt = this.isInDoubt;
    if (isDoubtful(this.#method, ended.outcome)) this.#doubt = ended;
    const wait: Wait = mayRepeat ? this.#waitAfter(ended) : {};
    await this.#report(ended, tookMs, wait.ms);
    const told = { outcome: ended.outcome, sign: toServiceSignal(ended.attempt), tookMs };
    const proven = await this.#prove(ended, wasInDoubt);
    if (proven) return { isDone: true, value: proven.value, ...told };
    const { attempt, unusable, isForeign } = ended;
    const concerns =
      wait.tooLongMs === undefined ? toFailureScope(this.#method, attempt, unusable !== undefined, isForeign) : 'every';
    const failure = () => this.#failure(ended, wait.tooLongMs);
    return { isDone: false, waitMs: wait.ms, isAsked: wait.isAsked === true, concerns, failure, ...told };
  }

  #judge(attempt: Attempt): Judged | { readonly value: T } {
    const outcome = toOutcome(this.#method, attempt);
    if (outcome !== 'applied' || !attempt.response) return { attempt, outcome };
    const { response } = attempt;
    if (response.unreadable !== undefined) return { attempt, outcome: 'unknown', unusable: response.unreadable };
    try {
      return { value: this.#question.read(response) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const isForeign = error instanceof ForeignResponse;
      // The responses to the next requests on this connection may be as far behind.
      if (isForeign) response.connection?.drop();
      return { attempt, outcome: 'unknown', unusable: error.message, isForeign };
    }
  }

  /** The wait before the next attempt; none, where there is to be none. */
  #waitAfter(ended: Judged): Wait {
    const { maxWaitMs, random, clock } = this.#shared.options;
    if (!this.#mayRepeat(ended)) return {};
    const { response } = ended.attempt;
    const askedMs = response && retryAfterMs(response, clock.now());
    if (askedMs !== undefined && askedMs > maxWaitMs) return { tooLongMs: askedMs };
    const ms = delayMs({ attempt: this.#number, isThrottled: isThrottled(response), askedMs }, random);
    return this.#isKeyOld(ms) ? {} : { ms, isAsked: askedMs !== undefined };
  }

  /** The time by the monotonic clock, which stops while the machine sleeps, the wall clock, and that of the service. */
  #times(monotonicMs: number): readonly (number | undefined)[] {
    const { service, options } = this.#shared;
    return [monotonicMs, options.clock.now(), service.now()];
  }

  /** Whether it is a create that a service knows again by its key. */
  get #hasKey(): boolean {
    return this.#method === 'POST' && 'idempotency-key' in this.#question.request.headers;
  }

  /** Whether the service may have forgotten the key of a create in doubt when that is sent after this wait. */
  #isKeyOld(waitMs: number): boolean {
    if (!this.isInDoubt || !this.#hasKey) return false;
    const { sentMsAgo = 0 } = this.#question;
    const times = this.#number === 0 ? this.#firstSent : this.#times(this.#shared.options.clock.monotonicMs());
    const ages = times.map((ms = 0, at) => ms - (this.#firstSent[at] ?? ms));
    return sentMsAgo + Math.max(...ages) + waitMs > keyWindowMs;
  }

  /** What stands for an attempt that is not made any more. */
  #heldBack(): NotDone {
    const failure = () => this.#failure({ ...before, outcome: 'unknown' });
    const told = { outcome: 'unknown', sign: 'answered', tookMs: 0 } as const;
    return { isDone: false, waitMs: undefined, isAsked: false, concerns: 'itself', failure, ...told };
  }

  #mayRepeat({ attempt, outcome, unusable, isForeign }: Judged): boolean {
    const { response } = attempt;
    const isKeyHonored = this.#shared.options.honorsKeys && 'idempotency-key' in this.#question.request.headers;
    // The first attempt is still being worked on (the Idempotency-Key draft, section 2.6).
    if (response?.status === 409 && isKeyHonored && this.isInDoubt) return true;
    if (unusable !== undefined && response && !isForeign && isFinal(this.#method, response)) return false;
    return isRetryable({ method: this.#method, attempt, outcome, isKeyHonored });
  }

  /** What a later answer, or one read, proves of a write that may have happened. */
  async #prove({ attempt }: Judged, wasInDoubt: boolean): Promise<{ readonly value: T } | undefined> {
    const { read } = this.#question;
    const head = attempt.response ?? attempt.head;
    if (!this.isInDoubt || head === undefined) return undefined;
    const proof = this.#question.check?.();
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
    const asked = { ...this.#question.purpose(), address, method: this.#method, hide };
    const times = this.#number;
    if (this.#doubt) return inDoubt(asked, { ...this.#doubt, times, isKeyOld: this.#isKeyOld(0) });
    // Nothing was changed: the stop is all there is to say.
    if (attempt.error?.kind === 'stopped') return options.signal.reason;
    if (tooLongMs !== undefined && attempt.response) {
      return tooLongToWait(asked, attempt.response, { waitMs: tooLongMs, maxWaitMs: options.maxWaitMs });
    }
    if (unusable !== undefined && attempt.response) return unusableResponse(asked, attempt.response, unusable);
    return toFailure(asked, attempt, outcome, times);
  }

  async #report({ attempt, outcome }: Judged, tookMs: number, waitMs: number | undefined): Promise<void> {
    const { options } = this.#shared;
    const numbers = { number: this.#number, numberMax: options.retries + 1 };
    const report = { request: this.#question.request, attempt, outcome, tookMs, waitMs, ...numbers };
    // Who watches changes nothing: an answer that came is not lost because a trace of it cannot be written.
    await options.onAttempt?.(report).catch(() => {});
  }
}

/** Whether there is nothing any more; a page for people does not say so of an item. */
function saysGone(head: ResponseHead): boolean {
  return (head.status === 404 || head.status === 410) && !isHtml(head);
}

/** What stands for the attempt of an earlier process. */
const before: Omit<Doubt, 'times'> = {
  attempt: { error: { kind: 'lost', reason: 'listctl ended before the response arrived' }, wasSent: true },
};

/** What stands for the answer to a DELETE that was done by an attempt without one. */
const nothing: ServiceResponse = { status: 204, headers: {}, body: new Uint8Array() };

/**
 * Whether a 2xx that cannot be used would come again as it is: a page for people comes from something else, and JSON
 * that is no item is what the service has to say to a read. What is no JSON may have been cut on its way.
 */
function isFinal(method: Method, response: ServiceResponse): boolean {
  return isHtml(response) || (isRead(method) && (response.unreadable !== undefined || isJson(response)));
}

/** Makes, once, a signal that aborts some time after another one: what was sent may still be answered. */
function laterThan(signal: AbortSignal, graceMs: number): () => AbortSignal {
  let later: AbortController | undefined;
  return () => {
    if (later) return later.signal;
    const made = new AbortController();
    later = made;
    const wait = () => {
      // Unreferenced: it must not keep a process that has its answer.
      setTimeout(() => made.abort(signal.reason), graceMs).unref();
    };
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait);
    return made.signal;
  };
}

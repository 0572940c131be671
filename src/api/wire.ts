/** One request, up to its outcome: whatever is asked of the service goes through here. */
import type { Outcome } from '../errors.ts';
import type { Clock } from '../host.ts';
import { isHtml, isJson } from './answers.ts';
import { decodedAttempt } from './decoding.ts';
import { type Asked, failureOf, inDoubt, type Purpose, tooLongToWait, unusableAnswer } from './failures.ts';
import { outcomeOf } from './outcome.ts';
import type { Proof } from './proof.ts';
import { delayMs, isDoubtful, isThrottled, keyWindowMs, mayRepeat, type RetryPolicy } from './retry.ts';
import { waitAskedMs } from './retry-after.ts';
import {
  type Answer,
  type ApiRequest,
  type Attempt,
  type AttemptLimits,
  isRead,
  type Method,
  type Transport,
} from './transport.ts';

/** The way to one service. */
export interface Wire {
  /** Where requests go, for messages: never with user info or a query. */
  readonly address: string;
  /**
   * Sends a request, again where that is safe and may help, and gives what `read` makes of its answer, a complete 2xx.
   *
   * Its result is that of its worst attempt, unless a later one proves it: an unknown DELETE that finds nothing (404)
   * was done, an unknown PATCH that is then refused may have been. A stop ends a read, and any wait, at once; a write
   * that was sent is given a moment for its answer.
   *
   * @param read throws a SyntaxError, with a reason for people, where the answer is not what it must be
   * @param proof one read that may prove a write whose outcome is unknown
   * @throws {Failure} of the kind that the outcome has; in-doubt, where a write may or may not have happened
   */
  ask<T>(request: ApiRequest, purpose: Purpose, read: (answer: Answer) => T, proof?: Proof<T>): Promise<T>;
}

/** How requests are sent over a wire. */
export interface WireOptions extends AttemptLimits, RetryPolicy {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Whether a create with an Idempotency-Key may be sent again: the service is known to honour it. */
  readonly honoursKeys: boolean;
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

/** How long a write that was sent is waited for after listctl was told to stop (reliability, P03). */
const stopGraceMs = 2000;

/** The way through a transport: one loop for every request, whatever the transport is. */
export function wireOver(transport: Transport, options: WireOptions): Wire {
  const { address } = transport;
  const writeSignal = laterThan(options.signal, stopGraceMs);
  const { timeoutMs, phases } = options;
  const send: Send = async (request, isFresh) => {
    const signal = isRead(request.method) ? options.signal : writeSignal();
    const limits = { timeoutMs, signal, isFresh, ...(phases && { phases }) };
    return decodedAttempt(await transport.send(request, limits));
  };
  return {
    address,
    ask: (request, purpose, read, proof) => {
      const asked = { ...purpose, address, method: request.method, hide: transport.hide };
      return new Asking({ request, asked, read, proof, send, options }).result();
    },
  };
}

/** Sends once; where that is asked for, on a connection of its own. */
type Send = (request: ApiRequest, isFresh: boolean) => Promise<Attempt>;

interface AskingOptions<T> {
  readonly request: ApiRequest;
  readonly asked: Asked;
  readonly read: (answer: Answer) => T;
  readonly proof: Proof<T> | undefined;
  readonly send: Send;
  readonly options: WireOptions;
}

/** An attempt, and what it came to. */
interface Judged {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Why the body of a 2xx can't be used. */
  readonly unusable?: string | undefined;
}

/** One request, as often as it is sent. */
class Asking<T> {
  readonly #the: AskingOptions<T>;
  readonly #method: Method;
  #number = 0;
  #elapsedMs = 0;
  /** The last attempt of a write that may have happened: what the whole is, unless a later one proves it. */
  #doubt: Judged | undefined;

  constructor(the: AskingOptions<T>) {
    this.#the = the;
    this.#method = the.request.method;
  }

  async result(): Promise<T> {
    const { signal, clock } = this.#the.options;
    signal.throwIfAborted();
    for (let isFresh = false; ; ) {
      const startedAt = clock.monotonicMs();
      const attempt = await this.#the.send(this.#the.request, isFresh);
      const tookMs = clock.monotonicMs() - startedAt;
      this.#number += 1;
      const ended = this.#judge(attempt);
      if ('value' in ended) {
        await this.#report({ attempt, outcome: 'applied' }, tookMs, undefined);
        return ended.value;
      }
      isFresh = ended.unusable !== undefined;
      const wasInDoubt = this.#doubt !== undefined;
      if (isDoubtful(this.#method, ended.outcome)) this.#doubt = ended;
      const wait = this.#waitAfter(ended, wasInDoubt);
      await this.#report(ended, tookMs, wait.ms);
      const proven = await this.#prove(ended, wasInDoubt);
      if (proven) return proven.value;
      if (wait.ms === undefined) throw this.#failure(ended, wait.tooLongMs);
      await clock.sleep(wait.ms, signal).catch((reason: unknown) => {
        throw this.#doubt ? this.#failure(ended) : reason;
      });
      this.#elapsedMs += tookMs + wait.ms;
    }
  }

  #judge(attempt: Attempt): Judged | { readonly value: T } {
    const outcome = outcomeOf(this.#method, attempt);
    if (outcome !== 'applied' || !attempt.answer) return { attempt, outcome };
    const { answer } = attempt;
    if (answer.unreadable !== undefined) return { attempt, outcome: 'unknown', unusable: answer.unreadable };
    try {
      return { value: this.#the.read(answer) };
    } catch (error) {
      if (error instanceof SyntaxError) return { attempt, outcome: 'unknown', unusable: error.message };
      throw error;
    }
  }

  /** The wait before the next attempt; none, where there is to be none. */
  #waitAfter(ended: Judged, wasInDoubt: boolean): { readonly ms?: number; readonly tooLongMs?: number } {
    const { retries, maxWaitMs, random, clock } = this.#the.options;
    if (this.#number > retries || !this.#mayRepeat(ended, wasInDoubt)) return {};
    const { answer } = ended.attempt;
    const askedMs = answer && waitAskedMs(answer, clock.now());
    if (askedMs !== undefined && askedMs > maxWaitMs) return { tooLongMs: askedMs };
    const ms = delayMs({ attempt: this.#number, isThrottled: isThrottled(answer), askedMs }, random);
    const isTooLate = this.#doubt !== undefined && this.#method === 'POST' && this.#elapsedMs + ms > keyWindowMs;
    return isTooLate ? {} : { ms };
  }

  #mayRepeat({ attempt, outcome, unusable }: Judged, wasInDoubt: boolean): boolean {
    const { answer } = attempt;
    const isKeyHonoured = this.#the.options.honoursKeys && 'idempotency-key' in this.#the.request.headers;
    // The first attempt is still being worked on (the Idempotency-Key draft, section 2.6).
    if (answer?.status === 409 && isKeyHonoured && wasInDoubt) return true;
    if (unusable !== undefined && answer && isFinal(this.#method, answer)) return false;
    return mayRepeat({ method: this.#method, attempt, outcome, isKeyHonoured });
  }

  /** What a later answer, or one read, proves of a write that may have happened. */
  async #prove({ attempt }: Judged, wasInDoubt: boolean): Promise<{ readonly value: T } | undefined> {
    const { proof, read, send, asked } = this.#the;
    const head = attempt.answer ?? attempt.head;
    if (this.#doubt === undefined || head === undefined) return undefined;
    const isGone = head.status === 404 || head.status === 410;
    if (this.#method === 'DELETE' && wasInDoubt && isGone) return { value: read(nothing) };
    const request = proof?.request(head, asked.address);
    if (request === undefined) return undefined;
    const { answer } = await send(request, true);
    if (answer === undefined || answer.status !== 200) return undefined;
    try {
      const value = proof?.read(answer);
      if (value !== undefined) return { value };
      if (proof?.mayDisprove) this.#doubt = undefined;
      return undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #failure(ended: Judged, tooLongMs?: number): unknown {
    const { asked, options } = this.#the;
    const times = this.#number;
    const { attempt, outcome, unusable } = ended;
    if (this.#doubt) return inDoubt(asked, { ...this.#doubt, times });
    // Nothing was changed: the stop is all there is to say.
    if (attempt.fault?.kind === 'stopped') return options.signal.reason;
    if (tooLongMs !== undefined && attempt.answer) {
      return tooLongToWait(asked, attempt.answer, { waitMs: tooLongMs, maxWaitMs: options.maxWaitMs });
    }
    if (unusable !== undefined && attempt.answer) return unusableAnswer(asked, attempt.answer, unusable);
    return failureOf(asked, attempt, outcome, times);
  }

  async #report({ attempt, outcome }: Judged, tookMs: number, waitMs: number | undefined): Promise<void> {
    const { request, options } = this.#the;
    const numbers = { number: this.#number, numberMax: options.retries + 1 };
    await options.onAttempt?.({ request, attempt, outcome, tookMs, waitMs, ...numbers });
  }
}

/** What stands for the answer to a DELETE that was done by an attempt without one. */
const nothing: Answer = { status: 204, headers: {}, body: new Uint8Array() };

/**
 * Whether a 2xx that can't be used would come again as it is: a page for people comes from something else, and JSON
 * that is no item is what the service has to say to a read. What is no JSON may have been cut on its way.
 */
function isFinal(method: Method, answer: Answer): boolean {
  return isHtml(answer) || (isRead(method) && (answer.unreadable !== undefined || isJson(answer)));
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
    else signal.addEventListener('abort', wait, { once: true });
    return made.signal;
  };
}

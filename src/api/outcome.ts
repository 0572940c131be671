import type { Outcome } from '../core/errors.ts';
import { isHtml } from './response.ts';
import { type Attempt, isRead, type Method, type ResponseHead, type ServiceResponse } from './transport.ts';

/**
 * What became of one attempt (rulings, "Retries"):
 *
 * | attempt                                                          | outcome  |
 * |---|---|
 * | no byte of the request was written                               | not-sent |
 * | a complete 2xx                                                   | applied  |
 * | 4xx, 501, 505, 503 with Retry-After, 301, 307, 308               | refused  |
 * | 302 or 303 to a read                                             | refused  |
 * | 408 to a write that was written whole: it may be worked on still   | unknown  |
 * | everything else: 500, 502, 504, 503, a lost connection, a time-out | unknown  |
 *
 * Whether the body of a 2xx can be used is for the caller to see: a create without an id in it is unknown too.
 */
export function toOutcome(method: Method, attempt: Attempt): Outcome {
  if (attempt.error) return attempt.wasSent ? 'unknown' : 'not-sent';
  const { status, headers, isEarly } = attempt.response;
  if (status >= 200 && status < 300) return 'applied';
  if (status === 408 && !isRead(method) && !isEarly) return 'unknown';
  if (status >= 400 && status < 500) return 'refused';
  if ([301, 307, 308, 501, 505].includes(status)) return 'refused';
  if ([302, 303].includes(status) && isRead(method)) return 'refused';
  // Gateways send a bare 503 after losing a service that may have acted; one that throttles says for how long.
  if (status === 503 && headers['retry-after'] !== undefined) return 'refused';
  return 'unknown';
}

/** What a run says of trying again. */
export interface RetryPolicy {
  /** How often after the first attempt: 4 are five attempts in all. */
  readonly retries: number;
  /** The longest wait that the service may ask for; one that is longer ends the request. */
  readonly maxWaitMs: number;
}

/** As it is without a flag (cli.md, "Options that every command understands"). */
export const defaultRetries: RetryPolicy = { retries: 4, maxWaitMs: 180_000 };

/** A create with a key may be sent again for so long after its first attempt: services keep keys for 24 h (C4). */
export const keyWindowMs = 23 * 3_600_000;

/** One attempt, as far as sending again depends on it. */
export interface Judged {
  readonly method: Method;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the service is known to honor the key that the request carries. */
  readonly isKeyHonored: boolean;
}

/**
 * Whether the same request may be sent again:
 *
 * |                   | not sent | 429, 408, 425, 503 with Retry-After | 500, 502, 503, 504 | no answer, or a broken one |
 * |---|---|---|---|---|
 * | GET               | again    | again                               | again              | again                      |
 * | DELETE, PATCH     | again    | again                               | again              | again                      |
 * | POST              | again    | again                               | no: in doubt       | no: in doubt               |
 * | POST, key honored| again    | again                               | again              | again                      |
 *
 * A 408 to a write that was written whole is as a 504: its outcome is unknown.
 *
 * No attempt is wasted on what the next one would end in as well: somebody who cannot prove to be the service, and an
 * answer that is too large.
 */
export function isRetryable({ method, attempt, outcome, isKeyHonored }: Judged): boolean {
  const { response, error } = attempt;
  if (error && nonRetryable.has(error.kind)) return false;
  if (outcome === 'not-sent') return true;
  if (outcome === 'refused') return isThrottled(response) || early.has(response?.status);
  if (method === 'POST' && !isKeyHonored) return false;
  return response === undefined || transient.has(response.status) || (response.status >= 200 && response.status < 300);
}

const nonRetryable: ReadonlySet<string> = new Set(['untrusted', 'not-local', 'too-large', 'stopped']);
/** Statuses that say only that it was too slow or too soon. */
const early: ReadonlySet<number | undefined> = new Set([408, 425]);
/** Statuses of a service that may be well again in a moment. A 2xx is unknown only where its body cannot be used. */
const transient: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** Whether the answer asks to be left alone: 429, or 503 that says for how long. */
export function isThrottled(response: ResponseHead | undefined): boolean {
  return response?.status === 429 || (response?.status === 503 && response.headers['retry-after'] !== undefined);
}

/** What a wait depends on. */
export interface DelayCause {
  /** How many attempts have been made, from 1. */
  readonly attempt: number;
  readonly isThrottled: boolean;
  /** What the service asks for, in milliseconds. */
  readonly askedMs: number | undefined;
}

/**
 * The wait before the next attempt, in whole milliseconds, at least 100: a floor that stops hot loops.
 *
 * What the service asks for is never cut short; up to a tenth of it, at most a second, is added, so that not everybody
 * comes back at once. Where it asks for nothing it is full jitter (AWS Architecture Blog, "Exponential Backoff And
 * Jitter"): between 0 and a bound that doubles from 0.5 s, from 1 s for who was throttled, to 20 s.
 *
 * @param random gives a number from 0 up to 1
 */
export function delayMs({ attempt, isThrottled: wasThrottled, askedMs }: DelayCause, random: () => number): number {
  const boundMs = Math.min(20_000, (wasThrottled ? 1000 : 500) * 2 ** (attempt - 1));
  const ms = askedMs === undefined ? random() * boundMs : askedMs + random() * Math.min(askedMs / 10, 1000);
  return Math.max(100, Math.ceil(ms));
}

/** Whether another attempt could change what became of a write: reads and what was only refused have no effect. */
export function isDoubtful(method: Method, outcome: Outcome): boolean {
  return outcome === 'unknown' && !isRead(method);
}

/**
 * How the service is: it answered; it asked to be left alone; or nothing says that it is there (no answer, 500, 502,
 * 504, a bare 503).
 */
export type ServiceSignal = 'answered' | 'throttled' | 'silent';

/** The sign that an attempt gives. */
export function toServiceSignal({ response }: Attempt): ServiceSignal {
  if (response === undefined) return 'silent';
  if (isThrottled(response)) return 'throttled';
  return response.status >= 500 && response.status !== 501 && response.status !== 505 ? 'silent' : 'answered';
}

/** Whom an attempt concerns: its own request; every one to this service; or every one until one of them was done. */
export type FailureScope = 'itself' | 'every' | 'every-until-done';

/**
 * Whom it concerns that a request was not done (cli.md, "Many items"): a token that is not accepted, a redirect,
 * somebody who cannot prove to be the service and a page for people are no matter of one item. A 403, a 404 to a create or
 * with a page for people, and an answer to a create that is no item are not either where nothing has succeeded yet.
 *
 * A response that belongs to another create shows that no other one can be trusted either.
 *
 * @param isUnusable whether it is a 2xx whose body cannot be used
 * @param isForeign whether it belongs to another request
 */
export function toFailureScope(
  method: Method,
  { response, error }: Attempt,
  isUnusable: boolean,
  isForeign = false,
): FailureScope {
  if (response === undefined) return ofEvery.has(error.kind) ? 'every' : 'itself';
  const { status } = response;
  if (isOfEvery(response, isUnusable) || (isForeign && method === 'POST')) return 'every';
  const isNotFound = status === 404 || status === 410;
  // A create that finds nothing, or that is answered with something else than an item; a page where an item should be.
  const isElsewhere = method === 'POST' ? isNotFound || isUnusable : isNotFound && isHtml(response);
  return status === 403 || isElsewhere ? 'every-until-done' : 'itself';
}

/** Faults that whatever answers there gives each request. */
const ofEvery: ReadonlySet<string> = new Set(['untrusted', 'not-local']);

function isOfEvery(response: ServiceResponse, isUnusable: boolean): boolean {
  const { status } = response;
  return status === 401 || (status >= 300 && status < 400) || (isUnusable && isHtml(response));
}

/**
 * The wait that an answer asks for, in milliseconds; undefined where it asks for none. Of several the longest: of two
 * `Retry-After` (RFC 9110, section 10.2.3), and of a `RateLimit-Reset` beside them (as SharePoint sends it).
 *
 * Seconds may have decimals: Microsoft Graph sends `2.128`. A date counts from the answer's own `Date`, because our
 * clock may be wrong. What is neither, and what is past, asks for nothing.
 *
 * @param nowMs our own time, since the epoch, for a date in an answer that has none of its own
 */
export function retryAfterMs({ headers }: ResponseHead, nowMs: number): number | undefined {
  const answeredMs = parseHttpDate(headers['date'] ?? '') ?? nowMs;
  const asked = valuesIn(headers['retry-after']).map((value) => parseSeconds(value) ?? untilMs(value, answeredMs));
  const reset = valuesIn(headers['ratelimit-reset']).map(resetMs);
  const longestMs = Math.max(0, ...[...asked, ...reset].map((ms) => ms ?? 0));
  return longestMs > 0 ? longestMs : undefined;
}

/** From here on, 31 years, it is a point in time, which some services send in `RateLimit-Reset`. */
const epochMs = 1_000_000_000_000;

function resetMs(value: string): number | undefined {
  const ms = parseSeconds(value);
  return (ms ?? 0) < epochMs ? ms : undefined;
}

/** The values of a header that was repeated, or is a list; a comma in a date belongs to its day of the week. */
function valuesIn(header: string | undefined): readonly string[] {
  const values = (header ?? '').matchAll(/(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, )?[^,]+/g);
  return Array.from(values, ([value]) => value.trim());
}

/** A number of seconds in milliseconds; undefined for anything else. */
export function parseSeconds(value: string): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(value)) return undefined;
  // Rounded up, so that it is never too early; so many digits that they are no number any more are a very long wait.
  return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
}

/** The time until a date; none, or less, where it is past. */
function untilMs(value: string, answeredMs: number): number | undefined {
  const ms = parseHttpDate(value);
  return ms === undefined ? undefined : ms - answeredMs;
}

/** The three forms of a date that HTTP knows (RFC 9110, section 5.6.7): other texts that JavaScript reads are none. */
const dates = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
] as const;

/** A date of a header in milliseconds since the Unix epoch; undefined for anything else. */
export function parseHttpDate(text: string): number | undefined {
  if (!dates.some((form) => form.test(text))) return undefined;
  // The oldest form names no zone, and means the same one.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

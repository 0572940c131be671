import type { Outcome } from '../core/errors.ts';
import { isHtml } from './response.ts';
import { type Attempt, isRead, type Method, type ResponseHead, type ServiceResponse } from './transport.ts';

/**
 * The outcome of one attempt (outcomes-1):
 *
 * | attempt                                                          | outcome  |
 * |---|---|
 * | no byte of the request was written                               | not-sent |
 * | a complete 2xx                                                   | applied  |
 * | 4xx, 501, 505, 503 with Retry-After, 301, 307, 308               | refused  |
 * | 302 or 303 to a read                                             | refused  |
 * | 408 to a write that was fully written: it may still be in progress  | unknown  |
 * | everything else: 500, 502, 504, 503, a lost connection, a time-out | unknown  |
 *
 * The caller checks the body of a 2xx: a create without an id in it is unknown too.
 */
export function toOutcome(method: Method, attempt: Attempt): Outcome {
  if (attempt.error) return attempt.wasSent ? 'unknown' : 'not-sent';
  const { status, headers, isEarly } = attempt.response;
  if (status >= 200 && status < 300) return 'applied';
  if (status === 408 && !isRead(method) && !isEarly) return 'unknown';
  if (status >= 400 && status < 500) return 'refused';
  if ([301, 307, 308, 501, 505].includes(status)) return 'refused';
  if ([302, 303].includes(status) && isRead(method)) return 'refused';
  // Gateways send 503 without Retry-After when they lose a service that may have acted.
  if (status === 503 && headers['retry-after'] !== undefined) return 'refused';
  return 'unknown';
}

export interface RetryPolicy {
  /** Attempts after the first one. */
  readonly retries: number;
  /** The longest Retry-After to honor, in milliseconds. */
  readonly maxWaitMs: number;
}

/** retries-2, retries-4 */
export const defaultRetries: RetryPolicy = { retries: 4, maxWaitMs: 180_000 };

/** Creates with a key are retried within this time, since services keep keys for 24 h (keys-3). */
export const keyWindowMs = 23 * 3_600_000;

/** What a retry depends on. */
export interface Judged {
  readonly method: Method;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the service is known to honor the idempotency key of the request. */
  readonly isKeyHonored: boolean;
}

/**
 * Whether the request may be retried (retries-1):
 *
 * |                   | not sent | 429, 408, 425, 503 with Retry-After | 500, 502, 503, 504 | no response, or a broken one |
 * |---|---|---|---|---|
 * | GET               | yes      | yes                                 | yes                | yes                        |
 * | DELETE, PATCH     | yes      | yes                                 | yes                | yes                        |
 * | POST              | yes      | yes                                 | no: in doubt       | no: in doubt               |
 * | POST, key honored | yes      | yes                                 | yes                | yes                        |
 *
 * A 408 to a write that was fully written counts as a 504. Errors that would recur are not retried.
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
const early: ReadonlySet<number | undefined> = new Set([408, 425]);
const transient: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** 429, or 503 with Retry-After. */
export function isThrottled(response: ResponseHead | undefined): boolean {
  return response?.status === 429 || (response?.status === 503 && response.headers['retry-after'] !== undefined);
}

export interface DelayCause {
  /** The number of attempts made. */
  readonly attempt: number;
  readonly isThrottled: boolean;
  /** Retry-After, in milliseconds. */
  readonly askedMs: number | undefined;
}

/**
 * The wait before the next attempt in milliseconds, at least 100 (retries-2): Retry-After plus up to a tenth of it, at
 * most 1 s; else full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter") up to a bound that doubles from
 * 0.5 s, from 1 s after throttling, to 20 s.
 *
 * @param random gives a number from 0 up to 1
 */
export function delayMs({ attempt, isThrottled: wasThrottled, askedMs }: DelayCause, random: () => number): number {
  const boundMs = Math.min(20_000, (wasThrottled ? 1000 : 500) * 2 ** (attempt - 1));
  const ms = askedMs === undefined ? random() * boundMs : askedMs + random() * Math.min(askedMs / 10, 1000);
  return Math.max(100, Math.ceil(ms));
}

/** Whether a write may have taken effect. */
export function isDoubtful(method: Method, outcome: Outcome): boolean {
  return outcome === 'unknown' && !isRead(method);
}

/** `unreachable`: no response, 500, 502, 504, or 503 without Retry-After. */
export type ServiceSignal = 'ok' | 'throttled' | 'unreachable';

export function toServiceSignal({ response }: Attempt): ServiceSignal {
  if (response === undefined) return 'unreachable';
  if (isThrottled(response)) return 'throttled';
  return response.status >= 500 && response.status !== 501 && response.status !== 505 ? 'unreachable' : 'ok';
}

/** The rows that a failure affects. */
export type FailureScope = 'row' | 'run' | 'run-until-first-success';

/**
 * The requests that a failure affects (bulk-5). A rejected token, a redirect, an untrusted certificate and an HTML page
 * affect the whole run; so do a 403, a 404 to a create or as HTML, and an unusable response to a create, until a row has
 * succeeded. A response that belongs to another create shows that none can be trusted.
 *
 * @param isForeign the response belongs to another request
 */
export function toFailureScope(
  method: Method,
  { response, error }: Attempt,
  isUnusable: boolean,
  isForeign = false,
): FailureScope {
  if (response === undefined) return ofEvery.has(error.kind) ? 'run' : 'row';
  const { status } = response;
  if (isOfEvery(response, isUnusable) || (isForeign && method === 'POST')) return 'run';
  const isNotFound = status === 404 || status === 410;
  const isElsewhere = method === 'POST' ? isNotFound || isUnusable : isNotFound && isHtml(response);
  return status === 403 || isElsewhere ? 'run-until-first-success' : 'row';
}

const ofEvery: ReadonlySet<string> = new Set(['untrusted', 'not-local']);

function isOfEvery(response: ServiceResponse, isUnusable: boolean): boolean {
  const { status } = response;
  return status === 401 || (status >= 300 && status < 400) || (isUnusable && isHtml(response));
}

/**
 * The wait that a response asks for, in milliseconds: the longest of its `Retry-After` (RFC 9110, section 10.2.3) and
 * `RateLimit-Reset` (which SharePoint sends).
 *
 * Seconds may have decimals: Microsoft Graph sends `2.128`. A date counts from the response's own `Date`, because our
 * clock may be wrong (retries-3).
 *
 * @param nowMs our own time, for a response without `Date`
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

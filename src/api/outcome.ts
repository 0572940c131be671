import type { Outcome } from '../core/errors.ts';
import { isHtml } from './response.ts';
import { type Attempt, isRead, isSuccess, type Method, type ResponseHead } from './transport.ts';

/**
 * The outcome of one attempt (outcomes-1):
 *
 * | attempt                                                            | outcome  |
 * |---|---|
 * | no byte of the request was written                                 | not-sent |
 * | a complete 2xx                                                     | applied  |
 * | 4xx, 501, 505, 503 with Retry-After, 301, 307, 308                 | refused  |
 * | 302 or 303 to a read                                               | refused  |
 * | 408 to a write that was fully written: it may still be in progress | unknown  |
 * | everything else: 500, 502, 504, 503, a lost connection, a timeout  | unknown  |
 *
 * The caller checks the body of a 2xx: a create without an id is unknown too.
 */
export function toOutcome(method: Method, attempt: Attempt): Outcome {
  if (attempt.error) return attempt.wasSent ? 'unknown' : 'not-sent';
  const { status, headers, isEarly } = attempt.response;
  if (isSuccess(attempt.response)) return 'applied';
  if (status === 408 && !isRead(method) && !isEarly) return 'unknown';
  if (status >= 400 && status < 500) return 'refused';
  if ([301, 307, 308, 501, 505].includes(status)) return 'refused';
  if ([302, 303].includes(status) && isRead(method)) return 'refused';
  // Without Retry-After it may come from a gateway that lost its backend (outcomes-3).
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

/** The time within which a create may be retried with its key (keys-3). */
export const keyWindowMs = 23 * 3_600_000;

/**
 * Decides whether the request may be retried (retries-1); `isRepeatable` if the service honors its idempotency key, or refuses a
 * repeat:
 *
 * |                   | not sent | 429, 408, 425, 503 with Retry-After | 500, 502, 503, 504 | no response, or a broken one |
 * |---|---|---|---|---|
 * | GET               | yes      | yes                                 | yes                | yes                        |
 * | DELETE, PATCH     | yes      | yes                                 | yes                | yes                        |
 * | POST              | yes      | yes                                 | no: in doubt       | no: in doubt               |
 * | POST, repeatable  | yes      | yes                                 | yes                | yes                        |
 *
 * A 408 to a write that was fully written counts as a 504. Errors that would recur are not retried.
 */
export function isRetryable({
  method,
  attempt,
  outcome,
  isRepeatable,
}: {
  readonly method: Method;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly isRepeatable: boolean;
}): boolean {
  const { response, error } = attempt;
  if (error && nonRetryable.has(error.kind)) return false;
  if (outcome === 'not-sent') return true;
  if (outcome === 'refused') return isThrottled(response) || early.has(response?.status);
  if (method === 'POST' && !isRepeatable) return false;
  return response === undefined || transient.has(response.status) || isSuccess(response);
}

const nonRetryable: ReadonlySet<string> = new Set(['untrusted', 'not-local', 'too-large', 'stopped']);
const early: ReadonlySet<number | undefined> = new Set([408, 425]);
const transient: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

function isThrottled(response: ResponseHead | undefined): boolean {
  return response?.status === 429 || (response?.status === 503 && response.headers['retry-after'] !== undefined);
}

/**
 * The wait before the next attempt in milliseconds (retries-2, retries-3): Retry-After with a little added, else full
 * jitter (AWS Architecture Blog, "Exponential Backoff And Jitter").
 */
export function delayMs(
  attempt: number,
  { wasThrottled, requestedMs }: { readonly wasThrottled: boolean; readonly requestedMs: number | undefined },
  random: () => number,
): number {
  const boundMs = Math.min(20_000, (wasThrottled ? 1000 : 500) * 2 ** (attempt - 1));
  const ms = requestedMs === undefined ? random() * boundMs : requestedMs + random() * Math.min(requestedMs / 10, 1000);
  return Math.max(100, Math.ceil(ms));
}

/** A write that may or may not have taken effect. */
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

/** The rows of a bulk run that a failure affects (bulk-5). */
export type FailureScope = 'row' | 'run' | 'run-until-first-success';

/** A response that belongs to another create means that no further one can be trusted. */
export function toFailureScope(
  method: Method,
  { response, error }: Attempt,
  isUnusable: boolean,
  isForeign = false,
): FailureScope {
  if (response === undefined) return error.kind === 'untrusted' || error.kind === 'not-local' ? 'run' : 'row';
  const { status } = response;
  const isRedirect = status >= 300 && status < 400;
  if (status === 401 || isRedirect || (isUnusable && isHtml(response)) || (isForeign && method === 'POST'))
    return 'run';
  const isNotFound = status === 404 || status === 410;
  const isWrongList = method === 'POST' ? isNotFound || isUnusable : isNotFound && isHtml(response);
  // 423 may be about the item or the whole list.
  return status === 403 || status === 423 || isWrongList ? 'run-until-first-success' : 'row';
}

/**
 * The wait that a response requests, in milliseconds (retries-3): its `Retry-After` (RFC 9110, section 10.2.3), or
 * `RateLimit-Reset` if that is longer and the response is a throttle that leaves nothing: SharePoint sends it with other
 * responses too. Without `Date` it counts from `nowMs`.
 */
export function retryAfterMs({ headers }: ResponseHead, nowMs: number, wasThrottled: boolean): number | undefined {
  const sentMs = parseHttpDate(headers['date'] ?? '') ?? nowMs;
  const untilMs = (value: string) => (parseHttpDate(value) ?? sentMs) - sentMs;
  const delays = splitHeader(headers['retry-after']).map((value) => parseSeconds(value) ?? untilMs(value));
  const isUsedUp = wasThrottled && !(Number(headers['ratelimit-remaining']) > 0);
  const resets = isUsedUp ? splitHeader(headers['ratelimit-reset']).map(parseReset) : [];
  const longestMs = Math.max(0, ...delays, ...resets);
  return longestMs > 0 ? longestMs : undefined;
}

/** The rest of the client's budget, in units of the service's own, and the time until it is full again. */
export interface Budget {
  readonly remaining: number;
  readonly resetMs: number;
}

/**
 * Reads `RateLimit-Remaining` and `RateLimit-Reset`, which SharePoint sends once 80 % of the budget are used; undefined
 * if either is missing.
 */
export function toBudget({ headers }: ResponseHead): Budget | undefined {
  const remaining = headers['ratelimit-remaining'];
  if (remaining === undefined || !/^\d{1,15}$/.test(remaining)) return undefined;
  const resetMs = parseReset(headers['ratelimit-reset'] ?? '');
  return resetMs > 0 ? { remaining: Number(remaining), resetMs } : undefined;
}

/** Some services send a point in time instead of a number of seconds: anything over 31 years. */
function parseReset(value: string): number {
  const ms = parseSeconds(value) ?? 0;
  return ms < 1_000_000_000_000 ? ms : 0;
}

/** The values of a repeated or list header; the comma after a day of the week is part of a date. */
function splitHeader(header: string | undefined): readonly string[] {
  const values = (header ?? '').matchAll(/(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, )?[^,]+/g);
  return Array.from(values, ([value]) => value.trim());
}

/** A number of seconds in milliseconds; undefined for anything else. */
export function parseSeconds(value: string): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(value)) return undefined;
  // Rounded up, so that it is never too early; too many digits for a number are a very long wait.
  return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
}

/** The three date formats of HTTP (RFC 9110, section 5.6.7); JavaScript parses more. */
const dateFormats = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
] as const;

/** An HTTP date in milliseconds since the Unix epoch; undefined for anything else. */
export function parseHttpDate(text: string): number | undefined {
  if (!dateFormats.some((format) => format.test(text))) return undefined;
  // The oldest format has no time zone and means GMT.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

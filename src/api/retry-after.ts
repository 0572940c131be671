/** How long a service asks to be left alone. */
import type { AnswerHead } from './transport.ts';

/**
 * The wait that an answer asks for, in milliseconds; undefined where it asks for none. Of several the longest: of two
 * `Retry-After` (RFC 9110, section 10.2.3), and of a `RateLimit-Reset` beside them (as SharePoint sends it).
 *
 * Seconds may have decimals: Microsoft Graph sends `2.128`. A date counts from the answer's own `Date`, because our
 * clock may be wrong. What is neither, and what is past, asks for nothing.
 *
 * @param nowMs our own time, since the epoch, for a date in an answer that has none of its own
 */
export function waitAskedMs({ headers }: AnswerHead, nowMs: number): number | undefined {
  const answeredMs = dateMs(headers['date'] ?? '') ?? nowMs;
  const asked = valuesIn(headers['retry-after']).map((value) => secondsMs(value) ?? untilMs(value, answeredMs));
  const reset = valuesIn(headers['ratelimit-reset']).map(resetMs);
  const longestMs = Math.max(0, ...[...asked, ...reset].map((ms) => ms ?? 0));
  return longestMs > 0 ? longestMs : undefined;
}

/** From here on, 31 years, it is a point in time, which some services send in `RateLimit-Reset`. */
const epochMs = 1_000_000_000_000;

function resetMs(value: string): number | undefined {
  const ms = secondsMs(value);
  return (ms ?? 0) < epochMs ? ms : undefined;
}

/** The values of a header that was repeated, or is a list; a comma in a date belongs to its day of the week. */
function valuesIn(header: string | undefined): readonly string[] {
  const values = (header ?? '').matchAll(/(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, )?[^,]+/g);
  return Array.from(values, ([value]) => value.trim());
}

/** A number of seconds in milliseconds; undefined for anything else. */
export function secondsMs(value: string): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(value)) return undefined;
  // Rounded up, so that it is never too early; so many digits that they are no number any more are a very long wait.
  return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
}

/** The time until a date; none, or less, where it is past. */
function untilMs(value: string, answeredMs: number): number | undefined {
  const ms = dateMs(value);
  return ms === undefined ? undefined : ms - answeredMs;
}

/** The three forms of a date that HTTP knows (RFC 9110, section 5.6.7): other texts that JavaScript reads are none. */
const dates = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
] as const;

/** A date of a header in milliseconds since the Unix epoch; undefined for anything else. */
export function dateMs(text: string): number | undefined {
  if (!dates.some((form) => form.test(text))) return undefined;
  // The oldest form names no zone, and means the same one.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** When a request is sent again, and after what wait: the table of the rulings ("Retries") and the numbers of C3. */
import type { Outcome } from '../errors.ts';
import { type AnswerHead, type Attempt, isRead, type Method } from './transport.ts';

/** What a run says of trying again. */
export interface RetryPolicy {
  /** How often after the first attempt: 4 are five attempts in all. */
  readonly retries: number;
  /** The longest wait that the service may ask for; one that is longer ends the request. */
  readonly maxWaitMs: number;
}

/** As it is without a flag (cli.md, "Options that every command understands"). */
export const usualRetries: RetryPolicy = { retries: 4, maxWaitMs: 180_000 };

/** A create with a key may be sent again for so long after its first attempt: services keep keys for 24 h (C4). */
export const keyWindowMs = 23 * 3_600_000;

/** One attempt, as far as sending again depends on it. */
export interface Judged {
  readonly method: Method;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the service is known to honour the key that the request carries. */
  readonly isKeyHonoured: boolean;
}

/**
 * Whether the same request may be sent again:
 *
 * |                   | not sent | 429, 408, 425, 503 with Retry-After | 500, 502, 503, 504 | no answer, or a broken one |
 * |---|---|---|---|---|
 * | GET               | again    | again                               | again              | again                      |
 * | DELETE, PATCH     | again    | again                               | again              | again                      |
 * | POST              | again    | again                               | no: in doubt       | no: in doubt               |
 * | POST, key honoured| again    | again                               | again              | again                      |
 *
 * A 408 to a write that was written whole is as a 504: its outcome is unknown.
 *
 * No attempt is wasted on what the next one would end in as well: somebody who can't prove to be the service, and an
 * answer that is too large.
 */
export function mayRepeat({ method, attempt, outcome, isKeyHonoured }: Judged): boolean {
  const { answer, fault } = attempt;
  if (fault && hopeless.has(fault.kind)) return false;
  if (outcome === 'not-sent') return true;
  if (outcome === 'refused') return isThrottled(answer) || early.has(answer?.status);
  if (method === 'POST' && !isKeyHonoured) return false;
  return answer === undefined || passing.has(answer.status) || (answer.status >= 200 && answer.status < 300);
}

const hopeless: ReadonlySet<string> = new Set(['untrusted', 'not-local', 'too-large', 'stopped']);
/** Statuses that say only that it was too slow or too soon. */
const early: ReadonlySet<number | undefined> = new Set([408, 425]);
/** Statuses of a service that may be well again in a moment. A 2xx is unknown only where its body can't be used. */
const passing: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** Whether the answer asks to be left alone: 429, or 503 that says for how long. */
export function isThrottled(answer: AnswerHead | undefined): boolean {
  return answer?.status === 429 || (answer?.status === 503 && answer.headers['retry-after'] !== undefined);
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

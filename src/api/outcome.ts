import type { Outcome } from '../errors.ts';
import { type Attempt, isRead, type Method } from './transport.ts';

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
export function outcomeOf(method: Method, attempt: Attempt): Outcome {
  if (attempt.fault) return attempt.wasSent ? 'unknown' : 'not-sent';
  const { status, headers, isEarly } = attempt.answer;
  if (status >= 200 && status < 300) return 'applied';
  if (status === 408 && !isRead(method) && !isEarly) return 'unknown';
  if (status >= 400 && status < 500) return 'refused';
  if ([301, 307, 308, 501, 505].includes(status)) return 'refused';
  if ([302, 303].includes(status) && isRead(method)) return 'refused';
  // Gateways send a bare 503 after losing a service that may have acted; one that throttles says for how long.
  if (status === 503 && headers['retry-after'] !== undefined) return 'refused';
  return 'unknown';
}

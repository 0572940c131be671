/** What one attempt tells beyond its own request. */
import { isHtml } from './answers.ts';
import { isThrottled } from './retry.ts';
import type { Answer, Attempt, Method } from './transport.ts';

/**
 * How the service is: it answered; it asked to be left alone; or nothing says that it is there (no answer, 500, 502,
 * 504, a bare 503).
 */
export type Sign = 'answered' | 'throttled' | 'silent';

/** The sign that an attempt gives. */
export function signOf({ answer }: Attempt): Sign {
  if (answer === undefined) return 'silent';
  if (isThrottled(answer)) return 'throttled';
  return answer.status >= 500 && answer.status !== 501 && answer.status !== 505 ? 'silent' : 'answered';
}

/** Whom an attempt concerns: its own request; every one to this service; or every one until one of them was done. */
export type Concern = 'itself' | 'every' | 'every-until-done';

/**
 * Whom it concerns that a request was not done (cli.md, "Many items"): a token that is not accepted, a redirect,
 * somebody who can't prove to be the service and a page for people are no matter of one item. A 403, a 404 to a create or
 * with a page for people, and an answer to a create that is no item are not either where nothing has succeeded yet.
 *
 * A response that belongs to another create shows that no other one can be trusted either.
 *
 * @param isUnusable whether it is a 2xx whose body can't be used
 * @param isForeign whether it belongs to another request
 */
export function concernOf(method: Method, { answer, fault }: Attempt, isUnusable: boolean, isForeign = false): Concern {
  if (answer === undefined) return ofEvery.has(fault.kind) ? 'every' : 'itself';
  const { status } = answer;
  if (isOfEvery(answer, isUnusable) || (isForeign && method === 'POST')) return 'every';
  const isNotFound = status === 404 || status === 410;
  // A create that finds nothing, or that is answered with something else than an item; a page where an item should be.
  const isElsewhere = method === 'POST' ? isNotFound || isUnusable : isNotFound && isHtml(answer);
  return status === 403 || isElsewhere ? 'every-until-done' : 'itself';
}

/** Faults that whatever answers there gives each request. */
const ofEvery: ReadonlySet<string> = new Set(['untrusted', 'not-local']);

function isOfEvery(answer: Answer, isUnusable: boolean): boolean {
  const { status } = answer;
  return status === 401 || (status >= 300 && status < 400) || (isUnusable && isHtml(answer));
}

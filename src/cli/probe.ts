import { toFailure } from '../api/failures.ts';
import { toOutcome } from '../api/outcome.ts';
import { getRequest } from '../api/requests.ts';
import { decodeAttempt, isHtml, parseResponseJson } from '../api/response.ts';
import type { AttemptLimits, ServiceResponse, Transport } from '../api/transport.ts';
import type { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { isObject } from '../core/json.ts';

/** An id that no item has: what is asked is whether somebody answers who knows the token. */
const nobody = 'listctl-init';

/**
 * Tries a service with one GET of an item that is not there: a 404 with a JSON body proves that the list service
 * answers and takes the token. It does not prove that the list is there: the service has no way to ask that.
 *
 * @returns why it cannot be used so; undefined where it can. credentials, when the token is what it does not like
 */
export async function probe(transport: Transport, list: ListRef, limits: AttemptLimits): Promise<Failure | undefined> {
  const attempt = await decodeAttempt(await transport.send(getRequest({ ...list, id: nobody }), limits));
  limits.signal.throwIfAborted();
  if (attempt.response !== undefined && isGood(attempt.response)) return undefined;
  const task = `read from list "${list.list}" of site "${list.site}"`;
  const { address, hide } = transport;
  const asked = { task, target: `list "${list.list}"`, address, hide, method: 'GET' } as const;
  return toFailure(asked, attempt, toOutcome('GET', attempt));
}

function isGood(answer: ServiceResponse): boolean {
  const isExpected = answer.status === 404 || (answer.status >= 200 && answer.status < 300);
  if (!isExpected || isHtml(answer)) return false;
  try {
    return isObject(parseResponseJson(answer));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

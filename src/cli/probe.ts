import { toFailure } from '../api/failures.ts';
import { toOutcome } from '../api/outcome.ts';
import { getRequest } from '../api/requests.ts';
import { decodeAttempt, isHtml, parseResponseJson } from '../api/response.ts';
import { type AttemptLimits, isSuccess, type ServiceResponse, type Transport } from '../api/transport.ts';
import type { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { isObject } from '../core/json.ts';

/** An id that no item has. */
const missingId = 'listctl-init';

/**
 * Tries a service by a GET of a missing item: a 404 with a JSON body proves that the list service responds and accepts
 * the token. It does not prove that the list exists, which cannot be found out.
 *
 * @returns the failure, if there is one
 */
export async function probe(transport: Transport, list: ListRef, limits: AttemptLimits): Promise<Failure | undefined> {
  const attempt = await decodeAttempt(await transport.send(getRequest({ ...list, id: missingId }), limits));
  limits.signal.throwIfAborted();
  if (attempt.response !== undefined && isFromService(attempt.response)) return undefined;
  const task = `read from list "${list.list}" of site "${list.site}"`;
  const { address, hide } = transport;
  const context = { task, target: `list "${list.list}"`, address, hide, method: 'GET' } as const;
  return toFailure(context, attempt, toOutcome('GET', attempt));
}

function isFromService(response: ServiceResponse): boolean {
  if (!(response.status === 404 || isSuccess(response)) || isHtml(response)) return false;
  try {
    return isObject(parseResponseJson(response));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

import { toFailure, unusableResponse } from '../api/failures.ts';
import { getRequest } from '../api/items.ts';
import { toOutcome } from '../api/outcome.ts';
import { decodeAttempt, isHtml, parseResponseJson } from '../api/response.ts';
import { type AttemptLimits, isSuccess, type ServiceResponse, type Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { isObject } from '../core/json.ts';
import { type Address, addressText, type ServiceKind } from '../settings/setting.ts';

/** An id that no item has. */
const missingId = 'listctl-init';

/** For a site or a list that is not known: any will do. */
const missingName = 'listctl-doctor';

/**
 * Tries a service by a GET of a missing item: a 404 with a JSON body proves that the list service responds and accepts
 * the token. It does not prove that the list exists, which cannot be found out. If the address has no version segment and
 * fails, and the service responds with one, the hint says so. With Microsoft Graph the list itself is read.
 *
 * @param open connects to an address; the transport is closed
 * @returns the failure, if there is one
 */
export async function tryService(
  address: Address,
  open: (address: Address) => Promise<Transport>,
  list: Partial<ListRef>,
  limits: AttemptLimits,
  service: ServiceKind,
): Promise<Failure | undefined> {
  const attempt = async (at: Address) => {
    const transport = await open(at);
    try {
      return await probe(transport, list, limits, service);
    } finally {
      await transport.close();
    }
  };
  const failure = await attempt(address);
  const withVersion = failure === undefined ? undefined : addVersion(address, failure);
  if (failure === undefined || withVersion === undefined || (await attempt(withVersion)) !== undefined) return failure;
  return new Failure(failure.kind, failure.message, {
    ...failure.details,
    hint: `the URL lacks the version path: use ${addressText(withVersion)}`,
  });
}

function addVersion(address: Address, { kind }: Failure): Address | undefined {
  const isOther = kind === 'refused' || kind === 'not-found';
  if (address.kind === 'local' || !isOther || /\/v\d/.test(address.url.pathname)) return undefined;
  const url = new URL(address.url);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1.0`;
  return { kind: 'http', url };
}

async function probe(
  transport: Transport,
  list: Partial<ListRef>,
  limits: AttemptLimits,
  service: ServiceKind,
): Promise<Failure | undefined> {
  const isGraph = service === 'graph';
  const graph = isGraph ? await import('../api/graph/places.ts') : undefined;
  const errors = isGraph ? (await import('../api/graph/items.ts')).graphErrors : undefined;
  const ref = { site: missingName, list: missingName, ...list, id: missingId };
  const attempt = await decodeAttempt(await transport.send(graph?.listRequest(ref) ?? getRequest(ref), limits));
  limits.signal.throwIfAborted();
  const { response } = attempt;
  const isReached = response !== undefined && (isSuccess(response) || (response.status === 404 && !isGraph));
  if (isReached && isJsonObject(response)) return undefined;
  const isKnown = list.site !== undefined && list.list !== undefined;
  const task = isKnown ? `read from list "${list.list}" of site "${list.site}"` : 'read from the service';
  const { address, hide, tokenHint } = transport;
  const target = isKnown ? `list "${list.list}"` : 'the list service';
  const context = { task, target, address, hide, tokenHint, method: 'GET', errors } as const;
  if (isReached) {
    return unusableResponse(context, response, 'the response is not a JSON object');
  }
  return toFailure(context, attempt, toOutcome('GET', attempt));
}

function isJsonObject(response: ServiceResponse): boolean {
  if (isHtml(response)) return false;
  try {
    return isObject(parseResponseJson(response));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

import { listName, quoteOf, toFailure, unusableResponse } from '../api/failures.ts';
import { toOutcome } from '../api/outcome.ts';
import { decodeAttempt, isHtml, parseResponseJson, parseServiceError } from '../api/response.ts';
import { type AttemptLimits, isSuccess, type ServiceResponse, type Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { isObject } from '../core/json.ts';
import { factsOf } from '../services/index.ts';
import { type Address, addressText, type ServiceKind } from '../settings/setting.ts';

/** An id that no item has. */
const missingId = 'listctl-init';

/** For a site or a list that is not known: any will do. */
const missingName = 'listctl-doctor';

/**
 * The result of a trial. `unclear`: a 404 that is not about the item, so that the service may not have looked at the
 * token, and the site or the list may be missing.
 */
export type ServiceTrial =
  | { readonly status: 'accepted' }
  /** `HTTP 404: no such list` */
  | { readonly status: 'unclear'; readonly said: string }
  | {
      readonly status: 'failed';
      readonly failure: Failure;
      /** The address with a version path, if the service responds there. */
      readonly versioned?: Address;
    };

/**
 * Tries a service by a GET of a missing item: a 404 about the item proves that the list service responds and accepts the
 * token. If the address has no version segment and fails, and the service responds with one, the hint says so. A
 * service with a probe is tried by that.
 *
 * @param open connects to an address; the transport is closed
 */
export async function tryService(
  address: Address,
  open: (address: Address) => Promise<Transport>,
  list: Partial<ListRef>,
  limits: AttemptLimits,
  service: ServiceKind,
): Promise<ServiceTrial> {
  const attempt = async (at: Address) => {
    const transport = await open(at);
    try {
      return await probe(transport, list, limits, service);
    } finally {
      await transport.close();
    }
  };
  const trial = await attempt(address);
  const versioned = trial.status === 'accepted' ? undefined : addVersion(address, trial);
  if (trial.status === 'accepted' || versioned === undefined || (await attempt(versioned)).status !== 'accepted')
    return trial;
  const hint = `the URL lacks the version path: use ${addressText(versioned)}`;
  const { kind, message, details } =
    trial.status === 'failed'
      ? trial.failure
      : new Failure('not-found', `no list service responds at ${addressText(address)} (${trial.said})`);
  return { status: 'failed', failure: new Failure(kind, message, { ...details, hint }), versioned };
}

function addVersion(address: Address, trial: ServiceTrial): (Address & { readonly kind: 'http' }) | undefined {
  const kind = trial.status === 'failed' ? trial.failure.kind : undefined;
  const isOther = trial.status === 'unclear' || kind === 'refused' || kind === 'not-found';
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
): Promise<ServiceTrial> {
  const { items, probe: toRequest, errors } = await factsOf(service).load();
  const ref = { site: missingName, list: missingName, ...list, id: missingId };
  const attempt = await decodeAttempt(await transport.send(toRequest?.(ref) ?? items.get(ref).request, limits));
  limits.signal.throwIfAborted();
  const { response } = attempt;
  const isKnown = list.site !== undefined && list.list !== undefined;
  const task = isKnown ? `read from list "${list.list}" of site "${list.site}"` : 'read from the service';
  const { address, hide, tokenHint } = transport;
  const target = isKnown ? listName(ref) : 'the list service';
  const context = { task, target, address, hide, tokenHint, method: 'GET', errors } as const;
  const failed = (failure: Failure) => ({ status: 'failed', failure }) as const;
  const isMissing = response?.status === 404 && toRequest === undefined;
  if (response === undefined || !(isSuccess(response) || isMissing)) {
    return failed(toFailure(context, attempt, toOutcome('GET', attempt)));
  }
  if (!isJsonObject(response)) {
    return failed(unusableResponse(context, response, 'the response is not a JSON object'));
  }
  if (!isMissing) return { status: 'accepted' };
  const { code, text } = parseServiceError(response, hide);
  const missing = whatIsMissing(code, text);
  if (missing === 'item') return { status: 'accepted' };
  if (missing === undefined || !isKnown) return { status: 'unclear', said: quoteOf(context, response) };
  const { kind, message, details } = toFailure(context, attempt, 'refused');
  return failed(new Failure(kind, message, { ...details, hint: 'check --site and --list' }));
}

/**
 * What a 404 says is missing: a code is certain of a list or a site, a text only of the item. Microsoft Graph, and
 * services after it, say `itemNotFound` of lists as well.
 */
function whatIsMissing(code = '', text = ''): 'item' | 'place' | undefined {
  if (/^(no_?such_?)?(list|site)(_?(not_?found|does_?not_?exist|missing|unknown))?$/i.test(code)) return 'place';
  const words = text.replace(/(["'`]).*?\1|\S*\/\S*/g, '');
  if (/\bitem\b/i.test(words)) return 'item';
  return /^item/i.test(code) && !/\b(list|site)\b/i.test(words) ? 'item' : undefined;
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

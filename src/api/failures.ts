/** Converts attempts without success to failures. */
import { Failure, type FailureDetails, type FailureKind, type FieldError, type Outcome } from '../core/errors.ts';
import type { ItemRef, ListRef } from '../core/item.ts';
import { oneLine } from '../core/text.ts';
import { isDoubtful } from './outcome.ts';
import { isHtml, parseServiceError, type ServiceError } from './response.ts';
import type { ApiRequest, Attempt, Method, ServiceResponse, TransportError } from './transport.ts';

/** The errors of one kind of service, where they have more meaning than a status. */
export interface ErrorWording {
  /** Statuses after which the next attempt needs another connection. */
  readonly freshAfter: readonly number[];
  parse(response: ServiceResponse, hide: (text: string) => string): ServiceError;
  /** Undefined to go by the status, as for `hint`. */
  kind(response: ServiceResponse): FailureKind | undefined;
  hint(response: ServiceResponse, method: Method): string | undefined;
  /**
   * The meaning of a response for the next attempt, where its status does not have it: `throttled`, `retryable` and
   * `final` were not applied.
   */
  meaning(request: ApiRequest, response: ServiceResponse): 'throttled' | 'retryable' | 'final' | undefined;
}

/** For messages. */
export interface Purpose {
  /** `create an item in list "tasks" of site "home"` */
  readonly task: string;
  /** `item "17" of list "tasks" of site "home"` */
  readonly target: string;
  /** The place of the target, if it is one of several: `list "tasks" of site "home"`. */
  readonly place?: string | undefined;
  readonly id?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The advice about a create in doubt, if it is not to use its key. */
  readonly doubtHint?: string | undefined;
}

/** @param verb `read` */
export function purposeOf(verb: string, ref: ItemRef): Purpose {
  const target = `item "${ref.id}" of ${listName(ref)}`;
  return { task: `${verb} ${target}`, target, place: listName(ref), id: ref.id };
}

/** `list "tasks" of site "home"` */
export function listName({ site, list }: ListRef): string {
  return `list "${list}" of site "${site}"`;
}

interface RequestContext extends Purpose {
  readonly errors?: ErrorWording | undefined;
  /** `https://host/v1.0` */
  readonly address: string;
  readonly method: Method;
  readonly hide: (text: string) => string;
  /** An earlier attempt had no response. */
  readonly wasInDoubt?: boolean;
  readonly tokenHint?: (() => string | undefined) | undefined;
}

/** codes-1; any other status is `refused`. */
const failureKinds: Readonly<Record<number, FailureKind>> = {
  401: 'credentials',
  403: 'credentials',
  404: 'not-found',
  408: 'unavailable',
  409: 'conflict',
  410: 'not-found',
  412: 'conflict',
  423: 'conflict',
  425: 'unavailable',
  428: 'conflict',
  429: 'unavailable',
  500: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/** The failure of a request that was not applied, or of a read, after a number of attempts. */
export function toFailure(context: RequestContext, attempt: Attempt, outcome: Outcome, times = 1): Failure {
  if (isDoubtful(context.method, outcome)) return inDoubt(context, { attempt, times });
  if (attempt.error) return transportFailure(context, attempt.error, outcome, times);
  return refusal(context, attempt.response, outcome, times);
}

/** The failure for a 2xx to a read with an unusable body. */
export function unusableResponse(context: RequestContext, response: ServiceResponse, reason: string): Failure {
  return createFailure(context, 'refused', `cannot ${context.task}: ${whyUnusable(response, reason)}`, {
    hint: `check that ${context.address} is the URL of the list service`,
    status: response.status,
    outcome: 'unknown',
    requestId: errorOf(context, response).requestId,
  });
}

/** The failure for a Retry-After beyond --max-wait. */
export function tooLongToWait(
  context: RequestContext,
  response: ServiceResponse,
  { waitMs, maxWaitMs }: { readonly waitMs: number; readonly maxWaitMs: number },
): Failure {
  const wait = `the service asks to wait ${secondsText(waitMs)}, longer than --max-wait (${secondsText(maxWaitMs)})`;
  return createFailure(context, 'unavailable', `cannot ${context.task} (${quoteOf(context, response)}): ${wait}`, {
    hint: 'retry later, or pass a longer --max-wait',
    outcome: 'refused',
    ...detailsOf(context, response),
  });
}

export interface Doubt {
  readonly attempt: Attempt;
  /** The reason why the body of the 2xx is unusable. */
  readonly unusable?: string | undefined;
  readonly times: number;
  /** The service may have forgotten the key. */
  readonly isKeyOld?: boolean;
  /** The reason why a look-up did not settle it. */
  readonly notFound?: string | undefined;
}

/** A write that may or may not have been applied (outcomes-1). */
export function inDoubt(
  context: RequestContext,
  { attempt, unusable, times, isKeyOld = false, notFound }: Doubt,
): Failure {
  const { method, idempotencyKey: key, doubtHint } = context;
  const { response } = attempt;
  const reason = unusable !== undefined && response ? whyUnusable(response, unusable) : reasonOf(context, attempt);
  const isStored = method === 'POST' && unusable !== undefined && response !== undefined && !isHtml(response);
  const doubt = isStored
    ? `in doubt: the service accepted the request to ${context.task} (HTTP ${response.status}), but the id is unknown`
    : `in doubt: cannot confirm the request to ${context.task}`;
  const lookUp = notFound === undefined ? '' : `; ${notFound}`;
  const next =
    method === 'POST'
      ? (doubtHint ?? createHint(isKeyOld ? undefined : key))
      : 'it is safe to run the same command again';
  return createFailure(context, 'in-doubt', `${doubt}: ${reason}${timesText(times)}${lookUp}`, {
    hint: isRedirect(response) ? `${redirectHint}\n${next}` : next,
    outcome: 'unknown',
    idempotencyKey: key,
    ...detailsOf(context, response),
  });
}

function createHint(key: string | undefined): string {
  const check = 'check whether the item exists before creating it again';
  return key === undefined
    ? check
    : `${check}\nif the service honors idempotency keys, retry with --idempotency-key ${key}`;
}

/** `2.5 s` */
export function secondsText(ms: number): string {
  return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : 0))} s`;
}

function transportFailure(context: RequestContext, error: TransportError, outcome: Outcome, times: number): Failure {
  const { task, address } = context;
  const { kind, reason, cause } = error;
  const tried = timesText(times);
  if (kind === 'unusable' || kind === 'too-large') {
    return createFailure(context, 'refused', `cannot ${task}: ${reason}${tried}`, { outcome, cause: cause ?? error });
  }
  if (kind === 'not-local') {
    const hint = 'use https or another host name, or pass --allow-http to send the token unencrypted';
    return createFailure(context, 'usage', `cannot ${task}: ${address} is not on this machine: ${reason}`, {
      hint,
      outcome,
      cause,
    });
  }
  const verb = outcome === 'not-sent' ? 'is unreachable' : 'sent no complete response';
  const message = `cannot ${task}: ${address} ${verb} (${reason}${tried})`;
  const hint =
    kind === 'untrusted'
      ? 'check the URL; for a private certificate authority, pass --ca-file FILE'
      : 'check the URL and the network, then retry';
  return createFailure(context, 'unreachable', message, { hint, outcome, cause });
}

function refusal(context: RequestContext, response: ServiceResponse, outcome: Outcome, times: number): Failure {
  const kind = context.errors?.kind(response) ?? failureKinds[response.status] ?? 'refused';
  const quoted = `${quoteOf(context, response)}${timesText(times)}`;
  const doubt = context.wasInDoubt ? '; an earlier attempt, which had no response, may have updated it' : '';
  const message =
    kind === 'not-found' && context.method !== 'POST'
      ? `${context.target} was not found (${quoted})${doubt}`
      : `cannot ${context.task} (${quoted}${redirectOf(response)})`;
  return createFailure(context, kind, message, {
    hint: context.errors?.hint(response, context.method) ?? hintFor(kind, context, response),
    outcome,
    ...detailsOf(context, response),
  });
}

/** Quotes the status and the text of a response: `HTTP 404: no such list`. */
export function quoteOf(context: RequestContext, response: ServiceResponse): string {
  const { status, statusText = '' } = response;
  const { hide } = context;
  const { text, errors } = errorOf(context, response);
  const said = [...(text === undefined ? [] : [text]), ...errors.map(fieldText)];
  if (said.length > 0) return `HTTP ${status}: ${said.join('; ')}`;
  return `HTTP ${status} ${hide(statusText).slice(0, 100)}`.trimEnd();
}

function fieldText({ field, message }: FieldError): string {
  return field === undefined ? message : `${field}: ${message}`;
}

function timesText(times: number): string {
  return times > 1 ? `; tried ${times} times` : '';
}

function hintFor(kind: FailureKind, context: RequestContext, response: ServiceResponse): string | undefined {
  const { status, headers } = response;

  if (isRedirect(response)) return redirectHint;
  if (status === 401)
    return context.tokenHint?.() ?? 'the service rejected the token; run listctl auth status to see its source';
  if (status === 403) return 'the token is valid but lacks permission';
  if (kind === 'conflict') return conflictHint(status, context.method);
  if (status === 400 && isUnversioned(context.address) && /version/i.test(errorOf(context, response).text ?? '')) {
    return `add the version path of the service, such as /v1.0, to ${context.address}`;
  }
  const wait = headers['retry-after'];
  if (kind === 'unavailable') return wait === undefined ? 'retry later' : `retry later (Retry-After: ${wait})`;
  return undefined;
}

const redirectHint = 'redirects are not followed, to protect the token; check --base-url';

function isRedirect(response: ServiceResponse | undefined): boolean {
  const { status = 0 } = response ?? {};
  return status >= 300 && status < 400 && status !== 304;
}

function conflictHint(status: number, method: string): string {
  // There is no item yet that could be read.
  const isCreate = method === 'POST';
  if (status === 423) return `the ${isCreate ? 'list' : 'item'} is locked: retry later`;
  return isCreate ? 'check whether the item exists already' : 'read the item again before you retry';
}

function isUnversioned(address: string): boolean {
  return !/\/v?\d+(\.\d+)*(\/|$)/i.test(address.replace(/^\w+:\/\/[^/]*/, ''));
}

function whyUnusable(response: ServiceResponse, reason: string): string {
  if (!isHtml(response)) return reason;
  const title = titleOf(response);
  const page = title === undefined ? '' : `, title "${title}"`;
  return `this is not the list service (Content-Type: ${response.headers['content-type']}${page})`;
}

/** The title of a page: that of a login page or a proxy names the cause. */
function titleOf({ body }: ServiceResponse): string | undefined {
  const start = Buffer.from(body.subarray(0, titleBytesMax)).toString();
  const [, text = ''] = /<title[^>]*>([^<]*)<\/title>/i.exec(start) ?? [];
  const title = oneLine(text.replace(/\s+/g, ' ').trim(), 100);
  return title === '' ? undefined : title;
}

const titleBytesMax = 16_384;

/** The target of a redirect, without user info and query. */
function redirectOf({ status, headers }: ServiceResponse): string {
  const location = headers['location'];
  if (status < 300 || status > 399 || location === undefined) return '';
  return `, to ${location.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')}`;
}

function reasonOf(context: RequestContext, { response, error }: Attempt): string {
  return error ? error.reason : quoteOf(context, response) + redirectOf(response);
}

function errorOf({ errors, hide }: RequestContext, response: ServiceResponse): ServiceError {
  return (errors?.parse ?? parseServiceError)(response, hide);
}

function detailsOf(context: RequestContext, response: ServiceResponse | undefined): FailureDetails {
  if (response === undefined) return {};
  const { code, errors, requestId, clientRequestId } = errorOf(context, response);
  return {
    ...{ status: response.status, isPage: isHtml(response), serviceCode: code, requestId, clientRequestId },
    errors: errors.length === 0 ? undefined : errors,
  };
}

/** In UTF-16 units: headers and error codes may have any length. */
const lengthMax = { message: 4000, detail: 500 } as const;

/** Creates a failure without the token and of limited length. */
function createFailure(
  { hide, id }: RequestContext,
  kind: FailureKind,
  message: string,
  details: FailureDetails,
): Failure {
  const { hint, serviceCode, requestId, clientRequestId } = details;
  // Before it is truncated, which could cut the token in half.
  const hidden = (text: string | undefined) => text && hide(text).slice(0, lengthMax.detail);
  const texts = {
    hint: hidden(hint),
    serviceCode: hidden(serviceCode),
    requestId: hidden(requestId),
    clientRequestId: hidden(clientRequestId),
  };
  const about = id === undefined ? undefined : { id };
  return new Failure(kind, hide(message).slice(0, lengthMax.message), { ...details, ...texts, about });
}

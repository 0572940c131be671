/** Attempts that did not do what was asked, in words and kinds. */
import { Failure, type FailureDetails, type FailureKind, type Outcome } from '../core/errors.ts';
import { isHtml, parseServiceError } from './response.ts';
import {
  type Attempt,
  isRead,
  type Method,
  type ServiceResponse,
  type TransportError,
  type TransportErrorKind,
} from './transport.ts';

/** What a request is for, in words that fit a sentence. */
export interface Purpose {
  /** `create an item in list "tasks" of site "home"` */
  readonly task: string;
  /** `item "17" of list "tasks" of site "home"` */
  readonly target: string;
  /** Where the target is, if it is one of several: `list "tasks" of site "home"`. */
  readonly place?: string | undefined;
  /** The item's id, where the request names one. */
  readonly id?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A purpose, and how it was asked for. */
export interface RequestContext extends Purpose {
  /** Where the request went: `https://host/v1.0`. */
  readonly address: string;
  readonly method: Method;
  /** Takes the token, which the service may have repeated, out of a text. */
  readonly hide?: ((text: string) => string) | undefined;
}

/** Statuses with a kind of their own (rulings, "Exit codes"). */
const kinds: Readonly<Record<number, FailureKind>> = {
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

/**
 * The failure for a request that was not applied, or for a read.
 *
 * @param times how often it was sent
 */
export function toFailure(asked: RequestContext, attempt: Attempt, outcome: Outcome, times = 1): Failure {
  if (outcome === 'unknown' && !isRead(asked.method)) return inDoubt(asked, { attempt, times });
  if (attempt.error) return faultFailure(asked, attempt.error, { outcome, times });
  return refusal(asked, attempt.response, { outcome, times });
}

/** The failure for a complete 2xx to a read, with a body that cannot be used. */
export function unusableResponse(asked: RequestContext, response: ServiceResponse, reason: string): Failure {
  return failed(asked, 'refused', `could not ${asked.task}: ${whyUnusable(response, reason)}`, {
    hint: `check that ${asked.address} is the address of the list service`,
    status: response.status,
    outcome: 'unknown',
    requestId: parseServiceError(response, asked.hide).requestId,
  });
}

/** The failure for a service that asks for a longer wait than it is given. */
export function tooLongToWait(
  asked: RequestContext,
  response: ServiceResponse,
  { waitMs, maxWaitMs }: { readonly waitMs: number; readonly maxWaitMs: number },
): Failure {
  const wait = `the service asks to wait for ${secondsText(waitMs)}, and --max-wait is ${secondsText(maxWaitMs)}`;
  return failed(asked, 'unavailable', `could not ${asked.task} (${quoteOf(asked, response)}): ${wait}`, {
    hint: 'run it again later, or with a longer --max-wait',
    outcome: 'refused',
    ...detailsOf(asked, response),
  });
}

/** The attempt that leaves a write in doubt. */
export interface Doubt {
  readonly attempt: Attempt;
  /** Why the body of its 2xx cannot be used. */
  readonly unusable?: string | undefined;
  readonly times: number;
  /** Whether the service may have forgotten the key by now. */
  readonly isKeyOld?: boolean;
}

/** A write that may or may not have happened: never called failed, never called done. */
export function inDoubt(asked: RequestContext, { attempt, unusable, times, isKeyOld = false }: Doubt): Failure {
  const { method, idempotencyKey: key } = asked;
  const { response } = attempt;
  const reason = unusable !== undefined && response ? whyUnusable(response, unusable) : reasonOf(asked, attempt);
  const isStored = method === 'POST' && unusable !== undefined && response !== undefined && !isHtml(response);
  const doubt = isStored
    ? `in doubt: the service said yes (HTTP ${response.status}) when asked to ${asked.task}, but the id is unknown`
    : `in doubt whether listctl could ${asked.task}`;
  return failed(asked, 'in-doubt', `${doubt}: ${reason}${timesText(times)}`, {
    hint:
      method === 'POST'
        ? createAgain(isKeyOld ? undefined : key)
        : 'the same command may be run again: it leads to the same item',
    outcome: 'unknown',
    idempotencyKey: key,
    ...detailsOf(asked, response),
  });
}

function createAgain(key: string | undefined): string {
  const look = 'look whether the item is there before you create it again';
  return key === undefined
    ? look
    : `${look}\n--idempotency-key ${key} sends the same again, to a service that honors keys`;
}

/** Seconds for people: `2.5 s`. */
export function secondsText(ms: number): string {
  return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : 0))} s`;
}

interface Tried {
  readonly outcome: Outcome;
  readonly times: number;
}

function faultFailure(asked: RequestContext, fault: TransportError, { outcome, times }: Tried): Failure {
  const { task, address } = asked;
  const { kind, reason, cause } = fault;
  const tried = timesText(times);
  if (kind === 'unusable' || kind === 'too-large') {
    return failed(asked, 'refused', `could not ${task}: ${reason}${tried}`, { outcome, cause });
  }
  if (kind === 'not-local') {
    const hint = 'nothing was sent: use https or another name, or pass --allow-http to show the token to the network';
    return failed(asked, 'usage', `cannot ${task}: ${address} is not on this machine: ${reason}`, {
      hint,
      outcome,
      cause,
    });
  }
  const verb = outcome === 'not-sent' ? 'could not be reached' : 'gave no complete answer';
  const message = `could not ${task}: ${address} ${verb} (${reason}${tried})`;
  return failed(asked, 'unreachable', message, { hint: faultHints[kind] ?? checkNetwork, outcome, cause });
}

const checkNetwork = 'check the address and the network, then run it again';
const faultHints: Readonly<Partial<Record<TransportErrorKind, string>>> = {
  untrusted:
    'nothing was sent: check the address; if its certificate is of an authority of your own, name that with --ca-file FILE',
};

function refusal(asked: RequestContext, response: ServiceResponse, { outcome, times }: Tried): Failure {
  const kind = kinds[response.status] ?? 'refused';
  const quoted = `${quoteOf(asked, response)}${timesText(times)}`;
  const message =
    kind === 'not-found' && asked.method !== 'POST'
      ? `${asked.target} was not found (${quoted})`
      : `could not ${asked.task} (${quoted}${redirectOf(response)})`;
  return failed(asked, kind, message, { hint: hintFor(kind, response), outcome, ...detailsOf(asked, response) });
}

/** The status with what the service says of it: its own text, else the name that it has for the status. */
function quoteOf({ hide = (text) => text }: RequestContext, response: ServiceResponse): string {
  const { status, statusText = '' } = response;
  const said = parseServiceError(response, hide).text;
  return said === undefined ? `HTTP ${status} ${hide(statusText).slice(0, 100)}`.trimEnd() : `HTTP ${status}: ${said}`;
}

function timesText(times: number): string {
  return times > 1 ? `; tried ${times} times` : '';
}

function hintFor(kind: FailureKind, { status, headers }: ServiceResponse): string | undefined {
  if (status >= 300 && status < 400 && status !== 304)
    return 'redirects are not followed, so that the token stays home: check --base-url';
  if (status === 401) return 'the service does not accept the token: listctl auth status says where it comes from';
  if (status === 403) return 'the token is known, but may not do this';
  if (kind === 'conflict') return 'read the item again, then decide';
  const wait = headers['retry-after'];
  if (kind === 'unavailable')
    return wait === undefined ? 'run it again later' : `run it again later (Retry-After: ${wait})`;
  return undefined;
}

function whyUnusable(response: ServiceResponse, reason: string): string {
  return isHtml(response) ? `this is not the list service (it answered ${response.headers['content-type']})` : reason;
}

/** Where an answer redirects to, without what may be secret in it. */
function redirectOf({ status, headers }: ServiceResponse): string {
  const location = headers['location'];
  if (status < 300 || status > 399 || location === undefined) return '';
  return `, to ${location.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')}`;
}

function reasonOf(asked: RequestContext, { response, error }: Attempt): string {
  return error ? error.reason : quoteOf(asked, response) + redirectOf(response);
}

function detailsOf({ hide }: RequestContext, response: ServiceResponse | undefined): FailureDetails {
  if (response === undefined) return {};
  const { code, requestId } = parseServiceError(response, hide);
  return { status: response.status, isPage: isHtml(response), serviceCode: code, requestId };
}

/** What a failure may say: a service's headers and error codes are as long as it likes. In UTF-16 units. */
const lengths = { message: 4000, detail: 500 } as const;

/** A failure without the token, whatever the service said, and however much. */
function failed(
  { hide = (text) => text, id }: RequestContext,
  kind: FailureKind,
  message: string,
  details: FailureDetails,
): Failure {
  const { hint, serviceCode, requestId } = details;
  // Hidden before it is cut: half a token is one too many.
  const hidden = (text: string | undefined) => text && hide(text).slice(0, lengths.detail);
  const texts = { hint: hidden(hint), serviceCode: hidden(serviceCode), requestId: hidden(requestId) };
  const about = id === undefined ? undefined : { id };
  return new Failure(kind, hide(message).slice(0, lengths.message), { ...details, ...texts, about });
}

/** Attempts that did not do what was asked, in words and kinds. */
import { Failure, type FailureDetails, type FailureKind, type Outcome } from '../errors.ts';
import { errorOf, isHtml } from './answers.ts';
import { type Answer, type Attempt, type Fault, isRead, type Method } from './transport.ts';

/** What a request is for, in words that fit a sentence. */
export interface Purpose {
  /** `create an item in list "tasks" of site "home"` */
  readonly task: string;
  /** `item "17" of list "tasks" of site "home"` */
  readonly target: string;
  readonly idempotencyKey?: string | undefined;
}

/** A purpose, and how it was asked for. */
export interface Asked extends Purpose {
  /** Where the request went: `https://host/v1.0`. */
  readonly address: string;
  readonly method: Method;
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

/** The failure for an attempt that was not applied. */
export function failureOf(asked: Asked, attempt: Attempt, outcome: Outcome): Failure {
  if (outcome === 'unknown' && !isRead(asked.method)) return inDoubt(asked, reasonOf(attempt), attempt.answer);
  if (attempt.fault) return faultFailure(asked, attempt.fault, outcome);
  return refusal(asked, attempt.answer, outcome);
}

/** The failure for a complete 2xx with a body that can't be used. */
export function unusableAnswer(asked: Asked, answer: Answer, reason: string): Failure {
  const why = isHtml(answer) ? `this is not the list service (it answered ${answer.headers['content-type']})` : reason;
  if (!isRead(asked.method)) return inDoubt(asked, why, answer);
  return new Failure('refused', `could not ${asked.task}: ${why}`, {
    hint: `check that ${asked.address} is the address of the list service`,
    status: answer.status,
    outcome: 'unknown',
    requestId: errorOf(answer).requestId,
  });
}

/** A write that may or may not have happened: never called failed, never called done. */
function inDoubt(asked: Asked, reason: string, answer: Answer | undefined): Failure {
  const { method, idempotencyKey: key } = asked;
  const again = 'the same command may be run again: it leads to the same item';
  const keyLine = key === undefined ? '' : `; its idempotency key was ${key}`;
  return new Failure('in-doubt', `in doubt whether listctl could ${asked.task}: ${reason}`, {
    hint: method === 'POST' ? `look whether the item is there before you create it again${keyLine}` : again,
    outcome: 'unknown',
    idempotencyKey: key,
    ...detailsOf(answer),
  });
}

function faultFailure({ task, address }: Asked, { kind, reason, cause }: Fault, outcome: Outcome): Failure {
  if (kind === 'unusable') return new Failure('refused', `could not ${task}: ${reason}`, { outcome, cause });
  const hint =
    kind === 'untrusted'
      ? 'if the service has a certificate of your own authority, name its file in NODE_EXTRA_CA_CERTS'
      : 'check the address and the network, then run it again';
  const verb = outcome === 'not-sent' ? 'could not be reached' : 'gave no complete answer';
  return new Failure('unreachable', `could not ${task}: ${address} ${verb} (${reason})`, { hint, outcome, cause });
}

function refusal(asked: Asked, answer: Answer, outcome: Outcome): Failure {
  const { status } = answer;
  const kind = kinds[status] ?? 'refused';
  const said = errorOf(answer).text;
  const quoted = said === undefined ? `HTTP ${status}` : `HTTP ${status}: ${said}`;
  const message =
    kind === 'not-found' && asked.method !== 'POST'
      ? `${asked.target} was not found (${quoted})`
      : `could not ${asked.task} (${quoted}${redirectOf(answer)})`;
  return new Failure(kind, message, { hint: hintFor(kind, answer), outcome, ...detailsOf(answer) });
}

function hintFor(kind: FailureKind, { status, headers }: Answer): string | undefined {
  if (status >= 300 && status < 400)
    return 'redirects are not followed, so that the token stays home: check --base-url';
  if (status === 401) return 'the service does not accept the token: set LISTCTL_TOKEN to a valid one';
  if (status === 403) return 'the token is known, but may not do this';
  if (kind === 'conflict') return 'read the item again, then decide';
  const wait = headers['retry-after'];
  if (kind === 'unavailable')
    return wait === undefined ? 'run it again later' : `run it again later (Retry-After: ${wait})`;
  return undefined;
}

/** Where an answer redirects to, without what may be secret in it. */
function redirectOf({ status, headers }: Answer): string {
  const location = headers['location'];
  if (status < 300 || status > 399 || location === undefined) return '';
  return `, to ${location.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')}`;
}

function reasonOf({ answer, fault }: Attempt): string {
  if (fault) return fault.reason;
  const said = errorOf(answer).text;
  return said === undefined ? `HTTP ${answer.status}` : `HTTP ${answer.status}: ${said}`;
}

function detailsOf(answer: Answer | undefined): FailureDetails {
  if (answer === undefined) return {};
  const { code, requestId } = errorOf(answer);
  return { status: answer.status, serviceCode: code, requestId };
}

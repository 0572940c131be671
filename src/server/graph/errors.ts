/** Errors as Microsoft Graph words them (learn.microsoft.com, "Microsoft Graph error responses"). */
import { randomUUID } from 'node:crypto';
import { type ErrorResponder, jsonResponse, Refusal, type ServiceRequest } from '../message.ts';

/** A refusal with a code of Graph. */
export class GraphRefusal extends Refusal {
  readonly code: string;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(status, message, headers);
    this.code = code;
  }
}

export function invalidRequest(message: string): GraphRefusal {
  return new GraphRefusal(400, 'invalidRequest', message);
}

/** SharePoint's response to a value of the wrong shape: a refusal with the status of a fault. */
export function generalException(): GraphRefusal {
  return new GraphRefusal(500, 'generalException', 'General exception while processing');
}

/** The codes of refusals that have none of their own, by status. */
const codes: Readonly<Record<number, string>> = {
  401: 'InvalidAuthenticationToken',
  403: 'accessDenied',
  404: 'itemNotFound',
  405: 'notAllowed',
  409: 'resourceModified',
  412: 'resourceModified',
  429: 'activityLimitReached',
  500: 'generalException',
  501: 'notSupported',
  503: 'serviceNotAvailable',
  504: 'gatewayTimeout',
  507: 'quotaLimitReached',
};

/** Responds with `{"error": {"code", "message", "innerError"}}`; `now` is in milliseconds since 1970. */
export function graphErrorResponder(now: () => number): ErrorResponder {
  return (refusal, request) => {
    const { status, message, headers } = refusal;
    const code = refusal instanceof GraphRefusal ? refusal.code : (codes[status] ?? 'invalidRequest');
    const ids = requestIds(request);
    const innerError = { date: new Date(now()).toISOString().slice(0, 19), ...ids };
    return jsonResponse(status, { ...headers, ...ids }, JSON.stringify({ error: { code, message, innerError } }));
  };
}

/** The ids of a request: our own, and the client's if it sent one that a header can carry. */
export function requestIds({ headers }: Pick<ServiceRequest, 'headers'>) {
  const id = randomUUID();
  const sent = headers['client-request-id'];
  return { 'request-id': id, 'client-request-id': sent !== undefined && /^[!-~]{1,255}$/.test(sent) ? sent : id };
}

/** The errors of Microsoft Graph ("Microsoft Graph error responses and resource types"). */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { ErrorWording } from '../failures.ts';
import { parseResponseJson, parseServiceError, type ServiceError } from '../response.ts';
import type { ApiRequest, Method, ServiceResponse } from '../transport.ts';

export const graphErrors: ErrorWording = {
  // Another machine may answer ("Best practices for working with Microsoft Graph").
  freshAfter: [503],
  parse: parseError,
  kind: () => undefined,
  hint: hintFor,
  meaning,
};

/**
 * The message and the code of the error, and the ids of the request: of `innerError`, which the reference also spells
 * `innererror`, else of the headers.
 */
function parseError(response: ServiceResponse, hide: (text: string) => string): ServiceError {
  const known = parseServiceError(response, hide);
  const inner = memberOf(errorOf(response), 'innerError') ?? memberOf(errorOf(response), 'innererror');
  const { headers } = response;
  return {
    ...known,
    requestId: textOf(inner?.['request-id']) ?? known.requestId,
    clientRequestId: textOf(inner?.['client-request-id']) ?? headers['client-request-id'],
  };
}

/**
 * A collision of two writers is not a conflict for an update without a condition, which may be sent again; 509 is
 * throttling. Nothing is decided by the text of a message, which Microsoft changes.
 */
function meaning(request: ApiRequest, response: ServiceResponse): ReturnType<ErrorWording['meaning']> {
  if (response.status === 509) return 'throttled';
  const isUnconditional = request.method === 'PATCH' && request.headers['if-match'] === undefined;
  return response.status === 409 && isUnconditional && codeOf(response) === 'resourceModified'
    ? 'retryable'
    : undefined;
}

function hintFor(response: ServiceResponse, method: Method): string | undefined {
  const { status } = response;
  if (status === 403) {
    return 'the token needs the scope Sites.ReadWrite.All, or Sites.Selected with write access to this site (docs/graph.md)';
  }
  if (status === 404)
    return 'check the site, the list and the id; pass the address of the list in the browser with --list';
  // Before a write the columns were read: the names are right.
  if (status === 400 && method === 'GET') {
    return 'columns go by their internal names; pass the address of the list in the browser with --list (docs/graph.md)';
  }
  if (status === 500 && codeOf(response) === 'generalException') {
    return 'Microsoft Graph often answers so when a value has the wrong type for its column';
  }
  return undefined;
}

function codeOf(response: ServiceResponse): string | undefined {
  return textOf(errorOf(response)?.['code']);
}

function errorOf(response: ServiceResponse): JsonObject | undefined {
  try {
    const body = parseResponseJson(response);
    return isObject(body) ? memberOf(body, 'error') : undefined;
  } catch {
    // Not JSON: a gateway answered.
    return undefined;
  }
}

function memberOf(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = object?.[name];
  return value !== undefined && isObject(value) ? value : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

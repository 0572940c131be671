/** JSON batching: up to 20 requests in one (learn.microsoft.com, "Combine multiple HTTP requests using JSON batching"). */
import { isObject, type JsonObject, type JsonValue, objectFrom, parseJson, printJson } from '../../core/json.ts';
import { jsonBodyOf, type Service, type ServiceRequest, type ServiceResponse } from '../message.ts';
import { GraphRefusal, invalidRequest } from './errors.ts';

const partsMax = 20;

interface Part {
  readonly id: string;
  readonly request: ServiceRequest;
  readonly dependsOn: readonly string[];
}

/** @returns the `responses`, each with the status of its own */
export async function respondToBatch(
  request: ServiceRequest,
  service: Service,
  respondError: (refusal: GraphRefusal) => ServiceResponse,
): Promise<JsonObject> {
  const parts = partsIn(request);
  const responses = new Map<string, Promise<ServiceResponse>>();
  for (const { id, request: part, dependsOn } of parts) {
    const earlier = dependsOn.map((other) => responses.get(other));
    const respond = async (): Promise<ServiceResponse> => {
      const statuses = await Promise.all(earlier.map(async (response) => (await response)?.status ?? 424));
      if (statuses.every((status) => status < 400)) return service(part);
      return respondError(new GraphRefusal(424, 'failedDependency', 'A request that this one depends on has failed'));
    };
    responses.set(id, respond());
  }
  return { responses: await Promise.all([...responses].map(async ([id, response]) => shown(id, await response))) };
}

function shown(id: string, { status, headers, body }: ServiceResponse): JsonObject {
  // In the usual spelling, since clients look for Content-Type in that.
  const named = Object.entries(headers).map(([name, value]) => [name.replace(/\b[a-z]/g, upperCase), value] as const);
  return { id, status, headers: objectFrom(named), ...(body === '' ? {} : { body: parseJson(body) }) };
}

function upperCase(letter: string): string {
  return letter.toUpperCase();
}

function partsIn(request: ServiceRequest): readonly Part[] {
  const body = jsonBodyOf(request);
  const requests = isObject(body) ? body['requests'] : undefined;
  if (!Array.isArray(requests) || requests.length === 0) throw invalidRequest('The batch has no requests');
  if (requests.length > partsMax) throw invalidRequest(`The batch has more than ${partsMax} requests`);
  const parts = requests.map((part: JsonValue) => partFrom(part, request));
  if (new Set(parts.map(({ id }) => id)).size < parts.length) throw invalidRequest('The ids of a batch must differ');
  return parts;
}

function partFrom(part: JsonValue, batch: ServiceRequest): Part {
  const { id, method, url, headers = {}, body, dependsOn = [] } = isObject(part) ? part : {};
  const isValid = typeof id === 'string' && typeof method === 'string' && typeof url === 'string' && isObject(headers);
  if (!isValid || url.includes('$batch'))
    throw invalidRequest('A request of a batch needs an id, a method and a relative url');
  const sent = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  return {
    id,
    request: {
      method: method.toUpperCase(),
      path: url.startsWith('/') ? url : `/${url}`,
      headers: { host: batch.headers['host'], ...Object.fromEntries(sent) },
      body: Buffer.from(body === undefined ? '' : printJson(body)),
    },
    dependsOn: Array.isArray(dependsOn) ? dependsOn.map(String) : [],
  };
}

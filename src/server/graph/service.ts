/** Lists and their items as Microsoft Graph has them, for tests: paths, methods and statuses (docs/decisions.md, service-4). */
import { isObject, type JsonObject, type JsonValue, objectFrom, parseJson, printJson } from '../../core/json.ts';
import {
  jsonBodyOf,
  Refusal,
  type Service,
  type ServiceRequest,
  type ServiceResponse,
  versionPath,
} from '../message.ts';
import type { Store } from '../store.ts';
import type { ListSchema } from './columns.ts';
import { GraphRefusal, graphErrorResponder, invalidRequest, requestIds } from './errors.ts';
import * as items from './list-items.ts';
import { deltaQuery, nextQuery, parseQuery, type Query } from './query.ts';
import {
  columnResources,
  type List,
  listResource,
  type Places,
  placesIn,
  selected,
  siteResource,
} from './resources.ts';

export interface GraphOptions {
  /** The lists of every site; without it, any list exists, and any field has any value. */
  readonly schema?: readonly ListSchema[] | undefined;
  /** The most items that a filter may look at (default 5000). */
  readonly viewThreshold?: number | undefined;
  /** Resource units per minute (default: no limit). */
  readonly unitsPerMinute?: number | undefined;
}

interface Shared extends Pick<items.ItemsCall, 'store' | 'now' | 'viewThreshold' | 'updating'> {
  readonly places: Places;
}

interface Target {
  /** `root`, a host or an id. */
  readonly site: string;
  /** Of the site, if it is named by a path. */
  readonly sitePath: string | undefined;
  /** After the site: `['lists', 'Books', 'items', '7', 'fields']` */
  readonly segments: readonly string[];
  /** Path and query as they were sent. */
  readonly path: string;
  readonly query: string;
}

interface Call {
  readonly request: ServiceRequest;
  readonly target: Target;
  readonly query: Query;
  readonly shared: Shared;
}

interface Reply {
  readonly status: number;
  readonly body?: JsonObject;
}

interface Resource {
  readonly isCollection?: true;
  /** Its query options. */
  readonly options: readonly string[];
  readonly methods: Readonly<Record<string, (call: Call) => Promise<Reply>>>;
}

/** By the segments after the site; `*` is an id. */
const resources: Readonly<Record<string, Resource>> = {
  '': { options: ['$select'], methods: { GET: getSite } },
  lists: { isCollection: true, options: ['$select', '$top', '$skiptoken'], methods: { GET: getLists } },
  'lists/*': { options: ['$select', '$expand'], methods: { GET: getList } },
  'lists/*/columns': { isCollection: true, options: ['$select'], methods: { GET: getColumns } },
  'lists/*/items': {
    isCollection: true,
    options: ['$select', '$expand', '$filter', '$top', '$skiptoken'],
    methods: { GET: getItems, POST: withItems(201, 'items/$entity', items.createItem) },
  },
  'lists/*/items/delta': {
    isCollection: true,
    options: ['$select', '$expand', '$top', 'token'],
    methods: { GET: getChanges },
  },
  'lists/*/items/*': {
    options: ['$select', '$expand'],
    methods: {
      GET: withItems(200, 'items/$entity', items.getItem),
      PATCH: withItems(200, 'items/$entity', items.updateWhole),
      DELETE: async (call) => {
        await items.deleteItem(await toItemsCall(call));
        return { status: 204 };
      },
    },
  },
  'lists/*/items/*/fields': {
    options: ['$select'],
    methods: {
      GET: withItems(200, 'items/fields/$entity', items.getFields),
      PATCH: withItems(200, 'items/fields/$entity', items.updateFields),
    },
  },
};

/** @param now milliseconds since 1970 */
export function graphService(store: Store, now: () => number, options: GraphOptions = {}): Service {
  const { schema, viewThreshold = 5000, unitsPerMinute } = options;
  const shared = { store, now, viewThreshold, updating: new Set<string>(), places: placesIn(store, schema) };
  const spend = unitsPerMinute === undefined ? () => ({}) : resourceUnits(unitsPerMinute, now);
  const respondError = graphErrorResponder(now);
  const service: Service = async (request) => {
    let limits = {};
    try {
      if (request.path === '/$batch') return await batch(request);
      const target = parseTarget(request.path);
      const resource = resourceAt(target);
      const { methods, options } = resource;
      const method = methods[request.method];
      if (method === undefined) throw notAllowed(Object.keys(methods));
      limits = spend(costOf(request.method, resource, target));
      const query = parseQuery(target.query, options);
      return toResponse(await method({ request, target, query, shared }), request, limits);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const response = respondError(error, request);
      return { ...response, headers: { ...limits, ...response.headers } };
    }
  };
  const batch = async (request: ServiceRequest): Promise<ServiceResponse> => {
    if (request.method !== 'POST') throw notAllowed(['POST']);
    const body = await respondToBatch(request, service, (refusal) => respondError(refusal, request));
    return toResponse({ status: 200, body }, request, {});
  };
  return service;
}

/** In resource units: a query of several items and a write cost 2, an item and a delta with a token 1. */
function costOf(method: string, { isCollection }: Resource, { query }: Target): 1 | 2 {
  return method === 'GET' && (!isCollection || /(^|&)token=/.test(query)) ? 1 : 2;
}

const mediaType = 'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8';

function toResponse({ status, body }: Reply, request: ServiceRequest, headers: object): ServiceResponse {
  const type = body === undefined ? {} : { 'content-type': mediaType, 'odata-version': '4.0' };
  const text = body === undefined ? '' : printJson(body);
  return { status, headers: { ...type, ...requestIds(request), ...headers }, body: text };
}

function notAllowed(allowed: readonly string[]): Refusal {
  const allow = allowed.join(', ');
  return new Refusal(405, `Specified HTTP method is not allowed for the request target: use ${allow}`, { allow });
}

/** `/sites/{id}` or `/sites/{host}:/{path}`, and what follows; a path ends with a colon if something follows. */
const siteForm = /^\/sites\/(?<site>[^/:]+)(?::(?<sitePath>\/[^:]*)(?::(?<below>\/.*)?)?|(?<rest>\/.*)?)$/;

function parseTarget(address: string): Target {
  const [path = '', ...query] = address.split('?');
  const { site, sitePath, below, rest } = siteForm.exec(path)?.groups ?? {};
  if (site === undefined) throw notFound(path.split('/')[1]);
  return {
    site: decode(site),
    sitePath: sitePath === undefined ? undefined : decode(sitePath),
    segments: (below ?? rest ?? '').split('/').slice(1).map(decode),
    path,
    query: query.join('?'),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidRequest('The path is not percent-encoded UTF-8');
  }
}

function resourceAt({ segments }: Target): Resource {
  const isDelta = (segment: string, at: number) => at === 3 && /^(microsoft\.graph\.)?delta(\(\))?$/.test(segment);
  const forms = segments.map((segment, at) => (isDelta(segment, at) ? 'delta' : at % 2 === 1 ? '*' : segment));
  const form = forms.join('/');
  if (Object.hasOwn(resources, form) && !segments.includes('')) return resources[form] as Resource;
  throw notFound(segments.findLast((_, at) => at % 2 === 0));
}

function notFound(segment = ''): GraphRefusal {
  return new GraphRefusal(400, 'BadRequest', `Resource not found for the segment '${segment.slice(0, 200)}'.`);
}

async function siteOf({ target, shared }: Call) {
  return shared.places.site(target.site, target.sitePath);
}

async function listOf(call: Call) {
  const site = await siteOf(call);
  return call.shared.places.list(site, call.target.segments[1] ?? '');
}

async function toItemsCall(call: Call): Promise<items.ItemsCall> {
  const { request, target, query, shared } = call;
  return { ...shared, request, query, list: await listOf(call), id: target.segments[3] ?? '' };
}

/** The address of this service as the client has it; `local:` has no host. */
function baseOf({ headers }: ServiceRequest): string {
  return headers['host'] === undefined ? 'local:' : `http://${headers['host']}${versionPath}`;
}

function reply(call: Call, context: string, body: JsonObject, status = 200): Reply {
  return { status, body: { '@odata.context': `${baseOf(call.request)}/$metadata#${context}`, ...body } };
}

async function getSite(call: Call): Promise<Reply> {
  return reply(call, 'sites/$entity', selected(siteResource(await siteOf(call)), call.query.select));
}

async function getLists(call: Call): Promise<Reply> {
  const site = await siteOf(call);
  const { select, top, after } = call.query;
  const all = call.shared.places.lists(site);
  const value = all.slice(after, after + top).map((list) => selected(listResource(list), select));
  return reply(
    call,
    `sites('${site.id}')/lists`,
    pageOf(call, value, all.length > after + top ? after + top : undefined),
  );
}

async function getList(call: Call): Promise<Reply> {
  const list = await listOf(call);
  const { select, expand } = call.query;
  const columns: JsonObject = expand.has('columns') ? { columns: columnResources(list) } : {};
  return reply(call, `sites('${list.site.id}')/lists/$entity`, { ...selected(listResource(list), select), ...columns });
}

async function getColumns(call: Call): Promise<Reply> {
  const list = await listOf(call);
  const value = columnResources(list).map((column) => selected(column, call.query.select));
  return reply(call, `${contextOf(list)}/columns`, { value });
}

async function getItems(call: Call): Promise<Reply> {
  const all = await toItemsCall(call);
  const { value, next } = items.listItems(all);
  return reply(call, `${contextOf(all.list)}/items`, pageOf(call, value, next));
}

async function getChanges(call: Call): Promise<Reply> {
  const { request, target } = call;
  const all = await toItemsCall(call);
  const link = (token?: string) => `${baseOf(request)}${target.path}?${deltaQuery(target.query, token)}`;
  const { value, token, isLast } = items.listChanges(all, link());
  const links = isLast ? { '@odata.deltaLink': link(token) } : { '@odata.nextLink': link(token) };
  return reply(call, 'Collection(listItem)', { ...links, value });
}

/** @param next what the next page begins after; undefined for the last one */
function pageOf({ request, target }: Call, value: readonly JsonObject[], next: number | undefined): JsonObject {
  if (next === undefined) return { value };
  return { '@odata.nextLink': `${baseOf(request)}${target.path}?${nextQuery(target.query, next)}`, value };
}

function withItems(status: number, context: string, work: (call: items.ItemsCall) => JsonObject | Promise<JsonObject>) {
  return async (call: Call): Promise<Reply> => {
    const one = await toItemsCall(call);
    return reply(call, `${contextOf(one.list)}/${context}`, await work(one), status);
  };
}

function contextOf({ site, id }: List): string {
  return `sites('${site.id}')/lists('${id}')`;
}

/** JSON batching (learn.microsoft.com, "Combine multiple HTTP requests using JSON batching"). */
const partsMax = 20;

interface Part {
  readonly id: string;
  readonly request: ServiceRequest;
  readonly dependsOn: readonly string[];
}

/** @returns the `responses`, each with the status of its own */
async function respondToBatch(
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
  const named = Object.entries(headers).map(
    ([name, value]) => [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), value] as const,
  );
  return { id, status, headers: objectFrom(named), ...(body === '' ? {} : { body: parseJson(body) }) };
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

const minuteMs = 60_000;

/** The share of a minute's units from which the RateLimit headers are sent. */
const warningShare = 0.8;

/**
 * Counts the resource units of an app by the minute (learn.microsoft.com, "Avoid getting throttled or blocked in
 * SharePoint Online"). Refused requests count as well, so that retrying at once makes it longer.
 *
 * @returns takes the cost of a request; returns the headers of its response, or throws a 429
 */
function resourceUnits(perMinute: number, now: () => number): (cost: number) => Readonly<Record<string, string>> {
  let startedAt = now();
  let used = 0;
  return (cost) => {
    const at = now();
    // The clock may be set back.
    const minutes = Math.max(0, Math.floor((at - startedAt) / minuteMs));
    startedAt += minutes * minuteMs;
    used = Math.max(0, used - minutes * perMinute) + cost;
    if (used < warningShare * perMinute) return {};
    const reset = String(Math.max(1, Math.ceil((startedAt + minuteMs - at) / 1000)));
    const headers = {
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(Math.max(0, perMinute - used)),
      'ratelimit-reset': reset,
    };
    if (used <= perMinute) return headers;
    const message = 'The request has been throttled';
    throw new GraphRefusal(429, 'activityLimitReached', message, { ...headers, 'retry-after': reset });
  };
}

import { parseResponseJson } from '../api/response.ts';
import { type ApiRequest, isRead, type Method, type ServiceResponse } from '../api/transport.ts';
import { addHelpNotes, type SetUp, serviceExits } from '../cli/command.ts';
import { type Print, showRequests } from '../cli/output.ts';
import { toIdempotencyKey } from '../cli/run-settings.ts';
import { inSession, type Session } from '../cli/session.ts';
import { collect, readBinaryFile, readMembers } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import type { Output } from '../core/host.ts';
import { pathSegment } from '../core/item.ts';
import { type JsonValue, printJson } from '../core/json.ts';
import { printable, printableLines } from '../core/text.ts';
import { jsonView } from '../output/layout.ts';

export const methods: readonly Method[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];

interface ApiFlags {
  readonly method?: string;
  readonly field?: readonly string[];
  readonly data?: string;
  readonly input?: string;
  readonly header?: readonly string[];
  readonly include?: boolean;
  readonly dryRun?: boolean;
  readonly idempotencyKey?: string;
}

/** `listctl api PATH` */
export const setUpApi: SetUp = (command, context) => {
  command
    .argument('[method]', 'HTTP method (default: GET, or POST with a body)')
    .argument('[path]', 'path below the base URL, with query; {site} and {list} are filled in')
    .option('-X, --method <method>', 'the method, as in curl')
    .option('-f, --field <key=value>', 'set a member of a JSON body, as in items create; repeatable', collect)
    .option('-d, --data <data>', 'request body; @FILE reads a file, @- stdin')
    .option('--input <file>', 'request body ("-" = stdin)')
    .option('-H, --header <name:value>', 'add a request header; repeatable', collect)
    .option('--idempotency-key <key>', 'retry an uncertain create with its original key')
    .option('-i, --include', 'also print the status and the headers of the response')
    .option('--dry-run', 'show what would be sent without sending it')
    .action(
      inSession(context, async (session, first: string | undefined, second: string | undefined, flags: ApiFlags) => {
        const request = await readRequest(first, second, flags, session);
        if (flags.dryRun) return showRequests([request], session);
        return sendRequest(request, flags.include === true, session);
      }),
    );
  addHelpNotes(command, {
    examples: [
      "listctl api 'sites/{site}/lists/{list}/items/17?expand=fields'",
      'listctl api sites/home/lists/tasks/items --input item.json --include',
      'listctl api -X PATCH sites/home/lists/tasks/items/17 -d \'{"fields":{"Title":"x"}}\'',
    ],
    globalFlags: ['site', 'list', 'output'],
    exitCodes: { 8: 'in doubt: a write may have taken effect' },
    exits: serviceExits,
  });
};

async function readRequest(
  first: string | undefined,
  second: string | undefined,
  flags: ApiFlags,
  session: Session,
): Promise<ApiRequest> {
  const { named, path } = methodAndPath(first, second, flags.method);
  const typed = named === undefined ? undefined : parseMethod(named);
  const at = parsePath(await fillIn(path, session));
  const body = await readBody(flags, session);
  const method = typed ?? (body === undefined ? 'GET' : 'POST');
  if (body !== undefined && isRead(method)) {
    throw new Failure('usage', `${method} requests cannot have a body`, { hint: 'put the fields in the query' });
  }
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const key = method === 'POST' ? toIdempotencyKey(flags.idempotencyKey, session.settings.sendsKeys) : undefined;
  const keyed = key === undefined ? {} : { 'idempotency-key': `"${key}"` };
  const headers = { accept: 'application/json', ...type, ...keyed, ...parseHeaders(flags.header ?? []) };
  return { method, path: at, headers, ...(body === undefined ? {} : { body }) };
}

/** A single argument is the path. */
function methodAndPath(first: string | undefined, second: string | undefined, flag: string | undefined) {
  if (second !== undefined && flag !== undefined) {
    throw new Failure('usage', `the method is given twice: ${first} and --method ${flag}`);
  }
  const path = second ?? first;
  if (path === undefined || (second === undefined && methods.some((each) => each === path.toUpperCase()))) {
    throw new Failure('usage', "missing required argument 'path'", {
      hint: 'pass a path, e.g. sites/{site}/lists/{list}',
    });
  }
  return { named: flag ?? (second === undefined ? undefined : first), path };
}

async function fillIn(path: string, { settings, service }: Session): Promise<string> {
  // Names of Microsoft Graph, with an address or a path, are no path segments.
  const hasNames = service.facts.takesListUrl && /\{(site|list)\}/.test(path);
  const ids = hasNames ? (await service.resolve(settings.list())).ids : undefined;
  return path.replace(/\{(site|list)\}/g, (_, name: 'site' | 'list') =>
    pathSegment(ids?.[name] ?? settings.name(name), name),
  );
}

function parseMethod(text: string): Method {
  const method = methods.find((each) => each === text.toUpperCase());
  if (method !== undefined) return method;
  throw new Failure('usage', `invalid method "${text}": expected one of ${methods.join(', ')}`);
}

/**
 * Parses a path relative to the base URL, with its query, to ASCII with `/` at its start; its escapes stay as they are.
 */
function parsePath(text: string): string {
  const reason = pathProblem(text);
  if (reason !== undefined) {
    throw new Failure('usage', `the path ${reason}`, {
      hint: 'pass a path relative to the base URL, e.g. sites/home/lists/tasks/items/17?expand=fields',
    });
  }
  const path = text.startsWith('/') ? text : `/${text}`;
  return path.replace(/[^\x21-\x7e]|["<>^`{|}]/gu, encodeURIComponent);
}

function pathProblem(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith('//')) return 'has a scheme or a host';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) return 'has control characters';
  if (/[\ud800-\udfff]/u.test(text)) return 'has half a character (a lone surrogate)';
  if (text.includes('\\')) return 'has a backslash';
  if (text.includes('#')) return 'has a fragment';
  const [path = ''] = text.split('?', 1);
  if (path === '' || path === '/') return 'is empty';
  if (/%(?![0-9a-f]{2})/i.test(text)) return 'has an invalid percent escape';
  // URL parsers remove these segments, encoded ones as well, so that the request would reach another path.
  const isDots = (segment: string) => /^(\.|%2e){1,2}$/i.test(segment);
  return path.split('/').some(isDots) ? 'has a . or .. segment' : undefined;
}

async function readBody(flags: ApiFlags, session: Session): Promise<string | Uint8Array | undefined> {
  const { input, data, field } = flags;
  const given = [input && '--input', data !== undefined && '--data', field && '--field'].filter(Boolean);
  if (given.length > 1) throw new Failure('usage', `${given[0]} cannot be used with ${given[1]}`);
  const file = data?.startsWith('@') ? data.slice(1) : input;
  if (file !== undefined) return readBinaryFile(file, session.host);
  return field === undefined ? data : printJson(await readMembers({ field }, session));
}

/** Headers that the transport sets: they decide where a message goes and where it ends. */
const reserved =
  /^(authorization|host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/;

/** Parses headers of the form `Name: value` to values by lower-case name. */
function parseHeaders(texts: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const { name, value } =
      /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?<value>[\x20-\x7e]*)$/.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined) {
      // Not quoted, since it may be a secret.
      throw new Failure('usage', 'invalid --header: expected Name: value in printable ASCII');
    }
    const key = name.toLowerCase();
    if (reserved.test(key)) throw new Failure('usage', `--header cannot set ${name}: listctl sets it`);
    if (Object.hasOwn(headers, key)) throw new Failure('usage', `header ${name} is set twice`);
    headers[key] = value.trimEnd();
  }
  return headers;
}

function sendRequest(request: ApiRequest, isIncluded: boolean, session: Session): Promise<void> {
  const { method, path, headers } = request;
  const send = async (print: Print<JsonValue>) => {
    const client = await session.service.client();
    const target = `${method} ${path}`;
    // Without quotes, as in --idempotency-key.
    const idempotencyKey = headers['idempotency-key']?.replace(/^"(.*)"$/, '$1');
    const purpose = { task: target, target, place: `${path} (${method})`, idempotencyKey };
    const response = await client.send({ request, purpose: () => purpose, read: (whole) => whole });
    const { stdout } = session.host;
    if (isIncluded) await stdout.write(formatHead(response, client.hide));
    await printBody(response, print, stdout);
  };
  return session.output.printing(jsonView, false, send, isRead(method) ? undefined : 'done');
}

/** The status line and the headers, as curl -i prints them. */
function formatHead({ status, headers }: ServiceResponse, hide: (text: string) => string): string {
  const lines = Object.entries(headers).map(([name, value]) => printable(hide(`${name}: ${value ?? ''}`)));
  return [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\n');
}

/** Prints JSON in the requested format, anything else byte for byte; escaped on a terminal. */
async function printBody(response: ServiceResponse, print: Print<JsonValue>, stdout: Output): Promise<void> {
  if (response.body.length === 0) return;
  let value: JsonValue;
  try {
    value = parseResponseJson(response);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const lines = () => printableLines(Buffer.from(response.body).toString());
    await stdout.write(stdout.isTTY ? `${lines().join('\n')}\n` : response.body);
    return;
  }
  await print(value);
}

import { parseResponseJson } from '../api/response.ts';
import { type ApiRequest, isRead, type Method, type ServiceResponse } from '../api/transport.ts';
import { addHelpNotes, type SetUp, serviceExits } from '../cli/command.ts';
import { collect, readMembers } from '../cli/field-flags.ts';
import { readBinaryFile } from '../cli/file-args.ts';
import { idempotencyKeyFor } from '../cli/idempotency-key.ts';
import { type Print, showDryRun } from '../cli/output.ts';
import { type Session, withSession } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { Output } from '../core/host.ts';
import { type JsonValue, printJson } from '../core/json.ts';
import { printable } from '../core/text.ts';
import { jsonView } from '../output/layout.ts';

/**
 * Prints an answer: JSON in the format that was asked for, anything else as the bytes that came.
 *
 * @param head printed before it
 */
export async function showAnswer(
  answer: ServiceResponse,
  head: string,
  print: Print<JsonValue>,
  stdout: Output,
): Promise<void> {
  if (head !== '') await stdout.write(head);
  if (answer.body.length === 0) return;
  const value = jsonOrNothing(answer);
  if (value !== undefined) return print(value);
  await stdout.write(stdout.isTTY ? safeLines(answer.body) : answer.body);
}

/**
 * The status line and the headers, as curl -i prints them. Node has refused control characters in them.
 *
 * @param hide takes the token out of a text
 */
export function headOf({ status, headers }: ServiceResponse, hide: (text: string) => string): string {
  const lines = Object.entries(headers).map(([name, value]) => printable(hide(`${name}: ${value ?? ''}`)));
  return [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\n');
}

function jsonOrNothing(answer: ServiceResponse): JsonValue | undefined {
  try {
    return parseResponseJson(answer);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Text that a stranger sent, line by line, for a terminal that it must not drive. */
function safeLines(body: Uint8Array): string {
  const lines = Buffer.from(body)
    .toString()
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  return `${lines.map(printable).join('\n')}\n`;
}

export const methods: readonly Method[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Reads an HTTP method, in capitals or not.
 *
 * @throws {Failure} usage
 */
export function readMethod(text: string): Method {
  const method = methods.find((each) => each === text.toUpperCase());
  if (method !== undefined) return method;
  throw new Failure('usage', `invalid method "${text}": expected one of ${methods.join(', ')}`);
}

/**
 * Reads a path below the base address, with its query: what is in it stays as it is encoded.
 *
 * @returns the path, beginning with `/`, in ASCII
 * @throws {Failure} usage, when it names another origin, or has dot segments (encoded ones too: a URL parser removes
 *   them, and the request would reach something else), a fragment, a backslash or control characters
 */
export function readPath(text: string): string {
  const reason = reasonAgainst(text);
  if (reason !== undefined) {
    throw new Failure('usage', `the path ${reason}`, {
      hint: 'pass a path relative to the base URL, e.g. sites/home/lists/tasks/items/17?expand=fields',
    });
  }
  const path = text.startsWith('/') ? text : `/${text}`;
  return path.replace(/[^\x21-\x7e]|["<>^`{|}]/gu, encodeURIComponent);
}

function reasonAgainst(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith('//')) return 'has a scheme or a host';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) return 'has control characters';
  if (/[\ud800-\udfff]/u.test(text)) return 'has half a character (a lone surrogate)';
  if (text.includes('\\')) return 'has a backslash';
  if (text.includes('#')) return 'has a fragment';
  const [path = ''] = text.split('?', 1);
  if (path === '' || path === '/') return 'is empty';
  // %25 is a percent sign as it was meant; any other that is no escape would be guessed at.
  if (/%(?![0-9a-f]{2})/i.test(text)) return 'has an invalid percent escape';
  const isDots = (segment: string) => /^(\.|%2e){1,2}$/i.test(segment);
  return path.split('/').some(isDots) ? 'has a . or .. segment' : undefined;
}

/** Headers that are the transport's own: they decide where a message goes and where it ends. */
const reserved =
  /^(authorization|host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/;

/**
 * Reads headers that were typed as `Name: value`.
 *
 * @returns them by lower-case name
 * @throws {Failure} usage, when one is malformed, typed twice, or not for a user to set
 */
export function readHeaders(texts: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const { name, value } =
      /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?<value>[\x20-\x7e]*)$/.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined) {
      // It may hold a secret, so it is not repeated.
      throw new Failure('usage', 'invalid --header: expected Name: value in printable ASCII');
    }
    const key = name.toLowerCase();
    if (reserved.test(key)) throw new Failure('usage', `--header cannot set ${name}: listctl sets it`);
    if (Object.hasOwn(headers, key)) throw new Failure('usage', `header ${name} is set twice`);
    headers[key] = value.trimEnd();
  }
  return headers;
}

interface ApiFlags {
  readonly field?: readonly string[];
  readonly input?: string;
  readonly header?: readonly string[];
  readonly include?: boolean;
  readonly dryRun?: boolean;
  readonly idempotencyKey?: string;
}

/** `listctl api METHOD PATH`: any other request, with the same token and care. */
export const setUpApi: SetUp = (command, context) => {
  command
    .argument('<method>', 'GET, POST, PATCH, PUT, DELETE, HEAD or OPTIONS')
    .argument('<path>', 'path relative to the base URL, with its query')
    .option('-f, --field <key=value>', 'set a member of a JSON body, as in items create; repeatable', collect)
    .option('--input <file>', 'request body ("-" = stdin)')
    .option('--header <name:value>', 'add a request header; repeatable', collect)
    .option('--idempotency-key <key>', 'retry an uncertain create with its original key')
    .option('--include', 'also print the status and the headers of the response')
    .option('--dry-run', 'show what would be sent without sending it')
    .action((method: string, path: string, flags: ApiFlags) =>
      withSession(context, command, async (session) => {
        const request = await readRequest(method, path, flags, session);
        if (flags.dryRun) return showDryRun([request], session);
        return sendRequest(request, flags.include === true, session);
      }),
    );
  addHelpNotes(command, {
    examples: [
      "listctl api GET 'sites/home/lists/tasks/items/17?expand=fields'",
      'listctl api POST sites/home/lists/tasks/items --input item.json --include',
      'listctl api PATCH sites/home/lists/tasks/items/17 -f fields:=\'{"Title":"x"}\'',
    ],
    exitCodes: { 8: 'in doubt: a write may have taken effect' },
    exits: serviceExits,
  });
};

function sendRequest(request: ApiRequest, isIncluded: boolean, session: Session): Promise<void> {
  const { method, path } = request;
  const send = async (print: Print<JsonValue>) => {
    const client = await session.service.client();
    const target = `${method} ${path}`;
    const purpose = { task: target, target, place: `${path} (${method})`, idempotencyKey: keyOf(request) };
    const answer = await client.send({ request, purpose: () => purpose, read: (whole) => whole });
    const head = isIncluded ? headOf(answer, client.hide) : '';
    await showAnswer(answer, head, print, session.host.stdout);
  };
  return session.output.printing(jsonView, false, send, isRead(method) ? undefined : 'done');
}

async function readRequest(method: string, path: string, flags: ApiFlags, session: Session): Promise<ApiRequest> {
  const verb = readMethod(method);
  const request = { method: verb, path: readPath(path) };
  const body = await readBody(flags, session);
  if (body !== undefined && isRead(verb))
    throw new Failure('usage', `${verb} requests cannot have a body`, { hint: 'put the fields in the query' });
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const key = verb === 'POST' ? await idempotencyKeyFor(flags.idempotencyKey, session.settings.sendsKeys) : undefined;
  const keyed = key === undefined ? {} : { 'idempotency-key': `"${key}"` };
  const headers = { accept: 'application/json', ...type, ...keyed, ...readHeaders(flags.header ?? []) };
  return { ...request, headers, ...(body === undefined ? {} : { body }) };
}

async function readBody({ input, field }: ApiFlags, session: Session): Promise<string | Uint8Array | undefined> {
  if (input !== undefined && field !== undefined) throw new Failure('usage', '--input cannot be used with --field');
  if (input !== undefined) return readBinaryFile(input, session.host);
  return field === undefined ? undefined : printJson(await readMembers({ field }, session));
}

/** The key as it was sent, for the message of a request in doubt. */
function keyOf({ headers }: ApiRequest): string | undefined {
  return headers['idempotency-key']?.replace(/^"(.*)"$/, '$1');
}

import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listening } from './loopback-server.ts';

/** An answer to give; a `body` that is not a string or bytes is sent as JSON, one that is a function for what it makes of the request. */
export interface ScriptedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Cuts the connection instead of answering. */
  readonly cut?: boolean;
  /** Never answers. */
  readonly silent?: boolean;
  /** Answers when this resolves. */
  readonly after?: Promise<unknown>;
}

export interface SeenRequest {
  readonly method: string;
  /** Exactly as sent in the request line. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real HTTP server on a loopback port, which answers what a test says and remembers what it was asked. */
export interface ScriptedService extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  connections(): number;
}

/** Starts a service that gives these answers in their order, and the last one again and again. */
export function scriptedService(...answers: readonly ScriptedAnswer[]): Promise<ScriptedService> {
  return startService(answers, () => undefined);
}

/** The same for Microsoft Graph, where lists have no columns: these requests take no answer, and are not remembered. */
export function scriptedGraph(...answers: readonly ScriptedAnswer[]): Promise<ScriptedService> {
  const noColumns = { status: 200, body: { value: [] } };
  return startService(answers, (path) => (path.endsWith('/columns') ? noColumns : undefined));
}

/** Starts a service that answers each request by itself, whatever their order. */
export function answeringService(answer: (request: SeenRequest) => ScriptedAnswer): Promise<ScriptedService> {
  return startService(answer, () => undefined);
}

async function startService(
  answers: readonly ScriptedAnswer[] | ((request: SeenRequest) => ScriptedAnswer),
  always: (path: string) => ScriptedAnswer | undefined,
): Promise<ScriptedService> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const { method = '', url: path = '', headers } = request;
      const seen = { method, path, headers, body: Buffer.concat(chunks).toString() };
      const answerNext = (count: number) =>
        typeof answers === 'function' ? answers(seen) : answers[Math.min(count, answers.length) - 1];
      const answer = always(path) ?? answerNext(requests.push(seen));
      if (answer === undefined || answer.cut) return request.socket.destroy();
      if (answer.silent) return undefined;
      await answer.after;
      const body = bodyOf(answer, requests.at(-1));
      const isBytes = isRaw(body);
      response.writeHead(answer.status, {
        ...(isBytes ? {} : { 'content-type': 'application/json' }),
        ...answer.headers,
      });
      return response.end(isBytes ? body : JSON.stringify(body));
    });
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  return { ...(await listening(server)), requests, connections: () => connections };
}

function bodyOf({ body }: ScriptedAnswer, request: SeenRequest | undefined): unknown {
  return typeof body === 'function' ? body(request) : body;
}

function isRaw(body: unknown): body is string | Uint8Array | undefined {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array;
}

/** The value of `Authorization` of each request. */
export function tokensSeen({ requests }: ScriptedService): readonly (string | undefined)[] {
  return requests.map(({ headers }) => headers.authorization);
}

/** The body of a response: the item that the request names. */
export function requestedItem({ path }: SeenRequest): { readonly id: string; readonly fields: object } {
  return { id: decodeURIComponent(path.slice(path.lastIndexOf('/') + 1)), fields: {} };
}

/** A body for creates: items without fields, with the ids 1, 2, 3 … */
export function newItems(): () => { readonly id: string; readonly fields: object } {
  let last = 0;
  return () => {
    last += 1;
    return { id: `${last}`, fields: {} };
  };
}

/** The environment that leads to a service, with a token and a list. */
export function environmentFor(service: { readonly url: string }): Record<string, string> {
  return { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UnsteadyService } from './bad-day.ts';
import { errorAnswer, Refusal, type ServiceAnswer } from './message.ts';
import { ClientGone, discardBody, hasBody, readBody } from './server-body.ts';
import type { ServerGate } from './server-gate.ts';

/** The version segment, which clients send as part of the base address (list-item-service.md, section 9). */
export const versionPath = '/v1.0';

/** One request, and the way back to its client. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What the client expects before it sends its body; `other` is anything but `100-continue`. */
  readonly expects: 'nothing' | 'continue' | 'other';
}

/** What every request meets. */
export interface AnswerParts {
  readonly gate: ServerGate;
  readonly service: UnsteadyService;
  /** Told of what nobody foresaw while a request was worked on; its client gets a 500. */
  readonly onError: (error: unknown) => void;
  /** Whether a connection takes no request after this one. */
  readonly isLast: (request: IncomingMessage) => boolean;
}

/** Answers one request over HTTP; never rejects. */
export async function answerOverHttp(exchange: Exchange, parts: AnswerParts): Promise<void> {
  const { socket } = exchange.request;
  try {
    const answer = await answerTo(exchange, parts);
    if (answer === undefined) socket.resetAndDestroy();
    else await send(answer, exchange, parts);
  } catch (error) {
    if (!(error instanceof ClientGone)) parts.onError(error);
    socket.destroy();
  }
}

async function answerTo(
  exchange: Exchange,
  { gate, service, onError }: AnswerParts,
): Promise<ServiceAnswer | undefined> {
  const { request, response, expects } = exchange;
  try {
    gate(request);
    if (expects === 'other') throw new Refusal(417, 'the only expectation that is met is 100-continue');
    refuseCoding(request);
    const path = pathOf(request.url ?? '');
    const body = await readBody(request, () => {
      if (expects === 'continue') response.writeContinue();
    });
    spareFromIdleCut(response);
    // Set-Cookie alone would be a list, and means nothing here.
    const headers = request.headers as Readonly<Record<string, string | undefined>>;
    return await service({ method: request.method ?? '', path, headers, body });
  } catch (error) {
    if (error instanceof Refusal) return errorAnswer(error);
    if (error instanceof ClientGone) throw error;
    onError(error);
    return errorAnswer(new Refusal(500, 'the service failed'));
  }
}

/** Of transfer codings, Node undoes `chunked` alone: the body of any other would be stored as it is. */
function refuseCoding({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') return;
  throw new Refusal(501, 'the only transfer coding that is understood is chunked');
}

/** The path as the service knows it: without the version segment. */
function pathOf(address: string): string {
  // Bytes beyond ASCII would arrive as other letters than those that were meant.
  if (/[^\x21-\x7e]/.test(address)) throw new Refusal(400, 'the path must be percent-encoded');
  if (address.startsWith(`${versionPath}/`)) return address.slice(versionPath.length);
  throw new Refusal(404, `there is nothing at this path: addresses begin with ${versionPath}/sites/`);
}

/** A socket on which nothing moves is cut; not while its client waits for us, only when it does not take the answer. */
function spareFromIdleCut(response: ServerResponse): void {
  response.on('timeout', () => {
    if (response.writableEnded) response.socket?.destroy();
  });
}

async function send(
  { status, headers, body }: ServiceAnswer,
  { request, response, expects }: Exchange,
  { isLast }: AnswerParts,
): Promise<void> {
  const isUnread = hasBody(request) && !request.readableEnded;
  if (isUnread || isLast(request)) response.shouldKeepAlive = false;
  const { location } = headers;
  response.writeHead(status, {
    ...headers,
    ...(location === undefined ? {} : { location: versionPath + location }),
    ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  });
  if (!isUnread || expects === 'continue') {
    response.end(body);
    return;
  }
  // All of the answer, but not its end, which would close the connection on a client that is still sending.
  response.write(body);
  await discardBody(request);
  response.end();
}

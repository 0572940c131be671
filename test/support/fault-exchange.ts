/** The exchanges on one connection of a fault server: what is read, what is done, what is sent, and what goes wrong. */
import type { Socket } from 'node:net';
import { answerBytes, garbageBytes } from './fault-answer.ts';
import { type Done, type FaultLog, type LoggedAttempt, logBody, logHead, type WholeRequest } from './fault-items.ts';
import {
  type AnswerStep,
  delayMs,
  dripMs,
  type FaultAction,
  type FaultPoint,
  type FaultStep,
  type FloodStep,
  faultPoints,
  type Plan,
  type Step,
} from './fault-plan.ts';

export interface Connection {
  readonly socket: Socket;
  /** Which one it is, from 1. */
  readonly connection: number;
  readonly plan: Plan;
  readonly log: FaultLog;
  readonly padded: boolean;
  readonly apply: (request: WholeRequest) => Done;
}

/** An answer, and where its head, its first header and its middle are. */
interface OwnBytes {
  readonly bytes: Buffer;
  readonly cuts: Readonly<Record<'mid-status' | 'mid-headers' | 'mid-body' | 'complete', number>>;
}

export function faultExchange(connection: Connection): void {
  void deal(connection).catch((error: unknown) => {
    // The client has gone, which ends the story; anything else is a fault of the server's own.
    if (!connection.socket.destroyed) connection.socket.destroy(error as Error);
  });
}

async function deal(connection: Connection): Promise<void> {
  const { socket, plan, log } = connection;
  const reader = requestReader(socket);
  const atAccept = plan(log.attempts.length + 1);
  let begun: LoggedAttempt | undefined;
  if (atPoint(atAccept, 'accept')) {
    begun = log.begin(connection.connection);
    if (!(await act(atAccept, socket, answerTo(undefined, connection)))) return;
  }
  for (;;) {
    const head = await reader.head();
    if (head === undefined || head === 'no HTTP') {
      // As servers do to a client that speaks something else, TLS for one.
      socket.end(head === undefined ? '' : answerBytes(400, { headers: [['Connection', 'close']] }));
      return;
    }
    const entry = begun ?? log.begin(connection.connection);
    begun = undefined;
    logHead(entry, head);
    if (!(await exchange(head, entry, plan(entry.sequence, head.method), connection, reader))) return;
  }
}

/** One request and its answer; gives whether another may follow. */
async function exchange(
  head: WholeRequest,
  entry: LoggedAttempt,
  step: Step | undefined,
  connection: Connection,
  reader: RequestReader,
): Promise<boolean> {
  const { socket, apply } = connection;
  if (atPoint(step, 'head-read') && !(await act(step, socket, answerTo(undefined, connection)))) return false;
  const request = { ...head, body: await reader.body(head) };
  logBody(entry, request);
  if (atPoint(step, 'body-read') && !(await act(step, socket, answerTo(undefined, connection)))) return false;
  const isApplied = step === undefined || 'point' in step || step.applies;
  const done = isApplied ? apply(request) : undefined;
  entry.applied = done?.applied === true;
  if (step !== undefined && 'head' in step) return flood(step, socket);
  if (step !== undefined && 'answer' in step) return answerWith(step, done, entry, socket);
  const mayFollow = await sendAll(step, answerTo(done, connection), entry, socket);
  if (done?.closes !== undefined) socket.end();
  return mayFollow && done?.closes === undefined;
}

/** Sends the server's own answer, with the fault where its point is. */
async function sendAll(
  step: FaultStep | undefined,
  own: OwnBytes,
  entry: LoggedAttempt,
  socket: Socket,
): Promise<boolean> {
  // What comes before has been dealt with.
  const at = step === undefined || faultPoints.indexOf(step.point) < faultPoints.indexOf('applied') ? undefined : step;
  const cut = cutOf(at, own);
  socket.write(own.bytes.subarray(0, cut));
  if (at !== undefined) {
    entry.answered = at.point === 'complete';
    const rest = { bytes: own.bytes.subarray(cut), cuts: own.cuts };
    if (!(await act(at, socket, rest))) return isWholeAfter(at);
  }
  socket.write(own.bytes.subarray(cut));
  entry.answered = true;
  return true;
}

/** Whether the answer came to its end all the same, so that the client may use the connection again. */
function isWholeAfter({ point, action }: FaultStep): boolean {
  return point === 'mid-body' && action === 'garbage';
}

function cutOf(step: FaultStep | undefined, { bytes, cuts }: OwnBytes): number {
  if (step === undefined) return bytes.length;
  return step.point in cuts ? cuts[step.point as keyof OwnBytes['cuts']] : 0;
}

function atPoint(step: Step | undefined, point: FaultPoint): step is FaultStep {
  return step !== undefined && 'point' in step && step.point === point;
}

/** Does what goes wrong; gives whether the exchange goes on. */
async function act({ point, action }: FaultStep, socket: Socket, rest: OwnBytes): Promise<boolean> {
  if (action === 'delay') {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    return true;
  }
  const isInBody = point === 'mid-body';
  perform(action, socket, rest.bytes, isInBody);
  return false;
}

function perform(action: FaultAction, socket: Socket, rest: Buffer, isInBody: boolean): void {
  // Drained: unread bytes would turn a FIN into a reset.
  if (action === 'fin') socket.end().resume();
  else if (action === 'rst') socket.resetAndDestroy();
  else if (action === 'drip') drip(rest.length > 0 ? rest : Buffer.alloc(10_000, 'x'), socket);
  else if (action === 'garbage') socket.write(isInBody ? Buffer.alloc(rest.length, garbageBytes) : garbageBytes);
}

/** One byte at a time, the first at once, until all are sent or the client closes. */
function drip(bytes: Buffer, socket: Socket): void {
  let sent = 1;
  socket.write(bytes.subarray(0, 1));
  const dripping = setInterval(() => {
    if (sent >= bytes.length || !socket.writable) return clearInterval(dripping);
    socket.write(bytes.subarray(sent, sent + 1));
    sent += 1;
  }, dripMs);
  socket.on('close', () => clearInterval(dripping));
}

function answerWith(step: AnswerStep, done: Done | undefined, entry: LoggedAttempt, socket: Socket): boolean {
  const own = { status: done?.status ?? 200, id: done?.id, body: JSON.stringify(done?.body ?? {}) };
  socket.write(typeof step.answer === 'function' ? step.answer(own) : step.answer);
  entry.answered = true;
  const { later } = step;
  if (later !== undefined) setTimeout(() => socket.write(later), 10);
  if (step.ending === undefined) return true;
  perform(step.ending, socket, Buffer.alloc(0), false);
  return false;
}

/** The same chunk again and again, as fast as it is taken; 256 MiB are as good as no end. */
async function flood({ head, chunk }: FloodStep, socket: Socket): Promise<boolean> {
  socket.write(head);
  for (let sent = 0; sent < 2 ** 28 && socket.writable; sent += chunk.length) {
    if (socket.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve);
      socket.once('close', resolve);
    });
  }
  return false;
}

/** The server's own answer; without anything done, that of a read that went well. */
function answerTo(done: Done | undefined, { padded }: Pick<Connection, 'padded'>): OwnBytes {
  const { status, body } = done ?? { status: 200, body: { id: '17', fields: {} } };
  const etag = done?.etag === undefined ? [] : [['ETag', done.etag] as const];
  const closing = done?.closes === undefined ? [] : [['Connection', 'close'] as const];
  const padding = 'p'.repeat(400);
  const bytes = answerBytes(status, {
    headers: [...etag, ...closing, ...(padded ? [['X-Padding', padding] as const] : [])],
    body: padded ? { ...body, padding } : body,
  });
  const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
  return {
    bytes,
    cuts: {
      'mid-status': 'HTTP/1.1 2'.length,
      'mid-headers': bytes.indexOf('\r\n') + 2 + 'Content-Ty'.length,
      'mid-body': Math.floor((bodyAt + bytes.length) / 2),
      complete: bytes.length,
    },
  };
}

interface RequestReader {
  /** The next head; undefined where the client has ended. */
  head(): Promise<WholeRequest | 'no HTTP' | undefined>;
  body(head: WholeRequest): Promise<Buffer>;
}

/** Heads and bodies as they come; only `Content-Length` frames a body. Starts to read when it is first asked. */
function requestReader(socket: Socket): RequestReader {
  let received = Buffer.alloc(0);
  let hasEnded = false;
  let look: () => void = () => {};
  const start = () => {
    if (socket.listenerCount('data') > 0) return;
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      look();
    });
    const end = () => {
      hasEnded = true;
      look();
    };
    socket.on('end', end).on('close', end);
  };
  const until = (length: () => number) =>
    new Promise<Buffer | undefined>((resolve) => {
      look = () => {
        const size = length();
        if (size < 0 || received.length < size) return hasEnded ? resolve(undefined) : undefined;
        const taken = received.subarray(0, size);
        received = received.subarray(size);
        look = () => {};
        return resolve(taken);
      };
      start();
      look();
    });
  return {
    head: async () => {
      const isHttp = () => received.length === 0 || /^[A-Z]/.test(received.toString('latin1', 0, 1));
      const head = await until(() => {
        if (!isHttp()) return received.length;
        const end = received.indexOf('\r\n\r\n');
        return end === -1 ? -1 : end + 4;
      });
      if (head === undefined) return undefined;
      return /^[A-Z]/.test(head.toString('latin1', 0, 1)) ? headOf(head.toString('latin1')) : 'no HTTP';
    },
    body: async ({ headers }) => (await until(() => Number(headers['content-length'] ?? 0))) ?? Buffer.alloc(0),
  };
}

function headOf(text: string): WholeRequest {
  const [first = '', ...lines] = text.trimEnd().split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf(':');
    const [name, value] = [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { method, path, headers, body: Buffer.alloc(0) };
}

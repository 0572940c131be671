/** Raw HTTP/1.1 answers, byte by byte as a test wants them: right ones, and every kind of wrong one. */

export interface AnswerParts {
  /** After the status, where the usual one won't do. */
  readonly reason?: string;
  /** In this order; a name may occur twice. `Content-Length` is added unless a framing header is among them. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Text and bytes as they are; anything else as JSON. */
  readonly body?: unknown;
  /** Leaves out `Content-Length`: the end of the connection is the end of the body. */
  readonly unframed?: boolean;
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  400: 'Bad Request',
  404: 'Not Found',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** A whole answer: status line, headers, body. A body that is not a string or bytes is sent as JSON, and says so. */
export function answerBytes(
  status: number,
  { reason = reasons[status] ?? 'Whatever', headers = [], body, unframed = false }: AnswerParts = {},
): Buffer {
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const bytes = Buffer.from(isRaw ? (body ?? '') : JSON.stringify(body));
  const has = (name: RegExp) => headers.some(([each]) => name.test(each));
  const lines = [`HTTP/1.1 ${status} ${reason}`];
  if (!isRaw && !has(/^content-type$/i)) lines.push('Content-Type: application/json');
  if (!unframed && status !== 204 && !has(/^(content-length|transfer-encoding)$/i)) {
    lines.push(`Content-Length: ${bytes.length}`);
  }
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/** A body in chunks, the last one (of no bytes) included. */
export function chunkedBody(...chunks: readonly (string | Uint8Array)[]): Buffer {
  const framed = chunks.map(Buffer.from).map((chunk) => [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n'] as const);
  return Buffer.concat([...framed.flat(), '0\r\n\r\n'].map((part) => Buffer.from(part)));
}

/** Bytes that are no HTTP, and that would drive a terminal which printed them. */
export const garbageBytes = Buffer.from(
  '\u0000\u001b]0;owned\u0007\u001b[31m\u009b2J\u202e\ufffd%PDF-1.7\r\n\r\n<html>',
  'utf8',
);

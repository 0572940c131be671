/** What goes in and out of the service: plain values, so that it needs neither a socket nor fetch's classes. */

/** A request as it reached the service. */
export interface ServiceRequest {
  readonly method: string;
  /** Path and query, relative to the base address: `/sites/S/lists/L/items/7`, each segment percent-encoded. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** What the service says to it. */
export interface ServiceAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty for 204. */
  readonly body: string;
}

/** A request that the service will not carry out, and the status that says so. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** An answer with a body of JSON. */
export function jsonAnswer(status: number, headers: Readonly<Record<string, string>>, body: string): ServiceAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** The document's error: `{"error": "<short message>"}`. */
export function errorAnswer({ status, message, headers }: Refusal): ServiceAnswer {
  return jsonAnswer(status, headers, JSON.stringify({ error: message }));
}

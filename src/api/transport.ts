/**
 * Our end of the wire, as plain data: a request, an answer, and what turns one into the other. Whoever decides
 * (outcomes, retries) stands above this; whoever moves bytes stands below.
 */

/** An HTTP method, in capitals. */
export type Method = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Whether a method only reads (RFC 9110, section 9.2.1): then a lost answer has changed nothing. */
export function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** One HTTP request, relative to the base address. */
export interface ApiRequest {
  readonly method: Method;
  /** Below the base address, beginning with `/`; every id in it is already one encoded segment. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A complete answer. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** Why there is no complete answer. */
export interface Fault {
  readonly kind: 'unreachable' | 'untrusted' | 'timeout' | 'lost' | 'unusable' | 'stopped';
  /** What happened, for people: `connection refused`. */
  readonly reason: string;
  readonly cause?: unknown;
}

/** What came of sending a request once. */
export type Attempt =
  | { readonly answer: Answer; readonly fault?: undefined }
  | {
      readonly answer?: undefined;
      readonly fault: Fault;
      /** Whether a byte of the request may have been written: if not, it certainly had no effect. */
      readonly wasSent: boolean;
    };

/** Limits of one attempt. */
export interface AttemptLimits {
  /** From connecting to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the attempt when it aborts. */
  readonly signal: AbortSignal;
}

/** Sends requests to one address. */
export interface Transport {
  /** Where it sends to, for messages: never with user info or a query. */
  readonly address: string;
  /** Sends once. Never rejects: whatever happens is told by the attempt. */
  send(request: ApiRequest, limits: AttemptLimits): Promise<Attempt>;
  /** Lets go of sockets and files; requests under way are cut off. */
  close(): Promise<void>;
}

/** An answer larger than this is refused while it streams in (rulings, "Responses"). */
export const answerBytesMax = 8 * 1024 * 1024;

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

/** What stands above the body of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** By lower-case name; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** What the service calls the status, where it says so: `Not Found`. */
  readonly statusText?: string | undefined;
  /** Whether it is a 408 that came before the request was written whole. */
  readonly isEarly?: boolean;
}

/** A complete answer. Of one that says no, the first 64 KiB of the body are enough. */
export interface Answer extends AnswerHead {
  readonly body: Uint8Array;
  /** Why the body can't be read, where its coding is not one that is taken; it is empty then. */
  readonly unreadable?: string | undefined;
  /** The connection that it came on, where it came over a network. */
  readonly connection?: ResponseConnection;
}

/** A connection that a complete response came on, and that may be kept for the next request. */
export interface ResponseConnection {
  /** Sends nothing more over it. */
  drop(): void;
}

/**
 * What kind of fault: no connection; one to somebody who can't prove to be the service; one to another machine, where it
 * must be this one; nothing in time; a connection
 * that broke; an answer that is not HTTP; one that is too large; told to stop.
 */
export type FaultKind =
  | 'unreachable'
  | 'untrusted'
  | 'not-local'
  | 'timeout'
  | 'lost'
  | 'unusable'
  | 'too-large'
  | 'stopped';

/** Why there is no complete answer. */
export interface Fault {
  readonly kind: FaultKind;
  /** What happened, for people: `connection refused`. */
  readonly reason: string;
  readonly cause?: unknown;
}

/** What came of sending a request once. */
export type Attempt =
  | { readonly answer: Answer; readonly fault?: undefined; readonly head?: undefined }
  | {
      readonly answer?: undefined;
      readonly fault: Fault;
      /** Whether a byte of the request may have been written: if not, it certainly had no effect. */
      readonly wasSent: boolean;
      /** The head of the answer, where that came before the fault. */
      readonly head?: AnswerHead | undefined;
    };

/** Limits of one attempt. */
export interface AttemptLimits {
  /** From connecting to the last byte of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the attempt when it aborts. */
  readonly signal: AbortSignal;
  /** On a connection of its own: the one before gave an answer that could not be used. */
  readonly isFresh?: boolean;
  /** How long its parts may take; without it as `usualPhases` has it. */
  readonly phases?: PhaseLimits | undefined;
}

/** How long the parts of one attempt may take, in milliseconds of real time. */
export interface PhaseLimits {
  /** From the request to the end of the answer's headers. */
  readonly headersMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
}

/** The usual limits, 60 s and 30 s (reliability, C3). Who gives an attempt more than 120 s gives its parts more. */
export function usualPhases(timeoutMs: number): PhaseLimits {
  return { headersMs: Math.max(60_000, timeoutMs / 2), idleMs: Math.max(30_000, timeoutMs / 4) };
}

/** Sends requests to one address. */
export interface Transport {
  /** Where it sends to, for messages: never with user info or a query. */
  readonly address: string;
  /** Sends once. Never rejects: whatever happens is told by the attempt. */
  send(request: ApiRequest, limits: AttemptLimits): Promise<Attempt>;
  /** The text without the token, which an answer may have repeated. */
  readonly hide?: (text: string) => string;
  /** Lets go of sockets and files; requests under way are cut off. */
  close(): Promise<void>;
}

/** An answer larger than this is refused while it streams in (rulings, "Responses"). */
export const answerBytesMax = 8 * 1024 * 1024;

/** Of an answer that says no, so much is read (reliability, C3). */
export const errorBytesMax = 64 * 1024;

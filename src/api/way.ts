import { hiderOf } from '../hide.ts';
import type { Destination } from './connector.ts';
import type { ApiRequest } from './transport.ts';

/** The way to a service: what a transport is made of. */
export interface Way extends Destination {
  /** The address with its version segment: `https://host/v1.0`, with or without a slash at its end. */
  readonly base: URL;
  readonly token: string;
  /** Sent with every request, beside the token; by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** How long connecting may take, TLS and proxy included, in milliseconds (10 s: reliability, C3). */
  readonly connectMs?: number;
  /** Milliseconds of monotonic time, by which attempts are watched. */
  readonly monotonicMs?: () => number;
}

/** What both transports need of a way. */
export interface WayParts {
  /** Where it leads, for messages. */
  readonly address: string;
  /** What stands before the path of each request. */
  readonly prefix: string;
  readonly connectMs: number;
  readonly hide: (text: string) => string;
}

/** Reads a way. */
export function partsOf({ base, token, connectMs = 10_000 }: Way): WayParts {
  const prefix = base.pathname.replace(/\/$/, '');
  return { address: base.origin + prefix, prefix, connectMs, hide: hiderOf(token) };
}

/**
 * Makes the headers of requests, the token among them: they go into no message, and into no options that Node may print.
 * Not the host and the body's length, which undici has of its own.
 */
export function headersOver({ token, headers }: Way): (request: ApiRequest) => Record<string, string> {
  const ours = {
    authorization: `Bearer ${token}`,
    ...headers,
    // One coding can be decoded within bounds; none is asked for (reliability, C3).
    'accept-encoding': 'identity',
  };
  // Not spread: that makes a slow object of it, and costs 4 µs for each of many requests.
  return ({ headers: asked }) => Object.assign({}, ours, asked);
}

/** The fault of an attempt that was ended before it began. */
export function stoppedBefore(signal: AbortSignal) {
  return { fault: { kind: 'stopped', reason: 'stopped', cause: signal.reason }, wasSent: false } as const;
}

/** What a fault server knows of each attempt: in a test the only truth about what arrived and what was done. */
import { hashOf, type WholeRequest } from './fault-items.ts';

/** One attempt: a request whose head arrived, or a connection that was cut before. */
export interface LoggedAttempt {
  /** From 1, over all connections. */
  readonly sequence: number;
  /** Which connection it came on, from 1. */
  readonly connection: number;
  /** Empty where the connection was dealt with before a request was read. */
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** The value of `Idempotency-Key`, without its quotes. */
  key: string | undefined;
  /** Of the whole body; undefined where it was not read to its end. */
  bodyHash: string | undefined;
  body: string | undefined;
  /** Whether the items are others since. */
  applied: boolean;
  /** Whether all of an answer was handed to the system. */
  answered: boolean;
}

/** The log of one server, as it is written. */
export interface FaultLog {
  readonly attempts: readonly LoggedAttempt[];
  begin(connection: number): LoggedAttempt;
}

export function faultLog(): FaultLog {
  const attempts: LoggedAttempt[] = [];
  return {
    attempts,
    begin: (connection) => {
      const entry: LoggedAttempt = {
        ...{ sequence: attempts.length + 1, connection, method: '', path: '', headers: {} },
        ...{ key: undefined, bodyHash: undefined, body: undefined, applied: false, answered: false },
      };
      attempts.push(entry);
      return entry;
    },
  };
}

export function logHead(entry: LoggedAttempt, { method, path, headers }: WholeRequest): void {
  Object.assign(entry, { method, path, headers, key: headers['idempotency-key']?.replace(/^"(.*)"$/, '$1') });
}

export function logBody(entry: LoggedAttempt, { body }: WholeRequest): void {
  Object.assign(entry, { bodyHash: hashOf(body), body: body.toString() });
}

/** A request, what its response means, and what can prove that a write was applied. */
import type { ErrorWording, Purpose } from './failures.ts';
import type { ApiRequest, ResponseHead, ServiceResponse } from './transport.ts';

export interface Operation<T> {
  readonly request: ApiRequest;
  readonly purpose: () => Purpose;
  /** Parses a 2xx response; throws a SyntaxError, with the reason for the message, if it is unusable. */
  readonly read: (response: ServiceResponse) => T;
  /** A read that may prove whether a write in doubt was applied. */
  readonly check?: (() => WriteCheck<T>) | undefined;
  /** Undefined for those of docs/decisions.md. */
  readonly errors?: ErrorWording | undefined;
  /** The time since an earlier process may have sent the same request without learning its outcome. */
  readonly sentMsAgo?: number | undefined;
  /** The service refuses a repeat of a create that it has applied, so that it may be sent again (keys-6). */
  readonly isRepeatable?: boolean | undefined;
  /** An earlier process may have applied the same create: a 400 is in doubt until it is looked up. */
  readonly mayExist?: boolean | undefined;
  /** A read that finds the result of a write in doubt. */
  readonly lookUp?: (() => Operation<Finding<T>>) | undefined;
}

/** One read that can prove that a write was applied. */
export interface WriteCheck<T> {
  /** Returns the read, if this response to the write allows one. A `Location` outside of `address` proves nothing. */
  readonly findRead: (head: ResponseHead, address: string) => VerifyingRead<T> | undefined;
  /** A different item proves that the write was not applied. */
  readonly mayDisprove: boolean;
}

/** A read with the result of a write; undefined if it was not applied. */
export type VerifyingRead<T> = Pick<Operation<T | undefined>, 'request' | 'read'>;

/** The ids that the creates of one run returned. */
export interface SeenIds {
  /** Adds an id; returns false if it was there already. */
  add(id: string): boolean;
}

/** A request that an earlier process sent. */
export interface SentEarlier {
  /** Its age in milliseconds at a time of the service, the maximum by all clocks; undefined if unknown. */
  ageMs(serviceMs: number): number | undefined;
}

/**
 * The result of a write in doubt, or the reason why it was not found: `isMissing` if the service has no such item, and
 * `isTaken` if it has another one, beside which it would have refused the write.
 */
export type Finding<T> =
  | { readonly value: T; readonly reason?: undefined }
  | { readonly isMissing: boolean; readonly isTaken?: boolean; readonly reason: string };

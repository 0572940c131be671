/** A write that may have been applied: what its attempts and look-ups have shown. */
import type { Clock } from '../core/host.ts';
import type { Doubt } from './failures.ts';
import type { Finding } from './operation.ts';
import { keyWindowMs } from './outcome.ts';

/** Stands for the attempt of an earlier process. */
export const earlierProcess: Pick<Doubt, 'attempt'> = {
  attempt: { error: { kind: 'lost', reason: 'listctl ended before the response arrived' }, wasSent: true },
};

export class WriteDoubt {
  /** The last attempt that may have applied the write; undefined once it is settled. */
  #open: Pick<Doubt, 'attempt' | 'unusable'> | undefined;
  /** The attempts that may have applied it, and those of them with status 500. */
  #count = 0;
  #faults = 0;
  /** A later response says that the item to update is missing. */
  isItemMissing = false;
  /** The reason why the last look-up did not settle it, and whether it showed that the write was refused. */
  notFound: string | undefined;
  isTaken = false;

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** What a failure says of it; undefined once it is settled. */
  get facts(): Pick<Doubt, 'attempt' | 'unusable' | 'notFound'> | undefined {
    return this.#open && { ...this.#open, notFound: this.notFound };
  }

  /** An attempt that may have applied the write. */
  add(attempt: Pick<Doubt, 'attempt' | 'unusable'>): void {
    this.#open = attempt;
    this.#count += 1;
    if (attempt.attempt.response?.status === 500) this.#faults += 1;
  }

  /** A refusal that may be about the item that an earlier process made. */
  addRefusal(): void {
    this.#open ??= earlierProcess;
  }

  /** It is known that the write was not applied. */
  disprove(): void {
    this.#open = undefined;
  }

  /**
   * Takes a look-up that did not find the result. A create was not applied then if the service failed each time, or
   * refused it in the end. But right after a lost answer the refusal may be about the item that it made, which a look-up
   * does not find yet.
   *
   * @param last the last attempt of this process
   * @param isOfEarlier whether an earlier process may have sent the request
   */
  addLookUp(
    { reason, isMissing, isTaken = false }: Extract<Finding<unknown>, { reason: string }>,
    last: Pick<Doubt, 'attempt'> | undefined,
    isOfEarlier: boolean,
  ): void {
    this.notFound = reason;
    this.isTaken = isTaken;
    const isRefused = last?.attempt.response?.status === 400;
    const isDisproved =
      this.#count - (isRefused && isOfEarlier ? 1 : 0) === this.#faults && (isRefused || this.#faults > 1);
    if (isTaken || (isMissing && isDisproved)) this.disprove();
  }
}

/** Tells the time of the service in milliseconds since the Unix epoch; undefined before its first response. */
export interface ServiceTime {
  now(): number | undefined;
}

/**
 * The age of an idempotency key: by the monotonic clock, which stops while the machine sleeps, the wall clock and the
 * service's (keys-4).
 */
export class KeyAge {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly #service: ServiceTime;
  readonly #sentMsAgo: number;
  #first: readonly (number | undefined)[] = [];

  /** @param sentMsAgo the time since an earlier process may have sent it */
  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, service: ServiceTime, sentMsAgo = 0) {
    this.#clock = clock;
    this.#service = service;
    this.#sentMsAgo = sentMsAgo;
  }

  /** Notes the time of the first attempt. */
  start(): void {
    this.#first = this.#times();
  }

  /** Whether the service may have forgotten the key before the first attempt of this process. */
  get isOldAtStart(): boolean {
    return this.#sentMsAgo > keyWindowMs;
  }

  /** Whether the service may have forgotten the key after a wait (keys-3). */
  isOldAfter(waitMs: number): boolean {
    const ages = this.#times().map((ms = 0, at) => ms - (this.#first[at] ?? ms));
    return this.#sentMsAgo + Math.max(...ages) + waitMs > keyWindowMs;
  }

  #times(): readonly (number | undefined)[] {
    return [this.#clock.monotonicMs(), this.#clock.now(), this.#service.now()];
  }
}

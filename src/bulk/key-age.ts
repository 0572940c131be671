/** How old a key is, by every clock that can be asked: one that is wrong must not make an expired key look young. */
import type { SessionStart } from './journal-records.ts';

/** When a request was first sent with its key. */
export interface SentMoment {
  /** By the clock of the machine: milliseconds since the Unix epoch. */
  readonly sentAt: number;
  /** By the clock of the service; undefined where no response of that session said its time. */
  readonly serviceAt?: number | undefined;
  /** The session that sent it, by whose clocks `sentAt` is. */
  readonly session?: Pick<SessionStart, 'boot' | 'at' | 'monotonicMs'> | undefined;
}

/** The present, by the same clocks. */
export interface PresentMoment {
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly boot: string;
  /** Undefined where the service has not said its time: then no age is known. */
  readonly serviceMs: number | undefined;
}

/**
 * The age of a key in milliseconds: the greatest that the wall clock, the service's clock and, on the same boot, the
 * monotonic clock say. Undefined where it is unknown, or below 0 by all of them.
 */
export function keyAgeMs({ sentAt, serviceAt, session }: SentMoment, present: PresentMoment): number | undefined {
  if (present.serviceMs === undefined) return undefined;
  const ages = [present.nowMs - sentAt, present.serviceMs - (serviceAt ?? sentAt)];
  if (session?.monotonicMs !== undefined && session.boot !== '' && session.boot === present.boot) {
    ages.push(present.monotonicMs - session.monotonicMs - (sentAt - session.at));
  }
  const ms = Math.max(...ages);
  return ms < 0 ? undefined : ms;
}

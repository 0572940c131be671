import { Failure, type FailureKind } from '../../errors.ts';
import type { Finding } from '../../output/doctor-view.ts';

/** A finding, and what a command would end in because of it. */
export interface Diagnosis extends Finding {
  /** Of one that failed. */
  readonly kind?: FailureKind | undefined;
}

/** What a check found, without its name. */
export type Found = Omit<Diagnosis, 'check'>;

/** Looks at one thing; a failure is what was found, too. */
export async function diagnosed(check: string, look: () => Found | Promise<Found>): Promise<Diagnosis> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    if (error instanceof Failure) return { check, ...failedFor(error) };
    throw error;
  }
}

/** A failure as what was found. */
export function failedFor({ kind, message, details: { hint } }: Failure, source?: string): Found {
  return { status: 'failed', value: message, source, hint, kind };
}

/** That there is nothing to check, and why. */
export function skipped(value: string): Found {
  return { status: 'skipped', value };
}

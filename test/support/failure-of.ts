import { Failure } from '../../src/core/errors.ts';

/** The failure that some work ends with; where it ends with anything else, or with nothing, the test does. */
export function failureOf(work: () => unknown): Failure {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('no failure');
}

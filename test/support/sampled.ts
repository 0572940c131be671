import { env } from 'node:process';

/** Whether this is `npm test`, in which files named `*.sampled.test.ts` take a part of what the slow run takes. */
export const isSample = env['LISTCTL_TEST_MODE'] === 'test';

/** Each n-th in `npm test`, and all in the slow run. */
export function sampled<T>(all: readonly T[], n: number): readonly T[] {
  return isSample ? all.filter((_, at) => at % n === 0) : all;
}

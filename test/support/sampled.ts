import { env } from 'node:process';

/** Each n-th in `npm test`, and all in the slow run, which files named `*.sampled.test.ts` are part of too. */
export function sampled<T>(all: readonly T[], n: number): readonly T[] {
  return env['LISTCTL_TEST_MODE'] === 'test' ? all.filter((_, at) => at % n === 0) : all;
}

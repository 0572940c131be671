import { test as base } from 'vitest';
import { type TemporaryDirectory, temporaryDirectory } from './temporary-directory.ts';

/** A test with a directory of its own. */
export const test = base.extend<{ directory: TemporaryDirectory }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  directory: async ({}, use) => {
    await using directory = await temporaryDirectory();
    await use(directory);
  },
});

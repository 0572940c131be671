import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';

// Where .ci/run wants the counts, in a form that a program can read.
const reportFile = process.env['LISTCTL_TEST_REPORT'];

/** One project for each kind of test, named after its folder. Those that run the program build it first. */
function project(name: string, options: { globalSetup?: string } = {}) {
  return { extends: true as const, test: { name, include: [`test/${name}/**/*.test.ts`], ...options } };
}

const built = { globalSetup: './test/support/build.ts' };

export default defineConfig({
  // Node 20 has no `await using` of its own.
  oxc: { target: 'node20' },
  test: {
    // Half as many again as there are processors: much of a test's time is waiting for a process or a disk.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Nothing is measured by it. It ends what hangs, and a busy machine takes its time.
    testTimeout: 30_000,
    projects: [project('unit'), project('command'), project('binary', built), project('docs', built)],
    reporters: reportFile === undefined ? ['default'] : ['default', ['json', { outputFile: reportFile }]],
  },
});

import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';

// Where .ci/run wants the counts, in a form that a program can read.
const reportFile = process.env['LISTCTL_TEST_REPORT'];

/**
 * Which tests `--mode` runs: `test`, the default, those of `npm test`; `slow` the others; `all` both. Of a
 * `*.sampled.test.ts` the first runs a part (test/support/sampled.ts), the others everything.
 */
const slow = '**/*.slow.test.ts';

/** One project for each kind of test, named after its directory. Those that run the program build it first. */
function project(mode: string, name: string, options: { globalSetup?: string } = {}) {
  const include = [`test/${name}/**/*${mode === 'slow' ? '.{slow,sampled}' : ''}.test.ts`];
  const exclude = mode === 'test' ? [slow] : [];
  return { extends: true as const, test: { name, include, exclude, env: { LISTCTL_TEST_MODE: mode }, ...options } };
}

const built = { globalSetup: './test/support/build.ts' };

export default defineConfig(({ mode }) => ({
  // Node 20 has no `await using` of its own.
  oxc: { target: 'node20' },
  test: {
    // Loading the program anew for each file would take half of the time: nothing in it keeps state between runs.
    isolate: false,
    // Half as many again as there are processors: much of a test's time is waiting for a process or a disk.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Ends what hangs, and nothing else: a busy machine takes its time.
    testTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    passWithNoTests: mode === 'slow',
    projects: [
      ...[project(mode, 'unit'), project(mode, 'command')],
      ...[project(mode, 'binary', built), project(mode, 'docs', built)],
    ],
    reporters: reportFile === undefined ? ['default'] : ['default', ['json', { outputFile: reportFile }]],
  },
}));

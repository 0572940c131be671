/** The tests that judge the mutants of stryker.config.json: quick ones, the same at each run. */
import process from 'node:process';
import { defineConfig } from 'vitest/config';

// A zone other than UTC, so that a date that is parsed as local time differs.
process.env['TZ'] = 'America/New_York';

const units = [
  'api/{failure-scope,outcome,retry*,client*}',
  'apply/{plan,plan-file,state-file,recover}',
  'bulk/{journal*,keys,retry-decision}',
  'output/{failure,wrap}',
  '{item,json,text}',
] as const;

// biome-ignore lint/style/noDefaultExport: vitest reads nothing else.
export default defineConfig({
  // Node 20 has no `await using` of its own.
  oxc: { target: 'node20' },
  test: {
    include: units.map((unit) => `test/unit/${unit}.test.ts`),
    // Stryker's own limit counts, which knows how long a test takes without a mutant.
    testTimeout: 60_000,
    setupFiles: ['test/mutation/fixed-seed.ts'],
  },
});

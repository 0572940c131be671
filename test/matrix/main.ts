/**
 * `npm run test:matrix -- --node 20 --node 26`: the tests of the built program on each Node that it supports, as npm
 * has them (the packages `node-<system>-<processor>`). Prints a table for docs/reliability.md; exits with 1 where a
 * test failed on any of them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process, { argv, execPath, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: { node: { type: 'string', multiple: true, default: ['20', '22', '24', '26'] } },
});

const root = join(import.meta.dirname, '../..');

/** What vitest writes of a run (its JSON reporter). */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

await using directory = await temporaryDirectory();
const rows: string[] = [];
for (const major of values.node) {
  stdout.write(`Node ${major} …\n`);
  const node = await installNode(major, directory.path);
  const report = await testOn(node, join(directory.path, `${major}.json`));
  for (const name of failuresIn(report)) stdout.write(`  failed: ${name}\n`);
  const { stdout: version } = await execa(node, ['--version']);
  rows.push(rowOf(version, report));
}
stdout.write(['', '| Node | passed | failed | skipped |', '|---|---|---|---|', ...rows, ''].join('\n'));

async function installNode(major: string, into: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join(into, `node-${major}`);
  const flags = ['--prefix', prefix, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  await execa('npm', ['install', ...flags, `${name}@${major}`]);
  return join(prefix, 'node_modules', name, 'bin/node');
}

/** The tests themselves run on this Node: only what they start is the other one. */
async function testOn(node: string, reportFile: string): Promise<Report> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  await execa(execPath, [vitest, 'run', '--mode', 'all', '--project', 'binary'], {
    cwd: root,
    env: { LISTCTL_TEST_NODE: node, LISTCTL_TEST_REPORT: reportFile },
    reject: false,
  });
  // A run that wrote nothing has failed as a whole, and says so here.
  return JSON.parse(readFileSync(reportFile, 'utf8'));
}

/** The names of what failed; a file that could not be loaded has no test to say so. */
function failuresIn({ testResults }: Report): readonly string[] {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName);
    return failed.length === 0 && status === 'failed' ? [name] : failed;
  });
}

function rowOf(version: string, report: Report): string {
  const failed = failuresIn(report).length;
  if (failed > 0 || report.numPassedTests === 0) process.exitCode = 1;
  return `| ${version.slice(1)} | ${report.numPassedTests} | ${failed} | ${report.numPendingTests} |`;
}

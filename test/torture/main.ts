/**
 * `npm run test:torture`: each system call of each scenario fails in its turn, and disks are nearly full (tests-3).
 *
 * It prints what that came to, and exits with 1 where something does not hold, or a scenario has no point that is hit.
 * `--only` takes a part of a scenario's name, `--call` the name of a system call, and `--jobs` how many scenarios are at
 * work at once.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { whyNoMount } from '../support/small-disk.ts';
import { largeRowsScenarios, rowsScenarios } from './rows-scenarios.ts';
import type { TortureEnd } from './scenario.ts';
import { settingsScenarios } from './settings-scenarios.ts';
import { stateScenarios } from './state-scenarios.ts';
import { whyNoStrace } from './strace.ts';
import { torture, tortureOnSmallDisk } from './torture.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    only: { type: 'string', default: '' },
    call: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '2' },
  },
});

const scenarios = [...settingsScenarios, ...rowsScenarios, ...stateScenarios];
const onDisk = [...settingsScenarios, ...largeRowsScenarios, ...stateScenarios];
const [noStrace, noMount] = [whyNoStrace(), whyNoMount()];
if (noStrace !== undefined) stdout.write(`no call fails: ${noStrace}\n`);
if (noMount !== undefined) stdout.write(`no disk is full: ${noMount}\n`);

const work = [
  ...(noMount === undefined
    ? onDisk.map((each) => ({ name: `a full disk: ${each.name}`, run: () => tortureOnSmallDisk(each) }))
    : []),
  ...(noStrace === undefined
    ? scenarios.map((each) => ({
        name: each.name,
        run: () => torture(each, values.call === undefined ? {} : { calls: values.call }),
      }))
    : []),
].filter(({ name }) => name.includes(values.only));

const startedAtMs = performance.now();
let [hits, brokenCount] = [0, 0];
stdout.write(`${work.length} scenarios, Node ${process.version}\n`);
await Promise.all(Array.from({ length: Number(values.jobs) }, () => doWork()));
const tookS = (performance.now() - startedAtMs) / 1000;
stdout.write(`in all: ${hits} points hit, broken ${brokenCount}; ${tookS.toFixed(0)} s\n`);
process.exitCode = brokenCount > 0 || hits === 0 ? 1 : 0;

async function doWork(): Promise<void> {
  for (let next = work.shift(); next !== undefined; next = work.shift()) {
    const end = await next.run();
    // Not every scenario has the requested calls.
    const isUntried = end.hits === 0 && values.call === undefined;
    hits += end.hits;
    const broken = [...end.broken, ...(isUntried ? ['nothing was hit, so nothing was seen to hold'] : [])];
    brokenCount += broken.length;
    stdout.write(linesOf(next.name, { ...end, broken }));
  }
}

function linesOf(name: string, { hits: points, exitCodes, broken, tookMs }: TortureEnd): string {
  const ends = [...exitCodes].map(([code, count]) => `${count} ended with ${code ?? 'a signal'}`).join(', ');
  const lines = [
    `${name}: ${points} points hit (${ends}), broken ${broken.length}; ${(tookMs / 1000).toFixed(0)} s`,
    ...broken.slice(0, 10).map((sentence) => `  ${sentence.slice(0, 1000)}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * `npm run test:crash -- --kills 1000 --seed 1`: listctl and its service are killed at random moments, and resumed.
 *
 * It prints what that came to in each mode, and exits with 1 where an invariant does not hold (tests-3). With
 * `--mode NAME`, once or more often, it is for those modes; `--service graph` makes it that service, which knows keys in columns alone;
 * with `--naive` it shows what becomes of a client that sends
 * what has no answer again. The same seed draws the same inputs, faults and kills; at which moment of its work a kill
 * meets a process is up to the machine.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { sumOf, sumOfMaps } from './act.ts';
import { naiveClient } from './client.ts';
import { crashLoop, type LoopEnd } from './crash-loop.ts';
import { type ModeName, modeNames, modesFor } from './modes.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    kills: { type: 'string', default: '60' },
    seed: { type: 'string' },
    mode: { type: 'string', multiple: true },
    service: { type: 'string', default: 'list-item' },
    naive: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed ?? Date.now() % 1_000_000);
const service = values.service === 'graph' ? 'graph' : 'list-item';
const modes = values.mode?.map(modeNamed) ?? modesFor(service);
const { naive: isNaive } = values;
stdout.write(`seed ${seed}, ${values.kills} kills, Node ${process.version}\n`);
const ends = await crashLoop({
  ...{ seed, kills: Number(values.kills), service },
  ...(isNaive ? { client: naiveClient, modes: ['create'] as readonly ModeName[], goesOn: true } : { modes }),
  onEnd: (end) => stdout.write(linesOf(end.mode, end)),
});
if (ends.length > 1) stdout.write(linesOf('in all', ends.reduce(allOf)));
const broken = ends.flatMap((end) => end.broken);
if (broken.length > 0 && !isNaive) stdout.write(`seed ${seed} breaks what must hold\n`);
process.exitCode = broken.length > 0 === isNaive ? 0 : 1;

function modeNamed(text: string): ModeName {
  const mode = modeNames.find((name) => name === text);
  if (mode === undefined) throw new Error(`--mode is one of ${modeNames.join(', ')}, not ${text}`);
  return mode;
}

function allOf(one: LoopEnd, other: LoopEnd): LoopEnd {
  return {
    ...sumOf(figuresOf(one), figuresOf(other)),
    mode: one.mode,
    kills: sumOf(one.kills, other.kills),
    counts: sumOf(one.counts, other.counts),
    causes: sumOfMaps(one.causes, other.causes),
    // Each was reported with its mode.
    ...{ broken: [], evidence: undefined },
  };
}

function figuresOf({ rounds, sessions, rows, folded, tookMs }: LoopEnd) {
  return { rounds, sessions, rows, folded, tookMs };
}

function linesOf(name: string, end: LoopEnd): string {
  const { kills, rounds, sessions, rows, counts, causes, tookMs, broken, evidence } = end;
  const { lost, doubled, phantom, inDoubt, inDoubtApplied, unanswered } = counts;
  const why = [...causes].map(([cause, count]) => `${count} ${cause}`).join(', ');
  const doubt = inDoubt === 0 ? 'in doubt 0' : `in doubt ${inDoubt} (${inDoubtApplied} applied; ${why})`;
  const whom = `${kills.client} of ${isNaive ? 'the client' : 'listctl'}, ${kills.service} of the service, ${kills.atOnce} times both at once`;
  const lines = [
    `${name}: ${kills.client + kills.service} kills (${whom}) in ${rounds} rounds, ${sessions} sessions, ${rows} rows`,
    `  lost ${lost}, doubled ${doubled}, phantom ${phantom}, ${doubt}; unanswered ${unanswered}; ${(tookMs / 1000).toFixed(0)} s`,
    ...(isNaive ? [] : broken.map((sentence) => `  ${sentence}`)),
    ...(evidence === undefined || isNaive ? [] : [`  what is left of it: ${evidence}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

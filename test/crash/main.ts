/**
 * `npm run test:crash -- --kills 1000 --seed 1`: listctl and its service are killed at random moments, and gone on with.
 *
 * It prints what that came to, and exits with 1 where an invariant does not hold (reliability.md, E3: J1 to J7). With
 * `--naive` it shows what becomes of a client that sends what has no answer again.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { naiveClient } from './client.ts';
import { crashLoop, type LoopEnd } from './crash-loop.ts';
import { type ModeName, modeNames } from './modes.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    kills: { type: 'string', default: '60' },
    seed: { type: 'string' },
    mode: { type: 'string', multiple: true },
    naive: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed ?? Date.now() % 1_000_000);
const modes = modeNames.filter((name) => values.mode?.includes(name) ?? true);
const { naive: isNaive } = values;
stdout.write(`seed ${seed}, ${values.kills} kills, Node ${process.version}\n`);
const ends = await crashLoop({
  ...{ seed, kills: Number(values.kills) },
  ...(isNaive ? { client: naiveClient, modes: ['create'] as readonly ModeName[], goesOn: true } : { modes }),
  onEnd: (end) => stdout.write(linesOf(end)),
});
const broken = ends.flatMap((end) => end.broken);
if (broken.length > 0 && !isNaive) stdout.write(`seed ${seed} breaks what must hold\n`);
process.exitCode = broken.length > 0 === isNaive ? 0 : 1;

function linesOf({ mode, kills, rounds, sessions, rows, counts, causes, tookMs, broken, evidence }: LoopEnd): string {
  const { lost, doubled, phantom, inDoubt, inDoubtApplied, unanswered } = counts;
  const why = [...causes].map(([cause, count]) => `${count} ${cause}`).join(', ');
  const doubt = inDoubt === 0 ? 'in doubt 0' : `in doubt ${inDoubt} (${inDoubtApplied} applied; ${why})`;
  const killed = `${kills.client + kills.service} kills (${kills.client} of ${isNaive ? 'the client' : 'listctl'}, ${kills.service} of the service)`;
  const lines = [
    `${mode}: ${killed} in ${rounds} runs, ${sessions} sessions, ${rows} rows: lost ${lost}, doubled ${doubled}, phantom ${phantom}`,
    `  ${doubt}; ${unanswered} requests unanswered; ${(tookMs / 1000).toFixed(0)} s`,
    ...(isNaive ? [] : broken.map((sentence) => `  ${sentence}`)),
    ...(evidence === undefined || isNaive ? [] : [`  what is left of it: ${evidence}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

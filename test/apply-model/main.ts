/**
 * `npm run test:model -- --runs 10000 --seed 1`: the model of `apply` (check-model.ts), for as long as is wanted. It prints
 * how far it is, and exits with 1 where something does not hold, with the moves that are enough for it.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { checkManifestModel } from './check-model.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: { runs: { type: 'string', default: '10000' }, seed: { type: 'string' } },
});

const runs = Number(values.runs);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
stdout.write(`seed ${seed}, ${runs} runs, Node ${process.version}\n`);
const startedAtMs = performance.now();
let done = 0;
try {
  await checkManifestModel({
    ...{ runs, seed },
    onRun: () => {
      done += 1;
      if (done % 1000 === 0) stdout.write(`${done} runs, ${secondsSince(startedAtMs)} s\n`);
    },
  });
  stdout.write(`${done} runs: each list ended as its manifest says; ${secondsSince(startedAtMs)} s\n`);
} catch (error) {
  const { message, cause } = error as Error;
  stdout.write(`${message}\n${cause instanceof Error ? cause.stack : ''}\nseed ${seed} breaks what must hold\n`);
  process.exitCode = 1;
}

function secondsSince(atMs: number): string {
  return ((performance.now() - atMs) / 1000).toFixed(0);
}

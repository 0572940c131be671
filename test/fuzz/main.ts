/**
 * `npm run test:fuzz -- --target csv --seconds 60 --seed 1`: damaged answers and files to our readers, for as long as is
 * wanted. It prints what that came to, leaves what should have ended otherwise in `--findings`, and exits with 1 then.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { type FuzzEnd, fuzz } from './fuzz-loop.ts';
import { fuzzTargets } from './targets.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    target: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    findings: { type: 'string', default: 'fuzz-findings' },
  },
});

const seed = Number(values.seed ?? Date.now() % 1_000_000);
const targets = fuzzTargets.filter(({ name }) => values.target?.includes(name) ?? true);
stdout.write(`seed ${seed}, ${values.seconds} s each, Node ${process.version}\n`);
if (targets.length === 0) stdout.write(`there are: ${fuzzTargets.map(({ name }) => name).join(', ')}\n`);
let found = targets.length === 0 ? 1 : 0;
for (const target of targets) {
  const end = await fuzz(target, {
    seed,
    secondsMax: Number(values.seconds),
    bytesMax: 65_536,
    findings: values.findings,
  });
  found += end.findings.length;
  stdout.write(linesOf(target.name, end));
}
process.exitCode = found === 0 ? 0 : 1;

function linesOf(name: string, { runs, tookMs, worstMs, kinds, grownBytes, findings }: FuzzEnd): string {
  const rate = Math.round(runs / (tookMs / 1000));
  const facts = [
    `${runs} runs, ${rate} a second`,
    `the slowest ${worstMs.toFixed(0)} ms`,
    `${kinds} kinds of end`,
    `grown by ${(grownBytes / 1024 / 1024).toFixed(0)} MiB`,
    `${findings.length} findings`,
  ];
  const lines = [
    `${name}: ${facts.join(', ')}`,
    ...findings.map(({ reason, file }) => `  ${reason}${file === undefined ? '' : `: ${file}`}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

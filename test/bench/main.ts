/** `npm run bench`: the figures of docs/benchmarks.md, each beside its peer. It prints, and judges nothing. */
import { availableParallelism, cpus } from 'node:os';
import { argv, env, execPath, stdout } from 'node:process';
import { measureServe, serveLines } from './serve.ts';
import { measureStartUp, nodeVersion, startUpTable } from './start-up.ts';

/** The fewest rounds whose median holds still on a machine that others use. */
const roundsMin = 21;

/** A round holds thousands of creates, so fewer of them will do. */
const serveRounds = 5;

async function main(): Promise<void> {
  const rounds = Math.max(roundsMin, Number(argv[2] ?? 0));
  const newest = env['LISTCTL_BENCH_NODE'];
  const nodes = newest === undefined || newest === '' ? [execPath] : [execPath, newest];

  stdout.write(`${machine(nodes)}\n`);
  for (const node of nodes) {
    const rows = await measureStartUp(node, rounds);
    stdout.write(`\nstart-up on Node ${nodeVersion(node)}: medians of ${rounds} interleaved rounds\n`);
    stdout.write(startUpTable(rows));
    stdout.write(
      `\nserve on Node ${nodeVersion(node)}, 16 in flight: medians of ${serveRounds} interleaved rounds of 2 s\n`,
    );
    stdout.write(serveLines(await measureServe(node, serveRounds)));
  }
}

/** What the figures depend on, in one line. */
function machine(nodes: readonly string[]): string {
  const cores = `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}`;
  const versions = `Node ${nodes.map(nodeVersion).join(' and ')}`;
  return [cores, versions, new Date().toISOString().slice(0, 10), 'npm run bench'].join('; ');
}

await main();

/** `npm run bench`: the figures of docs/benchmarks.md, each beside its peer. It prints, and judges nothing. */
import { availableParallelism, cpus } from 'node:os';
import { argv, env, execPath, stdout } from 'node:process';
import {
  bulkTable,
  latencyLines,
  measureBulk,
  measureFewRows,
  measureGrowth,
  measureLatency,
  measureStrays,
} from './bulk.ts';
import { measureList } from './list.ts';
import { measurePeers } from './peers.ts';
import { measureServe, serveLines } from './serve.ts';
import { measureStartUp, nodeVersion, startUpTable } from './start-up.ts';

/** So many rounds, that their median holds still on a machine that others use. */
const rounds = 21;

/** A round holds thousands of creates, so fewer of them will do. */
const serveRounds = 5;

/** Of 100,000 rows, too. */
const bulkRounds = 5;
const bulkRows = 100_000;

/** What is measured where nothing is named; `growth` and `peers` take minutes. */
const usualSections = ['start-up', 'serve', 'bulk', 'list', 'latency', 'stray'] as const;

async function main(): Promise<void> {
  const sections = argv.slice(2).length === 0 ? usualSections : argv.slice(2);
  const newest = env['LISTCTL_BENCH_NODE'];
  const nodes = newest === undefined || newest === '' ? [execPath] : [execPath, newest];

  stdout.write(`${machine(nodes)}\n`);
  for (const node of nodes) for (const section of sections) await measureSection(section, node);
}

async function measureSection(section: string, node: string): Promise<void> {
  const on = `on Node ${nodeVersion(node)}`;
  const say = (title: string, text: string) => stdout.write(`\n${title}\n${text}`);
  switch (section) {
    case 'start-up':
      say(`start-up ${on}: medians of ${rounds} interleaved rounds`, startUpTable(await measureStartUp(node, rounds)));
      break;
    case 'serve':
      say(
        `serve ${on}, 16 in flight: medians of ${serveRounds} interleaved rounds of 2 s`,
        serveLines(await measureServe(node, serveRounds)),
      );
      break;
    case 'bulk':
      say(
        `${bulkRows} rows of CSV ${on}, 64 at once: medians of ${bulkRounds} interleaved rounds`,
        bulkTable(await measureBulk(node, bulkRows, bulkRounds)),
      );
      break;
    case 'list':
      say(
        `${bulkRows} items of Microsoft Graph ${on}, as JSONL: medians of ${bulkRounds} interleaved rounds`,
        await measureList(node, bulkRows, bulkRounds),
      );
      break;
    case 'latency':
      say(`a service that takes its time, ${on}`, latencyLines(await measureLatency(node)));
      break;
    case 'stray':
      say(
        `1,000 rows where a share is throttled whatever the rate, ${on}: medians of ${bulkRounds} rounds`,
        `${await measureStrays(node, bulkRounds)}${await measureFewRows(node, bulkRounds)}`,
      );
      break;
    case 'growth':
      say(`ten times the rows, ${on}, 64 at once`, await measureGrowth(node, [bulkRows, 10 * bulkRows]));
      break;
    case 'peers':
      say(`1,000 rows of mixed types into a list of Microsoft Graph, ${on}`, '');
      await measurePeers(node, (text) => stdout.write(text));
      break;
    default:
      throw new Error(`there is no section ${section}: ${[...usualSections, 'growth', 'peers'].join(', ')}`);
  }
}

/** What the figures depend on, in one line. */
function machine(nodes: readonly string[]): string {
  const cores = `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}`;
  const versions = `Node ${nodes.map(nodeVersion).join(' and ')}`;
  return [cores, versions, new Date().toISOString().slice(0, 10), 'npm run bench'].join('; ');
}

await main();

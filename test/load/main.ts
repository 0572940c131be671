/**
 * `npm run test:load -- --seconds 30 --kills 10`: the built-in service at full speed. Idle connections beside others,
 * then a mixed load through kills, after which every item must be as it was acknowledged. Exits with 1 where it is not.
 */
import process, { argv, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { setup } from '../support/build.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type IdleEnd, idleConnections } from './idle-connections.ts';
import { type LoadEnd, mixedLoad } from './mixed-load.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    seconds: { type: 'string', default: '30' },
    kills: { type: 'string', default: '10' },
    connections: { type: 'string', default: '32' },
    idle: { type: 'string', default: '1000' },
  },
});

await setup();
await using idleDirectory = await temporaryDirectory();
await using directory = await temporaryDirectory();
const idle = await idleConnections(idleDirectory.path, Number(values.idle));
say(idleLine(idle), idle.broken);
const load = await mixedLoad(directory.path, {
  seconds: Number(values.seconds),
  kills: Number(values.kills),
  connections: Number(values.connections),
});
say(loadLine(load), load.broken);

function idleLine({ connections, aloneRate, besideRate, closedAfter: [first, last] }: IdleEnd): string {
  const rates = `${Math.round(besideRate)} reads a second beside ${connections} idle connections, ${Math.round(aloneRate)} without`;
  return `${rates}; they were closed after ${first.toFixed(1)} to ${last.toFixed(1)} s`;
}

function loadLine({ kills, requests, items, requestsPerSecond, broken }: LoadEnd): string {
  const rate = `${requests} requests, ${Math.round(requestsPerSecond)} a second, ${kills} kills`;
  return `${rate}: ${items} items acknowledged, ${broken.length} not as acknowledged`;
}

function say(line: string, broken: readonly string[]): void {
  stdout.write(`${[line, ...broken.slice(0, 20).map((sentence) => `  ${sentence}`)].join('\n')}\n`);
  if (broken.length > 0) process.exitCode = 1;
}

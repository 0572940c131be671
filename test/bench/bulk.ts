/**
 * Runs over many rows, everything included (start, check, journal, results), beside curl and a bare loop over undici's
 * dispatch: whole processes that take turns at the same service.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { listctlFile } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { figuresOf, measure, median, serving, takeTurns, type Usage } from './child.ts';

const echo = join(import.meta.dirname, 'echo-service.js');
const loop = join(import.meta.dirname, 'dispatch-loop.js');
const throttling = join(import.meta.dirname, 'item-service.js');
const eightLoops = join(import.meta.dirname, 'eight-loops.js');
const atOnce = 64;

export type BulkRow = ReturnType<typeof figuresOf> & { readonly name: string };

/** How fast each client sends a number of rows, 64 at once. */
export async function measureBulk(node: string, rows: number, rounds: number): Promise<readonly BulkRow[]> {
  await using directory = await temporaryDirectory();
  using service = await serving(node, echo);
  const csv = await writeRows(directory.path, rows);
  const curlFile = await writeCurl(directory.path, rows, service.url);
  const clients: readonly (readonly [name: string, run: () => Promise<Usage>])[] = [
    ...(hasCurl() ? [[`curl -Z --parallel-max ${atOnce}`, () => curl(curlFile)] as const] : []),
    ['bare undici dispatch', () => measure(node, [loop, service.url, String(rows), String(atOnce)], {})],
    [`listctl items create --from`, () => create(node, directory.path, service.url, csv)],
  ];
  const usages = await takeTurns(clients, rounds);
  return clients.map(([name], at) => ({ name, ...figuresOf(usages[at] ?? [], rows) }));
}

/** The figures as a table: rates beside curl's and the bare loop's, CPU beside the bare loop's. */
export function bulkTable(figures: readonly BulkRow[]): string {
  const curled = figures.find(({ name }) => name.startsWith('curl'));
  const bare = figures.find(({ name }) => name.startsWith('bare'));
  const lines = figures.map(({ name, perSecond, cpuMicros, peakMiB }) =>
    [
      name.padEnd(30),
      Math.round(perSecond).toString().padStart(8),
      ratio(perSecond, curled?.perSecond).padStart(8),
      ratio(perSecond, bare?.perSecond).padStart(8),
      cpuMicros.toFixed(1).padStart(8),
      ratio(cpuMicros, bare?.cpuMicros).padStart(8),
      Math.round(peakMiB).toString().padStart(8),
    ].join(''),
  );
  const head = ['rows/s', 'x curl', 'x bare', 'µs/row', 'x bare', 'MiB'].map((text) => text.padStart(8)).join('');
  return [`${''.padEnd(30)}${head}`, ...lines, 'at least 1.6 x curl, 0.72 x bare; CPU at most 1.5 x bare', ''].join(
    '\n',
  );
}

export interface LatencyRow {
  readonly latencyMs: number;
  readonly concurrency: number;
  readonly rowsPerSecond: number;
  /** Of concurrency / latency, which nothing can pass. */
  readonly share: number;
}

/** How much of what a latency allows is reached, the search for it included. */
export async function measureLatency(node: string): Promise<readonly LatencyRow[]> {
  await using directory = await temporaryDirectory();
  const figures: LatencyRow[] = [];
  for (const latencyMs of [20, 100]) {
    using service = await serving(node, echo, [String(latencyMs)]);
    for (const concurrency of [8, 32, 64, 128]) {
      const best = (concurrency * 1000) / latencyMs;
      // A hundred round trips and more, so that the search for the limit, which takes six, is a small part.
      const csv = await writeRows(directory.path, Math.round(best * (latencyMs === 20 ? 10 : 30)));
      const { said } = await create(node, directory.path, service.url, csv, concurrency);
      // As -o jsonl has it: the last line of stderr.
      const { session } = JSON.parse(said.trimEnd().split('\n').at(-1) ?? '').summary;
      const rowsPerSecond = (session.done * 1000) / session.durationMs;
      figures.push({ latencyMs, concurrency, rowsPerSecond, share: rowsPerSecond / best });
    }
  }
  return figures;
}

export function latencyLines(figures: readonly LatencyRow[]): string {
  const lines = figures.map(({ latencyMs, concurrency, rowsPerSecond, share }) => {
    const bar = latencyMs === 20 ? 0.85 : 0.95;
    const rate = `${Math.round(rowsPerSecond).toString().padStart(7)} rows/s`;
    const under = share < bar ? '  under' : '';
    return `${String(latencyMs).padStart(4)} ms, ${String(concurrency).padStart(3)} at once  ${rate}  ${share.toFixed(2)} of the best, at least ${bar}${under}`;
  });
  return [...lines, ''].join('\n');
}

/**
 * How fast 1,000 rows go to a service that throttles a share of the requests whatever their rate, beside eight loops
 * that each wait for their own: medians, as lines.
 */
export async function measureStrays(node: string, rounds: number): Promise<string> {
  await using directory = await temporaryDirectory();
  const rows = 1000;
  const csv = await writeRows(directory.path, rows);
  const lines: string[] = [];
  for (const percent of [5, 3, 1, 0]) {
    using service = await serving(node, throttling, [String(percent / 100)]);
    const rates: { readonly ours: number; readonly loops: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const loops = await measure(node, [eightLoops, service.url, String(rows)], {});
      const ours = await create(node, directory.path, service.url, csv);
      rates.push({ ours: (rows * 1000) / ours.wallMs, loops: (rows * 1000) / loops.wallMs });
    }
    const [ours, loops] = [median(rates.map((rate) => rate.ours)), median(rates.map((rate) => rate.loops))];
    lines.push(
      `${String(percent).padStart(4)} % throttled  listctl ${ours.toFixed(0).padStart(5)} rows/s  eight loops ${loops.toFixed(0).padStart(5)} rows/s  ${(ours / loops).toFixed(2)} x`,
    );
  }
  return `${[...lines, 'at least 1 x'].join('\n')}\n`;
}

/** How long 60 rows take against 15 a second, beside the same with --rate 15/s: medians, as a line. */
export async function measureFewRows(node: string, rounds: number): Promise<string> {
  await using directory = await temporaryDirectory();
  const csv = await writeRows(directory.path, 60);
  const secondsOf = async (flags: readonly string[]) => {
    using service = await serving(node, throttling, ['0', '15']);
    return (await create(node, directory.path, service.url, csv, atOnce, flags)).wallMs / 1000;
  };
  const times: { readonly found: number; readonly given: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    times.push({ given: await secondsOf(['--rate', '15/s']), found: await secondsOf([]) });
  }
  const [found, given] = [median(times.map((time) => time.found)), median(times.map((time) => time.given))];
  return `60 rows, 15 a second allowed: ${found.toFixed(1)} s, with --rate 15/s ${given.toFixed(1)} s, ${(found / given).toFixed(2)} x, at most 1.5 x\n`;
}

/** The same file again with ten times the rows: time and memory beside each other. */
export async function measureGrowth(node: string, rows: readonly number[]): Promise<string> {
  await using directory = await temporaryDirectory();
  using service = await serving(node, echo);
  const lines: string[] = [];
  for (const count of rows) {
    const csv = await writeRows(directory.path, count);
    const { wallMs, peakMiB = Number.NaN } = await create(node, directory.path, service.url, csv);
    lines.push(
      `${String(count).padStart(9)} rows  ${(wallMs / 1000).toFixed(1).padStart(7)} s  ${peakMiB.toFixed(0).padStart(4)} MiB`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function ratio(value: number, beside: number | undefined): string {
  return beside === undefined ? '' : (value / beside).toFixed(2);
}

/** A run of its own each time: the state of the one before would be resumed. */
async function create(
  node: string,
  directory: string,
  url: string,
  csv: string,
  concurrency = atOnce,
  flags: readonly string[] = [],
): Promise<Usage> {
  const state = join(directory, 'state');
  await rm(state, { recursive: true, force: true });
  const words = `-s home -l tasks --from ${csv} --concurrency ${concurrency} -o jsonl`.split(' ');
  return measure(node, [listctlFile, 'items', 'create', ...words, ...flags], {
    ...{ PATH: env['PATH'], HOME: directory },
    ...{ LISTCTL_BASE_URL: url, LISTCTL_TOKEN: 'bench-token', LISTCTL_STATE_DIR: state },
  });
}

function hasCurl(): boolean {
  return spawnSync('curl', ['--version']).status === 0;
}

function curl(file: string): Promise<Usage> {
  return measure('curl', ['-s', '-Z', '--parallel-max', String(atOnce), '-K', file], { PATH: env['PATH'] });
}

async function writeRows(directory: string, rows: number): Promise<string> {
  const path = join(directory, 'rows.csv');
  await write(path, 'Title,Count,Note\n', rows, (row) => `Row ${row},${row},some text here\n`);
  return path;
}

async function writeCurl(directory: string, rows: number, url: string): Promise<string> {
  const path = join(directory, 'rows.curl');
  const headers = ['Authorization: Bearer bench-token', 'Content-Type: application/json', 'Accept: application/json'];
  await write(path, '', rows, (row) =>
    [
      row === 1 ? '' : 'next',
      `url = "${url}/sites/home/lists/tasks/items"`,
      `data = "{\\"fields\\":{\\"Title\\":\\"Row ${row}\\",\\"Count\\":\\"${row}\\",\\"Note\\":\\"some text here\\"}}"`,
      ...headers.map((header) => `header = "${header}"`),
      'output = "/dev/null"\n',
    ].join('\n'),
  );
  return path;
}

async function write(path: string, head: string, rows: number, lineOf: (row: number) => string): Promise<void> {
  const file = createWriteStream(path);
  let text = head;
  for (let row = 1; row <= rows; row += 1) {
    text += lineOf(row);
    if (text.length < 1_000_000 && row < rows) continue;
    if (!file.write(text)) await once(file, 'drain');
    text = '';
  }
  file.end();
  await once(file, 'close');
}

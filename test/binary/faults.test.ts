/**
 * Some cells of the fault table, and what of the catalog needs a process of its own, with the built program: on each
 * Node that it is run with. Waits are real here, so each cell meets its fault once.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { always, inOrder } from '../support/fault-plan.ts';
import { faultServer } from '../support/fault-server.ts';
import { type FaultCell, faultCells } from '../support/fault-table.ts';
import { environmentOf, expectClean, pooled, wordsOf } from '../support/fault-ways.ts';
import { listctl } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** What differs most from one Node to the next: how a connection ends, and what its parser takes. */
const picked = new Set([
  ...['applied fin', 'applied rst', 'body-read stall', 'mid-status fin', 'mid-headers garbage'].map(
    (at) => `POST ${at}`,
  ),
  ...['mid-body fin', 'mid-body drip', 'complete garbage', 'complete rst'].map((at) => `POST ${at}`),
  ...['accept fin', 'head-read rst', 'mid-headers stall', 'mid-body garbage', 'complete stall'].map(
    (at) => `GET ${at}`,
  ),
  ...['applied rst', 'mid-body fin'].map((at) => `PATCH ${at}`),
  ...['applied fin', 'mid-headers rst'].map((at) => `DELETE ${at}`),
  ...['applied fin', 'mid-body rst'].map((at) => `keyed POST ${at}`),
]);
const cells = faultCells.filter(({ method, point, action }) => picked.has(`${method} ${point} ${action}`));

interface Seen {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly attempts: number;
  readonly createdCount: number;
}

const runs = new Map<FaultCell, Seen>();

beforeAll(async () => {
  await pooled(cells, 4, async (cell) => {
    runs.set(cell, await runCell(cell));
  });
}, 60_000);

test('every cell that was picked is one of the table', () => {
  expect(cells).toHaveLength(picked.size);
});

test.each(cells)('$method, $action at $point: $outcome', (cell) => {
  const seen = runs.get(cell);

  expect({ exitCode: seen?.exitCode, attempts: seen?.attempts, stderr: seen?.stderr }).toEqual({
    ...cell.once,
    stderr: cell.once.exitCode === 0 ? '' : expect.stringContaining('listctl: '),
  });
  if (seen === undefined) return;
  expectClean(seen);
  if (!cell.method.endsWith('POST')) return;
  expect(seen.createdCount).toBe(cell.once.exitCode === 0 || cell.isDone ? 1 : 0);
});

test('N33 a body without an end does not grow the process by 64 MiB', async () => {
  const chunk = Buffer.alloc(65_536, ' ');
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]);

  const usual = await peakKilobytes({});
  const flooded = await peakKilobytes({ plan: always({ head, chunk: framed, applies: true }) });

  expect([usual.exitCode, flooded.exitCode]).toEqual([0, 1]);
  expect(flooded.peak - usual.peak).toBeLessThan(64 * 1024);
});

async function runCell(cell: FaultCell): Promise<Seen> {
  const { point, action, method } = cell;
  await using server = await faultServer({
    plan: inOrder({ point, action }),
    honorsKeys: method === 'keyed POST',
    padded: true,
  });
  // Enough for the attempt that goes well, on a machine with other things to do.
  const timeout = action === 'stall' || action === 'drip' ? '1.5' : '30';
  const {
    exitCode = -1,
    stdout,
    stderr,
  } = await listctl([...wordsOf[method], '--timeout', timeout], environmentOf(server));
  return {
    ...{ exitCode, stdout, stderr: stderr === '' ? '' : `${stderr}\n` },
    attempts: server.log.length,
    createdCount: server.createdCount(),
  };
}

/** The most memory that a read took, as the system counts it. */
async function peakKilobytes(options: Parameters<typeof faultServer>[0]) {
  await using server = await faultServer(options);
  await using directory = await temporaryDirectory();
  const [probe, report] = [join(directory.path, 'probe.cjs'), join(directory.path, 'peak')];
  const writes = `require('node:fs').writeFileSync(${JSON.stringify(report)}, String(process.resourceUsage().maxRSS))`;
  await writeFile(probe, `process.on('exit', () => ${writes});`);
  const { exitCode } = await listctl(['items', 'get', '17', '--retries', '0'], {
    ...environmentOf(server),
    NODE_OPTIONS: `--require=${probe}`,
  });
  return { exitCode, peak: Number(await readFile(report, 'utf8')) };
}

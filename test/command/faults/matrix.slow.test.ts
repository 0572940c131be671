/**
 * Every cell of the fault table, each run through the whole program over a real socket, each twice: where the first
 * attempt alone meets the fault, and where all of them do. `npx vitest run --project command matrix` prints the figures.
 */
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { always, inOrder } from '../../support/fault-plan.ts';
import { faultServer } from '../../support/fault-server.ts';
import { type Expected, type FaultCell, faultCells } from '../../support/fault-table.ts';
import { canaryToken, environmentOf, expectClean, pooled, type Way, ways, wordsOf } from '../../support/fault-ways.ts';
import { type Run, testHost } from '../../support/test-host.ts';

/** How a run ended, and what the server knows of it. */
interface Seen extends Pick<Run, 'exitCode' | 'stdout' | 'stderr'> {
  readonly attempts: number;
  readonly createdCount: number;
  readonly title: unknown;
  readonly tokens: readonly string[];
  readonly keys: ReadonlySet<string | undefined>;
}

interface CellRuns {
  readonly once: Seen;
  readonly always: Seen;
}

const figures: string[] = [];

const kinds = ['list-item', 'graph'] as const;
const services = ways.flatMap((way) => kinds.map((kind) => ({ way, kind, name: `${way.name}, ${kind}` })));

describe.each(services)('over $name', ({ way, kind, name }) => {
  // Microsoft Graph knows no keys.
  const cells = kind === 'graph' ? faultCells.filter(({ method }) => method !== 'keyed POST') : faultCells;
  const runs = new Map<FaultCell, CellRuns>();
  const passed = new Set<FaultCell>();

  beforeAll(async () => {
    // What loads late is loaded before: a short limit is for the wire alone.
    await runCell(way, kind, { ...cellAt(0), point: 'complete', action: 'stall' }, 'once');
    await pooled(cells, 32, async (cell) => {
      const [once, every] = await Promise.all([runCell(way, kind, cell, 'once'), runCell(way, kind, cell, 'always')]);
      runs.set(cell, { once, always: every });
    });
  }, 120_000);

  afterAll(() => {
    const count = (cells: readonly FaultCell[]) =>
      `${cells.filter((cell) => passed.has(cell)).length} of ${cells.length}`;
    const keyed = cells.filter(({ method }) => method === 'keyed POST');
    const plain = cells.filter(({ method }) => method !== 'keyed POST');
    figures.push(`${count(plain)} cells (${name}), ${count(keyed)} with an honored key`);
  });

  test.each(cells)('$method, $action at $point: $outcome', (cell) => {
    const seen = runs.get(cell);

    for (const times of ['once', 'always'] as const) expectOutcome(cell, cell[times], seen?.[times], times);

    passed.add(cell);
  });
});

afterAll(() => {
  process.stdout.write(`faults on Node ${process.versions.node}: ${figures.join('; ')}\n`);
});

function expectOutcome(cell: FaultCell, expected: Expected, seen: Seen | undefined, times: string): void {
  expect({ times, exitCode: seen?.exitCode, attempts: seen?.attempts, stderr: seen?.stderr }).toEqual({
    times,
    ...expected,
    stderr: expected.exitCode === 0 ? '' : expect.stringContaining('listctl: '),
  });
  if (seen === undefined) return;
  expectClean(seen);
  expect(new Set(seen.tokens)).toEqual(new Set(seen.tokens.length === 0 ? [] : [`Bearer ${canaryToken}`]));
  if (expected.exitCode === 0) expect(JSON.parse(seen.stdout)).toHaveProperty('id');
  if (cell.method.endsWith('POST')) {
    // Never two items for one create; and one key for all of its attempts.
    expect(seen.createdCount).toBe(expected.exitCode === 0 || cell.isDone ? 1 : 0);
    expect(seen.keys.size).toBeLessThanOrEqual(1);
  }
  if (expected.exitCode === 0 && cell.method === 'PATCH') expect(seen.title).toBe('Bread');
  if (expected.exitCode === 0 && cell.method === 'DELETE') expect(seen.title).toBeUndefined();
}

async function runCell(
  way: Way,
  kind: (typeof kinds)[number],
  cell: FaultCell,
  times: 'once' | 'always',
): Promise<Seen> {
  const { point, action, method } = cell;
  const step = { point, action };
  // With Microsoft Graph the first request of a write with fields reads the columns of the list.
  const isSecond = kind === 'graph' && /^(POST|PATCH)$/.test(method);
  const plan = times === 'once' ? inOrder(step) : always(step);
  await using server = await faultServer({
    plan: isSecond ? (attempt) => (attempt === 1 ? undefined : plan(attempt - 1)) : plan,
    honorsKeys: method === 'keyed POST',
    padded: true,
  });
  const host = testHost({ env: { ...environmentOf(server), LISTCTL_SERVICE: kind } });
  // Only a limit ends a stall or a drip; whatever must go well gets all the time that a busy machine may take.
  const isEndless = action === 'stall' || action === 'drip';
  const timeout = isEndless ? (times === 'once' ? '4' : '2.5') : '30';
  const exitCode = await way.main([...wordsOf[method], '--timeout', timeout], host);
  const read = server.log.filter((attempt) => attempt.method !== '');
  return {
    exitCode,
    ...host.printed,
    attempts: server.log.length - (isSecond ? 1 : 0),
    createdCount: server.createdCount(),
    title: server.items.get('17')?.fields['Title'],
    tokens: read.map(({ headers }) => headers['authorization'] ?? ''),
    keys: new Set(read.map(({ key }) => key)),
  };
}

function cellAt(index: number): FaultCell {
  const cell = faultCells[index];
  if (cell === undefined) throw new Error('the table of faults is empty');
  return cell;
}

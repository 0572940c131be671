/**
 * Every fault of the table (test/support/fault-table.ts) for a create whose key is in a column of Microsoft Graph, unique or
 * indexed alone. What must come of it, by what the client can know (outcomes-1) and whether the item was stored:
 *
 * | what meets the fault         | not sent | unknown, stored | unknown, not stored           | applied |
 * |---|---|---|---|---|
 * | the first create             | done     | done            | done; in doubt if indexed     | done    |
 * | every create                 | –        | done            | in doubt                      | done    |
 * | every create and look-up     | failed   | in doubt        | in doubt                      | done    |
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { inOrder, type Plan } from '../../support/fault-plan.ts';
import { faultServer } from '../../support/fault-server.ts';
import { type FaultCell, faultCells } from '../../support/fault-table.ts';
import { environmentOf, pooled, type Way, ways } from '../../support/fault-ways.ts';
import { testHost } from '../../support/test-host.ts';

const reaches = ['the first create', 'every create', 'every create and look-up'] as const;
type Reach = (typeof reaches)[number];

interface Case {
  readonly cell: FaultCell;
  readonly reach: Reach;
  readonly isUnique: boolean;
}

/** At `accept` it is not known what a connection is for. */
const cases: readonly Case[] = faultCells
  .filter(({ method }) => method === 'POST')
  .flatMap((cell) => reaches.map((reach) => ({ cell, reach })))
  .filter(({ cell, reach }) => cell.point !== 'accept' || reach !== 'every create')
  .flatMap((each) => [true, false].map((isUnique) => ({ ...each, isUnique })));

const exits = { done: 0, failed: 7, 'in doubt': 8 } as const;

function endOf({ cell, reach, isUnique }: Case): keyof typeof exits {
  const { outcome, isDone } = cell;
  const isEvery = reach === 'every create and look-up';
  if (outcome === 'applied') return 'done';
  if (outcome === 'not-sent') return isEvery ? 'failed' : 'done';
  if (isEvery) return 'in doubt';
  return isDone || (isUnique && reach === 'the first create') ? 'done' : 'in doubt';
}

/** The first request reads the columns. */
function planOf({ cell: { point, action }, reach }: Case): Plan {
  const step = { point, action };
  if (reach === 'the first create') return inOrder(undefined, step);
  if (reach === 'every create') return (_, method) => (method === 'POST' ? step : undefined);
  return (attempt) => (attempt === 1 ? undefined : step);
}

async function runCase(way: Way, each: Case) {
  const { isUnique, cell } = each;
  await using server = await faultServer({ plan: planOf(each), keys: { isUnique }, padded: true });
  const host = testHost({ env: { ...environmentOf(server), LISTCTL_SERVICE: 'graph' } });
  const isEndless = cell.action === 'stall' || cell.action === 'drip';
  const words = ['items', 'create', '-f', 'Title=Milk', '--key-field', 'Key', '--retries', '1'];
  const exitCode = await way.main([...words, '--timeout', isEndless ? '2.5' : '30', '-o', 'json'], host);
  const posts = server.log.filter(({ method }) => method === 'POST').length;
  return { exitCode, created: server.createdCount(), posts, ...host.printed };
}

describe.each(ways)('over $name', (way) => {
  const seen = new Map<Case, Awaited<ReturnType<typeof runCase>>>();

  beforeAll(async () => {
    await pooled(cases, 32, async (each) => {
      seen.set(each, await runCase(way, each));
    });
  }, 180_000);

  test.each(cases)('$cell.action at $cell.point, which meets $reach (unique: $isUnique)', (each) => {
    const { exitCode, created = 0, posts = 0, stderr } = seen.get(each) ?? {};
    const end = endOf(each);
    expect({ exitCode, stderr }).toEqual({ exitCode: exits[end], stderr });
    // Never two items, and none that is said to have failed.
    expect(created).toBeLessThanOrEqual(1);
    if (end !== 'in doubt') expect(created).toBe(end === 'done' ? 1 : 0);
    if (!each.isUnique && each.cell.outcome === 'unknown') expect(posts).toBeLessThanOrEqual(1);
  });
});

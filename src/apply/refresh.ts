/** Reads the managed items. */
import type { Client } from '../api/client.ts';
import type { RunLimits } from '../bulk/flags.ts';
import { noJournal } from '../bulk/journal.ts';
import { Pace } from '../bulk/pace.ts';
import { openProgress } from '../bulk/progress.ts';
import { Run } from '../bulk/runner.ts';
import { startGracefulStop, startOf } from '../bulk/send.ts';
import { doneIfMissing } from '../bulk/senders.ts';
import type { RowResult, Sender, Task } from '../bulk/task.ts';
import { newCounts } from '../bulk/tasks.ts';
import type { Session } from '../cli/session.ts';
import type { Failure } from '../core/errors.ts';
import { type Item, type ListRef, strongTag } from '../core/item.ts';
import type { ItemOperations } from '../services/service.ts';
import type { CurrentItem } from './plan.ts';
import type { State } from './state.ts';

interface KnownRow {
  readonly number: number;
  readonly key: string;
  readonly id: string;
}

/** @throws {Failure} that of the first failed read; a missing item is not a failure */
export async function refreshItems(
  state: State,
  pace: RunLimits,
  session: Session,
): Promise<ReadonlyMap<string, CurrentItem>> {
  const rows = knownRows(state);
  const current = new Map<string, CurrentItem>();
  if (rows.length === 0) return current;
  const { host } = session;
  const stops = startGracefulStop(host, true);
  let refused: Failure | undefined;
  const take = (result: RowResult<KnownRow, Item | undefined>) => {
    if (result.status === 'done') current.set(result.row.key, toCurrentItem(result.value));
    else if (result.status === 'failed') refused ??= result.failure;
    return undefined;
  };
  try {
    const client = await session.service.client('many', { signal: stops.abort, stopGraceMs: 0 });
    const { retries, maxWaitMs } = session.service.retryPolicy('many');
    const { concurrency: limitMax, ratePerSecond } = pace;
    const counts = newCounts(rows.length);
    const limits = { limitMax, ratePerSecond, maxWaitMs, left: () => counts.left, ...startOf(session) };
    const found = new Pace(limits, () => host.random());
    const running = new Run({
      ...{ tasks: tasksOf(rows), sender: reader(state, client, await session.service.items()), journal: noJournal },
      ...{ counts, nextSeq: 1, pace: found, limitMax, retries, maxErrors: 1 },
      ...{ clock: host.clock, signal: stops.signal, onResult: take, reportLeft: false },
    });
    const progress = openProgress({ running, pace: found, toDo: rows.length }, session);
    const { stoppedBy } = await running.ended.finally(() => progress.end());
    if (refused !== undefined) throw refused;
    if (stoppedBy !== undefined) throw stoppedBy;
    return current;
  } finally {
    stops.end();
  }
}

function knownRows({ items }: State): readonly KnownRow[] {
  const rows: KnownRow[] = [];
  for (const [key, { id }] of items) if (id !== undefined) rows.push({ number: rows.length + 1, key, id });
  return rows;
}

async function* tasksOf(rows: readonly KnownRow[]): AsyncGenerator<readonly Task<KnownRow>[]> {
  for (let at = 0; at < rows.length; at += 1000) {
    yield rows.slice(at, at + 1000).map((row) => ({ kind: 'send', row, was: 'left' }));
  }
}

/** Reads items; a missing one is undefined. */
function reader({ site, list }: ListRef, client: Client, items: ItemOperations): Sender<KnownRow, Item | undefined> {
  return {
    isRead: true,
    newKey: () => null,
    hashOf: () => '0'.repeat(16),
    begin: ({ id }) => {
      const exchange = client.startAttempts(items.get({ site, list, id }));
      return { attempt: async () => doneIfMissing(await exchange.attempt(), undefined) };
    },
    toRecord: ({ id }) => ({ id, etag: undefined }),
  };
}

function toCurrentItem(item: Item | undefined): CurrentItem {
  if (item === undefined) return { kind: 'gone' };
  return { kind: 'there', fields: item.fields, etag: strongTag(item.etag) };
}

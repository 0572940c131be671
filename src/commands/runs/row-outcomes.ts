/** What became of each row of a run, in the order of the input. */
import type { FailedRecord } from '../../bulk/journal-records.ts';
import { journalRecords, type Replay } from '../../bulk/journal-replay.ts';
import { Failure } from '../../errors.ts';
import type { RowResultShown } from '../../output/row-result-view.ts';

/** What the records of a row say beyond its state. */
interface RowFacts {
  readonly ids: ReadonlyMap<number, string>;
  readonly failures: ReadonlyMap<number, FailedRecord>;
}

/**
 * The rows of a run by their numbers, after any number of sessions. Of a failure its kind, status and code are known:
 * what the service said in words may hold values of a row, and is in no journal.
 *
 * Rows of other shards are left out, and of an undo those that its run has not come to.
 *
 * @throws {Failure} local-file, when the journal is damaged
 */
export async function* rowOutcomes(path: string, replay: Replay): AsyncGenerator<RowResultShown> {
  const { header } = replay;
  const facts = await factsOf(path);
  const [index = 1, count = 1] = header.shard?.split('/').map(Number) ?? [];
  for (let row = index; row <= header.input.rows; row += count) {
    if (header.action === 'undo' && replay.stateOf(row) === 'pending') continue;
    yield outcomeOf(row, replay, facts);
  }
}

async function factsOf(path: string): Promise<RowFacts> {
  const ids = new Map<number, string>();
  const failures = new Map<number, FailedRecord>();
  for await (const { record } of journalRecords(path)) {
    if (record[0] === 'D') ids.set(record[1], record[2]);
    else if (record[0] === 'R' && record[2] === 'applied' && record[3] !== '') ids.set(record[1], record[3]);
    else if (record[0] === 'F') failures.set(record[1], record);
  }
  return { ids, failures };
}

function outcomeOf(row: number, { header, stateOf, doubtOf }: Replay, { ids, failures }: RowFacts): RowResultShown {
  const { action } = header;
  const state = stateOf(row);
  switch (state) {
    case 'done':
      return { row, action, status: 'done', id: ids.get(row) };
    case 'failed':
      return { row, action, status: 'failed', failure: refusal(row, failures.get(row)) };
    case 'invalid':
      return {
        ...{ row, action, status: 'failed' },
        failure: new Failure('usage', 'invalid row', { outcome: 'not-sent', about: { row } }),
      };
    case 'in-doubt': {
      const { key, cause = 'listctl ended before the response came' } = doubtOf(row) ?? {};
      const details = { outcome: 'unknown', idempotencyKey: key ?? undefined, about: { row } } as const;
      return { row, action, status: 'in-doubt', failure: new Failure('in-doubt', cause, details) };
    }
    case 'pending':
      return { row, action, status: 'left' };
    case 'skipped':
      return { row, action, status: 'skipped' };
  }
}

function refusal(row: number, record: FailedRecord | undefined): Failure {
  const [, , kind = 'refused', status, code] = record ?? [];
  const parts = [...(status == null ? [] : [`HTTP ${status}`]), ...(code == null ? [] : [code])];
  return new Failure(kind, parts.length === 0 ? kind : `${kind}: ${parts.join(', ')}`, {
    // Without a status no response said no.
    outcome: status == null ? undefined : 'refused',
    status: status ?? undefined,
    serviceCode: code ?? undefined,
    about: { row },
  });
}

/** Journals to test with. */
import { createJournal, type NewHeader } from '../../../src/bulk/journal.ts';
import type { JournalRecord, RunTotals, SessionStart } from '../../../src/bulk/journal-format.ts';
import { fileIo, type JournalIo } from '../../../src/bulk/journal-lines.ts';
import { type Replay, readJournal } from '../../../src/bulk/journal-read.ts';

/** A header for a run with the given number of rows. */
export function sampleHeader(rows: number, more: Partial<NewHeader> = {}): NewHeader {
  return {
    run: '20261120-101530-k3f9',
    tool: '0.1.0',
    action: 'create',
    origin: 'https://lists.example',
    site: 'demo',
    list: 'tasks',
    file: '/home/ann/tasks.csv',
    identity: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
    input: { bytes: 1234, sha256: '0f'.repeat(32), rows },
    rows,
    mapping: '00ff00ff00ff00ff',
    shard: null,
    idempotency: 'unknown',
    startedAt: '2026-11-20T10:15:30.000Z',
    ...more,
  };
}

/** When the sessions of samples begin. */
export const startedAt = Date.UTC(2026, 10, 20, 10, 15, 30);

/** A session on the boot `here`, with two requests at once. */
export function sampleSession(more: Partial<SessionStart> = {}): SessionStart {
  return { boot: 'here', limit: 2, tool: '0.1.0', at: startedAt, ...more };
}

/** Totals of a run that completed the given number of rows, and nothing else. */
export function sampleTotals(done: number, more: Partial<RunTotals> = {}): RunTotals {
  const none = { failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };
  return { done, ...none, ms: 900, sent: done, retries: 0, throttledMs: 0, ...more };
}

/** A hash that identifies a row and an attempt. */
export function hashFor(row: number, attempt = 1): string {
  return (row * 16 + attempt).toString(16).padStart(16, 'a');
}

/** The intent of a row; its key is its own. */
export function intentOf(row: number, seq: number, attempt = 1): JournalRecord {
  return ['I', row, seq, attempt, `key-${row}`, hashFor(row, attempt)];
}

/** The answer that made a row's item. */
export function doneOf(row: number): JournalRecord {
  return ['D', row, `item-${row}`, null, 12];
}

/** Writes a journal with these groups, a millisecond apart, and closes it. */
export async function writeSample(
  path: string,
  groups: readonly (readonly JournalRecord[])[],
  io: JournalIo,
  { header = sampleHeader(20), session = sampleSession() } = {},
): Promise<void> {
  const journal = createJournal(path, header, session, io);
  for (const [index, records] of groups.entries()) journal.write(records, index + 1);
  await journal.close();
}

/** What a journal says on the boot `here`. */
export async function readBegun(path: string, io: JournalIo = fileIo): Promise<Replay> {
  const replay = await readJournal(path, { boot: 'here', io });
  if (replay === undefined) throw new Error('it was begun');
  return replay;
}

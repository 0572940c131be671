import { reopenJournal } from '../../bulk/journal.ts';
import type { JournalRecord, RowCounts } from '../../bulk/journal-format.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import { payloadHash } from '../../bulk/keys.ts';
import { bootId } from '../../bulk/record.ts';
import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { checkId } from '../../core/item.ts';
import { objectFrom } from '../../core/json.ts';
import { runView } from '../../output/runs.ts';
import { checkTarget, findRunPath, readRun, runWords, toRunSummary, whileLocked, wordForHint } from './named-run.ts';

interface ResolveFlags {
  readonly row?: string;
  readonly all?: boolean;
  /** True without an id. */
  readonly applied?: string | true;
  readonly notApplied?: boolean;
  readonly force?: boolean;
}

/** `listctl runs resolve` */
export const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'resolve rows in doubt',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('--row <n>', 'number of the row')
      .option('--all', 'all rows in doubt')
      .option('--applied [id]', "mark the row as applied; for a create, pass the item's id to verify")
      .option('--not-applied', 'mark the row as not applied: --resume sends it again')
      .option('--force', 'do not compare the item with the row')
      .action(
        inSession(context, async (session, word: string, flags: ResolveFlags) => resolveRows(word, flags, session)),
      );
    addHelpNotes(command, {
      examples: [
        'listctl runs resolve last --row 17 --applied 4711',
        'listctl runs resolve last --row 18 --not-applied',
        'listctl runs resolve 20261120-101530-k3f9 --all --not-applied',
      ],
      exitCodes: { 5: 'the item does not match the row' },
      exits: [3, 4, 6, 7, 11],
    });
  },
};

/** The resolution of a row; undefined for all rows in doubt. */
interface Resolution {
  readonly row: number | undefined;
  readonly isApplied: boolean;
  readonly id: string | undefined;
  readonly isForced: boolean;
}

/** Resolves rows in doubt, and prints the run. */
async function resolveRows(word: string, flags: ResolveFlags, session: Session): Promise<void> {
  const { host } = session;
  const resolution = parseResolution(flags);
  const path = findRunPath(word, host);
  await session.output.printing(runView(host.clock.now()), false, (print) =>
    whileLocked(path, { waitMs: 0 }, host, async () => {
      const replay = await readRun(path);
      const rows = rowsToResolve(resolution, replay, wordForHint(word, replay.header.run));
      const { row, isApplied, id } = resolution;
      if (isApplied && row !== undefined) await checkApplied(row, resolution, replay, session);
      const records = rows.map(
        (each): JournalRecord => (isApplied ? ['R', each, 'applied', id ?? ''] : ['R', each, 'not-applied']),
      );
      const { done, left, inDoubt } = replay.counts;
      const resolved = isApplied ? { done: done + rows.length } : { left: left + rows.length };
      const counts = { ...replay.counts, ...resolved, inDoubt: inDoubt - rows.length };
      if (rows.length === 0) await session.messages.notice(`no row of run ${replay.header.run} is in doubt`);
      else await write(path, replay, records, counts, session);
      await print(toRunSummary({ run: replay.header.run, header: replay.header, counts }));
      if (counts.left > 0) await session.messages.notice('run again with --resume to send the remaining rows');
    }),
  );
}

function parseResolution({ row, all = false, applied, notApplied = false, force = false }: ResolveFlags): Resolution {
  if ((row === undefined) === !all) throw new Failure('usage', '--row or --all is required');
  if ((applied === undefined) === !notApplied) {
    throw new Failure('usage', '--applied or --not-applied is required');
  }
  if (all && !notApplied) {
    throw new Failure('usage', '--all cannot be used with --applied', {
      hint: 'pass --row N --applied ID for each row; nothing was recorded',
    });
  }
  if (row !== undefined && !/^[1-9]\d{0,14}$/.test(row)) {
    throw new Failure('usage', `invalid --row "${row.slice(0, 100)}": expected a row number`);
  }
  const id = typeof applied === 'string' ? checkId(applied, 'item') : undefined;
  return { row: row === undefined ? undefined : Number(row), isApplied: !notApplied, id, isForced: force };
}

function rowsToResolve(
  { row }: Resolution,
  { header, doubts, doubtOf, stateOf }: Replay,
  word: string,
): readonly number[] {
  if (row === undefined) return [...doubts()];
  if (doubtOf(row) !== undefined && stateOf(row) === 'in-doubt') return [row];
  const state =
    row > header.input.rows ? `the input has ${header.input.rows} rows` : `it is ${stateWords[stateOf(row)]}`;
  throw new Failure('usage', `row ${row} of run ${header.run} is not in doubt: ${state}`, {
    hint: `run "listctl runs show ${word} --in-doubt" to list rows in doubt; nothing was recorded`,
  });
}

const stateWords = {
  pending: 'remaining',
  done: 'done',
  failed: 'failed',
  invalid: 'invalid',
  'in-doubt': 'in doubt',
  skipped: 'skipped',
} as const;

/** Compares the item with the hash of what was sent; for a delete, the hash is that of the id. */
async function checkApplied(
  row: number,
  { id, isForced }: Resolution,
  replay: Replay,
  session: Session,
): Promise<void> {
  const { header } = replay;
  const { action, run } = header;
  if (id === undefined) {
    if (action !== 'create') return;
    throw new Failure('usage', `--applied needs the id of the item that row ${row} created`, {
      hint: 'pass --applied ID; nothing was recorded',
    });
  }
  const { hash } = replay.doubtOf(row) ?? {};
  if (action === 'delete' || action === 'undo') {
    if (isForced || hash === payloadHash(id, objectFrom([]))) return;
    throw new Failure('conflict', `item "${id}" is not that of row ${row} of run ${run}`, {
      hint: 'pass --applied without an id if the item is deleted; nothing was recorded',
    });
  }
  const target = checkTarget(header, session);
  const client = await session.service.client();
  const item = await client.send(client.items.get({ ...target, id }));
  if (isForced || hash === payloadHash(action === 'create' ? undefined : id, item.fields)) return;
  throw new Failure('conflict', `item "${id}" does not match row ${row} of run ${run}`, {
    hint: 'check the item: it may be another one, changed since, or have fields that the service added\npass --force if it is the right one; nothing was recorded',
  });
}

/** Records the resolutions in a session that sends nothing. */
async function write(
  path: string,
  replay: Replay,
  records: readonly JournalRecord[],
  { done, failed, invalid, inDoubt, skipped, left }: RowCounts,
  { host, command: { version } }: Session,
): Promise<void> {
  const journal = reopenJournal(path, replay, { boot: bootId(), limit: 0, tool: version, at: host.clock.now() });
  try {
    for (let at = 0; at < records.length; at += 1000) journal.write(records.slice(at, at + 1000), 0);
    const totals = { done, failed, invalid, inDoubt, skipped, left, ms: 0, sent: 0, retries: 0, throttledMs: 0 };
    journal.write([['E', totals]], 0);
  } finally {
    await journal.close();
  }
}

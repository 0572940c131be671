import { reopenJournal } from '../../bulk/journal.ts';
import type { JournalHeader, JournalRecord, RowCounts } from '../../bulk/journal-format.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import { payloadHash } from '../../bulk/keys.ts';
import { failureOf } from '../../bulk/outputs.ts';
import { bootId } from '../../bulk/record.ts';
import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { takeStdin } from '../../cli/values.ts';
import { Failure } from '../../core/errors.ts';
import { checkId, idProblem, ownField } from '../../core/item.ts';
import { objectFrom, printJson } from '../../core/json.ts';
import { countOf, countText } from '../../core/text.ts';
import { runView } from '../../output/runs.ts';
import { badRowFailure } from '../../rows/check.ts';
import { nameOf, openInput } from '../../rows/input.ts';
import { findFormat, openRows } from '../../rows/read.ts';
import type { Row } from '../../rows/types.ts';
import { findRunsDirectory } from '../../settings/directories.ts';
import type { Resolution, Resolutions } from './doubts.ts';
import { checkTarget, findRunPath, runWords, toRunSummary, withLockedRun, wordForHint } from './named-run.ts';

interface ResolveFlags {
  readonly from?: string;
  readonly row?: string;
  readonly all?: boolean;
  /** True without an id. */
  readonly applied?: string | true;
  readonly notApplied?: boolean;
  readonly auto?: boolean;
  readonly force?: boolean;
}

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
      .option('--from <file>', 'CSV or JSONL file with row, outcome (applied or not-applied) and id ("-" = stdin)')
      .option('--auto', 'look for the items of creates in doubt: by their keys, or among missing ids')
      .option('--force', 'do not compare the item with the row')
      .action(inSession(context, resolveRows));
    addHelpNotes(command, {
      examples: [
        'listctl runs resolve last --row 17 --applied 4711',
        'listctl runs resolve last --row 18 --not-applied',
        'listctl runs resolve last --from outcomes.csv',
        'listctl runs resolve last --auto',
      ],
      exitCodes: { 5: 'the item does not match the row', 8: 'with --auto: some rows are still in doubt' },
      exits: [3, 4, 6, 7, 11],
    });
  },
};

async function resolveRows(session: Session, word: string, flags: ResolveFlags): Promise<void> {
  const { host } = session;
  const typed = parseFlags(flags);
  const path = findRunPath(word, host);
  await session.output.printing(runView(host.clock.now()), false, (print) =>
    withLockedRun(path, { waitMs: 0 }, host, async (replay) => {
      const { header } = replay;
      const shown = wordForHint(word, path, header.run, host);
      const { resolutions, stillInDoubt } = await typed(path, replay, session);
      if (!flags.auto) await checkAll(resolutions, { replay, word: shown, flags }, session);
      const applied = resolutions.filter(({ isApplied }) => isApplied).length;
      const { done, left, inDoubt } = replay.counts;
      const counts = {
        ...{ ...replay.counts, done: done + applied, left: left + resolutions.length - applied },
        inDoubt: inDoubt - resolutions.length,
      };
      if (inDoubt === 0) await session.messages.notice(`no row of run ${header.run} is in doubt`);
      else if (resolutions.length > 0) {
        const records = resolutions.map(toRecord);
        await recordResolutions(records, counts, path, replay, session);
        const parts = [`${countText(applied)} applied`, `${countText(resolutions.length - applied)} not applied`];
        await session.messages.notice(
          `resolved ${countOf(resolutions.length, 'row')} of run ${header.run}: ${parts.join(', ')}`,
        );
      }
      await print(toRunSummary({ run: header.run, header, counts }));
      if (counts.left > 0) await session.messages.notice('run again with --resume to send the remaining rows');
      if (stillInDoubt !== undefined) throw stillInDoubt(shown);
    }),
  );
}

function parseFlags(flags: ResolveFlags): (path: string, replay: Replay, session: Session) => Promise<Resolutions> {
  const { from, row, all = false, applied, notApplied = false } = flags;
  if (flags.auto) {
    refuseWith('--auto', flags);
    return async (...args) => (await import('./doubts.ts')).lookUpDoubts(...args);
  }
  if (from !== undefined) {
    refuseWith('--from', { ...flags, force: false });
    return async (_, __, session) => ({ resolutions: await readResolutions(from, session) });
  }
  if ((row === undefined) === !all) throw new Failure('usage', '--row, --all, --auto or --from is required');
  if ((applied === undefined) === !notApplied) {
    throw new Failure('usage', '--applied or --not-applied is required');
  }
  if (all && !notApplied) {
    throw new Failure('usage', '--all cannot be used with --applied', {
      hint: 'pass --row N --applied ID for each row, or --from FILE; nothing was recorded',
    });
  }
  if (row !== undefined && !isRowNumber(row)) {
    throw new Failure('usage', `invalid --row "${row.slice(0, 100)}": expected a row number`);
  }
  const id = typeof applied === 'string' ? checkId(applied, 'item') : undefined;
  return async (_, { doubts }) => {
    const rows = row === undefined ? [...doubts()] : [Number(row)];
    return { resolutions: rows.map((each) => ({ row: each, isApplied: !notApplied, id })) };
  };
}

/** @throws {Failure} usage, for a flag that this one leaves no room for */
function refuseWith(flag: string, { from, row, all, applied, notApplied, force }: ResolveFlags): void {
  const flags = { '--from': from, '--row': row, '--all': all, '--applied': applied, '--not-applied': notApplied };
  const typed = Object.entries({ ...flags, '--force': force }).filter(
    ([, value]) => value !== undefined && value !== false,
  );
  const other = typed.find(([name]) => name !== flag)?.[0];
  if (other !== undefined) throw new Failure('usage', `${flag} cannot be used with ${other}`);
}

function isRowNumber(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}

async function readResolutions(from: string, { host }: Session): Promise<readonly Resolution[]> {
  if (from === '-') takeStdin(host);
  const input = await openInput(from, { host, spoolDirectory: findRunsDirectory(host) });
  const format = findFormat(from);
  const isTable = format === 'csv' || format === 'tsv';
  // In JSON other members do not matter, such as the fields of the row.
  const rows = format === 'json' || format === 'jsonl' ? 'fields' : 'auto';
  const nothing = { rename: new Map(), types: new Map(), common: {} };
  try {
    const file = await openRows(input, {
      ...nothing,
      action: 'update',
      empty: isTable ? 'string' : 'omit',
      idColumn: 'row',
      rows,
    });
    const found: Resolution[] = [];
    for await (const block of file.blocks()) {
      for (const row of block) {
        if (row.problem !== undefined) throw inFile(badRowFailure(row, file), from);
        found.push(toResolution(row, from));
      }
    }
    return found;
  } finally {
    input.close();
  }
}

function toResolution({ id: row = '', line, fields }: Row, from: string): Resolution {
  // An empty cell has no value.
  const { outcome = '', id = '' } = fields;
  const fault = (message: string) =>
    inFile(new Failure('usage', `line ${line}: ${message}`, { about: { line } }), from);
  if (!isRowNumber(row)) throw fault(`invalid row "${row.slice(0, 100)}": expected a row number`);
  // An id alone is that of the item that a create made.
  const isApplied = outcome === 'applied' || (outcome === '' && id !== '' && id !== null);
  if (!isApplied && outcome !== 'not-applied') {
    throw fault(`invalid outcome of row ${row}: expected applied or not-applied`);
  }
  const text = id === '' || id === null || !isApplied ? undefined : typeof id === 'string' ? id : printJson(id);
  const problem = text === undefined ? undefined : idProblem(text, 'item');
  if (problem !== undefined) throw fault(problem);
  return { row: Number(row), isApplied, id: text, line };
}

function inFile(failure: Failure, from: string): Failure {
  return new Failure(failure.kind, `${nameOf(from)}: ${failure.message}`, {
    ...failure.details,
    hint: 'nothing was recorded',
  });
}

interface Checked {
  readonly replay: Replay;
  /** The run in hints. */
  readonly word: string;
  readonly flags: ResolveFlags;
}

function toRecord({ row, isApplied, id = '', isFound }: Resolution): JournalRecord {
  if (!isApplied) return ['R', row, 'not-applied'];
  return isFound ? ['R', row, 'applied', id, 'found'] : ['R', row, 'applied', id];
}

/** Checks all resolutions before one is recorded. */
async function checkAll(resolutions: readonly Resolution[], checked: Checked, session: Session): Promise<void> {
  const failures: Failure[] = [];
  const seen = new Set<number | string>();
  for (const resolution of resolutions) {
    const failure = await failureOf(async () => {
      checkInDoubt(resolution, seen, checked);
      if (resolution.isApplied) await checkApplied(resolution, checked, session);
    });
    if (failure === undefined) continue;
    const { from } = checked.flags;
    if (from === undefined || !['usage', 'conflict', 'not-found'].includes(failure.kind)) throw failure;
    failures.push(inFile(failure.about({}, `line ${resolution.line}: ${failure.message}`), from));
  }
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first;
  for (const failure of failures) await session.messages.report(failure);
  const message = `${countOf(failures.length, 'row')} of ${countText(resolutions.length)} cannot be resolved`;
  throw new Failure(first.kind, message, { hint: 'nothing was recorded' });
}

function checkInDoubt({ row, id }: Resolution, seen: Set<number | string>, { replay, word }: Checked): void {
  const { header, doubtOf, stateOf } = replay;
  if (seen.has(row)) throw new Failure('usage', `row ${row} is resolved twice`);
  // Two creates made two items.
  if (id !== undefined && seen.has(id)) throw new Failure('usage', `item "${id}" is named for two rows`);
  seen.add(row);
  if (id !== undefined && sentAction(header) === 'create') seen.add(id);
  if (doubtOf(row) !== undefined && stateOf(row) === 'in-doubt') return;
  const state =
    row > header.input.rows
      ? `the input has ${countOf(header.input.rows, 'row')}`
      : `it is ${stateWords[stateOf(row)]}`;
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

/** What the requests of a run did: those of an undo do the opposite. */
function sentAction({ action, undoes }: JournalHeader): JournalHeader['action'] {
  if (action !== 'undo') return action;
  return { create: 'delete', update: 'update', delete: 'create' }[undoes ?? 'create'] as JournalHeader['action'];
}

/** Compares the item with the hash of what was sent; for a delete, the hash is that of the id. */
async function checkApplied({ row, id }: Resolution, { replay, flags }: Checked, session: Session): Promise<void> {
  const { header } = replay;
  const { run } = header;
  const action = sentAction(header);
  if (id === undefined) {
    if (action !== 'create') return;
    throw new Failure('usage', `--applied needs the id of the item that row ${row} created`, {
      hint: 'pass --applied ID; nothing was recorded',
    });
  }
  const { hash, key } = replay.doubtOf(row) ?? {};
  if (action === 'delete') {
    if (flags.force || hash === payloadHash(id, objectFrom([]))) return;
    throw new Failure('conflict', `item "${id}" is not that of row ${row} of run ${run}`, {
      hint: 'pass --applied without an id if the item is deleted; nothing was recorded',
    });
  }
  const { ids: target } = await checkTarget(header, session);
  const client = await session.service.client();
  const items = await session.service.items();
  const item = await client.send(items.get({ ...target, id }));
  const { column } = header.keyField ?? {};
  const hasKey = column !== undefined && typeof key === 'string' && ownField(item.fields, column) === key;
  if (flags.force || hasKey || hash === payloadHash(action === 'create' ? undefined : id, item.fields)) return;
  throw new Failure('conflict', `item "${id}" does not match row ${row} of run ${run}`, {
    hint: 'check the item: it may be another one, changed since, or have fields that the service added\npass --force if it is the right one; nothing was recorded',
  });
}

/** Records the resolutions in a session that sends nothing. */
export async function recordResolutions(
  records: readonly JournalRecord[],
  { done, failed, invalid, inDoubt, skipped, left }: RowCounts,
  path: string,
  replay: Replay,
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

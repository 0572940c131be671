/**
 * The rows of a run that are in doubt: what they were to do, as far as their input still has it, and for `runs resolve
 * --auto` their items. Loaded late.
 */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Finding } from '../../api/operation.ts';
import type { ResponseHead } from '../../api/transport.ts';
import { readEarlier } from '../../bulk/earlier-values.ts';
import { columnPrefix } from '../../bulk/flags.ts';
import type { JournalHeader } from '../../bulk/journal-format.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import { IdSet, payloadHash } from '../../bulk/keys.ts';
import { resolveRun } from '../../bulk/runs.ts';
import { doubtAge } from '../../bulk/tasks.ts';
import { keyColumnsOf, openEncoder } from '../../cli/encode-fields.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { untilStopped } from '../../core/host.ts';
import { type Fields, type Item, type ListRef, ownField } from '../../core/item.ts';
import { type JsonValue, withoutUndefined } from '../../core/json.ts';
import { countOf, listNames } from '../../core/text.ts';
import { agoText } from '../../output/runs.ts';
import type { View } from '../../output/view.ts';
import { openInput } from '../../rows/input.ts';
import { openRows } from '../../rows/read.ts';
import { type RowAction, type RowsOptions, toReading } from '../../rows/types.ts';
import type { KeyColumn, KeyColumns, SoughtKey } from '../../services/service.ts';
import { findRunsDirectory } from '../../settings/directories.ts';
import { checkTarget, doneItems } from './named-run.ts';

/** The id and the fields of a row; of an undo the id alone. */
interface KnownRow {
  readonly line?: number;
  readonly id?: string | undefined;
  readonly fields?: Fields;
}

interface DoubtShown extends KnownRow {
  readonly row: number;
  readonly key: string | null;
  /** The hash of what was sent. */
  readonly hash: string;
  /** When it was first sent with that key, in ISO 8601. */
  readonly since: string;
  readonly cause: string;
}

/** Makes the view; times are relative to `nowMs` on a terminal. */
function doubtView(nowMs: number): View<DoubtShown> {
  return {
    pretty: async (doubts, screen) => {
      const { drawRows } = await import('../../output/table.ts');
      const since = (iso: string) => (screen.columns === undefined ? iso : agoText(new Date(iso), nowMs));
      const rows = doubts.map((doubt) => cellsOf({ ...doubt, since: since(doubt.since) }));
      return drawRows(rows, screen, undefined, true);
    },
    printsNone: true,
    json: ({ line, id, fields, ...doubt }) => withoutUndefined({ ...doubt, line, id, fields }),
    id: ({ id }) => id,
  };
}

/** What is to be looked for comes first, since a narrow terminal omits the last columns. */
function cellsOf({ row, id, fields = {}, since, cause, key }: DoubtShown): ReadonlyMap<string, JsonValue> {
  const cells = new Map<string, JsonValue>([['row', row], ...(id === undefined ? [] : [['id', id] as const])]);
  for (const [name, value] of Object.entries(fields)) cells.set(cells.has(name) ? `fields.${name}` : name, value);
  for (const [name, value] of Object.entries({ since, cause, key }))
    cells.set(cells.has(name) ? `(${name})` : name, value);
  return cells;
}

/** The maximum of a Date; a changed journal may contain a later time. */
const lastMs = 8.64e15;

export async function showDoubts(path: string, replay: Replay, session: Session): Promise<void> {
  const { doubts, doubtOf } = replay;
  const known = await findRows(path, replay, session);
  return session.output.printing(doubtView(session.host.clock.now()), true, async (print) => {
    for (const row of doubts()) {
      const doubt = doubtOf(row);
      if (doubt === undefined) continue;
      const { key, hash, sentAt, cause = 'listctl ended before the response arrived' } = doubt;
      const since = new Date(Math.min(sentAt, lastMs)).toISOString();
      await print({ row, key, hash, since, cause, ...known.get(row) });
    }
  });
}

/** Opens what becomes of the fields of rows; undefined if they are sent as they are. */
type OpenForm = (options: RowsOptions) => Promise<RowsOptions['form']>;

/** Finds what rows in doubt were to do, and says why some are not known. */
async function findRows(
  path: string,
  replay: Replay,
  session: Session,
  openForm?: OpenForm,
): Promise<ReadonlyMap<number, KnownRow>> {
  const { header, doubts } = replay;
  const rows = new Set(doubts());
  if (rows.size === 0) return new Map();
  try {
    if (header.action === 'undo') return await undoneRows(path, header, rows, session);
    const found = await untilStopped(inputRows(replay, rows, session, openForm), session.host.signal);
    if (found.size < rows.size) {
      const count = countOf(rows.size - found.size, 'row');
      await session.messages.say(`the fields of ${count} are not shown: ${header.file} changed since the run`);
    }
    return found;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    await session.messages.say(`the fields of these rows are not shown: ${error.message}`);
    return new Map();
  }
}

/** Finds the items whose undo is in doubt, in the records of the run itself. */
async function undoneRows(
  path: string,
  { of = '', undoes }: JournalHeader,
  rows: ReadonlySet<number>,
  { host }: Session,
) {
  const undone = path.endsWith('.undo')
    ? path.slice(0, -'.undo'.length)
    : resolveRun(dirname(path), of, host.clock.now());
  const found = new Map<number, KnownRow>();
  if (undoes !== undefined) {
    const kept = await readEarlier(undone, (row) => rows.has(row));
    for (const row of rows) {
      const { id, fields } = kept.of(row) ?? {};
      // An item that is recreated gets another id.
      if (fields !== undefined) found.set(row, undoes === 'delete' ? { fields } : { id, fields });
    }
    return found;
  }
  for await (const { row, id } of doneItems(undone)) if (rows.has(row)) found.set(row, { id });
  return found;
}

/** Reads rows from the input of a run: all of them if it is unchanged, else those that are as they were sent. */
async function inputRows(
  { header, doubtOf }: Replay,
  rows: ReadonlySet<number>,
  { host }: Session,
  openForm: OpenForm = async () => undefined,
) {
  const { name, options } = inputOf(header);
  const input = await openInput(name, { host, spoolDirectory: findRunsDirectory(host) });
  try {
    const file = await openRows(input, { ...options, form: await openForm(options) });
    const hash = createHash('sha256');
    const found = new Map<number, KnownRow>();
    const sent = new Set<number>();
    for await (const block of file.blocks({ onContent: (bytes) => hash.update(bytes) })) {
      for (const row of block) {
        if (!rows.has(row.number) || row.problem !== undefined) continue;
        const { number, line, id, fields } = row;
        found.set(number, withoutUndefined({ line, id, fields }));
        if (payloadHash(id, fields) === doubtOf(number)?.hash) sent.add(number);
      }
    }
    if (hash.digest('hex') === header.input.sha256) return found;
    return new Map([...found].filter(([number]) => sent.has(number)));
  } finally {
    input.close();
  }
}

function inputOf({ file: name, reading, action }: JournalHeader): { name: string; options: RowsOptions } {
  if (name === null || name === '-') throw new Failure('usage', 'the input of the run was standard input');
  if (reading === undefined) throw new Failure('usage', 'the run was recorded by an earlier version');
  const options = toReading(reading);
  // The fields of an update of plain ids were those of -f, which are not recorded.
  const isIds = options.format === 'ids' && action === 'update';
  return { name, options: { ...options, action: (isIds ? 'delete' : action) as RowAction, common: {} } };
}

export interface Resolution {
  readonly row: number;
  readonly isApplied: boolean;
  readonly id: string | undefined;
  /** The run is not known to have created the item. */
  readonly isFound?: boolean;
  /** The line of --from. */
  readonly line?: number;
}

export interface Resolutions {
  readonly resolutions: readonly Resolution[];
  /** The failure if rows were looked up, and some not found; `word` is the run on a command line. */
  readonly stillInDoubt?: ((word: string) => Failure) | undefined;
}

/** As many look-ups at once as Microsoft Graph gets creates at the start of a run. */
const atOnce = 4;

/** @throws {Failure} usage, if the items of the run cannot be looked for; as `Client.send` */
export async function lookUpDoubts(path: string, replay: Replay, session: Session): Promise<Resolutions> {
  const { run, action, keyField } = replay.header;
  if (action !== 'create') {
    throw new Failure('usage', `run ${run} is no create: --auto looks for items that were created`, {
      hint: 'resolve each row with --row N --applied ID, or --not-applied; nothing was recorded',
    });
  }
  return keyField === undefined
    ? lookUpMissing(path, replay, session)
    : lookUpKeys(path, replay, keyField.column, session);
}

/** Without keys, the items are looked for among the missing ids; what is not found may still be there. */
async function lookUpMissing(path: string, replay: Replay, session: Session): Promise<Resolutions> {
  const { findByMissingIds } = await import('./missing-ids.ts');
  const { ids: list } = await checkTarget(replay.header, session);
  const rows = [...replay.doubts()];
  if (rows.length === 0) return { resolutions: [] };
  const fields = await findRows(path, replay, session, (options) => openEncoder(list, options, session));
  const sought = rows.map((row) => ({ row, hash: replay.doubtOf(row)?.hash, fields: fields.get(row)?.fields }));
  const known: string[] = [];
  for await (const { id } of doneItems(path)) known.push(id);
  const { ids, read } = await findByMissingIds(list, { sought, known, replay }, session);
  const resolutions = [...ids].map(([row, id]) => ({ row, id, isApplied: true, isFound: true }));
  const open = rows.filter((row) => !ids.has(row));
  if (open.length === 0) return { resolutions };
  const stillInDoubt = (word: string) => unmatchedFailure(open, read, word);
  return { resolutions, stillInDoubt };
}

function unmatchedFailure(open: readonly number[], read: number, word: string): Failure {
  const what = `${countOf(open.length, 'row')} still in doubt: ${listNames(open.map(String), 10)}`;
  return new Failure(
    'in-doubt',
    `${what}; of ${countOf(read, 'other item')} near those of the run none is surely theirs`,
    {
      hint: `check each, then run: listctl runs resolve ${word} --row N --applied ID, or --not-applied`,
      outcome: 'unknown',
    },
  );
}

async function lookUpKeys(path: string, replay: Replay, column: string, session: Session): Promise<Resolutions> {
  const { header } = replay;
  const { ids: list } = await checkTarget(header, session);
  const client = await session.service.client();
  const keyColumns = await keyColumnsOf(session);
  const keyField = await keyColumns.open(column, list, client);
  if (keyField.guarantee === 'none') {
    throw new Failure('usage', `column ${column} is not indexed: its values cannot be looked up`, {
      hint: 'index the column, or resolve each row with --row N; nothing was recorded',
    });
  }
  const soughtOf = await soughtRows(path, replay, { list, keyField, keyColumns }, session);
  const seenIds = new IdSet();
  for await (const { id } of doneItems(path)) seenIds.add(id);
  const rows = [...replay.doubts()];
  const resolutions: Resolution[] = [];
  const open: string[] = [];
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = rows.slice(at, at + atOnce);
    const findings = await Promise.all(
      some.map((row) => find(soughtOf(row), (sought) => client.send(keyColumns.lookUp(list, sought, seenIds)))),
    );
    for (const [index, finding] of findings.entries()) {
      const row = some[index] ?? 0;
      if (finding.reason === undefined) {
        const { id, isFound } = finding.value;
        resolutions.push({ row, isApplied: true, id, isFound: isFound === true });
      } else if (finding.isTaken) resolutions.push({ row, isApplied: false, id: undefined });
      else open.push(`row ${row}: ${finding.reason}`);
    }
  }
  return { resolutions, stillInDoubt: open.length === 0 ? undefined : (word) => openFailure(open, keyField, word) };
}

/** What to look for; undefined if it is not known without the input. */
type SoughtRow = SoughtKey | undefined;

/**
 * The key of a row is in the journal, unless it is in a column of the input. Others may have written that, or one that
 * was derived from a column: then the item must have the fields of the row as well.
 */
async function soughtRows(
  path: string,
  replay: Replay,
  of: { readonly list: ListRef; readonly keyField: KeyColumn; readonly keyColumns: KeyColumns },
  session: Session,
): Promise<(row: number) => SoughtRow> {
  const { list, keyColumns } = of;
  const { column, guarantee } = of.keyField;
  const { keysFrom } = replay.header;
  const client = await session.service.client();
  const { clock } = session.host;
  const journaled = (row: number) => replay.doubtOf(row)?.key ?? undefined;
  const isDerived = keysFrom?.startsWith(columnPrefix) === true;
  const isForeign = isDerived || [...replay.doubts()].some((row) => journaled(row) === undefined);
  if (!isForeign && keysFrom === undefined) return (row) => ({ column, key: journaled(row) ?? '' });
  const id = replay.createdId;
  const author = id === undefined ? undefined : await keyColumns.readAuthor({ ...list, id }, client);
  const common = (row: number) => {
    const since = keyColumns.sentSince(clock, { ageMs: doubtAge(replay.doubtOf(row), clock) });
    const evidence = (head: Pick<ResponseHead, 'headers'>) => ({ sinceMs: since(head), author });
    return { column, evidence, isUnique: guarantee === 'unique', isAdopted: !isForeign };
  };
  if (!isForeign) return (row) => ({ ...common(row), key: journaled(row) ?? '' });
  const schema = await (await session.service.load()).schema?.(list, client);
  const openForm: OpenForm = (options) => openEncoder(list, { ...options, filled: [column] }, session);
  const known = await findRows(path, replay, session, openForm);
  return (row) => {
    const { fields } = known.get(row) ?? {};
    const key = journaled(row) ?? ownField(fields ?? {}, column);
    if (fields === undefined || typeof key !== 'string') return undefined;
    return { ...common(row), key, hasValues: (item) => schema?.mayBeSent(item.fields, fields) === true };
  };
}

async function find(sought: SoughtRow, lookUp: (sought: SoughtKey) => Promise<Finding<Item>>): Promise<Finding<Item>> {
  if (sought === undefined) return { isMissing: false, reason: 'its values are not known without its input' };
  return lookUp(sought);
}

const namedMax = 3;

function openFailure(open: readonly string[], { guarantee }: KeyColumn, word: string): Failure {
  const more = open.length > namedMax ? `; and ${open.length - namedMax} more` : '';
  const named = open.slice(0, namedMax).join('; ') + more;
  const next =
    guarantee === 'unique'
      ? 'run again with --resume: it retries them without creating duplicates'
      : `try again later, or mark them as not applied: listctl runs resolve ${word} --row N --not-applied`;
  return new Failure('in-doubt', `${countOf(open.length, 'row')} still in doubt: ${named}`, {
    ...{ hint: next, outcome: 'unknown' },
  });
}

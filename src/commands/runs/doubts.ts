/** The rows of a run that are in doubt, with what they were to do, as far as their input still tells. */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { readEarlier } from '../../bulk/earlier-values.ts';
import type { JournalHeader } from '../../bulk/journal-format.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import { payloadHash } from '../../bulk/keys.ts';
import { resolveRun } from '../../bulk/runs.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { untilStopped } from '../../core/host.ts';
import type { Fields } from '../../core/item.ts';
import { type JsonValue, withoutUndefined } from '../../core/json.ts';
import { countOf } from '../../core/text.ts';
import { agoText } from '../../output/runs.ts';
import type { View } from '../../output/view.ts';
import { openInput } from '../../rows/input.ts';
import { openRows } from '../../rows/read.ts';
import { type RowAction, type RowsOptions, toReading } from '../../rows/types.ts';
import { findRunsDirectory } from '../../settings/directories.ts';
import { doneItems } from './named-run.ts';

/** The id and the fields of a row; of an undo the id alone. */
export interface KnownRow {
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

/** Prints the rows in doubt. */
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
export async function findRows(
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
      // An item that is created anew gets another id.
      if (fields !== undefined) found.set(row, undoes === 'delete' ? { fields } : { id, fields });
    }
    return found;
  }
  for await (const { row, id } of doneItems(undone)) if (rows.has(row)) found.set(row, { id });
  return found;
}

/**
 * Reads rows from the input of a run: all of them if it is unchanged, else those that are as they were sent.
 *
 * @throws {Failure} if it cannot be read
 */
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

/** @throws {Failure} usage, if the input cannot be read again */
function inputOf({ file: name, reading, action }: JournalHeader): { name: string; options: RowsOptions } {
  if (name === null || name === '-') throw new Failure('usage', 'the input of the run was standard input');
  if (reading === undefined) throw new Failure('usage', 'the run was recorded by an earlier version');
  const options = toReading(reading);
  // The fields of an update of plain ids were those of -f, which are not recorded.
  const isIds = options.format === 'ids' && action === 'update';
  return { name, options: { ...options, action: (isIds ? 'delete' : action) as RowAction, common: {} } };
}

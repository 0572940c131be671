/** `runs resolve --auto`: looks up the rows in doubt of a run by their keys. Loaded late. */
import type { Client, Finding } from '../../api/client.ts';
import { readColumns } from '../../api/graph/columns.ts';
import { findByKey, type KeyField, readKeyField } from '../../api/graph/key-field.ts';
import { mayBeSent } from '../../api/graph/read-form.ts';
import type { FormOptions } from '../../api/graph/write-form.ts';
import { columnPrefix } from '../../bulk/flags.ts';
import type { JournalHeader } from '../../bulk/journal-format.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import { IdSet } from '../../bulk/keys.ts';
import { openListForm } from '../../cli/list-form.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { type Item, type ListRef, ownField } from '../../core/item.ts';
import { countOf } from '../../core/text.ts';
import { findRows } from './doubts.ts';
import { checkTarget, doneItems } from './named-run.ts';

/** The resolution of a row. */
export interface Resolution {
  readonly row: number;
  readonly isApplied: boolean;
  readonly id: string | undefined;
  /** The line of --from. */
  readonly line?: number;
}

/** The resolutions of a run. */
export interface Resolutions {
  readonly resolutions: readonly Resolution[];
  /** The failure if rows were looked up, and some not found; `word` is the run on a command line. */
  readonly stillInDoubt?: ((word: string) => Failure) | undefined;
}

/** As many look-ups at once as Microsoft Graph gets creates at the start of a run. */
const atOnce = 4;

/**
 * Finds the items of the rows in doubt.
 *
 * @throws {Failure} usage, if the run wrote no keys, or they cannot be looked up; as `Client.send`
 */
export async function lookUpDoubts(path: string, replay: Replay, session: Session): Promise<Resolutions> {
  const { header } = replay;
  const column = columnOf(header);
  const list = await checkTarget(header, session);
  const client = await session.service.client();
  const keyField = await readKeyField(column, list, client);
  if (keyField.promise === 'none') {
    throw new Failure('usage', `column ${column} is not indexed: its values cannot be looked up`, {
      hint: 'index the column, or resolve each row with --row N; nothing was recorded',
    });
  }
  const soughtOf = await soughtRows(path, replay, { list, column }, session);
  const given = new IdSet();
  for await (const { id } of doneItems(path)) given.add(id);
  const rows = [...replay.doubts()];
  const resolutions: Resolution[] = [];
  const open: string[] = [];
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = rows.slice(at, at + atOnce);
    const findings = await Promise.all(some.map((row) => find(list, soughtOf(row), given, client)));
    for (const [index, finding] of findings.entries()) {
      const row = some[index] ?? 0;
      if (finding.reason === undefined) resolutions.push({ row, isApplied: true, id: finding.value.id });
      else open.push(`row ${row}: ${finding.reason}`);
    }
  }
  return { resolutions, stillInDoubt: open.length === 0 ? undefined : (word) => openFailure(open, keyField, word) };
}

function columnOf({ run, keyField, action }: JournalHeader): string {
  if (keyField !== undefined && action === 'create') return keyField.column;
  throw new Failure('usage', `run ${run} has no key field by which its items could be found`, {
    hint: 'resolve each row with --row N --applied ID, or --not-applied; nothing was recorded',
  });
}

/** What to look for; undefined if it is not known without the input. */
type SoughtRow = Parameters<typeof findByKey>[1] | undefined;

/**
 * The key of a row is in the journal, unless it is in a column of the input. Others may have written that, or one that
 * was derived from a column: then the item must have the fields of the row as well.
 */
async function soughtRows(
  path: string,
  replay: Replay,
  { list, column }: { readonly list: ListRef; readonly column: string },
  session: Session,
): Promise<(row: number) => SoughtRow> {
  const journaled = (row: number) => replay.doubtOf(row)?.key ?? undefined;
  const isDerived = replay.header.keysFrom?.startsWith(columnPrefix) === true;
  if (!isDerived && [...replay.doubts()].every((row) => journaled(row) !== undefined)) {
    return (row) => ({ column, key: journaled(row) ?? '' });
  }
  const columns = await readColumns(list, await session.service.client());
  const openForm = (options: FormOptions) => openListForm(list, { ...options, filled: [column] }, session);
  const known = await findRows(path, replay, session, openForm);
  return (row) => {
    const { fields } = known.get(row) ?? {};
    const key = journaled(row) ?? ownField(fields ?? {}, column);
    if (fields === undefined || typeof key !== 'string') return undefined;
    return { column, key, isOwn: (item) => mayBeSent(item.fields, fields, columns) };
  };
}

async function find(list: ListRef, sought: SoughtRow, given: IdSet, client: Client): Promise<Finding<Item>> {
  if (sought === undefined) return { isMissing: false, reason: 'its values are not known without its input' };
  return client.send(findByKey(list, sought, given));
}

/** The most rows that a message names. */
const namedMax = 3;

function openFailure(open: readonly string[], { promise }: KeyField, word: string): Failure {
  const more = open.length > namedMax ? `; and ${open.length - namedMax} more` : '';
  const named = open.slice(0, namedMax).join('; ') + more;
  const next =
    promise === 'unique'
      ? 'run again with --resume: it sends them again, and makes no second item'
      : `look again later, or give them up with: listctl runs resolve ${word} --row N --not-applied`;
  return new Failure('in-doubt', `${countOf(open.length, 'row')} still in doubt: ${named}`, {
    ...{ hint: next, outcome: 'unknown' },
  });
}

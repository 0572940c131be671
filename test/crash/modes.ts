/**
 * What the loop does: each mode is a verb, an input, and what the list must hold in the end. With `apply` a manifest makes
 * items; then another one changes, prunes and adds some.
 */
import type { ServiceKind } from '../../src/settings/setting.ts';
import type { ListContents, TextFields } from './list-contents.ts';

/**
 * How listctl runs under the loop. In `service` the built-in service is killed: a `listctl serve` and a run with
 * `--local` share one store, and both are written to.
 */
export type ModeName = RowModeName | 'apply' | 'apply-keyed' | 'apply-unique' | 'service';

/** Those whose input is a file of rows. */
export type RowModeName = 'create' | 'create-keyed' | 'update' | 'delete' | KeyFieldMode;

/** Those with a key in a column of Microsoft Graph, with unique values or an index alone. */
export type KeyFieldMode = 'create-unique' | 'create-indexed';

export const modeNames: readonly ModeName[] = [
  ...(['create', 'create-keyed', 'update', 'delete', 'apply', 'apply-keyed', 'service'] as const),
  ...(['create-unique', 'create-indexed', 'apply-unique'] as const),
];

/** The modes for a kind of service: Microsoft Graph knows keys in columns alone, and `service` is about the ordinary one. */
export function modesFor(service: ServiceKind): readonly ModeName[] {
  if (service !== 'graph') return modeNames.filter((mode) => columnsOf(mode) === undefined);
  return ['create', 'create-unique', 'create-indexed', 'update', 'delete', 'apply', 'apply-unique'];
}

function hasKeyField(mode: ModeName): mode is KeyFieldMode {
  return mode === 'create-unique' || mode === 'create-indexed';
}

/** The columns of the list for a mode; undefined for one that may have any field. */
export function columnsOf(mode: ModeName): readonly object[] | undefined {
  const isUnique = { indexed: true, enforceUniqueValues: true };
  const columns = (more: Readonly<Record<string, object>>) =>
    ['Title', 'Key', 'Row', 'Note', 'Kept', 'Mark'].map((name) => ({ name, text: {}, ...more[name] }));
  if (mode === 'create-unique') return columns({ Key: isUnique });
  if (mode === 'create-indexed') return columns({ Key: { indexed: true } });
  return mode === 'apply-unique' ? columns({ Row: isUnique }) : undefined;
}

export interface InputRow {
  /** Undefined where the service is to give it. */
  readonly id: string | undefined;
  /** What the row's cells set. */
  readonly fields: TextFields;
  /** What the item holds once the row is done; undefined where it is gone then. */
  readonly becomes: TextFields | undefined;
}

export interface Job {
  readonly mode: ModeName;
  readonly words: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** By the row's number, less 1. */
  readonly rows: readonly InputRow[];
  /** What the list holds beside them: it must still be there. */
  readonly bystanders: ReadonlyMap<string, TextFields>;
  /** The highest id before the first request of the round. */
  readonly idMax: number;
}

/** A job whose input is a file of rows. */
export interface RowJob extends Job {
  readonly csv: string;
}

/** Whether rows may be left in doubt: a lost create is never sent again. Its service ignores keys. */
export function holdsDoubt(mode: ModeName): boolean {
  return mode === 'create' || mode === 'apply' || mode === 'create-indexed';
}

/** Whether it is `listctl apply` that is run. */
export function isApplyMode(mode: ModeName): boolean {
  return mode === 'apply' || mode === 'apply-keyed' || mode === 'apply-unique';
}

export async function makeJob(mode: RowModeName | 'service', count: number, list: ListContents): Promise<RowJob> {
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  if (mode !== 'update' && mode !== 'delete') {
    const rows = numbers.map((number) => ({ id: undefined, fields: fieldsOf(number), becomes: fieldsOf(number) }));
    // The built-in service is known to honor keys, so no flag is needed.
    const words = ['items', 'create', ...keyFlagsOf(mode)];
    return { mode, words, rows, ...filesOf(rows), bystanders: new Map(), idMax: 0 };
  }
  const old = [...numbers, 'bystander', 'another'].map((word) => ({
    Row: String(word),
    Title: 'old',
    Kept: 'as it was',
  }));
  const ids = await list.add(old);
  const rows = numbers.map((number, at) => rowOf(mode, ids[at] ?? '', number));
  const bystanders = new Map(old.map((fields, at) => [ids[at] ?? '', fields] as const).slice(count));
  const words = mode === 'update' ? ['items', 'update'] : ['items', 'delete', '--yes'];
  return { mode, words, rows, ...filesOf(rows), bystanders, idMax: ids.length };
}

function keyFlagsOf(mode: 'service' | Exclude<RowModeName, 'update' | 'delete'>): readonly string[] {
  if (mode === 'service') return [];
  if (hasKeyField(mode)) return ['--key-field', 'Key'];
  return ['--idempotency', mode === 'create' ? 'unknown' : 'honored'];
}

function rowOf(mode: 'update' | 'delete', id: string, number: number): InputRow {
  if (mode === 'delete') return { id, fields: {}, becomes: undefined };
  return { id, fields: fieldsOf(number), becomes: { ...fieldsOf(number), Kept: 'as it was' } };
}

/** The row's number is among them, so that an item identifies its row. */
function fieldsOf(number: number): TextFields {
  return { Row: String(number), Title: `Grüße, "row" ${number}`, Note: number % 7 === 0 ? 'two\nlines' : '007' };
}

function filesOf(rows: readonly InputRow[]): Pick<RowJob, 'csv' | 'files'> {
  const lines = rows.map(({ fields }) => `${JSON.stringify(fields)}\n`);
  const csv = csvOf(rows);
  return { csv, files: { 'rows.csv': csv, 'rows.jsonl': lines.join('') } };
}

function csvOf(rows: readonly InputRow[]): string {
  const cells = rows.map(({ id, fields }) => ({ ...(id === undefined ? {} : { id }), ...fields }));
  const lines = [Object.keys(cells[0] ?? {}), ...cells.map((row) => Object.values(row))];
  return lines.map((line) => `${line.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('');
}

/**
 * The job of a first manifest, in a list with an unmanaged item that looks like one of the manifest's. With Microsoft Graph
 * `apply` would import that, so that it has no key.
 */
export async function makeFirstManifest(
  mode: Job['mode'],
  count: number,
  list: ListContents,
  kind: ServiceKind,
): Promise<Job> {
  const foreign: TextFields = { ...(kind === 'graph' ? {} : { Row: '1' }), Note: 'of somebody' };
  const [id = ''] = await list.add([foreign]);
  const rows = numbered(1, count).map((number) => itemOf(undefined, itemFields(number, 'first')));
  return { ...applyJob(mode, rows), bystanders: new Map([[id, foreign]]), idMax: 1 };
}

/**
 * The job of the manifest after it: of three items one is pruned, and every other one of those that stay is changed; some
 * are new.
 *
 * @param first the job before
 * @param ids what that made, by the row's number
 */
export function makeSecondManifest(first: Job, ids: ReadonlyMap<number, string>): Job {
  const old = first.rows.map(({ becomes }, at) => {
    const id = ids.get(at + 1);
    if (at % 3 === 0) return { id, fields: {}, becomes: undefined };
    return itemOf(id, at % 2 === 0 && becomes !== undefined ? becomes : itemFields(at + 1, 'second'));
  });
  const added = numbered(old.length + 1, old.length + 10).map((number) => itemOf(undefined, itemFields(number, 'new')));
  return { ...applyJob(first.mode, [...old, ...added]), bystanders: first.bystanders, idMax: first.idMax };
}

function applyJob(mode: Job['mode'], rows: readonly InputRow[]): Pick<Job, 'mode' | 'words' | 'files' | 'rows'> {
  const items = rows.flatMap(({ becomes }) => (becomes === undefined ? [] : [becomes]));
  const keyed = mode === 'apply-keyed' ? ['--idempotency', 'honored'] : [];
  const words = ['apply', 'manifest.json', '--prune', '--yes', ...keyed];
  return { mode, words, rows, files: { 'manifest.json': JSON.stringify({ key: 'Row', items }) } };
}

function itemOf(id: string | undefined, fields: TextFields): InputRow {
  return { id, fields, becomes: fields };
}

/** The key among them is the row's number. */
function itemFields(number: number, note: string): TextFields {
  return { Row: String(number), Note: note, Kept: 'x' };
}

function numbered(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

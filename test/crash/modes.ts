/** What the loop does with rows: each mode is a verb, an input, and what the list must hold in the end. */
import type { ListContents, TextFields } from './list-contents.ts';

/** A way of running listctl under the loop. */
export type ModeName = 'create' | 'create-keyed' | 'update' | 'delete';

/** The modes. */
export const modeNames: readonly ModeName[] = ['create', 'create-keyed', 'update', 'delete'];

/** One row of the input. */
export interface InputRow {
  /** Undefined where the service is to give it. */
  readonly id: string | undefined;
  /** What the row's cells set. */
  readonly fields: TextFields;
  /** What the item holds once the row is done; undefined where it is gone then. */
  readonly becomes: TextFields | undefined;
}

/** What a round is to do. */
export interface Job {
  readonly mode: ModeName;
  /** The words behind `listctl`, the input's path left out. */
  readonly words: readonly string[];
  /** The input, as CSV. */
  readonly csv: string;
  /** By the row's number, less 1. */
  readonly rows: readonly InputRow[];
  /** What the list holds beside them: it must still be there. */
  readonly bystanders: ReadonlyMap<string, TextFields>;
  /** The highest id before the run. */
  readonly idMax: number;
}

/** Whether rows may be left in doubt: a create that nobody knows about is never sent again. */
export function holdsDoubt(mode: ModeName): boolean {
  return mode === 'create';
}

/** Makes the input of a round, and the items that it is about. */
export async function makeJob(mode: ModeName, count: number, list: ListContents): Promise<Job> {
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  if (mode === 'create' || mode === 'create-keyed') {
    const rows = numbers.map((number) => ({ id: undefined, fields: fieldsOf(number), becomes: fieldsOf(number) }));
    const keys = mode === 'create' ? 'unknown' : 'honoured';
    const words = ['items', 'create', '--idempotency', keys];
    return { mode, words, rows, csv: csvOf(rows), bystanders: new Map(), idMax: 0 };
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
  return { mode, words, rows, csv: csvOf(rows), bystanders, idMax: ids.length };
}

function rowOf(mode: 'update' | 'delete', id: string, number: number): InputRow {
  if (mode === 'delete') return { id, fields: {}, becomes: undefined };
  return { id, fields: fieldsOf(number), becomes: { ...fieldsOf(number), Kept: 'as it was' } };
}

/** The row's number is among them, so that an item tells which row it is of. */
function fieldsOf(number: number): TextFields {
  return { Row: String(number), Title: `Grüße, "row" ${number}`, Note: number % 7 === 0 ? 'two\nlines' : '007' };
}

function csvOf(rows: readonly InputRow[]): string {
  const cells = rows.map(({ id, fields }) => ({ ...(id === undefined ? {} : { id }), ...fields }));
  const lines = [Object.keys(cells[0] ?? {}), ...cells.map((row) => Object.values(row))];
  return lines.map((line) => `${line.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('');
}

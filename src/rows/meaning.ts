import { Failure } from '../errors.ts';
import { checkId, type Fields } from '../item.ts';
import type { RawRow, RowFault } from './raw-row.ts';
import type { BadRow, Row, RowAction, RowSource } from './row.ts';
import { problemOfSize } from './row-length.ts';

/** What a row says. */
export interface Meaning {
  /** Not yet checked; undefined where the row has none. */
  readonly id: string | undefined;
  /** With the common fields over them. */
  readonly fields: Fields;
}

/** Knows what the rows of one file mean. */
export interface Interpreter {
  /** Where an id stands, as `BadRow.column`. */
  readonly idPlace: number | undefined;
  meaningOf(source: RowSource): Meaning | RowFault;
  /** What was left out of the rows so far, each said once. */
  notices(): readonly string[];
  /** What is only known when every row has been seen: the first name that none of them has. */
  unknownName(): Failure | undefined;
}

/** Turns what stands in the file into what is to be sent. */
export function rowFrom(
  number: number,
  { line, source, fault }: RawRow,
  action: RowAction,
  interpreter: Interpreter,
): Row | BadRow {
  const bad = ({ problem, column }: RowFault): BadRow => ({ number, line, column, source, problem });
  if (fault !== undefined) return bad(fault);
  const meaning = interpreter.meaningOf(source);
  if ('problem' in meaning) return bad(meaning);
  const { id, fields } = meaning;
  if (action === 'create' || action === 'update') {
    const unsendable = isEmpty(fields) ? 'no field to send' : problemOfSize(fields);
    if (unsendable !== undefined) return bad({ problem: unsendable, column: undefined });
    if (action === 'create') return { number, line, id: undefined, fields, source };
  }
  const problem = problemOfId(id);
  if (problem !== undefined || id === undefined) {
    return bad({ problem: problem ?? 'no id', column: interpreter.idPlace });
  }
  return { number, line, id, fields, source };
}

function isEmpty(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}

function problemOfId(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return 'no id';
  try {
    checkId(id, 'item');
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

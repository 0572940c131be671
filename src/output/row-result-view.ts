/** How the results of a run look, row by row. */
import type { Failure } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { doneWord } from './done-word.ts';
import { failureObject } from './failure-text.ts';
import { oneLine } from './one-line.ts';
import type { Row, Screen, View } from './view.ts';

/** What came of one row. */
export interface RowResultShown {
  /** Its number in the input, from 1. */
  readonly row: number;
  /** Of a step of a plan, the key that it is about. */
  readonly key?: string | undefined;
  /** `create`, `update`, `delete`, `get` */
  readonly action: string;
  /** `left` is still to do, and `skipped` was given up in doubt: in what `runs show --rows` lists. */
  readonly status: 'done' | 'failed' | 'in-doubt' | 'left' | 'skipped';
  /** The item's id, where it is known. */
  readonly id?: string | undefined;
  /** Why it is not done. */
  readonly failure?: Failure | undefined;
}

/** Columns of a terminal: of an id as long as one may be, of what went wrong, of the request id. */
const limits = { id: 1024, message: 800, requestId: 100 } as const;

/**
 * Results: as JSON with the failure as everywhere, as cells with its message; as ids only of what was done. As `pretty`
 * one line for each. The cells are the same ones for every row, so that a file's header does not depend on its luck.
 */
export const rowResultView: View<RowResultShown> = {
  pretty: (results, screen) => results.map((result) => lineFor(result, screen)).join('\n'),
  // Literals, since there is one of these for each row of a run.
  json: ({ row, action, status, id, failure }) => {
    if (failure === undefined) return id === undefined ? { row, action, status } : { row, action, status, id };
    const error = failureObject(failure);
    return id === undefined ? { row, action, status, error } : { row, action, status, id, error };
  },
  id: ({ status, id }) => (status === 'done' ? id : undefined),
  row: cellsOf,
  columns: ['row', 'action', 'status', 'id', 'error'],
};

/** Results of the steps of a plan: the same by their keys, and an empty list where there was nothing to do. */
export const stepResultView: View<RowResultShown> = {
  pretty: rowResultView.pretty,
  printsNone: true,
  json: stepObject,
  id: rowResultView.id,
  row: (step) => new Map(Object.entries({ id: null, ...stepObject(step), error: step.failure?.message ?? null })),
  columns: ['key', 'action', 'status', 'id', 'error'],
};

function stepObject({ key = '', action, status, id, failure }: RowResultShown): JsonObject {
  const known = id === undefined ? { key, action, status } : { key, action, status, id };
  return failure === undefined ? known : { ...known, error: failureObject(failure) };
}

function cellsOf({ row, action, status, id, failure }: RowResultShown): Row {
  return new Map<string, JsonValue>([
    ...Object.entries({ row, action, status, id: id ?? null }),
    ['error', failure === undefined ? null : failure.message],
  ]);
}

function lineFor({ row, action, status, id, failure }: RowResultShown, { style }: Screen): string {
  if (status === 'done')
    return `row ${row} ${doneWord(action)}${id === undefined ? '' : `: ${oneLine(id, limits.id)}`}`;
  if (status === 'left' || status === 'skipped') return `row ${row} ${status === 'left' ? 'still to do' : 'skipped'}`;
  const word = status === 'failed' ? style.red('failed') : style.yellow('in doubt');
  return `row ${row} ${word}${failure === undefined ? '' : `: ${reasonOf(failure)}`}`;
}

/** The message, with the name that the service's operators know the request by. */
function reasonOf({ message, details: { requestId } }: Failure): string {
  const request = requestId === undefined ? '' : ` (request ${oneLine(requestId, limits.requestId)})`;
  return `${oneLine(message, limits.message)}${request}`;
}

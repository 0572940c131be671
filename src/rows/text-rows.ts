/** Rows of the formats whose rows are texts: JSON, in lines or in one array, and ids. */
import { type JsonValue, parseJson } from '../json.ts';
import { jsonFaultAt } from './json-fault.ts';
import type { TextPart } from './lines.ts';
import { quoted, type RawRow, type RowFault } from './raw-row.ts';
import { tooLong } from './row-length.ts';

/** A line or an element as a JSON value; undefined for one that is blank. */
export function jsonRow({ line, column, text, isTooLong, problem }: TextPart): RawRow | undefined {
  const fault = isTooLong ? { problem: tooLong, column: undefined } : problem && { problem, column };
  if (fault) return { line, source: { kind: 'text', text }, fault };
  if (/^[ \t\r]*$/.test(text)) return undefined;
  const read = parsed(text);
  if (!('at' in read)) return { line, source: { kind: 'json', value: read.value } };
  return { line, source: { kind: 'text', text }, fault: placed(read, text, column) };
}

/** A line as an id, nothing trimmed; undefined for one that is empty. */
export function idRow({ line, text, isTooLong }: TextPart): RawRow | undefined {
  if (isTooLong) return { line, source: { kind: 'text', text }, fault: { problem: tooLong, column: undefined } };
  const marked = text.indexOf(rejectMark);
  const id = marked === -1 ? text : text.slice(0, marked);
  return id === '' ? undefined : { line, source: { kind: 'id', id } };
}

/** Stands behind an id in a rejects file, and what went wrong behind that. No id has it in it: a tab is none of its characters. */
export const rejectMark = '\tlistctl:error: ';

type Parsed = { readonly value: JsonValue } | { readonly problem: string; readonly at: number | undefined };

function parsed(text: string): Parsed {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    // A RangeError: a value so deep that the stack did not hold it.
    if (!(error instanceof SyntaxError)) throw error;
    const at = jsonFaultAt(text);
    // JSON, but none that is taken: a name twice, too deep, too wide.
    if (at === undefined) return { problem: error.message, at };
    const rest = text.slice(at, at + 20);
    return { problem: rest === '' ? 'no JSON: it ends too early' : `no JSON from ${quoted(rest)} on`, at };
  }
}

/** The fault with its place; an element may go over several lines, which are told then. */
function placed(
  fault: { readonly problem: string; readonly at: number | undefined },
  text: string,
  column: number,
): RowFault {
  if (fault.at === undefined) return { problem: fault.problem, column: undefined };
  const before = text.slice(0, fault.at).split('\n');
  const within = before.at(-1)?.length ?? 0;
  if (before.length === 1) return { problem: fault.problem, column: column + within };
  return { problem: `${fault.problem} (its line ${before.length}, character ${within + 1})`, column };
}

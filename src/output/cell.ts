import type { JsonValue } from '../json.ts';
import { jsonText } from './json-text.ts';
import type { Cell } from './table.ts';
import type { Screen } from './view.ts';

/** A value in a cell of a table for a person: text as it is, anything else as JSON; '' where there is none. */
export function cellOf(value: JsonValue | undefined, { style }: Screen): Cell {
  if (value === undefined) return { text: '' };
  if (value === null) return { text: 'null', paint: style.dim };
  // Quoted, since without colour the text would look like no value.
  if (value === 'null') return { text: '"null"' };
  return { text: typeof value === 'string' ? value : jsonText(value) };
}

import { type JsonValue, parseJson } from '../json.ts';
import { quoted } from './raw-row.ts';
import type { CellType, EmptyCell } from './rows-options.ts';

/** What a cell says: a value, no field at all (`undefined`), or something that its column can't hold. */
export type CellValue = { readonly value: JsonValue | undefined } | { readonly problem: string };

/**
 * The value of a cell. Text is taken as it is. Blanks around a number, true, false or JSON are no part of it; the
 * digits of a number stay as they were written, and true and false are taken in any case, as spreadsheets write them.
 */
export function cellValue(text: string, type: CellType, empty: EmptyCell): CellValue {
  if (text === '') return emptyValues[empty];
  switch (type) {
    case 'string':
      return { value: text };
    case 'number':
      return number.test(text.trim()) ? { value: parseJson(text.trim()) } : isNo('a number, as JSON writes it', text);
    case 'boolean':
      return boolean(text);
    case 'json':
      return json(text);
    case 'auto':
      return { value: automatic.test(text) ? parseJson(text) : text };
  }
}

const emptyValues: Readonly<Record<EmptyCell, CellValue>> = {
  omit: { value: undefined },
  string: { value: '' },
  null: { value: null },
};

/** As JSON has them: no leading zero, no plus, a point and not a comma. */
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const automatic = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/;

function boolean(text: string): CellValue {
  const word = text.trim().toLowerCase();
  return word === 'true' || word === 'false' ? { value: word === 'true' } : isNo('true or false', text);
}

function json(text: string): CellValue {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return isNo('JSON', text);
  }
}

function isNo(what: string, text: string): CellValue {
  return { problem: `${quoted(text)} is not ${what}` };
}

/** Numbers, booleans and JSON that are typed as text: in cells, and on the command line. */
import { type JsonValue, parseJson } from './json.ts';
import { quoted } from './text.ts';

/** A value, or the problem with its text. */
export type Parsed = { readonly value: JsonValue; readonly problem?: undefined } | { readonly problem: string };

/** What becomes of the values of a field, where the columns of a list have types. */
export interface FieldForm {
  /** The name under which they are sent. */
  readonly name: string;
  /** Why no text can be a value. */
  readonly textProblem?: string;
  readonly fromText: (text: string) => Parsed;
  readonly fromJson: (value: JsonValue) => Parsed;
  /** Sets it, with the annotation that an array needs. */
  readonly put: (fields: Record<string, JsonValue>, value: JsonValue) => void;
  /** The type in that annotation. */
  readonly odataType?: string | undefined;
}

/** The numbers of JSON, by their decimal separator. */
const numbers = {
  '.': /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/,
  ',': /^-?(?:0|[1-9][0-9]*)(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?$/,
} as const;

/** With thousands separators, which may be decimal ones where others write. */
const grouped = /^-?[0-9]{1,3}(?:[.,' \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?$/;

/**
 * Parses a number as JSON writes it, but for its decimal separator; it keeps its digits. Blanks around it are ignored.
 *
 * @param commaAdvice what to do about a decimal comma
 */
export function parseNumber(
  text: string,
  decimal: '.' | ',',
  commaAdvice = 'pass --decimal , for a decimal comma',
): Parsed {
  const digits = text.trim();
  if (numbers[decimal].test(digits)) return { value: parseJson(digits.replace(',', '.')) };
  const advice = [
    ...(/^-?0[0-9]+$/.test(digits) ? ['remove leading zeros'] : []),
    ...(grouped.test(digits) ? ['remove thousands separators'] : []),
    ...(decimal === '.' && /^-?[0-9]{1,3}(?:[.' \u00a0\u202f]?[0-9]{3})*,[0-9]+$/.test(digits) ? [commaAdvice] : []),
  ];
  // Without another separator before it, the comma is one or the other.
  const conjunction = /[.' \u00a0\u202f][0-9]{3}.*,/.test(digits) ? ' and ' : ', or ';
  const { problem } = invalidText(decimal === '.' ? 'a number' : 'a number with a decimal comma', text);
  return { problem: advice.length === 0 ? problem : `${problem} (${advice.join(conjunction)})` };
}

/** Parses a JSON scalar that is not in quotes; any other text is a string. */
export function parseAutomatic(text: string, decimal: '.' | ','): JsonValue {
  const isScalar = numbers[decimal].test(text) || text === 'true' || text === 'false' || text === 'null';
  return isScalar ? parseJson(text.replace(',', '.')) : text;
}

/** Parses true or false in any case, as in spreadsheets. */
export function parseBoolean(text: string): Parsed {
  const word = text.trim().toLowerCase();
  return word === 'true' || word === 'false' ? { value: word === 'true' } : invalidText('true or false', text);
}

export function parseJsonText(text: string): Parsed {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return invalidText('JSON', text);
  }
}

function invalidText(what: string, text: string): { readonly problem: string } {
  return { problem: `${quoted(text)} is not ${what}` };
}

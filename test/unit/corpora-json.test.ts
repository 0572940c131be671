/** JSONTestSuite, as bytes, against our readers of responses and of rows. */
import { describe, expect, test } from 'vitest';
import { parseResponseJson } from '../../src/api/response.ts';
import { Failure } from '../../src/core/errors.ts';
import { type JsonValue, printJson } from '../../src/core/json.ts';
import { jsonSuite, type SuiteFile } from '../corpora/json-suite.ts';
import { rowsFrom } from './rows/rows-from.ts';

const { accepted, refused, free, changed } = jsonSuite();

const deep = 'deeper than 128 levels';
const notUtf8 = 'no UTF-8, and a replacement character must never be taken for what was stored';
const digits = 'a number beyond a double keeps its digits';
const lone = 'half a character, as an escape, is kept as that escape';

/** What is decided here of what a reader may decide: `kept` as it was written, or refused. */
const decisions: Readonly<Record<string, { readonly is: 'kept' | 'refused'; readonly because: string }>> = {
  'i_number_double_huge_neg_exp.json': { is: 'kept', because: digits },
  'i_number_huge_exp.json': { is: 'kept', because: digits },
  'i_number_neg_int_huge_exp.json': { is: 'kept', because: digits },
  'i_number_pos_double_huge_exp.json': { is: 'kept', because: digits },
  'i_number_real_neg_overflow.json': { is: 'kept', because: digits },
  'i_number_real_pos_overflow.json': { is: 'kept', because: digits },
  'i_number_real_underflow.json': { is: 'kept', because: digits },
  'i_number_too_big_neg_int.json': { is: 'kept', because: digits },
  'i_number_too_big_pos_int.json': { is: 'kept', because: digits },
  'i_number_very_big_negative_int.json': { is: 'kept', because: digits },
  'i_object_key_lone_2nd_surrogate.json': { is: 'kept', because: lone },
  'i_string_1st_surrogate_but_2nd_missing.json': { is: 'kept', because: lone },
  'i_string_1st_valid_surrogate_2nd_invalid.json': { is: 'kept', because: lone },
  'i_string_UTF-16LE_with_BOM.json': { is: 'refused', because: notUtf8 },
  'i_string_UTF-8_invalid_sequence.json': { is: 'refused', because: notUtf8 },
  'i_string_UTF8_surrogate_U+D800.json': { is: 'refused', because: notUtf8 },
  'i_string_incomplete_surrogate_and_escape_valid.json': { is: 'kept', because: lone },
  'i_string_incomplete_surrogate_pair.json': { is: 'kept', because: lone },
  'i_string_incomplete_surrogates_escape_valid.json': { is: 'kept', because: lone },
  'i_string_invalid_lonely_surrogate.json': { is: 'kept', because: lone },
  'i_string_invalid_surrogate.json': { is: 'kept', because: lone },
  'i_string_invalid_utf-8.json': { is: 'refused', because: notUtf8 },
  'i_string_inverted_surrogates_U+1D11E.json': { is: 'kept', because: lone },
  'i_string_iso_latin_1.json': { is: 'refused', because: notUtf8 },
  'i_string_lone_second_surrogate.json': { is: 'kept', because: lone },
  'i_string_lone_utf8_continuation_byte.json': { is: 'refused', because: notUtf8 },
  'i_string_not_in_unicode_range.json': { is: 'refused', because: notUtf8 },
  'i_string_overlong_sequence_2_bytes.json': { is: 'refused', because: notUtf8 },
  'i_string_overlong_sequence_6_bytes.json': { is: 'refused', because: notUtf8 },
  'i_string_overlong_sequence_6_bytes_null.json': { is: 'refused', because: notUtf8 },
  'i_string_truncated-utf-8.json': { is: 'refused', because: notUtf8 },
  'i_string_utf16BE_no_BOM.json': { is: 'refused', because: notUtf8 },
  'i_string_utf16LE_no_BOM.json': { is: 'refused', because: notUtf8 },
  'i_structure_500_nested_arrays.json': { is: 'refused', because: deep },
  'i_structure_UTF-8_BOM_empty_object.json': { is: 'kept', because: 'a byte order mark before it is none of it' },
};

/** The one text that the suite accepts and we do not: which of the two values would be the one that was stored? */
const ambiguous = 'y_object_duplicated_key.json';
/** What readers change on its way, and we refuse: a name with two values, and what is no UTF-8. */
const unclear = /^(object_same_key_(different|unclear)_values|string_\d_invalid_codepoints?)\.json$/;

const marked = 'i_string_UTF-16LE_with_BOM.json';
/** Values that are no response, but are valid in a file of rows. */
const otherwise: Readonly<Record<string, string>> = {
  'n_single_space.json': 'a blank line is no row',
  'n_structure_no_data.json': 'an empty pipe has no rows',
  'n_structure_UTF8_BOM_no_data.json': 'neither has a file of a mark alone',
  [marked]: 'a mark tells UTF-16 in a file',
};

test('the suite is whole, and every free file is decided', () => {
  expect([accepted.length, refused.length, free.length, changed.length]).toEqual([95, 188, 35, 22]);
  expect(free.map(({ name }) => name).sort()).toEqual(Object.keys(decisions).sort());
});

/** The files of which we say that they are JSON, with a reason where the suite leaves it to us. */
const good = [
  ...accepted.filter(({ name }) => name !== ambiguous).map((file) => ({ ...file, because: 'it must be' })),
  ...free.flatMap((file) => ({ ...file, ...decisions[file.name] })).filter(({ is }) => is === 'kept'),
  ...changed.filter(({ name }) => !unclear.test(name)).map((file) => ({ ...file, because: 'what it says is kept' })),
];
const bad = [
  ...accepted.filter(({ name }) => name === ambiguous).map((file) => ({ ...file, because: 'a name stands twice' })),
  ...refused.map((file) => ({ ...file, because: 'it must be' })),
  ...free.flatMap((file) => ({ ...file, ...decisions[file.name] })).filter(({ is }) => is === 'refused'),
  ...changed.filter(({ name }) => unclear.test(name)).map((file) => ({ ...file, because: 'it has no one meaning' })),
];

describe('an answer', () => {
  test.each(good)('with $name is read, and printed equal: $because', ({ bytes }) => {
    expectEqual(parseResponseJson({ status: 200, headers: {}, body: bytes }), bytes);
  });

  test.each(bad)('with $name is invalid: $because', ({ bytes }) => {
    const read = () => parseResponseJson({ status: 200, headers: {}, body: bytes });

    expect(read).toThrow(SyntaxError);
    expect(read).toThrow(/^the response is not (UTF-8|valid JSON \(.+\))$/s);
  });
});

describe('a row', () => {
  test.each(good)('with $name is read, and printed equal: $because', async (file) => {
    const source = await sourceOf(file);

    expect(source).toMatchObject({ kind: 'json' });
    if (source?.kind === 'json') expectEqual(source.value, file.bytes);
  });

  test.each(bad.filter(({ name }) => !(name in otherwise)))('with $name is refused, with its place', async (file) => {
    const problem = await problemOf(file);

    expect(problem).toMatch(isPlain(problem) ? /deeper|members|[Dd]uplicate/ : /:\d+ |(byte|offset) \d+/);
  });

  test.each(Object.entries(otherwise))('with %s: %s', async (name) => {
    const file = bad.find((each) => each.name === name);
    const source = file && (await sourceOf(file));

    if (name === marked) expect(source).toEqual({ kind: 'json', value: ['é'] });
    else expect(source).toBeUndefined();
  });
});

/** What the first row of a file with this text came from. */
async function sourceOf(file: SuiteFile) {
  return (await rowsOf(file)).rows[0]?.source;
}

/** A line of JSONL; where the text goes over lines, the only element of an array. */
function rowsOf({ bytes }: SuiteFile) {
  const isOneLine = !bytes.toString('latin1').trimEnd().includes('\n');
  if (bytes.length === 0) return rowsFrom('-', bytes);
  return isOneLine ? rowsFrom('a.jsonl', bytes) : rowsFrom('a.json', Buffer.concat([open, bytes, close]));
}

const open = Buffer.from('[');
const close = Buffer.from(']');

/** What is wrong with the first bad row, behind its line and column; or with the file. */
async function problemOf(file: SuiteFile): Promise<string> {
  try {
    const { rows } = await rowsOf(file);
    const row = rows.find(({ source }) => source.kind === 'text');
    if (row?.problem === undefined) return '';
    return `${row.line}${row.column === undefined ? '' : `:${row.column}`} ${row.problem}`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `${error.kind}: ${error.message}`;
  }
}

/** Whether it is about the whole row, so that there is no column to report. */
function isPlain(problem: string): boolean {
  return /^\d+ /.test(problem);
}

/** What is printed means the same, and every number in it has the digits that were read. */
function expectEqual(value: JsonValue, bytes: Buffer): void {
  const text = bytes.toString().replace(/^\ufeff/, '');
  const printed = printJson(value);
  expect(JSON.parse(printed)).toEqual(JSON.parse(text));
  // Compared as a set: a member that occurs twice with one value is reduced to one.
  expect(new Set(numbersIn(printed))).toEqual(new Set(numbersIn(text)));
}

function numbersIn(text: string): readonly string[] {
  return text.replace(/"(?:[^"\\]|\\.)*"/gs, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
}

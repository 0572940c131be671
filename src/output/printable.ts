/**
 * Text that cannot steer a terminal, hide in it, or forge a second line: everything that a service or a file
 * supplied passes here on its way to a person.
 */

/**
 * Characters that show nothing, or change the order in which others are shown: DEL and C1 controls, Unicode's
 * Default_Ignorable_Code_Point with its bidirectional controls and tags (UAX #44, DerivedCoreProperties.txt), line and
 * paragraph separators, interlinear annotations, lone surrogates. Written out, so that every Node says the same.
 *
 * Kept: ZWNJ and ZWJ, without which Persian and emoji fall apart; the two emoji variation selectors; and any other
 * variation selector where it has a letter to vary, as in Japanese names.
 */
const hidden = [
  '[\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f',
  '\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}',
  '\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]',
  '|(?<!\\p{L})[\\u180b-\\u180d\\u180f\\ufe00-\\ufe0d\\u{e0100}-\\u{e01ef}]',
].join('');

let hiddenPattern: RegExp | undefined;
let unprintablePattern: RegExp | undefined;

/** Matches every hidden character, of ASCII only DEL; made on first use. */
export function hiddenCharacters(): RegExp {
  hiddenPattern ??= new RegExp(hidden, 'gu');
  return hiddenPattern;
}

/**
 * The text on one line, for terminals, messages and cells: a newline is `⏎`, a tab `\t`, any other control
 * character `\x1b`, and any character that hides or reorders text `\u{202e}` (reliability, O01, O02, O04).
 *
 * Nothing else changes. A backslash is not doubled, so the text is for reading: it can't be turned back.
 */
export function printable(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  unprintablePattern ??= new RegExp(`\\r\\n|[\\0-\\x1f]|${hidden}`, 'gu');
  return text.replace(unprintablePattern, visibleForm);
}

function visibleForm(found: string): string {
  if (found === '\n' || found === '\r\n') return '⏎';
  if (found === '\t') return '\\t';
  const code = found.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  return code <= 0x9f ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}

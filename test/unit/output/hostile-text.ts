/** Texts that would steer a terminal, hide in it or forge a line (O01, O02, O04). */
export const hostileTexts = [
  ['an escape sequence', '\x1b[2J\x1b]0;owned\x07'],
  ['a C1 control sequence', '\x9b31m'],
  ['backspaces and a carriage return', 'ok\b\b\rno'],
  ['newlines', 'one\nrow 2 created: 7\r\n'],
  ['a bidirectional override', 'exe\u202egpj\u2066'],
  ['tags and a byte order mark', '\ufeff\u{e0061}\u{e007f}'],
] as const;

/** Matches what none of them may leave on one line of a screen without color. */
export const forbidden = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff\u{e0000}-\u{e007f}]/u;

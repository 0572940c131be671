/** Text for people: without control of the terminal, hidden characters or forged lines; cut to a width; counts and times. */

/**
 * Characters that are invisible or reorder others: DEL and C1 controls, Unicode's Default_Ignorable_Code_Point with its
 * bidirectional controls and tags (UAX #44, DerivedCoreProperties.txt), line and paragraph separators, interlinear
 * annotations, lone surrogates. Spelled out, so that every Node has the same.
 *
 * Excepted: ZWNJ and ZWJ, which Persian and emoji need; the two emoji variation selectors; and any other variation
 * selector after a letter, as in Japanese names.
 */
const hidden = [
  '[\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f',
  '\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}',
  '\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]',
  '|(?<!\\p{L})[\\u180b-\\u180d\\u180f\\ufe00-\\ufe0d\\u{e0100}-\\u{e01ef}]',
].join('');

let hiddenPattern: RegExp | undefined;
let unprintablePattern: RegExp | undefined;

/** Matches hidden characters; made on first use. */
export function hiddenCharacters(): RegExp {
  hiddenPattern ??= new RegExp(hidden, 'gu');
  return hiddenPattern;
}

/**
 * Makes text from a service or a file safe to print on one line: a newline becomes `⏎`, a tab `\t`, another control
 * character `\x1b`, a hidden one `\u{202e}`. Not reversible, since a backslash is not doubled.
 */
export function printable(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  unprintablePattern ??= new RegExp(`\\r\\n|[\\0-\\x1f]|${hidden}`, 'gu');
  return text.replace(unprintablePattern, visibleForm);
}

/** The lines of a text, each printable; a newline at its end adds none. */
export function printableLines(text: string): string[] {
  return text
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
    .map(printable);
}

function visibleForm(found: string): string {
  if (found === '\n' || found === '\r\n') return '⏎';
  if (found === '\t') return '\\t';
  const code = found.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  return code <= 0x9f ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}

let segmenter: Intl.Segmenter | undefined;

/** The grapheme clusters of a text (UAX #29). */
export function graphemesOf(text: string): Intl.Segments {
  // Made once, and late: loading a locale takes longer than drawing a table.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/**
 * Cuts text to a number of columns, between grapheme clusters (UAX #29), and appends `…`.
 *
 * @param widthOf the columns of a text; 1 for each ASCII character
 */
export function cutText(text: string, widthMax: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= widthMax) return text;
  if (/^[ -~]*$/.test(text)) return `${text.slice(0, widthMax - 1)}…`;
  let end = 0;
  let width = widthOf('…');
  for (const { segment } of graphemesOf(text)) {
    width += widthOf(segment);
    if (width > widthMax) break;
    end += segment.length;
  }
  return `${text.slice(0, end)}…`;
}

/** An upper bound of the columns of a printable text, without the library of tables; at least its length. */
export function widthAtMost(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  // Wide characters begin at U+1100, and those beyond U+FFFF have two units already; `…` is narrow, and so are bars.
  return text.length + (text.match(/[\u1100-\u1fff\u2070-\u24ff\u25a0-\ud7ff\ue000-\uffff]/g)?.length ?? 0);
}

/** Whether a printable text fits in a number of columns. */
export function isAtMost(text: string, widthMax: number): boolean {
  return text.length <= widthMax && widthAtMost(text) <= widthMax;
}

/** As `printable`, cut to a number of columns. */
export function oneLine(text: string, widthMax: number): string {
  return cutText(printable(text), widthMax, widthAtMost);
}

/** `12,000` */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 row`, `12,000 rows` */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** `812 rows/s`, `4.2 rows/s`, `1 row/s` */
export function rateText(perSecond: number, noun = 'row'): string {
  const tenths = Math.round(perSecond * 10);
  return `${tenths < 100 ? tenths / 10 : countText(Math.round(perSecond))} ${noun}${tenths === 10 ? '' : 's'}/s`;
}

/** `12.3 s` up to a minute, then as `roughTimeText`. */
export function timeText(ms: number): string {
  const tenths = Math.round(ms / 100);
  return tenths < 600 ? `${(tenths / 10).toFixed(1)} s` : roughTimeText(ms);
}

/** A time in its two largest units: `45 s`, `1 min 48 s`, `2 h 5 min`, `3 d 4 h`. */
export function roughTimeText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pairText(seconds, 60, 'min', 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return pairText(minutes, 60, 'h', 'min');
  return pairText(Math.round(minutes / 60), 24, 'd', 'h');
}

function pairText(amount: number, perLarge: number, large: string, small: string): string {
  const rest = amount % perLarge;
  const first = `${Math.floor(amount / perLarge)} ${large}`;
  return rest === 0 ? first : `${first} ${rest} ${small}`;
}

/** Finds the name that was probably meant; undefined if none is similar. */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // More than a third of it wrong is not a typo.
  let distanceMax = Math.max(1, Math.floor(typed.length / 3));
  for (const name of names) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance > distanceMax) continue;
    nearest = name;
    distanceMax = distance - 1;
  }
  return nearest;
}

/** The optimal string alignment distance: letters added, removed, changed or swapped with a neighbor. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let at = 1; at <= one.length; at += 1) {
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const isSame = one[at - 1] === other[to - 1];
      const isSwapped = one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      const before = (up: number, left: number) => (up === 0 ? row[to - left] : rows[at - up]?.[to - left]) ?? Infinity;
      row[to] = Math.min(
        before(1, 0) + 1,
        before(0, 1) + 1,
        before(1, 1) + (isSame ? 0 : 1),
        isSwapped ? before(2, 2) + 1 : Infinity,
      );
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? Infinity;
}

/**
 * The first names of a list: `a, b and 3 more`.
 *
 * @param count the number of names, if `names` has only the first of them
 */
export function listNames(names: readonly string[], max: number, count = names.length): string {
  const more = count - max;
  return `${names.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Quotes a text of a file in a message, and cuts it if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
export function shellWord(text: string): string {
  // `Title='Buy milk'`, as it is typed.
  const { key = '', value = text } = /^(?<key>[\w.-]+:?@?=)(?<value>.+)$/s.exec(text)?.groups ?? {};
  if (/^[\w.:/-][\w.:/=@,+%-]*$/.test(value)) return key + value;
  return key + (controls.test(value) ? ansiQuote(value) : shellQuote(value));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is quoted; \p{Cc} takes each start 0.2 ms.
const controls = /[\u0000-\u001f\u007f-\u009f]/;

/** Quotes a word with control characters on one line, as bash, zsh and ksh read it. */
function ansiQuote(text: string): string {
  const escaped = text.replace(/[\s\S]/g, (character) => {
    if (!controls.test(character) && character !== '\\' && character !== "'") return character;
    const short = shortEscapes[character];
    if (short !== undefined) return `\\${short}`;
    const hex = character.charCodeAt(0).toString(16);
    return character < '\u0080' ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
  return `$'${escaped}'`;
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\\': '\\', "'": "'" };

/** Quotes a word for a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

import { stripVTControlCharacters } from 'node:util';
import { graphemesOf, isAtMost, widthAtMost } from '../core/text.ts';

let latest: { readonly text: string; readonly segments: Intl.Segments } | undefined;

/** The clusters of the latest text are kept, since making them copies it. */
function graphemes(text: string): Intl.Segments {
  if (latest?.text !== text) latest = { text, segments: graphemesOf(text) };
  return latest.segments;
}

const isAscii = (text: string) => /^[ -~]*$/.test(text);

/** The last end with which the text from `start` fits. */
function endWithin(text: string, start: number, columns: number): number {
  // One character more, since it may be a mark on the last one.
  if (isAscii(text.slice(start, start + columns + 1))) return Math.min(start + columns, text.length);
  let end = start;
  for (let left = columns; end < text.length; ) {
    const { segment = '' } = graphemes(text).containing(end) ?? {};
    left -= widthAtMost(segment);
    if (left < 0) break;
    end += segment.length;
  }
  return end;
}

/** The first start with which the text up to `end` fits. */
function startWithin(text: string, end: number, columns: number): number {
  if (isAscii(text.slice(Math.max(0, end - columns - 1), end))) return Math.max(0, end - columns);
  let start = end;
  for (let left = columns; start > 0; ) {
    const { segment = '', index = 0 } = graphemes(text).containing(start - 1) ?? {};
    left -= widthAtMost(segment);
    if (left < 0) break;
    start = index;
  }
  return start;
}

/** Printable words that stay together on a line. */
export interface Part {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
  /** Follows the text without color. */
  readonly mark?: ',' | ';' | '.' | undefined;
}

/**
 * Wraps parts into lines; all but the first are indented.
 *
 * @param width columns of a line; a wider part is broken anywhere
 * @param indent blanks, fewer than half of the width
 */
export function wrap(parts: readonly Part[], width: number, indent: number): string[] {
  const lines: string[] = [];
  let line: Part[] = [];
  let used = 0;
  for (const part of parts.flatMap((each) => broken(each, width - indent))) {
    const partWidth = widthAtMost(part.text) + (part.mark?.length ?? 0);
    if (line.length > 0 && used + 1 + partWidth > width) {
      lines.push(`${' '.repeat(lines.length === 0 ? 0 : indent)}${painted(line)}`);
      line = [];
      used = indent;
    }
    used += line.length === 0 ? partWidth : 1 + partWidth;
    line.push(part);
  }
  return [...lines, `${' '.repeat(lines.length === 0 ? 0 : indent)}${painted(line)}`];
}

/** Wraps a printable text at blanks, and words that are wider than a line anywhere; it keeps further blanks. */
export function wrapText(text: string, width: number): string[] {
  if (isAtMost(text, width)) return [text];
  const lines: string[] = [];
  let start = 0;
  for (;;) {
    const end = endWithin(text, start, width);
    if (end >= text.length) return [...lines, text.slice(start)];
    const blank = text.lastIndexOf(' ', end);
    const stop = blank > start ? blank : stopWithin(text, start, end);
    lines.push(text.slice(start, stop));
    start = stop === blank ? stop + 1 : stop;
  }
}

/** Where to break a word: after a slash in the last half of the line, else at its end, after one character at least. */
function stopWithin(text: string, start: number, end: number): number {
  const afterSlash = text.lastIndexOf('/', end - 1) + 1;
  if (afterSlash > (start + end) / 2) return afterSlash;
  return Math.max(end, start + String.fromCodePoint(text.codePointAt(start) ?? 0).length);
}

/**
 * Wraps a line of a message, printable but for colors, and indents what follows by two more blanks. A command line, a
 * quoted text, and a flag with its value are not broken, for they are copied: they may be wider than the terminal.
 */
export function wrapMessage(line: string, width: number): string {
  const indent = `${/^ */.exec(line)?.[0] ?? ''}  `;
  const lines: string[] = [];
  let used = 0;
  for (const part of line.match(unbroken) ?? []) {
    const columns = widthAtMost(stripVTControlCharacters(part));
    const last = lines.at(-1);
    if (last === undefined || used + columns > width) {
      lines.push(last === undefined ? part : indent + part.trimStart());
      used = last === undefined ? columns : indent.length + columns - (part.length - part.trimStart().length);
    } else {
      lines[lines.length - 1] = last + part;
      used += columns;
    }
  }
  return lines.join('\n');
}

/** What stays on one line, with the blanks before it: a command line, a flag with its value, a word or quoted text. */
const word = /(?:"[^"]{0,60}"|\[[^\]]{0,60}\]|(?<=[\s=(])'[^']{0,60}'|[^\s"]|")+/.source;
const unbroken = new RegExp(
  ` *\\(?(?:\\blistctl [a-z](?:(?!, or )[^;])*[;,]?|--?[a-z][a-z-]* (?!-)${word}|${word})|\\s+$`,
  'g',
);

/** Splits a printable text into words; the mark follows the last one. */
export function splitWords(text: string, { paint, mark }: Omit<Part, 'text'> = {}): Part[] {
  const words = text.split(' ').filter((word) => word !== '');
  return words.map((word, at) => ({ text: word, paint, mark: at === words.length - 1 ? mark : undefined }));
}

/** Joins the parts of a line, with one escape sequence for parts of the same color. */
function painted(parts: readonly Part[]): string {
  const runs: Part[] = [];
  for (const part of parts) {
    const last = runs.at(-1);
    if (last === undefined || last.mark !== undefined || last.paint !== part.paint) runs.push(part);
    else runs[runs.length - 1] = { ...part, text: `${last.text} ${part.text}` };
  }
  return runs.map(({ text, paint, mark = '' }) => `${paint?.(text) ?? text}${mark}`).join(' ');
}

/** Splits a part that does not fit a line into words, and those into pieces. */
function broken(part: Part, widthMax: number): Part[] {
  if (widthAtMost(part.text) + (part.mark?.length ?? 0) <= widthMax) return [part];
  return splitWords(part.text, part).flatMap((word) => piecesOf(word, widthMax));
}

function piecesOf({ text, paint, mark }: Part, widthMax: number): Part[] {
  const room = widthMax - (mark?.length ?? 0);
  const pieces: Part[] = [];
  for (let start = 0; start < text.length; ) {
    // At least one character: with combining marks it may be wider than the line.
    const codePoint = String.fromCodePoint(text.codePointAt(start) ?? 0);
    const end = Math.max(endWithin(text, start, room), start + codePoint.length);
    pieces.push({ text: text.slice(start, end), paint, mark: end >= text.length ? mark : undefined });
    start = end;
  }
  return pieces;
}

/** Truncates a printable text in the middle: `abcdef … uvwxyz`. */
export function truncateMiddle(text: string, widthMax: number): string {
  return isAtMost(text, widthMax) ? text : cutToEnds(text, splitWidth(widthMax));
}

/**
 * Truncates two printable texts to at least 8 columns, so that both ends and the first difference are shown, in the
 * same column of both.
 */
export function truncateBoth(before: string, after: string, widthMax: number): readonly [string, string] {
  const isWhole = [isAtMost(before, widthMax), isAtMost(after, widthMax)];
  if (isWhole[0] && isWhole[1]) return [before, after];
  // Both are cut at the same place, so that they stay comparable.
  const cut = chooseCut(before, after, widthMax);
  return [isWhole[0] ? before : cut(before), isWhole[1] ? after : cut(after)];
}

function chooseCut(one: string, other: string, widthMax: number): (text: string) => string {
  const at = firstDifference(one, other);
  const shares = splitWidth(widthMax);
  const isInHead = (text: string) => text.length === at || endWithin(text, 0, shares.head) > at;
  if (isInHead(one) && isInHead(other)) return (text) => cutToEnds(text, shares);
  const start = Math.min(...[one, other].map((text) => graphemes(text).containing(at)?.index ?? text.length));
  const rests = [one.slice(start), other.slice(start)];
  // If one text ends at the difference, the column before shows its end.
  const room = shares.tail - (rests.includes('') ? 1 : 0);
  if (rests.every((rest) => isAtMost(rest, room))) {
    const from = startWithin(one, start, shares.tail - Math.max(...rests.map(widthAtMost)));
    return (text) => `${text.slice(0, endWithin(text, 0, shares.head))}${shares.joint}${text.slice(from)}`;
  }
  return cutToWindow(one, start, widthMax);
}

/** Shows the head, a window on the difference, and the tail. */
function cutToWindow(one: string, start: number, widthMax: number): (text: string) => string {
  const { joint } = splitWidth(widthMax);
  const room = widthMax - 2 * joint.length;
  const end = Math.floor(room / 4);
  const view = room - 2 * end;
  const from = startWithin(one, start, Math.floor(view / 3));
  // Up to here both texts are the same.
  if (from <= endWithin(one, 0, end)) {
    return (text) => cutToEnds(text, { joint, head: end + joint.length + view, tail: end });
  }
  return (text) => {
    const rest = text.slice(from);
    const tail = text.slice(startWithin(text, text.length, end));
    const isEnd = isAtMost(rest, view + joint.length + end);
    const seen = isEnd ? rest : `${text.slice(from, endWithin(text, from, view))}${joint}${tail}`;
    return `${text.slice(0, endWithin(text, 0, end))}${joint}${seen}`;
  };
}

/** The columns of the parts of a truncated text, and what joins them. */
function splitWidth(widthMax: number) {
  const joint = widthMax < 24 ? '…' : ' … ';
  const room = Math.max(0, widthMax - joint.length);
  return { joint, head: Math.ceil(room / 2), tail: Math.floor(room / 2) };
}

function cutToEnds(text: string, { joint, head, tail }: ReturnType<typeof splitWidth>): string {
  return `${text.slice(0, endWithin(text, 0, head))}${joint}${text.slice(startWithin(text, text.length, tail))}`;
}

function firstDifference(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

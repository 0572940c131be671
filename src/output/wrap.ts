import { isAtMost, widthAtMost } from '../core/text.ts';

let segmenter: Intl.Segmenter | undefined;
let latest: { readonly text: string; readonly segments: Intl.Segments } | undefined;

/** The grapheme clusters of a text (UAX #29): no text is cut inside one. Those of the latest text are kept, since making them copies it. */
function graphemes(text: string): Intl.Segments {
  // Loading a locale's data takes longer than drawing a plan.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  if (latest?.text !== text) latest = { text, segments: segmenter.segment(text) };
  return latest.segments;
}

const isAscii = (text: string) => /^[ -~]*$/.test(text);

/** Where to end at the latest, so that the text from `start` takes at most so many columns. */
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

/** Where to start at the earliest, so that the text up to `end` takes at most so many columns. */
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

/** Some words that stay together on a line, printable. */
export interface Part {
  readonly text: string;
  /** Applied last, to the text alone. */
  readonly paint?: ((text: string) => string) | undefined;
  /** What follows it, without color. */
  readonly mark?: ',' | ';' | '.' | undefined;
}

/**
 * Parts behind each other with a blank between, on as many lines as that takes; all but the first are indented.
 *
 * @param width columns of a line; a part that is wider is broken, wherever that is
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

/** The words of a printable text, each a part by itself; the mark follows the last one. */
export function splitWords(text: string, { paint, mark }: Omit<Part, 'text'> = {}): Part[] {
  const words = text.split(' ').filter((word) => word !== '');
  return words.map((word, at) => ({ text: word, paint, mark: at === words.length - 1 ? mark : undefined }));
}

/** The parts of a line, in as few stretches of color as that takes: a search for several words finds them. */
function painted(parts: readonly Part[]): string {
  const runs: Part[] = [];
  for (const part of parts) {
    const last = runs.at(-1);
    if (last === undefined || last.mark !== undefined || last.paint !== part.paint) runs.push(part);
    else runs[runs.length - 1] = { ...part, text: `${last.text} ${part.text}` };
  }
  return runs.map(({ text, paint, mark = '' }) => `${paint?.(text) ?? text}${mark}`).join(' ');
}

/** A part as ones that each fit a line: words, and where a word does not fit, pieces of it. */
function broken(part: Part, widthMax: number): Part[] {
  if (widthAtMost(part.text) + (part.mark?.length ?? 0) <= widthMax) return [part];
  return splitWords(part.text, part).flatMap((word) => piecesOf(word, widthMax));
}

function piecesOf({ text, paint, mark }: Part, widthMax: number): Part[] {
  // With room for the mark, wherever the last piece ends.
  const room = widthMax - (mark?.length ?? 0);
  const pieces: Part[] = [];
  for (let start = 0; start < text.length; ) {
    // Something at least: with enough marks on it a single character is wider than the line.
    const codePoint = String.fromCodePoint(text.codePointAt(start) ?? 0);
    const end = Math.max(endWithin(text, start, room), start + codePoint.length);
    pieces.push({ text: text.slice(start, end), paint, mark: end >= text.length ? mark : undefined });
    start = end;
  }
  return pieces;
}

/** From so many columns on there is room for blanks beside `…`. */
const wideJointMin = 24;

/** How many columns each part of a cut text gets. */
interface Shares {
  readonly joint: string;
  readonly head: number;
  readonly tail: number;
}

type Cut = (text: string) => string;

/** A printable text in at most so many columns, both ends kept: `abcdef … uvwxyz`. */
export function truncateMiddle(text: string, widthMax: number): string {
  return isAtMost(text, widthMax) ? text : cutToEnds(text, splitWidth(widthMax));
}

/**
 * Two printable texts, each in at most so many columns: with both ends, and with the first place where they differ,
 * which is in the same column of both.
 *
 * They come out equal only where what differs cannot be shown: a character of more columns than there are, or a text
 * that holds `…` itself just where the other one is cut.
 *
 * @param widthMax at least 8
 */
export function truncateBoth(before: string, after: string, widthMax: number): readonly [string, string] {
  const isWhole = [isAtMost(before, widthMax), isAtMost(after, widthMax)];
  if (isWhole[0] && isWhole[1]) return [before, after];
  // The same cut for both: else the same text from another place could hide that there is more of it.
  const cut = chooseCut(before, after, widthMax);
  return [isWhole[0] ? before : cut(before), isWhole[1] ? after : cut(after)];
}

function chooseCut(one: string, other: string, widthMax: number): Cut {
  const at = firstDifference(one, other);
  const shares = splitWidth(widthMax);
  const isInHead = (text: string) => text.length === at || endWithin(text, 0, shares.head) > at;
  if (isInHead(one) && isInHead(other)) return (text) => cutToEnds(text, shares);
  const start = Math.min(...[one, other].map((text) => graphemes(text).containing(at)?.index ?? text.length));
  const rests = [one.slice(start), other.slice(start)];
  // Where one text ends at the difference, its end is what comes before, and needs a column.
  const room = shares.tail - (rests.includes('') ? 1 : 0);
  if (rests.every((rest) => isAtMost(rest, room))) {
    const from = startWithin(one, start, shares.tail - Math.max(...rests.map(widthAtMost)));
    return (text) => `${text.slice(0, endWithin(text, 0, shares.head))}${shares.joint}${text.slice(from)}`;
  }
  return cutToWindow(one, start, widthMax);
}

/** Head, a window on the difference, and tail. */
function cutToWindow(one: string, start: number, widthMax: number): Cut {
  const { joint } = splitWidth(widthMax);
  const room = widthMax - 2 * joint.length;
  const end = Math.floor(room / 4);
  const view = room - 2 * end;
  const from = startWithin(one, start, Math.floor(view / 3));
  // Up to here both are the same, so that this is true of both.
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

function splitWidth(widthMax: number): Shares {
  const joint = widthMax < wideJointMin ? '…' : ' … ';
  const room = Math.max(0, widthMax - joint.length);
  return { joint, head: Math.ceil(room / 2), tail: Math.floor(room / 2) };
}

function cutToEnds(text: string, { joint, head, tail }: Shares): string {
  return `${text.slice(0, endWithin(text, 0, head))}${joint}${text.slice(startWithin(text, text.length, tail))}`;
}

/** The first UTF-16 unit that is not the same, or the length of the shorter one. */
function firstDifference(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

import { isAtMost, widthAtMost } from '../core/text.ts';

/** A printable text, and where it may be cut: never inside what reads as one character (UAX #29). */
export interface Ruler {
  readonly text: string;
  /** Where the character begins that holds the UTF-16 unit at an index; the text's length behind its end. */
  startAt(index: number): number;
  /** Where to end at the latest, so that from `start` on it is so many columns. */
  endWithin(start: number, columns: number): number;
  /** Where to start at the earliest, so that up to `end` it is so many columns. */
  startWithin(end: number, columns: number): number;
}

let segmenter: Intl.Segmenter | undefined;

/** Makes a ruler. What it does takes as long as the columns are many, however long the text. */
function rulerOf(text: string): Ruler {
  return /^[ -~]*$/.test(text) ? unitRuler(text) : graphemeRuler(text);
}

function unitRuler(text: string): Ruler {
  return {
    text,
    startAt: (index) => Math.min(index, text.length),
    endWithin: (start, columns) => Math.min(start + columns, text.length),
    startWithin: (end, columns) => Math.max(0, end - columns),
  };
}

function graphemeRuler(text: string): Ruler {
  // Loading a locale's data takes longer than drawing a plan.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const segments = segmenter.segment(text);
  return {
    text,
    startAt: (index) => segments.containing(index)?.index ?? text.length,
    endWithin: (start, columns) => {
      let end = start;
      for (let left = columns; end < text.length; ) {
        const { segment = '' } = segments.containing(end) ?? {};
        left -= widthAtMost(segment);
        if (left < 0) break;
        end += segment.length;
      }
      return end;
    },
    startWithin: (end, columns) => {
      let start = end;
      for (let left = columns; start > 0; ) {
        const { segment = '', index = 0 } = segments.containing(start - 1) ?? {};
        left -= widthAtMost(segment);
        if (left < 0) break;
        start = index;
      }
      return start;
    },
  };
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
  const ruler = rulerOf(text);
  // With room for the mark, wherever the last piece ends.
  const room = widthMax - (mark?.length ?? 0);
  const pieces: Part[] = [];
  for (let start = 0; start < text.length; ) {
    // Something at least: with enough marks on it a single character is wider than the line.
    const codePoint = String.fromCodePoint(text.codePointAt(start) ?? 0);
    const end = Math.max(ruler.endWithin(start, room), start + codePoint.length);
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

/** A printable text in at most so many columns, both ends kept: `abcdef … uvwxyz`. */
export function truncateMiddle(text: string, widthMax: number): string {
  return isAtMost(text, widthMax) ? text : cutToEnds(rulerOf(text), halvesOf(widthMax));
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
  const [one, other] = [rulerOf(before), rulerOf(after)];
  // One way to cut for both: else the same text from another place could hide that there is more of it.
  const cut = wayToCut(one, other, widthMax);
  return [isWhole[0] ? before : cut(one), isWhole[1] ? after : cut(other)];
}

function wayToCut(one: Ruler, other: Ruler, widthMax: number): (ruler: Ruler) => string {
  const at = firstDifference(one.text, other.text);
  const halves = halvesOf(widthMax);
  const isInHead = (ruler: Ruler) => ruler.text.length === at || ruler.endWithin(0, halves.head) > at;
  if (isInHead(one) && isInHead(other)) return (ruler) => cutToEnds(ruler, halves);
  const start = Math.min(one.startAt(at), other.startAt(at));
  const rests = [one.text.slice(start), other.text.slice(start)];
  // Where one text ends at the difference, what stands before it is its end, and needs a column.
  const room = halves.tail - (rests.includes('') ? 1 : 0);
  if (rests.every((rest) => isAtMost(rest, room))) {
    const from = one.startWithin(start, halves.tail - Math.max(...rests.map(widthAtMost)));
    return (ruler) => `${headOf(ruler, halves.head)}${halves.joint}${ruler.text.slice(from)}`;
  }
  return wayToWindow(one, start, widthMax);
}

/** Head, a window on the difference, and tail. */
function wayToWindow(one: Ruler, start: number, widthMax: number): (ruler: Ruler) => string {
  const { joint } = halvesOf(widthMax);
  const room = widthMax - 2 * joint.length;
  const end = Math.floor(room / 4);
  const view = room - 2 * end;
  const from = one.startWithin(start, Math.floor(view / 3));
  // Up to here both are the same, so that this is true of both.
  const isBesideHead = from <= one.endWithin(0, end);
  return (ruler) => {
    if (isBesideHead) return cutToEnds(ruler, { joint, head: end + joint.length + view, tail: end });
    const rest = ruler.text.slice(from);
    const seen = isAtMost(rest, view + joint.length + end)
      ? rest
      : `${ruler.text.slice(from, ruler.endWithin(from, view))}${joint}${tailOf(ruler, end)}`;
    return `${headOf(ruler, end)}${joint}${seen}`;
  };
}

function halvesOf(widthMax: number): Shares {
  const joint = widthMax < wideJointMin ? '…' : ' … ';
  const room = Math.max(0, widthMax - joint.length);
  return { joint, head: Math.ceil(room / 2), tail: Math.floor(room / 2) };
}

function cutToEnds(ruler: Ruler, { joint, head, tail }: Shares): string {
  return `${headOf(ruler, head)}${joint}${tailOf(ruler, tail)}`;
}

function headOf(ruler: Ruler, columns: number): string {
  return ruler.text.slice(0, ruler.endWithin(0, columns));
}

function tailOf(ruler: Ruler, columns: number): string {
  return ruler.text.slice(ruler.startWithin(ruler.text.length, columns));
}

/** The first UTF-16 unit that is not the same, or the length of the shorter one. */
function firstDifference(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

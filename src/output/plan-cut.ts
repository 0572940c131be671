/** Long values of a plan, cut in the middle: what tells them apart is as often at the end as at the start. */
import { type Ruler, rulerOf } from './plan-ruler.ts';
import { isAtMost, widthAtMost } from './width-at-most.ts';

/** From so many columns on there is room for blanks beside `…`. */
const wideJointMin = 24;

/** How many columns each part of a cut text gets. */
interface Shares {
  readonly joint: string;
  readonly head: number;
  readonly tail: number;
}

/** A printable text in at most so many columns, both ends kept: `abcdef … uvwxyz`. */
export function cutMiddle(text: string, widthMax: number): string {
  return isAtMost(text, widthMax) ? text : cutToEnds(rulerOf(text), halvesOf(widthMax));
}

/**
 * Two printable texts, each in at most so many columns: with both ends, and with the first place where they differ,
 * which is in the same column of both.
 *
 * They come out equal only where what differs can't be shown: a character of more columns than there are, or a text
 * that holds `…` itself just where the other one is cut.
 *
 * @param widthMax at least 8
 */
export function cutBoth(before: string, after: string, widthMax: number): readonly [string, string] {
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

import { rulerOf } from './plan-ruler.ts';
import { widthAtMost } from './width-at-most.ts';

/** Some words that stay together on a line, printable. */
export interface Part {
  readonly text: string;
  /** Applied last, to the text alone. */
  readonly paint?: ((text: string) => string) | undefined;
  /** What follows it, without colour. */
  readonly mark?: ',' | ';' | '.' | undefined;
}

/**
 * Parts behind each other with a blank between, on as many lines as that takes; all but the first are indented.
 *
 * @param width columns of a line; a part that is wider is broken, wherever that is
 * @param indent blanks, fewer than half of the width
 */
export function flowLines(parts: readonly Part[], width: number, indent: number): string[] {
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
export function wordsOf(text: string, { paint, mark }: Omit<Part, 'text'> = {}): Part[] {
  const words = text.split(' ').filter((word) => word !== '');
  return words.map((word, at) => ({ text: word, paint, mark: at === words.length - 1 ? mark : undefined }));
}

/** The parts of a line, in as few stretches of colour as that takes: a search for several words finds them. */
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
  return wordsOf(part.text, part).flatMap((word) => piecesOf(word, widthMax));
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

/** Texts of one line each: LF ends a line, alone or behind a CR; nothing else does, U+2028 neither. */
import { keptOf, rowLengthMax } from './row-length.ts';

/** A line, or an element of an array: the text of one row. */
export interface TextPart {
  /** The line of the file in which it begins, and the character in that, from 1. */
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** Then the text is only its beginning. */
  readonly isTooLong: boolean;
  /** What is wrong with what surrounds it. */
  readonly problem?: string | undefined;
}

/** Every line, blank ones too, without its end. */
export async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<readonly TextPart[]> {
  let line = 1;
  let begun = '';
  let isTooLong = false;
  const add = (text: string) => {
    if (!isTooLong) begun += text;
    if (begun.length <= rowLengthMax) return;
    begun = keptOf(begun);
    isTooLong = true;
  };
  const take = (): TextPart => {
    const taken = { line, column: 1, text: begun.endsWith('\r') ? begun.slice(0, -1) : begun, isTooLong };
    line += 1;
    begun = '';
    isTooLong = false;
    return taken;
  };
  for await (const part of text) {
    const lines: TextPart[] = [];
    let start = 0;
    for (let end = part.indexOf('\n'); end !== -1; end = part.indexOf('\n', start)) {
      add(part.slice(start, end));
      lines.push(take());
      start = end + 1;
    }
    add(part.slice(start));
    if (lines.length > 0) yield lines;
  }
  if (begun !== '') yield [take()];
}

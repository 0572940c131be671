/** The elements of one JSON array, as texts: so a file of them is never in memory as a whole. */
import { Failure } from '../errors.ts';
import type { TextPart } from './lines.ts';
import { keptOf, rowLengthMax } from './row-length.ts';

/**
 * Splits the outermost array. What is wrong inside an element is found by who parses it, and spoils no other one.
 *
 * @param name of the input, for the message
 * @throws {Failure} usage, when the text does not begin with an array
 */
export async function* elementsOf(text: AsyncIterable<string>, name: string): AsyncGenerator<readonly TextPart[]> {
  const splitter = new ArraySplitter(name);
  for await (const part of text) {
    const elements = splitter.split(part);
    if (elements.length > 0) yield elements;
  }
  const last = splitter.end();
  if (last.length > 0) yield last;
}

/** A splitter of one array, to which its text is given part by part. */
class ArraySplitter {
  readonly #name: string;
  #where: 'before' | 'inside' | 'behind' = 'before';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #line = 1;
  #column = 1;
  /** The element that has begun, from its first character on that is no blank; undefined before that. */
  #begun: { text: string; isTooLong: boolean; readonly line: number; readonly column: number } | undefined;
  /** Where in the current part its text goes on. */
  #from = 0;
  /** Whether an element must follow: there was a comma. */
  #isAwaited = false;
  #elements: TextPart[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  split(part: string): readonly TextPart[] {
    this.#elements = [];
    this.#from = 0;
    for (let at = 0; at < part.length; at += 1) {
      const code = part.charCodeAt(at);
      this.#take(part, at, code);
      this.#column += 1;
      if (code !== 0x0a) continue;
      this.#line += 1;
      this.#column = 1;
    }
    if (this.#begun !== undefined) this.#keep(part.slice(this.#from));
    return this.#elements;
  }

  end(): readonly TextPart[] {
    this.#elements = [];
    if (this.#where === 'before') {
      throw new Failure('usage', `cannot read ${this.#name}: it has no JSON array`, { hint: 'nothing was sent' });
    }
    if (this.#where === 'inside') {
      // Who parses an element that is itself cut short finds the place.
      const isCut = this.#depth > 0 || this.#isInString;
      this.#begun ??= this.#here();
      this.#finish(isCut ? undefined : 'the array is not closed: the file ends before its ]');
    } else if (this.#begun !== undefined) {
      this.#finish('something stands behind the array (JSON in lines of its own is jsonl)');
    }
    return this.#elements;
  }

  #take(part: string, at: number, code: number): void {
    if (this.#where === 'inside') this.#inside(part, at, code);
    else if (isBlank(code)) return;
    else if (this.#where === 'behind') this.#begin(at);
    else this.#open(code);
  }

  #open(code: number): void {
    if (code !== 0x5b) throw noArray(this.#name, code);
    this.#where = 'inside';
  }

  #inside(part: string, at: number, code: number): void {
    if (this.#isInString) {
      this.#inString(code);
      return;
    }
    if (this.#depth === 0 && (code === 0x2c || code === 0x5d)) {
      this.#separate(part, at, code);
      return;
    }
    if (isBlank(code)) return;
    this.#begin(at);
    if (code === 0x22) this.#isInString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if ((code === 0x7d || code === 0x5d) && this.#depth > 0) this.#depth -= 1;
  }

  #inString(code: number): void {
    // No JSON string goes over a line's end: one that is not closed spoils no more than its line.
    if (code === 0x0a) this.#isInString = false;
    else if (this.#isEscaped) this.#isEscaped = false;
    else if (code === 0x5c) this.#isEscaped = true;
    else if (code === 0x22) this.#isInString = false;
  }

  /** A comma between two elements, or the end of the array. */
  #separate(part: string, at: number, code: number): void {
    const isComma = code === 0x2c;
    if (this.#begun !== undefined) {
      this.#keep(part.slice(this.#from, at));
      this.#finish(undefined);
    } else if (isComma || this.#isAwaited) {
      this.#begun = this.#here();
      this.#finish('an element is missing beside a comma');
    }
    this.#isAwaited = isComma;
    if (!isComma) this.#where = 'behind';
  }

  #begin(at: number): void {
    if (this.#begun !== undefined) return;
    this.#begun = this.#here();
    this.#from = at;
  }

  #here() {
    return { text: '', isTooLong: false, line: this.#line, column: this.#column };
  }

  #keep(text: string): void {
    const begun = this.#begun;
    this.#from = 0;
    if (begun === undefined || begun.isTooLong) return;
    begun.text += text;
    if (begun.text.length <= rowLengthMax) return;
    begun.text = keptOf(begun.text);
    begun.isTooLong = true;
  }

  #finish(problem: string | undefined): void {
    if (this.#begun !== undefined) this.#elements.push({ ...this.#begun, problem });
    this.#begun = undefined;
    this.#isEscaped = false;
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function noArray(name: string, code: number): Failure {
  const hint =
    code === 0x7b
      ? 'one object: pass it with --fields; an object a line: --input-format jsonl'
      : 'rows are objects between [ and ]; nothing was sent';
  return new Failure('usage', `${name} is no JSON array: it begins with ${JSON.stringify(String.fromCharCode(code))}`, {
    hint,
  });
}

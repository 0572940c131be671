/** Reads a JMESPath expression: what is wrong with it, and where; and literals with the digits they were written with. */
import { Failure } from '../errors.ts';
import { type JsonValue, parseJson } from '../json.ts';
import { type Node, parseExpression, tokensOf } from './jmespath.ts';

/** An expression, and the values of its literals, which it names by `literalIndex`. */
export interface Expression {
  readonly tree: Node;
  readonly literals: readonly JsonValue[];
}

/**
 * Reads an expression.
 *
 * @throws {Failure} usage, when it is none, naming the place
 */
export function readExpression(text: string): Expression {
  const literals: JsonValue[] = [];
  let copy = '';
  for (let at = 0; at < text.length; ) {
    const next = wordAfter(text, at);
    if (text[at] === '`') {
      copy += `\`"\\u0000${literals.length}"\``;
      literals.push(literalOf(text, at, next - 1));
    } else {
      copy += text.slice(at, next);
    }
    at = next;
  }
  attempt(text);
  const tree = parseExpression(copy);
  if (isDeeper(tree, depthMax)) throw expressionFailure('it nests too deep', text, undefined);
  return { tree, literals };
}

/** Far from where rewriting or evaluating it would overflow the stack; `a.b.c` nests as `((a).b).c`. */
const depthMax = 1_000;

/** Level by level, since recursion is what a deep tree breaks. */
function isDeeper(tree: Node, levels: number): boolean {
  let level: readonly unknown[] = [tree];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? Object.values(node) : []));
  }
  return false;
}

/** Which of the expression's literals a node stands for; undefined for text, which stands for itself. */
export function literalIndex({ value }: Node): number | undefined {
  // No argument of a process holds a NUL, so no text in quotes begins with one.
  return typeof value === 'string' && value.startsWith('\0') ? Number(value.slice(1)) : undefined;
}

/** What is wrong with an expression, and where: `at` in UTF-16 units, undefined for its end. */
export function expressionFailure(reason: string, text: string, at: number | undefined): Failure {
  // A reader counts characters, from 1.
  const place = at === undefined ? 'at its end' : `at character ${[...text.slice(0, at)].length + 1}`;
  return new Failure('usage', `--query is no JMESPath expression: ${reason}, ${place}`, {
    hint: "a number stands between backticks, a text between single quotes: [?Count > `5` && Status == 'Done']",
  });
}

function attempt(text: string): void {
  const reason = reasonAgainst(text);
  if (reason === undefined) return;
  const said = reason.replace(/^syntax(?: error)?[:,]? */i, '');
  if (/EOF|end of JSON/.test(reason)) throw expressionFailure('it is incomplete', text, undefined);
  throw expressionFailure(said, text, placeOf(reason, text));
}

function reasonAgainst(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    return error instanceof RangeError ? 'it nests too deep' : (error as Error).message;
  }
}

/** The library tells no place. It reads from left to right, so the word that is wrong ends where it first complains. */
function placeOf(reason: string, text: string): number | undefined {
  const end = Array.from({ length: Math.min(text.length, 1_000) }, (_, at) => at + 1).find(
    (length) => reasonAgainst(text.slice(0, length)) === reason,
  );
  if (end === undefined) return undefined;
  try {
    return tokensOf(text.slice(0, end)).at(-1)?.start;
  } catch {
    return end - 1;
  }
}

/** Where what begins at `start` ends: a text in quotes with its closing one, which the library does not insist on. */
function wordAfter(text: string, start: number): number {
  const quote = text[start];
  if (quote !== '`' && quote !== "'" && quote !== '"') return start + 1;
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at + 1;
    if (text[at] === '\\' && (text[at + 1] === '\\' || text[at + 1] === quote)) at += 1;
  }
  throw expressionFailure(`the ${quote} is never closed`, text, start);
}

function literalOf(text: string, start: number, close: number): JsonValue {
  const content = text.slice(start + 1, close).replaceAll('\\`', '`');
  try {
    return parseJson(content);
  } catch {
    // What begins like JSON was meant to be JSON; anything else is text, as in az and aws.
    if (/^\s*(?:[[{]|$)|["\\]/.test(content)) throw expressionFailure('a literal is not JSON', text, start);
    return content.trimStart();
  }
}

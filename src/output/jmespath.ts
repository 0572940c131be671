/** The door to @jmespath-community/jmespath: only --query comes through it. */
import { compile, registerFunction, TreeInterpreter, TYPE_ANY, tokenize } from '@jmespath-community/jmespath';
import type { QueryValue } from './query-value.ts';

/** An expression that was read. Its other members are nodes too, by names that depend on the type. */
export interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A word of an expression. */
export interface Token {
  readonly type: string;
  readonly value: unknown;
  /** Where it begins, in UTF-16 units. */
  readonly start: number;
}

// `foo` between backticks is text, as az and aws take it.
const options = { enable_legacy_literals: true };

/** @throws {Error} when the text is no expression */
export function parseExpression(text: string): Node {
  return compile(text, options) as unknown as Node;
}

/** @throws {Error} at a character that begins no word */
export function tokensOf(text: string): readonly Token[] {
  return tokenize(text, options);
}

/** @throws {Error} when the values are not what the expression needs */
export function evaluate(node: Node, value: QueryValue): QueryValue {
  type Search = typeof TreeInterpreter.search;
  return TreeInterpreter.search(node as unknown as Parameters<Search>[0], value as Parameters<Search>[1]) as QueryValue;
}

/** Evaluates a part of the expression that is being evaluated: `$` is still the whole value. */
export function evaluatePart(node: Node, value: QueryValue): QueryValue {
  type Visit = typeof TreeInterpreter.visit;
  return TreeInterpreter.visit(node as unknown as Parameters<Visit>[0], value as Parameters<Visit>[1]) as QueryValue;
}

/** How many arguments one of the library's functions takes; undefined where it has none of that name. */
export function argumentCounts(name: string): { readonly least: number; readonly most: number } | undefined {
  const functions = TreeInterpreter.runtime._functionTable;
  const takes = Object.hasOwn(functions, name) ? functions[name]?._signature : undefined;
  if (takes === undefined) return undefined;
  return {
    least: takes.filter(({ optional }) => optional !== true).length,
    most: takes.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : takes.length,
  };
}

/** Makes a function known, by a name that no expression can spell. It checks its arguments itself. */
export function defineFunction(name: string, act: (values: QueryValue[]) => QueryValue): void {
  type Define = typeof registerFunction;
  const takesAnything = [{ types: [TYPE_ANY], variadic: true, optional: true }];
  registerFunction(name, act as unknown as Parameters<Define>[1], takesAnything, { override: true });
}

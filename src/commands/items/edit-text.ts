/** An item's fields as a text to be edited, and what an edited text says. */
import type { Fields } from '../../item.ts';
import { isObject, type JsonValue, objectFrom } from '../../json.ts';
import type { FieldChange } from '../../output/plan-diff.ts';
import { printable } from '../../output/printable.ts';
import { yamlDocument } from '../../output/yaml-text.ts';
import { isSameField, ownField } from '../../seed/same-value.ts';
import { parseYaml, YamlSyntaxError } from '../../yaml.ts';

/** Thrown where an edited text can't be read: what is wrong, and in which of its lines, from 1. */
export class UnreadableEdit extends Error {
  override readonly name = 'UnreadableEdit';
  readonly line: number | undefined;

  constructor(reason: string, line?: number) {
    super(reason);
    this.line = line;
  }
}

/** The fields as YAML, numbers with the digits they came with. */
export function fieldsText(fields: Fields): string {
  return yamlDocument(fields);
}

/** A text with sentences above it as comments: whatever they quote, each is one line. */
export function withComments(sentences: readonly string[], body: string): string {
  return `${sentences.map((sentence) => `# ${printable(sentence)}`.trimEnd()).join('\n')}\n\n${body}`;
}

/** The text without the comments and blank lines that it begins with, and how many lines those are. */
export function withoutComments(text: string): { readonly body: string; readonly lineCount: number } {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const first = lines.findIndex((line) => !/^\s*(#|$)/.test(line));
  const lineCount = first === -1 ? lines.length : first;
  return { body: lines.slice(lineCount).join('\n'), lineCount };
}

/**
 * Reads an edited text; undefined where it says nothing at all, which means that the edit was given up.
 *
 * @throws {UnreadableEdit} where it is no YAML, or no fields with their values
 */
export function readFieldsText(text: string): Fields | undefined {
  if (withoutComments(text).body === '') return undefined;
  let value: JsonValue;
  try {
    value = parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw new UnreadableEdit(error.reason, error.place.line);
  }
  if (!isObject(value))
    throw new UnreadableEdit('it must be names and values, a line such as Title: Buy milk for each');
  return value;
}

/** What makes the fields before into those after; a field that is gone is cleared, which is null. */
export function changesBetween(before: Fields, after: Fields): readonly FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .map((field) => ({ field, before: ownField(before, field), after: ownField(after, field) ?? null }))
    .filter((change) => !isSameField(change.before, change.after));
}

/** What a PATCH sets. */
export function fieldsOf(changes: readonly FieldChange[]): Fields {
  return objectFrom(changes.map(({ field, after = null }) => [field, after]));
}

/** The fields with the changes made. */
export function changed(fields: Fields, changes: readonly FieldChange[]): Fields {
  const members = new Map(Object.entries(fields));
  for (const { field, after = null } of changes) {
    if (after === null) members.delete(field);
    else members.set(field, after);
  }
  return objectFrom(members);
}

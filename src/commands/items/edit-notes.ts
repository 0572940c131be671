/** What stands above a text that is edited, a sentence for each comment. */
import type { ItemRef } from '../../item.ts';
import type { FieldChange } from '../../output/plan-diff.ts';
import { nameText, valueText } from '../../output/plan-value.ts';

/** How many fields are named, and how much is quoted. */
const limits = { fields: 20, value: 100, reason: 500 } as const;

/** Which item it is, and how to leave. */
export function lessonOf({ id, list, site }: ItemRef, address: string): readonly string[] {
  return [
    `The fields of item "${id}" of list "${list}" of site "${site}" at ${address}, as YAML.`,
    'Save and leave the editor: what changed is shown, and sent once you say yes. A field that you remove is cleared.',
    'To leave without a change, empty the file or leave it as it is.',
  ];
}

/** Why it was not sent. */
export function notSent(reason: string): string {
  return `Not sent: ${cut(reason, limits.reason)}`;
}

/**
 * Why it was not sent, where somebody else was quicker, and what they changed.
 *
 * @param own what was edited here
 */
export function conflictNotes(
  reason: string,
  theirs: readonly FieldChange[],
  own: readonly FieldChange[],
): readonly string[] {
  const ownFields = new Set(own.map(({ field }) => field));
  const elsewhere = theirs.filter(({ field }) => !ownFields.has(field));
  const both = theirs.filter(({ field }) => ownFields.has(field)).slice(0, limits.fields);
  return [
    notSent(reason),
    'Below is the item as it is now, with your changes. Save it as it is to send them.',
    ...(elsewhere.length > 0 ? [`Changed by somebody else, and left so: ${namesOf(elsewhere)}`] : []),
    ...both.map(({ field, after = null }) => {
      const there = cut(valueText(after), limits.value);
      return `Changed by somebody else, and by you: ${cut(nameText(field), limits.value)}, there ${there}`;
    }),
  ];
}

function namesOf(changes: readonly FieldChange[]): string {
  const names = changes.slice(0, limits.fields).map(({ field }) => cut(nameText(field), limits.value));
  const more = changes.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

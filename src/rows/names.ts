/** The names of columns and members. */
import { Failure } from '../errors.ts';
import { nearestName } from '../nearest-name.ts';
import { quoted } from './raw-row.ts';
import type { RowsOptions } from './rows-options.ts';

/** Ours, in a rejects file: ignored on the way in. */
export const isOurs = (name: string): boolean => name.startsWith('listctl:');

/** The names that options ask for, each with the option that does. */
export function askedNames({ only, rename, types }: RowsOptions): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  // A type may go by the new name of a column, too.
  const fields = new Set(rename.values());
  for (const name of types.keys()) if (name !== '*' && !fields.has(name)) asked.set(name, '--type');
  for (const name of rename.keys()) asked.set(name, '--rename');
  for (const name of only ?? []) asked.set(name, '--only');
  return asked;
}

/**
 * The failure for a name that is not there.
 *
 * @param what it would be: `column`, `member`
 */
export function unknownName(option: string, what: string, name: string, names: readonly string[]): Failure {
  const nearest = nearestName(name, names);
  const shown = names
    .slice(0, 10)
    .map((each) => (each.length > 100 ? `${each.slice(0, 100)}…` : each))
    .join(', ');
  const known = names.length > 10 ? `${shown}, … (${names.length})` : shown;
  return new Failure('usage', `${option} ${name}: there is no ${what} ${quoted(name)}`, {
    hint: nearest === undefined ? `the ${what}s are: ${known}` : `did you mean ${quoted(nearest)}?`,
  });
}

/** The failure for two columns that would be sent as one field. */
export function sameField(one: string, other: string, field: string): Failure {
  return new Failure('usage', `${quoted(one)} and ${quoted(other)} would both be the field ${quoted(field)}`, {
    hint: 'give one of them another name with --rename, or leave it out with --only',
  });
}

/** @throws {Failure} usage, when two names are renamed to the same */
export function checkRename(rename: ReadonlyMap<string, string>): void {
  const taken = new Map<string, string>();
  for (const [name, field] of rename) {
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
  }
}

/** What is said once of ids that a create leaves out. */
export function idsNotSent(idColumn: string): string {
  return `the service assigns ids: ${quoted(idColumn)} is not sent; --rename ${idColumn}=Name sends it under another name`;
}

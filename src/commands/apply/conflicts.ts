/** What is said of an item that is not the one that the state knows by its id. */
import { Failure } from '../../errors.ts';
import { shellWord } from '../../output/curl-line.ts';
import { jsonText } from '../../output/json-text.ts';
import type { Conflict } from '../../seed/plan.ts';
import type { NamedSeed } from './seed-file.ts';

/** The failure of one key: the id, what stands in the key field, and what was expected. */
export function conflictFailure(conflict: Conflict, named: NamedSeed): Failure {
  const message = `${conflictText(conflict, named)}: nothing was sent for it`;
  return new Failure('conflict', message, { outcome: 'not-sent', hint: hintFor(conflict, named) });
}

/** What a run ends in that did all else. */
export function conflictEnding(first: Conflict, count: number, named: NamedSeed): Failure {
  const more = count === 1 ? '' : `, and ${count - 1} more`;
  const message = `cannot ${first.action} "${first.key}"${more}: ${conflictText(first, named)}`;
  return new Failure('conflict', message, { outcome: 'not-sent', hint: hintFor(first, named) });
}

/** The sentence: `item "1" is another one now: its Title is "payroll", not "A"`. */
function conflictText({ key, id, found }: Conflict, { seed }: Pick<NamedSeed, 'seed'>): string {
  const other = found === undefined || found === null ? 'no value' : jsonText(found);
  return `item "${id}" is another one now: its ${seed.key} is ${other}, not ${jsonText(key)}`;
}

function hintFor({ key, id }: Conflict, { words }: NamedSeed): string {
  // What begins with a dash would be read as a flag.
  const args = key.startsWith('-') ? `${words} --` : words;
  const importing = `listctl state import ${args} ${shellWord(`${key}=${id}`)}`;
  return `let go of it: listctl state forget ${args} ${shellWord(key)}\nor, where it is the same item: ${importing}`;
}

import { Failure } from '../../errors.ts';
import { nearestName } from '../../nearest-name.ts';

/**
 * The failure for a word behind `help` that is none of these.
 *
 * @param topics empty where only a command may stand
 */
export function unknownWord(word: string, commands: readonly string[], topics: readonly string[]): Failure {
  const kind = topics.length === 0 ? 'command' : 'command or topic';
  const meant = nearestName(word, [...commands, ...topics]);
  return new Failure('usage', `unknown ${kind} '${word.slice(0, 100)}'`, {
    hint: meant === undefined ? 'listctl --help shows the commands and the topics' : `Did you mean ${meant}?`,
  });
}

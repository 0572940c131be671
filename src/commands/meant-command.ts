/** The command that was probably meant by a word that is none. To be loaded late: it declares every command. */
import type { Command } from 'commander';
import { nearestName } from '../nearest-name.ts';
import { declare } from './command.ts';

/** Words that people bring along from other programs, and ours, the likelier first. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'set'],
  new: ['create', 'set'],
  create: ['set'],
  show: ['get'],
  view: ['get', 'show'],
  read: ['get'],
  get: ['show'],
  set: ['update'],
  patch: ['update'],
  change: ['update'],
  rm: ['delete', 'remove'],
  del: ['delete', 'remove'],
  delete: ['remove'],
  remove: ['delete'],
};

/**
 * What stands in the place of a word that is no command of a group: the word's own place in another group, what we call
 * it here, or the name that it is a slip of. Undefined where nothing is near.
 */
export async function meantCommand(word: string, group: Command): Promise<string | undefined> {
  const here = named(word, group);
  if (here !== undefined) return here;
  if (group.parent === null) {
    for (const below of group.commands) {
      await declare(below);
      const found = named(word, below);
      if (found !== undefined) return `${below.name()} ${found}`;
    }
  }
  return nearestName(word, namesIn(group));
}

function named(word: string, group: Command): string | undefined {
  const ours = Object.hasOwn(synonyms, word) ? (synonyms[word] ?? []) : [];
  const theirs = namesIn(group);
  return [word, ...ours].find((name) => theirs.includes(name));
}

/** Those that its page shows. */
function namesIn(group: Command): readonly string[] {
  return group
    .createHelp()
    .visibleCommands(group)
    .map((command) => command.name());
}

/** Commands as other programs spell them. */
import type { Command } from 'commander';
import { nearestName } from '../core/text.ts';
import { declare, type NewProgram } from './command.ts';
import { argumentsAt, parseWords } from './words.ts';

/** Verbs of other programs, with the likeliest of listctl first. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'set'],
  new: ['create', 'set'],
  insert: ['create'],
  import: ['create'],
  upload: ['create'],
  create: ['set'],
  show: ['get', 'status'],
  view: ['get', 'show'],
  read: ['get'],
  get: ['show'],
  describe: ['get', 'show'],
  set: ['update'],
  put: ['update', 'set'],
  patch: ['update'],
  change: ['update'],
  rm: ['delete', 'remove'],
  switch: ['use'],
  del: ['delete', 'remove'],
  delete: ['remove'],
  remove: ['delete'],
};

/** Commands of other programs that stand elsewhere here. */
const commandsElsewhere: Readonly<Record<string, readonly string[]>> = {
  whoami: ['auth', 'status'],
  config: ['profile'],
  configure: ['init'],
};

const listVerbs: ReadonlySet<string> = new Set(['list', 'ls', 'query', 'find']);
/** Whether a word is the name of the group `items`. */
export const isItems = (word: string | undefined) => word === 'item' || word === 'items';

/**
 * The words that stand for those that commander did not understand, where they cannot mean anything else: `version`,
 * `items help`, `create --help`, `list`.
 */
export async function equivalentWords(
  words: readonly string[],
  program: Command,
  newProgram: NewProgram,
): Promise<readonly string[] | undefined> {
  const [at = 0, next = 0] = argumentsAt(words, program);
  const [first = '', second] = [words[at], words[next]];
  const before = words.slice(0, at);
  const others = words.filter((_, place) => place > at && place !== next);
  if (first === 'version') return [...before, '--version', ...words.slice(at + 1)];
  const isHelp = (word: string) => word === '--help' || word === '-h';
  // As in gh and kubectl, `-h items get` is about `items get`.
  if (words.some(isHelp) && first !== 'help' && program.commands.some((command) => command.name() === first)) {
    return isHelp(words.at(-1) ?? '') ? undefined : [...words.filter((word) => !isHelp(word)), '--help'];
  }
  if (second === 'help') return [...before, 'help', first, ...others];
  const isNounLast = next > 0 && isItems(second);
  if (listVerbs.has(first) || (first === 'get' && isNounLast && others.length === 0))
    return [...before, 'items', 'list'];
  if (!words.some(isHelp)) return undefined;
  const { command: items } = await parseWords(['items'], newProgram(['--help']));
  const verb = findSynonym(first, items);
  return verb === undefined ? undefined : [...before, 'items', verb, ...(isNounLast ? others : words.slice(at + 1))];
}

/** The path of the command that another name stands for: of this group, of another one, or with a similar name. */
export async function suggestPath(word: string, group: Command): Promise<readonly string[] | undefined> {
  const here = findSynonym(word, group);
  if (here !== undefined) return [here];
  if (group.parent === null) {
    if (Object.hasOwn(commandsElsewhere, word)) return commandsElsewhere[word];
    for (const other of group.commands) {
      await declare(other);
      const found = findSynonym(word, other);
      if (found !== undefined) return [other.name(), found];
    }
  }
  const nearest = nearestName(word, visibleNames(group));
  return nearest === undefined ? undefined : [nearest];
}

function findSynonym(word: string, group: Command): string | undefined {
  const verbs = Object.hasOwn(synonyms, word) ? (synonyms[word] ?? []) : [];
  const names = visibleNames(group);
  return [word, ...verbs].find((name) => names.includes(name));
}

/** The names of the commands of a group that help shows. */
export function visibleNames(group: Command): readonly string[] {
  return group
    .createHelp()
    .visibleCommands(group)
    .map((command) => command.name());
}

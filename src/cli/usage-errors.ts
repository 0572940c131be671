/** Failures for invalid command lines, with suggestions. Loaded lazily: it declares all commands. */
import { existsSync } from 'node:fs';
import type { Command, CommanderError } from 'commander';
import { Failure } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { nearestName, shellWord } from '../core/text.ts';
import { commandPath, type NewProgram } from './command.ts';
import { isItems, suggestPath } from './synonyms.ts';
import { argumentsAt, findOption, parseWords } from './words.ts';

/** Converts an error of commander to a failure with a hint. */
export async function toUsageFailure(
  words: readonly string[],
  error: Pick<CommanderError, 'message' | 'code'>,
  newProgram: NewProgram,
  host: Host,
): Promise<Failure> {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  // `help items` is about items, but the flags of `help --json` are its own.
  const typed = words[0] === 'help' && words[1]?.startsWith('-') === false ? words.slice(1) : words;
  // Like a help page, which has all flags, including those of --from.
  const findCommand = async (some: readonly string[]) => (await parseWords(some, newProgram(['--help']))).command;
  const command = await findCommand(typed);
  const line: TypedLine = { words: typed, command, host };
  if (error.code === 'commander.unknownOption') {
    // Without its value, which may be a secret.
    const flag = first.replace(/^unknown option '([^'=]*).*$/s, '$1');
    const at = typed.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
    const option = findOption(flag, command);
    if (option === undefined) return unknownOption(flag, at, line);
    const path = pathOf(command);
    const long = longOf(option.flags);
    const [name] = long.split(' ');
    const needsFrom = findOption(flag, (await parseWords(typed, newProgram(typed))).command) === undefined;
    if (needsFrom) return usage(`${name} requires --from`, `use: listctl ${path} --from tasks.csv ${long}`);
    const isEarly = pathOf(await findCommand(typed.slice(0, at))) !== path;
    if (isEarly) return usage(`${name} must come after the command`, `use: listctl ${path} ${long}`);
    // commander reports `--quiet=true` as unknown.
    return usage(`${long} takes no value`, `pass ${long} without a value`);
  }
  if (error.code === 'commander.unknownCommand') {
    const [, word = ''] = /'(.*)'/s.exec(first) ?? [];
    const at = typed.indexOf(word);
    const group = await findCommand(typed.slice(0, at));
    return usage(first, await hintForUnknownCommand(at, { ...line, command: group }, findCommand));
  }
  if (error.code === 'commander.excessArguments') return tooManyArguments(line);
  if (error.code === 'commander.optionMissingArgument') {
    const [, flags = ''] = /'(.*)'/s.exec(first) ?? [];
    return usage(`${longOf(flags).split(' ')[0]} requires a value`, `use: ${longOf(flags)}`);
  }
  return usage(first, rest.join(' ').replace(/^\((.*)\)$/, '$1') || seeHelp(command));
}

function usage(message: string, hint: string): Failure {
  return new Failure('usage', message, { hint });
}

interface TypedLine {
  readonly words: readonly string[];
  readonly command: Command;
  readonly host: Host;
}

function unknownOption(flag: string, at: number, line: TypedLine): Failure {
  const unknown = (hint: string) => usage(`unknown option ${flag}`, hint);
  const { command } = line;
  if (flag === '--token') {
    const isLogin = command.options.some(({ long }) => long === '--with-token');
    const instead = isLogin ? 'use: listctl auth login --with-token < token.txt' : 'set LISTCTL_TOKEN instead';
    return unknown(`${instead}; other users can read command lines`);
  }
  const instead = withoutOption(flag, at, line);
  if (instead !== undefined) return unknown(useLine(instead, line));
  if (flag.startsWith('--')) return unknown(hintForLongFlag(flag.slice(2), at, line));
  if (takesIds(command) && /^-(\d|..)/.test(flag)) {
    return unknown(`put "--" before an id that starts with "-"; ${useLine(moved(line.words, at), line)}`);
  }
  const shorts = command.options.flatMap(({ short, hidden }) => (short === undefined || hidden ? [] : short));
  return unknown(`the short flags are ${[...shorts, '-h'].sort().join(', ')}; ${seeHelp(command)}`);
}

function hintForLongFlag(name: string, at: number, line: TypedLine): string {
  const { command } = line;
  const field = fieldHint(at, line);
  const ids = idHint(name, at, line);
  const meant = ids ?? synonymHint(name, at, line);
  // A field may have such a name, too.
  if (meant !== undefined) return [meant, ...(field === undefined ? [] : [`otherwise ${field}`])].join('\n');
  const longs = command.options.flatMap(({ long = '', hidden }) => (hidden ? [] : long.slice(2)));
  const nearest = nearestName(name, longs);
  return nearest === undefined ? (field ?? seeHelp(command)) : `did you mean --${nearest}?`;
}

/** Suggests `get 5` for `get --id 5`. */
function idHint(name: string, at: number, line: TypedLine): string | undefined {
  const { words, command } = line;
  if (!takesIds(command) || !/^(item-?)?ids?$/i.test(name)) return undefined;
  if (hasFrom(words)) return findOption('--id-column', command) && 'did you mean --id-column?';
  const { before, value = '', after } = splitAt(at, words);
  if (!/^[^-,][^,]*$/s.test(value) || argumentsAt([...before, ...after], command).length > 0) return undefined;
  return useLine([...before, value, ...after], line);
}

/** Suggests listctl's name of a flag of other programs. */
function synonymHint(name: string, at: number, { words, command }: TypedLine): string | undefined {
  const spelling = name.replaceAll('-', '').toLowerCase();
  const synonym = Object.hasOwn(flagSynonyms, spelling) ? flagSynonyms[spelling] : undefined;
  const { before, after } = splitAt(at, words);
  const hasIds = takesIds(command) && argumentsAt([...before, ...after], command).length > 0;
  const meant =
    synonym === 'from' && hasIds ? 'fields' : synonym === 'output' && hasFrom(words) ? 'input-format' : synonym;
  const option = meant === undefined ? undefined : findOption(`--${meant}`, command);
  return option === undefined || option.hidden ? undefined : `did you mean ${longOf(option.flags)}?`;
}

function hasFrom(words: readonly string[]): boolean {
  return words.some((word) => /^--from(=|$)/.test(word));
}

/** The words around the flag at this place and its value, in the same word or the next. */
function splitAt(at: number, words: readonly string[]) {
  const typed = /=(?<typed>.*)/s.exec(words[at] ?? '')?.groups?.['typed'];
  const next = words[at + 1];
  const isNext = typed === undefined && next !== undefined && !next.startsWith('-');
  return { before: words.slice(0, at), value: isNext ? next : typed, after: words.slice(isNext ? at + 2 : at + 1) };
}

/** The words with the word at this place behind `--`. */
function moved(words: readonly string[], at: number): readonly string[] {
  return [...words.slice(0, at), ...words.slice(at + 1), '--', ...words.slice(at, at + 1)];
}

/** The words without a flag that other programs have, where listctl has an argument or another flag for it. */
function withoutOption(flag: string, at: number, { words, command }: TypedLine): readonly string[] | undefined {
  const replaced = (...instead: string[]) => [...words.slice(0, at), ...instead, ...words.slice(at + 1)];
  if (pathOf(command) === 'profile set' && flag.startsWith('--no-')) return replaced('--unset', flag.slice(5));
  const { before, after } = splitAt(at, words);
  const hasArgument = argumentsAt([...before, ...after], command).length > 0;
  if (command.registeredArguments[0]?.name() !== 'manifest' || hasArgument) return undefined;
  const { file } = /^(-f|--file(name)?=)(?<file>.+)$/s.exec(words[at] ?? '')?.groups ?? {};
  if (file !== undefined) return replaced(file);
  return /^(-f|--file(name)?)$/.test(flag) ? replaced() : undefined;
}

/** Suggests `-f title=Milk` for `--title Milk`, and for `--set title=Milk`. */
function fieldHint(at: number, line: TypedLine): string | undefined {
  const { words, command } = line;
  if (!setsFields(command)) return undefined;
  const [name = ''] = words[at]?.slice(2).split('=', 1) ?? [];
  const { before, value, after } = splitAt(at, words);
  const field = name === 'set' && value?.includes('=') ? value : `${name}=${value}`;
  if (value === undefined) return `set a field with -f ${shellWord(name)}=VALUE; ${seeHelp(command)}`;
  return `set a field with -f; ${useLine([...before, '-f', field, ...after], line)}`;
}

function takesIds(command: Command): boolean {
  return command.registeredArguments[0]?.name() === 'id';
}

function setsFields(command: Command): boolean {
  return ['items create', 'items update'].includes(pathOf(command));
}

function tooManyArguments(line: TypedLine): Failure {
  const { command } = line;
  const count = command.registeredArguments.length;
  const takes = count === 0 ? 'no arguments' : count === 1 ? 'one argument' : `${count} arguments`;
  const fixed = withFieldFlags(line) ?? withOptionalValue(line);
  const quoting =
    findOption('--field', command) &&
    'use -f before each field and quote values that contain spaces: -f Title="Buy milk"';
  const hint = fixed === undefined ? (quoting ?? seeHelp(command)) : useLine(fixed, line);
  return usage(`too many arguments: listctl ${pathOf(command)} takes ${takes}`, hint);
}

/** The failure for a create or update without fields: what was typed as an argument may be one. */
export function noFields(words: readonly string[], command: Command, host: Host): Failure {
  const line = { words, command, host };
  const fixed = withFieldFlags(line);
  const isCreate = command.registeredArguments.length === 0;
  const piped = isCreate && !host.stdin.isTTY && host.stdin.kind !== 'closed';
  const hint = [
    fixed === undefined ? 'pass at least one, e.g. -f Title="Buy milk"' : useLine(fixed, line),
    ...(piped && fixed === undefined ? [`for rows on standard input ${useLine([...words, '--from', '-'], line)}`] : []),
  ];
  return usage('no fields given', hint.join('\n'));
}

/** The failure for a field among several ids; undefined if none looks like a field. */
export function fieldAmongIds(words: readonly string[], command: Command, host: Host): Failure | undefined {
  const line = { words, command, host };
  const found = argumentsAt(words, command).find((at) => isField(words[at] ?? ''));
  const fixed = withFieldFlags(line);
  if (found === undefined || fixed === undefined) return undefined;
  const hint = `${useLine(fixed, line)}\nput "--" before ids that contain "="`;
  return usage(`"${words[found]}" is not an id`, hint);
}

/** `Title=Milk`; not an id in base64, which may end with `=`. */
function isField(word: string): boolean {
  return /^[^=]+=(?!=*$)/s.test(word);
}

/** The words with -f before each field, --from before a file, and split values joined; undefined without any of them. */
function withFieldFlags({ words, command, host }: TypedLine): readonly string[] | undefined {
  if (!setsFields(command)) return undefined;
  const hasIds = takesIds(command);
  const joined = hasIds ? words : joinValues(words, command, host);
  const places = argumentsAt(joined, command);
  const takesFile = !hasIds || places.length === 1;
  const fixed = joined.map((word, at) => {
    if (!places.includes(at)) return [word];
    if (isField(word)) return ['-f', word];
    return takesFile && isRowsFile(word, host) ? ['--from', word] : [word];
  });
  const isLeft = !hasIds && places.some((at) => fixed[at]?.length === 1);
  const flat = fixed.flat();
  return isLeft || flat.join('\0') === words.join('\0') ? undefined : flat;
}

/** The words with the value of a flag behind `=`, where it is optional: `--init again`. */
function withOptionalValue({ words, command }: TypedLine): readonly string[] | undefined {
  const at = argumentsAt(words, command).find((place) => {
    const option = findOption(words[place - 1] ?? '', command);
    return option?.argChoices?.includes(words[place] ?? '') === true;
  });
  if (at === undefined) return undefined;
  return [...words.slice(0, at - 1), `${words[at - 1]}=${words[at]}`, ...words.slice(at + 1)];
}

/** Joins the words of a field's value that was not quoted: `-f Title=Buy milk`. */
function joinValues(words: readonly string[], command: Command, host: Host): readonly string[] {
  const places = argumentsAt(words, command);
  const joined: string[] = [];
  let isValue = false;
  for (const [at, word] of words.entries()) {
    if (isValue && places.includes(at) && !isField(word) && !isRowsFile(word, host)) {
      joined.push(`${joined.pop()} ${word}`);
    } else {
      isValue = /^(-f|--field)$/.test(words[at - 1] ?? '');
      joined.push(word);
    }
  }
  return joined;
}

/** Whether a word is the name of a file of rows, by its extension or because the file is there. */
function isRowsFile(word: string, host: Host): boolean {
  if (/\.(csv|tsv|jsonl?|ndjson|ya?ml|xlsx|gz)$/i.test(word)) return true;
  return existsSync(absolutePath(word, host));
}

/** `use: listctl …`, quoted for the shell. */
function useLine(words: readonly string[], line: TypedLine): string {
  return `use: ${formatLine(words, line) ?? `listctl ${pathOf(line.command)}`}`;
}

/** A line to paste; undefined if it is long, or may have a secret. */
function formatLine(words: readonly string[], { host }: Pick<TypedLine, 'host'>): string | undefined {
  const line = ['listctl', ...words.map(shellWord)].join(' ');
  const token = host.env['LISTCTL_TOKEN'];
  const isPrivate = /token|secret|passw|authorization|^-H|^--header/im.test(words.join('\n'));
  return isPrivate || line.length > 400 || (token && line.includes(token)) ? undefined : line;
}

function seeHelp(command: Command): string {
  return `see ${['listctl', pathOf(command)].join(' ').trim()} --help`;
}

/** `--site <id>` of `-s, --site <id>`; without an optional value: `--resume` of `--resume[=run]`. */
function longOf(flags: string): string {
  return flags.slice(flags.indexOf('--')).replace(/\[=[^\]]*\]$/, '');
}

function pathOf(command: Command): string {
  return commandPath(command).slice(1).join(' ');
}

/** Flags of other programs, in lower case without hyphens, with listctl's. */
const flagSynonyms: Readonly<Record<string, string>> = {
  siteid: 'site',
  sitename: 'site',
  weburl: 'site',
  listid: 'list',
  listname: 'list',
  listtitle: 'list',
  url: 'base-url',
  host: 'base-url',
  server: 'base-url',
  endpoint: 'base-url',
  file: 'from',
  filename: 'from',
  filepath: 'from',
  input: 'from',
  body: 'fields',
  data: 'fields',
  format: 'output',
  jq: 'query',
  force: 'yes',
  autoapprove: 'yes',
  noconfirm: 'yes',
  parallel: 'concurrency',
  parallelism: 'concurrency',
  jobs: 'concurrency',
  debug: 'verbose',
  insecure: 'insecure-tls',
  cacert: 'ca-file',
};

/** Suggests the line with another command: of this group, of another one, or with a similar name. */
async function hintForUnknownCommand(
  at: number,
  line: TypedLine,
  findCommand: (words: readonly string[]) => Promise<Command>,
): Promise<string> {
  const { words, command: group, host } = line;
  const word = words[at] ?? '';
  if (group.parent === null && /^(lists|sites?)$/.test(word)) {
    return 'listctl works on the items of a list, which --site and --list select; see listctl items --help';
  }
  const path = await suggestPath(word, group);
  if (path === undefined) return seeHelp(group);
  const rest = words.slice(path[0] === 'items' && isItems(words[at + 1]) ? at + 2 : at + 1);
  const renamed = [...words.slice(0, at), ...path, ...rest];
  const command = await findCommand(renamed);
  const fixed = withFieldFlags({ words: renamed, command, host }) ?? renamed;
  return `did you mean: ${formatLine(fixed, line) ?? `listctl ${pathOf(command)}`}`;
}

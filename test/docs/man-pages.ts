/** Man pages, from the output of `listctl help --json`: roff with the macros of man(7). */
import type { CommandNode, OptionNode, ProgramNode } from '../../src/commands/help/help.ts';
import { allCommands } from '../support/command-nodes.ts';

/** A page, as it lies in a directory of pages. */
export interface ManPage {
  /** `listctl-items-create.1` */
  readonly file: string;
  readonly text: string;
}

/** A page for each command (section 1) and for each topic (section 7). */
export function manPages(program: ProgramNode): readonly ManPage[] {
  const commands = allCommands(program).map((node) => ({
    file: `${nameOf(node)}.1`,
    text: commandPage(node, program),
  }));
  const topics = program.topics.map((topic) => ({
    file: `listctl-${topic.name}.7`,
    text: topicPage(topic, program),
  }));
  return [...commands, ...topics];
}

/** `listctl-items-create` */
function nameOf({ path }: CommandNode): string {
  return ['listctl', ...path.split(' ')].filter((word) => word !== '').join('-');
}

function commandPage(node: CommandNode, program: ProgramNode): string {
  const isProgram = node.path === '';
  const { examples } = node;
  const codes = Object.entries(node.exitCodes);
  return page([
    heading(nameOf(node), '1', program),
    section('NAME', [`${escaped(nameOf(node))} \\- ${escaped(node.summary)}`]),
    section('SYNOPSIS', [`.B ${escaped(node.usage)}`]),
    section(
      'COMMANDS',
      node.commands.flatMap((each) => entry(lastWord(each), each.summary)),
    ),
    section(
      'ARGUMENTS',
      node.arguments.flatMap(({ name, description }) => entry(name, description)),
    ),
    ...optionSections(node.options),
    section('EXAMPLES', examples.length === 0 ? [] : literally(examples)),
    section(
      'EXIT STATUS',
      codes.flatMap(([code, meaning]) => entry(code, meaning)),
    ),
    section('FILES', isProgram ? filesOf(program) : []),
    section('SEE ALSO', seeAlso(node, program)),
    section(
      'NOTES',
      isProgram
        ? []
        : ['The options that every command understands, and the files, are in', reference('listctl', '1', '.')],
    ),
  ]);
}

function topicPage({ name, summary, page: text }: ProgramNode['topics'][number], program: ProgramNode): string {
  return page([
    heading(`listctl-${name}`, '7', program),
    section('NAME', [`${escaped(`listctl-${name}`)} \\- ${escaped(summary)}`]),
    // Without its title, which says what NAME says.
    section('DESCRIPTION', formatted(text.replace(/^.+\n\n/, '').replace(filesBlock, ''))),
    section('FILES', filesBlock.test(text) ? filesOf(program) : []),
    section('SEE ALSO', [reference('listctl', '1')]),
  ]);
}

/** Of the topic `environment`, the paragraph that lists the files. */
const filesBlock = /^(?<intro>Files\b.*:)\n\n(?<rows>(?: .*\n)+)\n/m;

function filesOf({ topics }: ProgramNode): readonly string[] {
  const { intro = '', rows = '' } = topics.map((topic) => filesBlock.exec(topic.page)?.groups).find(Boolean) ?? {};
  return rows === '' ? [] : [escaped(intro), ...list(rows.trimEnd().split('\n'))];
}

/**
 * The text of a topic, for a reader of any width: paragraphs are filled, rows of a table become a list, and what begins
 * with `$ ` stays as it is.
 */
function formatted(text: string): readonly string[] {
  const blocks = text.trimEnd().split(/\n{2,}|\n(?=\S)(?<=\n .*\n)|(?<=^\S.*)\n(?= )/m);
  const shown = blocks.flatMap((block) => {
    const lines = block.split('\n');
    if (!block.startsWith(' ')) return /^\w+:$/.test(block) ? [`.SS ${argument(block.slice(0, -1))}`] : filled(lines);
    const isTyped = block.startsWith('  $ ');
    return isTyped ? ['.PP', ...literally(lines.map((line) => line.slice(2)))] : list(lines);
  });
  // A heading begins a paragraph by itself.
  return shown[0] === '.PP' ? shown.slice(1) : shown;
}

/** A paragraph. A line that ends where the next word had room ends there for the reader too. */
function filled(lines: readonly string[]): readonly string[] {
  return [
    '.PP',
    ...lines.flatMap((line, at) => {
      const [next = ''] = lines[at + 1]?.split(' ') ?? [];
      return next !== '' && line.length + 1 + next.length < 80 ? [escaped(line), '.br'] : [escaped(line)];
    }),
  ];
}

/** The rows of a table: their last column is the text, which continues on lines that are indented as far. */
function list(lines: readonly string[]): readonly string[] {
  const rows: { term: string; text: string }[] = [];
  let column = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const row = rows.at(-1);
    if (row !== undefined && line.search(/\S/) >= column) {
      row.text += ` ${line.trim()}`;
      continue;
    }
    const cells = line.trim().split(/ {2,}|(?<=^\d\.) /);
    column = line.indexOf(cells[1] ?? '', line.indexOf(cells[0] ?? '') + (cells[0] ?? '').length);
    rows.push({ term: cells.slice(0, -1).join(', '), text: cells.at(-1) ?? '' });
  }
  return rows.flatMap(({ term, text }) => entry(term, text));
}

/** Without a date: the same sources are the same page, whenever they are built. */
function heading(name: string, number: string, { version }: ProgramNode): string {
  return `.TH ${argument(name.toUpperCase())} ${number} "" ${argument(`listctl ${version}`)} "listctl"`;
}

function optionSections(options: readonly OptionNode[]): readonly string[] {
  const groups = [...new Set(options.map(({ group }) => group))];
  const lines = groups.flatMap((group) => [
    ...(groups.length === 1 ? [] : [`.SS ${argument(group)}`]),
    ...options.filter((each) => each.group === group).flatMap((each) => entry(each.flags, withVariables(each))),
  ]);
  return [section('OPTIONS', lines)];
}

function withVariables({ description, env = [] }: OptionNode): string {
  return env.length === 0 ? description : `${description} [${env.join(', ')}]`;
}

function seeAlso(node: CommandNode, program: ProgramNode): readonly string[] {
  const commands = allCommands(program);
  const above = commands.filter((each) => each !== node && `${node.path} `.startsWith(`${each.path} `.trimStart()));
  const pages = [
    ...above.map((each) => [nameOf(each), '1'] as const),
    ...node.commands.map((each) => [nameOf(each), '1'] as const),
    ...(node.path === '' ? program.topics.map(({ name }) => [`listctl-${name}`, '7'] as const) : []),
  ];
  return pages.map(([name, number], at) => reference(name, number, at === pages.length - 1 ? '' : ','));
}

function reference(name: string, number: string, end = ''): string {
  return `.BR ${escaped(name)} (${number})${end}`;
}

function lastWord({ path }: CommandNode): string {
  return path.split(' ').at(-1) ?? '';
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [`.SH ${argument(title)}`, ...lines].join('\n');
}

function entry(term: string, text: string): readonly string[] {
  return ['.TP', `.B ${escaped(term)}`, escaped(text)];
}

function literally(lines: readonly string[]): readonly string[] {
  return ['.nf', ...lines.flatMap((line) => narrowed(line)).map(escaped), '.fi'];
}

/**
 * A command as lines that fit a terminal of 80 columns, of which a page indents them by 7: its comment above it, and broken
 * before a flag, so that it can still be pasted.
 */
function narrowed(line: string): readonly string[] {
  if (line.length <= 73) return [line];
  const [, command = line, comment] = /^(.*?) {2,}(# .*)$/.exec(line) ?? [];
  if (comment !== undefined) {
    const beside = `${command}  ${comment}`;
    return beside.length <= 73 ? [beside] : [comment, ...narrowed(command)];
  }
  // The spaces before flags that no quotation marks surround.
  const spaces = Array.from(line.matchAll(/'[^']*'|"[^"]*"|(?<=\S) (?=-)/g)).filter(([found]) => found === ' ');
  const at = spaces.findLast(({ index }) => index <= 71)?.index;
  return at === undefined ? [line] : [`${line.slice(0, at)} \\`, ...narrowed(`    ${line.slice(at + 1)}`)];
}

function page(sections: readonly string[]): string {
  return `${sections.filter((text) => text !== '').join('\n')}\n`;
}

function argument(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`;
}

const glyphs: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/**
 * A line of text that shows as it is, quotes and hyphens for pasting included; beyond ASCII by code point, so that it
 * is the same wherever it is read. A dot or a quote in front would be a request.
 */
function escaped(text: string): string {
  const shown = text.replace(/[\\\-'`^~"]|[^ -~]/gu, (found) => glyphs[found] ?? codePoint(found));
  return shown.startsWith('.') ? `\\&${shown}` : shown;
}

function codePoint(character: string): string {
  return `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
}

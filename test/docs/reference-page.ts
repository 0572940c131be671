/** `docs/reference.md`, from the output of `listctl help --json`; the handwritten part stays below it. */
import type { CommandNode, OptionNode, ProgramNode } from '../../src/commands/help/help.ts';
import { allCommands } from '../support/command-nodes.ts';

/** Text above this line is generated, text below it is handwritten. */
const border = '<!-- written by `npm run reference` up to here -->\n';

/** The page anew, with the part of the old one that was written by hand. */
export function referencePage(program: ProgramNode, old: string): string {
  const written = old.includes(border) ? old.slice(old.indexOf(border) + border.length) : `\n${old}`;
  const commands = allCommands(program).filter(({ path }) => path !== '');
  const sections = commands.map(commandSection);
  const intro = [
    '# Reference',
    '',
    'Every command, from `listctl help --json`, as in `man listctl`. `npm run reference` writes this page.',
    '',
    '## Global flags',
    '',
    ...optionTable(program.options),
    '',
    '## Topics',
    '',
    ...program.topics.map(({ name, summary }) => `- \`listctl help ${name}\`: ${cell(summary)}`),
    '',
  ];
  return `${intro.join('\n')}\n${sections.join('\n')}\n${border}${written}`;
}

function commandSection(node: CommandNode): string {
  const { path, summary, usage, aliases, commands, examples, options } = node;
  const codes = Object.entries(node.exitCodes);
  const paragraphs: (readonly string[])[] = [
    [`## listctl ${path}`],
    [`${cell(summary)}${aliases.length === 0 ? '' : `; also \`${aliases.join('`, `')}\``}`],
    ['```text', usage, '```'],
    commands.map((each) => `- \`listctl ${each.path}\`: ${cell(each.summary)}`),
    node.arguments.map(({ name, description }) => `- \`${name}\`: ${cell(description)}`),
    options.length === 0 ? [] : optionTable(options),
    examples.length === 0 ? [] : ['```sh', ...examples, '```'],
    codes.length === 0
      ? []
      : ['| exit code | |', '|---|---|', ...codes.map(([code, text]) => `| ${code} | ${cell(text)} |`)],
  ];
  return paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function optionTable(options: readonly OptionNode[]): readonly string[] {
  const hasVariables = options.some(({ env }) => env !== undefined);
  const rows = options.map(({ flags, env = [], description }) => {
    const variables = hasVariables ? ` ${env.map((name) => `\`${name}\``).join(', ')} |` : '';
    return `| \`${flags.replaceAll('|', '\\|')}\` |${variables} ${cell(description)} |`;
  });
  return hasVariables
    ? ['| flag | variable | meaning |', '|---|---|---|', ...rows]
    : ['| flag | meaning |', '|---|---|', ...rows];
}

/** A string that needs no escape in a table. */
function cell(text: string): string {
  return text.replace(/[\\|<>*_`[\]]/g, '\\$&');
}

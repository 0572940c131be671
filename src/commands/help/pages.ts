/** The pages of help of commands, as `--help` shows them, and the pager. */
import type { Command, Option } from 'commander';
import { commandPath, helpNotes } from '../../cli/command.ts';
import { describeFlag, globalFlags } from '../../cli/flags.ts';
import { type Host, withoutToken } from '../../core/host.ts';
import { outputFormats } from '../../output/view.ts';
import { exitCodeMeanings, formatTable, topics, wrap } from './topics.ts';

/** `listctl items get [id...] [flags]` */
export function usageLine(command: Command): string {
  const values = command.registeredArguments.map((each) => {
    const name = each.variadic ? `${each.name()}...` : each.name();
    return each.required ? `<${name}>` : `[${name}]`;
  });
  return [...commandPath(command), ...(command.commands.length > 0 ? ['<command>'] : values), '[flags]'].join(' ');
}

/** The options of a command without the global flags. */
export function ownOptions(command: Command): readonly Option[] {
  const globals: ReadonlySet<string | undefined> = new Set(Object.values(globalFlags).map(({ flag }) => flag));
  return command.options.filter(({ long, hidden }) => !hidden && !globals.has(long) && long !== '--version');
}

/** Every exit code of a command; undefined for a group. */
export function allExitCodes(command: Command): Readonly<Record<number, string>> | undefined {
  const own = helpNotes(command);
  if (own === undefined) return undefined;
  const general = [0, 1, 2, 10, 70, 129, 130, 143, ...(own.exits ?? [])];
  return { ...Object.fromEntries(general.map((code) => [code, exitCodeMeanings.get(code) ?? ''])), ...own.exitCodes };
}

/** Formats the page of a command that is declared. */
export function formatPage(command: Command, columns = 100): string {
  const section = (heading: string, rows: readonly (readonly string[])[], width = columns) =>
    rows.length === 0 ? '' : `${heading}:\n${formatTable(rows, width)}`;
  const line = (text: string) => `${wrap(text, 0, columns)}\n`;
  const title = command.description() || command.summary();
  const commands = command.createHelp().visibleCommands(command);
  const isGroup = commands.length > 0;
  const isRoot = command.parent === null;
  const { examples = [], exitCodes: codes = {}, formats = [] } = helpNotes(command) ?? {};
  const outputText = describeFlag({ ...globalFlags.output, choices: [...outputFormats, ...formats] });
  const sections = [
    line(title.charAt(0).toUpperCase() + title.slice(1)),
    `Usage: ${usageLine(command)}\n`,
    ...groupBy(commands, (each) => each.helpGroup()).map(([heading, group]) =>
      section(
        heading,
        group.map((each) => [[each.name(), ...each.aliases()].join(', '), each.summary()]),
      ),
    ),
    section(
      'Arguments',
      command.registeredArguments.map((each) => [each.name(), each.description]),
    ),
    ...(isGroup ? [] : shownFlags(command)).map(([heading, flags]) =>
      section(
        heading.replace(/:$/, ''),
        flags.map(({ short, long, flags: text, description }) => [
          short ? text : `    ${text}`,
          long === globalFlags.output.flag ? outputText : description,
        ]),
      ),
    ),
    // Never wrapped: each line can be copied.
    section(
      'Examples',
      examples.map((line) => [`$ ${line}`]),
      Number.POSITIVE_INFINITY,
    ),
    section('Exit codes (all: listctl help exit-codes)', Object.entries(codes)),
    section('Topics (listctl help <topic>)', isRoot ? [[topics.map(({ name }) => name).join(', ')]] : []),
    isRoot ? line('Get started: listctl init · Without a service: add --local to any command') : '',
    line(`${isGroup ? 'Help for a command: listctl help <command> · ' : ''}Global flags: listctl help flags`),
  ];
  return sections.filter((text) => text !== '').join('\n');
}

/** The command's own flags, with the global ones that are typed with it around those without a heading. */
function shownFlags(command: Command): readonly (readonly [heading: string, options: readonly Option[]])[] {
  const names = new Set((helpNotes(command)?.globalFlags ?? []).map((name) => globalFlags[name].flag));
  const shown = (group: string) =>
    command.options.filter(({ long = '', helpGroupHeading }) => names.has(long) && helpGroupHeading === group);
  const own = groupBy(ownOptions(command), ({ helpGroupHeading = 'Flags' }) => helpGroupHeading);
  const main = own.find(([heading]) => heading === 'Flags')?.[1] ?? [];
  const others = own.filter(([heading]) => heading !== 'Flags');
  return [['Flags', [...shown('Service:'), ...main, ...shown('Output:'), ...shown('Other:')]], ...others];
}

function groupBy<T>(values: readonly T[], key: (value: T) => string): (readonly [string, readonly T[]])[] {
  return Array.from(new Set(values.map(key)), (name) => [name, values.filter((value) => key(value) === name)]);
}

/** Prints a page: through a pager if it is longer than the terminal. */
export async function showPage(text: string, words: readonly string[], host: Host): Promise<void> {
  const pager = words.includes('--no-pager') ? undefined : findPager(host);
  const { rows = Number.POSITIVE_INFINITY } = host.stdout;
  if (pager === undefined || text.split('\n').length <= rows) return host.stdout.write(text);
  if (!(await runPager(pager, text, host))) await host.stdout.write(text);
}

/** As git: LISTCTL_PAGER, else PAGER, else less; none if that is empty or cat. */
function findPager({ env, stdout, platform }: Host): string | undefined {
  if (!stdout.isTTY || env['TERM'] === 'dumb') return undefined;
  const pager = env['LISTCTL_PAGER'] ?? env['PAGER'] ?? (platform === 'win32' ? '' : 'less');
  return pager === '' || pager === 'cat' ? undefined : pager;
}

/** Runs the pager to its end; false if it could not be run. Ctrl-C is the pager's own. */
async function runPager(pager: string, text: string, { env }: Host): Promise<boolean> {
  // Only here: it costs every help page 5 ms.
  const { spawn } = await import('node:child_process');
  const child = spawn(pager, {
    shell: true,
    env: { LESS: 'FRX', LV: '-c', ...withoutToken(env) },
    stdio: ['pipe', 'inherit', 'ignore'],
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    // 127: the shell did not find it.
    child.on('close', (code) => resolve(code !== 126 && code !== 127));
    // A pager that is quit early closes the pipe.
    child.stdin.on('error', () => {}).end(text);
  });
}

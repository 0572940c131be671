/** The page that `--help` shows, and the pager. */
import type { Command, Option } from 'commander';
import { commandPath, type HelpNotes, helpNotes } from '../../cli/command.ts';
import { globalFlags } from '../../cli/flags.ts';
import { type Host, withoutToken } from '../../core/host.ts';
import { exitCodeMeanings, formatTable, topics } from './topics.ts';

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
  const isRoot = command.parent === null;
  const sections: Section[] = [{ rows: [[titleOf(command)]] }, { rows: [[`Usage: ${usageLine(command)}`]] }];
  const commands = command.createHelp().visibleCommands(command);
  for (const heading of new Set(commands.map((each) => each.helpGroup()))) {
    const rows = commands.filter((each) => each.helpGroup() === heading);
    sections.push({ heading, rows: rows.map((each) => [[each.name(), ...each.aliases()].join(', '), each.summary()]) });
  }
  sections.push({
    heading: 'Arguments',
    rows: command.registeredArguments.map((each) => [each.name(), each.description]),
  });
  sections.push(...(commands.length > 0 ? [] : flagSections(command)), ...noteSections(helpNotes(command)));
  if (isRoot)
    sections.push({ heading: 'Topics (listctl help <topic>)', rows: [[topics.map(({ name }) => name).join(', ')]] });
  const more = commands.length > 0 ? 'Help for a command: listctl help <command> · ' : '';
  sections.push({ rows: [[`${more}Global flags: listctl help flags`]] });
  return formatSections(sections, columns);
}

interface Section {
  readonly heading?: string;
  readonly rows: readonly (readonly string[])[];
  readonly columns?: number;
}

function titleOf(command: Command): string {
  const text = command.description() || command.summary();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The flags of the command between the global ones that are typed with it; then those with a heading of their own. */
function flagSections(command: Command): readonly Section[] {
  const own = ownOptions(command);
  const names = new Set((helpNotes(command)?.globalFlags ?? []).map((name) => globalFlags[name].flag));
  const shown = (group: string) =>
    command.options.filter(({ long = '', helpGroupHeading }) => names.has(long) && helpGroupHeading === group);
  const main = own.filter(({ helpGroupHeading }) => helpGroupHeading === undefined);
  const first = [...shown('Service:'), ...main, ...shown('Output:'), ...shown('Other:')];
  const headings = new Set(own.flatMap(({ helpGroupHeading }) => helpGroupHeading ?? []));
  const section = (heading: string, options: readonly Option[]) => ({
    heading,
    rows: options.map(({ short, flags, description }) => [short ? flags : `    ${flags}`, description]),
  });
  return [
    section('Flags', first),
    ...Array.from(headings, (heading) =>
      section(
        heading.replace(/:$/, ''),
        own.filter(({ helpGroupHeading }) => helpGroupHeading === heading),
      ),
    ),
  ];
}

function noteSections(notes: HelpNotes | undefined): readonly Section[] {
  const { examples = [], exitCodes = {} } = notes ?? {};
  return [
    // Never wrapped: each line can be copied.
    { heading: 'Examples', rows: examples.map((line) => [`$ ${line}`]), columns: Number.POSITIVE_INFINITY },
    { heading: 'Exit codes (all: listctl help exit-codes)', rows: Object.entries(exitCodes) },
  ];
}

function formatSections(sections: readonly Section[], columns: number): string {
  return sections
    .filter(({ rows }) => rows.length > 0)
    .map(({ heading, rows, columns: ownColumns = columns }) =>
      heading === undefined
        ? rows.map(([line = '']) => `${line}\n`).join('')
        : `${heading}:\n${formatTable(rows, ownColumns)}`,
    )
    .join('\n');
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

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CommandNode, ProgramNode } from '../../src/commands/help/help.ts';
import { showPage } from '../../src/commands/help/pages.ts';
import { exitCodeRows } from '../../src/commands/help/topics.ts';
import { outputFormats } from '../../src/output/view.ts';
import { allCommands } from '../support/command-nodes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run, testHost } from '../support/test-host.ts';

const root = join(import.meta.dirname, '../..');
const program: ProgramNode = JSON.parse((await run(['help', '--json'])).stdout);
const commands = allCommands(program);
const topics = ['flags', 'fields', 'output', 'exit-codes', 'environment', 'bulk', 'apply'];

describe('topics', () => {
  test("the contract's are there, and --help names them", async () => {
    const { stdout } = await run(['--help']);

    expect(program.topics.map(({ name }) => name)).toEqual(topics);
    expect(stdout).toContain(topics.join(', '));
  });

  test.each(topics)('%s is a page of at most 80 columns', async (name) => {
    const { exitCode, stdout, stderr } = await run(['help', name]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(program.topics.find((topic) => topic.name === name)?.page);
    expect(stdout.split('\n').filter((line) => line.length > 80 || /\s$/.test(line))).toEqual([]);
  });

  test('exit-codes has every code, with the words of docs/scripting.md', () => {
    const page = readFileSync(join(root, 'docs/scripting.md'), 'utf8');
    const table = [...page.matchAll(/^\| (\d+) \| `([a-z-]+)` \| (.*?) \| (.*?) \|$/gm)].map((found) => found.slice(1));
    const plain = (text = '') => text.replaceAll('`', '');

    expect(exitCodeRows.map(({ code, kind, meaning, advice }) => [String(code), kind, meaning, advice])).toEqual(
      table.map(([code, kind, meaning, advice]) => [code, kind, plain(meaning), plain(advice)]),
    );
  });

  test("environment has every variable of listctl's own that the sources name", async () => {
    const { stdout } = await run(['help', 'environment']);
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const named = sources.flatMap(
      (file) => readFileSync(join(root, 'src', file), 'utf8').match(/LISTCTL_[A-Z_]+/g) ?? [],
    );

    expect(stdout.split('\n').filter((line) => /: as --/.test(line))).toEqual([]);
    expect([...new Set(named)].filter((name) => !new RegExp(`^  (\\S+, )*${name}\\b`, 'm').test(stdout))).toEqual([]);
  });

  test('output has every format', async () => {
    const { stdout } = await run(['help', 'output']);

    for (const format of outputFormats) expect(stdout).toMatch(new RegExp(`^ {2}${format} `, 'm'));
  });
});

describe('pages', () => {
  const isExample = (line: string) => line.startsWith('  $ ');
  const long = ['items create', 'items get', 'items update', 'items delete', 'apply', 'plan'];
  const medium = [
    'items edit',
    'runs undo',
    'profile set',
    ...['import', 'move', 'forget', 'resolve', 'export'].map((verb) => `state ${verb}`),
  ];

  test.each(commands)('"listctl $path --help" fits, and its examples can be copied', async ({ path, examples }) => {
    const { stdout } = await run([...path.split(' ').filter(Boolean), '--help']);

    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(long.includes(path) ? 60 : medium.includes(path) ? 37 : 30);
    expect(lines.at(-1)).toMatch(/Global flags: listctl help flags$/);
    expect(lines.filter((line) => line.length > 100 && !isExample(line))).toEqual([]);
    expect(lines.filter(isExample)).toEqual(examples.map((line) => `  $ ${line}`));
  });

  test.each(['get', 'delete', 'update', 'create'])(
    '"listctl items %s --help" fits a terminal of 80 columns',
    async (verb) => {
      const { stdout } = await run(['items', verb, '--help', '--no-pager'], { terminal: 80 });

      const lines = stdout.trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(60);
      expect(lines.filter((line) => line.length > 80 && !isExample(line))).toEqual([]);
    },
  );

  test('the flags of a command come first, with the global ones that are often typed', async () => {
    const { stdout } = await run(['items', 'create', '--help']);

    const flags = Array.from(stdout.matchAll(/^ {2}(?:-\w, | {4})--([a-z-]+)/gm), ([, name]) => name);
    expect(flags.slice(0, 4)).toEqual(['site', 'list', 'field', 'fields']);
    expect(flags.indexOf('output')).toBeLessThan(flags.indexOf('concurrency'));
    expect(flags).not.toContain('timeout');
    expect(stdout).not.toMatch(/^ +0 /m);
    expect((await run(['help', 'flags'])).stdout).toContain('--timeout <time>');
  });

  test.each([
    { env: { LISTCTL_PAGER: 'cat >paged', PAGER: 'false' }, isPaged: true },
    { env: { PAGER: 'cat >paged' }, isPaged: true },
    { env: { PAGER: 'cat >paged', TERM: 'dumb' }, isPaged: false },
    { env: { PAGER: 'cat >paged', LISTCTL_PAGER: '' }, isPaged: false },
    { env: { PAGER: 'cat >paged' }, words: ['--no-pager'], isPaged: false },
    { env: { PAGER: 'cat >paged' }, rows: 50, isPaged: false },
    { env: { PAGER: '/no/such/pager' }, isPaged: false },
  ])('a long page goes through the pager of $env: $isPaged', async ({ env, words = [], rows = 5, isPaged }) => {
    await using directory = await temporaryDirectory();
    const paged = join(directory.path, 'paged');
    const placed = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value.replace('paged', paged)]),
    );
    const host = testHost({ terminal: 80, env: { ...placed, PATH: process.env['PATH'] ?? '' } });

    await showPage('page\n'.repeat(20), words, { ...host, stdout: { ...host.stdout, rows } });

    expect(existsSync(paged) ? readFileSync(paged, 'utf8') : '').toBe(isPaged ? 'page\n'.repeat(20) : '');
    expect(host.printed.stdout).toBe(isPaged ? '' : 'page\n'.repeat(20));
  });
});

describe('what is taught is there', () => {
  const lessons = program.topics.flatMap(({ page }) =>
    [...page.matchAll(/^ +\$ (.*)$/gm)].map(([, line = '']) => line),
  );
  const lines = [...commands.flatMap(({ examples }) => examples), ...lessons].filter((line) =>
    line.includes('listctl '),
  );

  test.each([...new Set(lines)])('%s', (line) => {
    for (const words of listctlsIn(line)) {
      const node = nodeOf(words);
      const known = new Set([...program.options, ...node.options].flatMap(({ long, short = long }) => [long, short]));
      const flags = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*$/, ''));

      expect(flags.filter((flag) => !known.has(flag))).toEqual([]);
      expect(node.commands).toEqual([]);
    }
  });

  /** The words of each listctl in a line of shell; what is quoted is one word. */
  function listctlsIn(line: string): string[][] {
    const words = line.match(/#.*$|<\(|[|>;)]|(?:"[^"]*"|'[^']*'|[^\s"'|>;)])+/g) ?? [];
    const starts = words.flatMap((word, at) => (word === 'listctl' ? [at + 1] : []));
    return starts.map((start) => {
      const length = words.slice(start).findIndex((word) => /^[#|>;)]/.test(word));
      return words.slice(start, length === -1 ? undefined : start + length);
    });
  }

  function nodeOf(words: readonly string[]): CommandNode {
    let node: CommandNode = program;
    for (const word of words) {
      node =
        node.commands.find(({ path, aliases }) => path.split(' ').at(-1) === word || aliases.includes(word)) ?? node;
      if (node.commands.length === 0) break;
    }
    return node;
  }
});

describe('help --json', () => {
  test('names every command that is not hidden, each with a usage and a summary', () => {
    const paths = commands.map(({ path }) => path);

    expect(paths).toEqual(
      expect.arrayContaining(['', 'items create', 'runs resolve', 'apply', 'state import', 'help']),
    );
    expect(paths.filter((path) => /__complete/.test(path))).toEqual([]);
    for (const { usage, path, summary } of commands) {
      expect(usage.startsWith(`listctl ${path}`.trimEnd())).toBe(true);
      expect(summary).not.toBe('');
    }
  });

  test('every command that does something has examples and the exit codes that any can end in', () => {
    const leaves = commands.filter((node) => node.commands.length === 0);

    expect(leaves.filter(({ examples }) => examples.length === 0).map(({ path }) => path)).toEqual([]);
    for (const { exitCodes: codes } of leaves)
      expect(Object.keys(codes)).toEqual(expect.arrayContaining(['10', '70', '130']));
  });

  test('a flag has its parts, what holds without it, and its variable', () => {
    const option = (path: string, long: string) =>
      commands.find((node) => node.path === path)?.options.find((each) => each.long === long);

    expect(option('', '--retries')).toEqual({
      flags: '--retries <n>',
      long: '--retries',
      value: 'n',
      description: 'maximum retries (default 4)',
      default: '4',
      env: ['LISTCTL_RETRIES'],
      group: 'Service',
    });
    expect(option('items create', '--field')).toMatchObject({ short: '-f', value: 'key=value', group: 'Flags' });
    expect(option('runs resolve', '--applied')).toMatchObject({ value: 'id', valueOptional: true });
    expect(option('apply', '--init')).toMatchObject({ value: 'again', valueOptional: true });
    expect(option('items create', '--site')).toBeUndefined();
  });

  test('one command alone, by its names or its aliases', async () => {
    const { stdout } = await run(['help', 'item', 'get', '-o', 'json']);

    expect(JSON.parse(stdout)).toEqual(commands.find(({ path }) => path === 'items get'));
  });

  test('one topic alone; apply is the command', async () => {
    const topic = JSON.parse((await run(['help', 'fields', '--json'])).stdout);
    const command = JSON.parse((await run(['help', 'apply', '--json'])).stdout);

    expect(topic).toEqual(program.topics[1]);
    expect(command).toMatchObject({ path: 'apply' });
  });

  test.each([
    { words: 'itmes', says: "unknown command or topic 'itmes'", hint: 'did you mean items?' },
    { words: 'filds', says: "unknown command or topic 'filds'", hint: 'did you mean fields?' },
    { words: 'items get 17', says: "unknown command '17'", hint: 'see listctl --help' },
  ])('"$words" is an unknown command', async ({ words, says, hint }) => {
    const { exitCode, stdout, stderr } = await run(['help', ...words.split(' '), '--json']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({ error: { kind: 'usage', exit: 2, message: says, hint } });
  });

  test('a page stays a page where a variable asks for JSON', async () => {
    const { stdout } = await run(['help', 'items'], { env: { LISTCTL_OUTPUT: 'json' } });

    expect(stdout).toMatch(/^Usage: listctl items/m);
  });

  test('other formats are refused', async () => {
    const { exitCode, stderr } = await run(['help', '-o', 'yaml']);

    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: 'listctl: invalid --output "yaml": expected pretty or json\n',
    });
  });
});

test('no line of the first page is wider than a terminal of 40 columns', async () => {
  const { stdout } = await run(['--help', '--no-pager'], { terminal: 40 });

  expect(stdout.split('\n').filter(({ length }) => length > 40)).toEqual([]);
});

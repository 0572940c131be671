/** The statements of docs/conventions.md, each held by the test that it names; where it can be, for every command. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { OptionNode, ProgramNode } from '../../src/commands/help/help.ts';
import { main } from '../../src/main.ts';
import { allCommands } from '../support/command-nodes.ts';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run, testHost } from '../support/test-host.ts';
import { countingService, endAll, endMistake, lines, mistakes, wrongEverywhere } from './conventions-world.ts';

const root = join(import.meta.dirname, '../..');
const program: ProgramNode = JSON.parse((await run(['help', '--json'])).stdout);
const commands = allCommands(program);
const leaves = commands.filter(({ commands: below }) => below.length === 0);
const escapeByte = '\u001b';

/** Every command off a terminal, on a machine whose terminals have colors. */
let ended: ReturnType<typeof endAll> | undefined;
function endedOffTerminal(): ReturnType<typeof endAll> {
  ended ??= endAll({ env: { TERM: 'xterm-256color', COLORTERM: 'truecolor' } });
  return ended;
}

/** Commands that prompt for confirmation. */
const asking = [
  'items delete',
  'items edit',
  'apply',
  'runs undo',
  'runs remove',
  'runs close',
  'runs prune',
  'profile remove',
  'init',
  'auth login',
];

/** Those whose work is to ask the service. */
const connecting = /^(items|apply|api|doctor|init|runs undo|runs resolve|state (import|resolve|export))\b/;

test('the page names every test here, and no other', () => {
  const page = readFileSync(join(root, 'docs/conventions.md'), 'utf8');
  const files = ['test/command/conventions.test.ts', 'test/binary/conventions.test.ts'];
  const sources = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const tests = [...sources.matchAll(/\btest(?:\.each\(\[[\s\S]*?\]\))?\(\s*'([^']+)'/g)].map(([, name]) => name);
  const named = [...page.matchAll(/\| \*([^*]+)\* \|$/gm)].map(([, name]) => name);

  expect(named.toSorted()).toEqual(tests.toSorted());
});

test('every command has a line here', () => {
  expect(Object.keys(lines)).toEqual(leaves.map(({ path }) => path));
});

describe('help', () => {
  test('--help and -h behind any words print the page of the command, and do nothing else', async () => {
    await using service = await countingService();
    const env = environmentFor(service);
    for (const { path, usage } of commands) {
      const words = path.split(' ').filter((word) => word !== '');
      for (const flag of ['--help', '-h']) {
        for (const typed of [words, [...words, ...(lines[path] ?? [])], [...words, '--no-such-flag']]) {
          const { exitCode, stdout, stderr } = await run([...typed, flag], { env });
          expect({ exitCode, stderr, usage: stdout.split('\n')[2] }).toEqual({
            ...{ exitCode: 0, stderr: '', usage: `Usage: ${usage}` },
          });
        }
        expect(await run([flag, ...words], { env })).toMatchObject({ exitCode: 0, stderr: '' });
      }
    }
    expect(service.connections).toBe(0);
  });
});

describe('stdin', () => {
  test('- is stdin for every flag that says so, and behind @= and :@=', async () => {
    const files = commands.flatMap(({ options }) => options).filter(({ value }) => value === 'file');
    const reading = new Set(files.filter(({ description }) => description.includes('"-" = stdin')).map(nameOf));
    const cases = [
      { words: ['items', 'create', '--fields', '-'], stdin: '{"Title":"in"}', flag: '--fields' },
      { words: ['items', 'create', '--from', '-'], stdin: '{"Title":"in"}\n', flag: '--from' },
      { words: ['api', 'POST', 'things', '--input', '-'], stdin: '{"Title":"in"}', flag: '--input' },
      { words: ['items', 'create', '-f', 'Title@=-'], stdin: 'in' },
      { words: ['items', 'create', '-f', 'Title:@=-'], stdin: '"in"' },
    ];
    for (const { words, stdin } of cases) {
      await using directory = await temporaryDirectory();
      await using service = await scriptedService({ status: 201, body: { id: '17', fields: { Title: 'in' } } });
      const env = { ...environmentFor(service), LISTCTL_STATE_DIR: directory.path, HOME: directory.path };

      const { exitCode } = await run(words, { stdin, env, cwd: directory.path });

      expect([words, exitCode, service.requests[0]?.body]).toEqual([words, 0, expect.stringContaining('"Title":"in"')]);
    }
    // A service makes no request: it shows by its failure that it has read.
    const serving = await run(['serve', '--port', '0', '--token-file', '-'], { stdin: 'no token' });
    expect(serving).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('the token from --token-file') });
    expect([...reading].sort()).toEqual([...cases.flatMap(({ flag }) => flag ?? []), '--token-file'].sort());
  });

  test('no command reads stdin, or waits for it, without a flag that says so', async () => {
    const ended = await endedOffTerminal();

    expect(ended.filter(({ exitCode }) => exitCode === undefined).map(({ path }) => path)).toEqual([]);
    expect(ended.filter(({ hasReadInput }) => hasReadInput).map(({ path }) => path)).toEqual([]);
  });
});

describe('a terminal', () => {
  test('off a terminal no command prints an escape byte', async () => {
    const ended = await endedOffTerminal();

    expect(
      ended.filter(({ stdout, stderr }) => (stdout + stderr).includes(escapeByte)).map(({ path }) => path),
    ).toEqual([]);
  });

  test.each([
    { says: 'nothing', colored: 'terminals' },
    { says: 'NO_COLOR', env: { NO_COLOR: '1' }, colored: 'none' },
    { says: 'NO_COLOR without a value', env: { NO_COLOR: '' }, colored: 'terminals' },
    { says: 'TERM=dumb', env: { TERM: 'dumb' }, colored: 'none' },
    { says: 'FORCE_COLOR', env: { FORCE_COLOR: '1' }, colored: 'both' },
    { says: 'FORCE_COLOR=0', env: { FORCE_COLOR: '0' }, colored: 'none' },
    { says: '--no-color', more: ['--no-color'], env: { FORCE_COLOR: '1' }, colored: 'none' },
    { says: '--color never', more: ['--color', 'never'], env: { FORCE_COLOR: '1' }, colored: 'none' },
    { says: '--color always', more: ['--color', 'always'], env: { NO_COLOR: '1' }, colored: 'both' },
  ])('color is for each stream by itself: $says', async ({ more = [], env = {}, colored }) => {
    for (const terminals of ['stdout', 'stderr', 'both', 'none']) {
      const isTerminal = (stream: string) => terminals === 'both' || terminals === stream;
      const isColored = (stream: string) => colored === 'both' || (colored === 'terminals' && isTerminal(stream));

      const printed = await printedOnBoth(more, env, isTerminal);

      expect([terminals, printed.stdout.includes(escapeByte), printed.stderr.includes(escapeByte)]).toEqual([
        ...[terminals, isColored('stdout'), isColored('stderr')],
      ]);
    }
  });

  test('a run on a terminal shows how far it is before its first answer', async () => {
    await using directory = await temporaryDirectory();
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using service = await scriptedService({ status: 201, after: asked, body: { id: '1', fields: {} } });
    const env = { ...environmentFor(service), LISTCTL_STATE_DIR: directory.path, HOME: directory.path, TERM: 'xterm' };
    const host = testHost({ env, terminal: 80, cwd: directory.path });
    // As the real clock does it, which is what a bar is drawn by.
    const everyMs: number[] = [];
    const every = (ms: number, work: () => void) => {
      everyMs.push(ms);
      const timer = setInterval(work, ms);
      return () => clearInterval(timer);
    };
    const stdin = testHost({ stdin: '{"Title":"a"}\n' }).stdin;

    const running = main(['items', 'create', '--from', '-'], { ...host, stdin, clock: { ...host.clock, every } });
    await vi.waitFor(() => expect(host.printed.stderr).toMatch(/0\D+1\b/), { timeout: 60_000 });
    answer();

    expect(await running).toBe(0);
    expect(everyMs[0]).toBeLessThan(100);
  });
});

describe('prompts', () => {
  test('only commands that must ask do, and where they may not, none waits for an answer', async () => {
    const readers = async (how: Parameters<typeof endAll>[0]) => {
      const ended = await endAll({ onTerminal: true, ...how });
      expect(ended.filter(({ exitCode }) => exitCode === undefined).map(({ path }) => path)).toEqual([]);
      return ended.filter(({ hasReadInput }) => hasReadInput).map(({ path }) => path);
    };

    expect((await readers({ input: 'ended' })).toSorted()).toEqual(asking.toSorted());
    expect(await readers({ more: ['--no-input'] })).toEqual([]);
    expect(await readers({ env: { CI: 'true' } })).toEqual([]);
  });

  test('an end of input means no: nothing is written, and that is exit code 2', async () => {
    const ended = await endAll({ onTerminal: true, input: 'ended' }, asking);

    for (const { path, exitCode, requests } of ended) {
      expect([path, exitCode, requests.filter((method) => method !== 'GET')]).toEqual([path, 2, []]);
    }
  });
});

describe('the network', () => {
  test('only commands with a question for the service make a connection, and to the service alone', async () => {
    const ended = await endedOffTerminal();

    expect(ended.filter(({ path, attempts }) => attempts > 0 && !connecting.test(path))).toEqual([]);
    expect(ended.filter(({ attempts, connections }) => attempts !== connections)).toEqual([]);
    expect(ended.filter(({ attempts }) => attempts > 0).length).toBeGreaterThan(5);
  });

  test('a dry run writes nothing; but for what apply and edit compare with, it does not connect', async () => {
    const dry = leaves.filter(({ options }) => options.some(({ long }) => long === '--dry-run'));
    const ended = await endAll(
      { more: ['--dry-run'], onTerminal: true },
      dry.map(({ path }) => path),
    );

    expect(ended.length).toBeGreaterThan(5);
    for (const { path, exitCode, requests, attempts } of ended) {
      const mayRead = path === 'apply' || path === 'items edit';
      expect([path, exitCode, requests.filter((method) => !mayRead || method !== 'GET')]).toEqual([path, 0, []]);
      if (!mayRead) expect([path, attempts]).toEqual([path, 0]);
    }
  });
});

describe('names', () => {
  /** Flags with another text elsewhere, as the page lists: the same meaning for what the command works on. */
  const told = [
    '--all',
    '--data',
    '--field',
    '--force',
    '--from',
    '--in-doubt',
    '--journal',
    '--limit',
    '--rows',
    '--since',
    '--unset',
    '--yes',
  ];

  test('a flag has one description, value and short form in all commands, except for those that the page lists', () => {
    const meanings = new Map<string, Set<string>>();
    for (const option of allOptions()) {
      meanings.set(nameOf(option), (meanings.get(nameOf(option)) ?? new Set()).add(meaningOf(option)));
    }
    const several = [...meanings].filter(([, different]) => different.size > 1);
    const page = readFileSync(join(root, 'docs/conventions.md'), 'utf8');

    expect(several.map(([name]) => name).toSorted()).toEqual(told);
    for (const [name] of several) expect(page).toContain(`| \`${name}\` |`);
  });

  test('a letter is short for one flag, and no command reuses that of a global flag', () => {
    const short = allOptions().filter((option) => option.short !== undefined);
    const pairs = new Set(short.map((option) => `${option.short} ${nameOf(option)}`));
    const own = commands.slice(1).flatMap(({ options }) => options.map(nameOf));

    expect(pairs.size).toBe(new Set(short.map((option) => option.short)).size);
    expect(program.options.map(nameOf).filter((name) => own.includes(name))).toEqual([]);
  });
});

describe('mistakes', () => {
  test('a flag that there is not is exit code 2 for every command: one line and its hint on stderr, stdout empty', async () => {
    for (const { path } of leaves) {
      const { exitCode, stdout, stderr } = await run([...path.split(' '), ...(lines[path] ?? []), '--no-such-flag']);
      expect([path, exitCode, stdout]).toEqual([path, 2, '']);
      expect(stderr).toMatch(/^listctl: unknown option --no-such-flag\n {2}.+\n$/);
    }
  });

  test('what arguments, settings and files show is said before any request, to either kind of service', async () => {
    const own = Object.entries(mistakes).flatMap(([path, each]) => each.map((words) => [path, words] as const));
    const everywhere = Object.keys(mistakes).flatMap((path) =>
      wrongEverywhere.map((words) => [path, `${(lines[path] ?? []).join(' ')} ${words}`] as const),
    );
    for (const service of ['list-item', 'graph'] as const) {
      for (const [path, words] of [...own, ...everywhere]) {
        const { exitCode, requests, stderr } = await endMistake(path, words, service);
        const line = `${path} ${words} (${service})`;
        expect([line, requests]).toEqual([line, []]);
        expect([line, exitCode === 2 || exitCode === 10, stderr]).toEqual([
          line,
          true,
          expect.stringMatching(/^listctl: /),
        ]);
      }
    }
  });

  test('a slip in a command or in a long flag is answered with what was meant', async () => {
    const missed: string[] = [];
    for (const { path, options } of commands.slice(1)) {
      const words = path.split(' ');
      const slips = [
        [...words.slice(0, -1), slipped(words.at(-1))],
        ['help', ...words.slice(0, -1), slipped(words.at(-1))],
        ...options.map((o) => [...words, slipped(o.long)]),
      ];
      for (const typed of slips.filter((each) => (each.at(-1)?.length ?? 0) > 3)) {
        const { exitCode, stdout, stderr } = await run(typed);
        expect([typed, exitCode, stdout]).toEqual([typed, 2, '']);
        if (!stderr.includes('did you mean')) missed.push(typed.join(' '));
      }
    }
    for (const { name } of program.topics) {
      const { stderr } = await run(['help', slipped(name)]);
      if (!stderr.includes(`did you mean ${name}?`)) missed.push(`help ${name}`);
    }
    expect(missed).toEqual([]);
  });

  test('a flag for bulk runs without --from, or before its command, fails with its correct position', async () => {
    const groupOf = ({ group }: { readonly group: string }) => group.endsWith('(with --from)');
    const many = leaves.filter(({ options }) => options.some(groupOf));
    expect(many).toHaveLength(5);
    for (const { path, options } of many) {
      const ofMany = options.filter(groupOf);
      expect(ofMany.length).toBeGreaterThan(5);
      for (const { long } of ofMany.filter(({ long }) => long !== '--from' && long !== '--keep-before')) {
        const { exitCode, stderr } = await run([...path.split(' '), long]);
        expect([path, exitCode, stderr]).toEqual([path, 2, expect.stringContaining(`${long} requires --from`)]);
        const early = await run([long, ...path.split(' '), '--from', 'rows.csv']);
        expect(early.stderr).toContain(`${long} must come after the command`);
      }
    }
  });
});

describe('a pipe', () => {
  test.each(['json', 'jsonl', 'yaml', 'csv', 'tsv'])('a wide value is whole in what a program reads: %s', async (o) => {
    const Title = Array.from({ length: 3000 }, (_, at) => `w${at}`).join('-');
    await using service = await scriptedService({ status: 200, body: { id: '17', fields: { Title } } });

    for (const terminal of [40, undefined]) {
      const world = { env: environmentFor(service), ...(terminal === undefined ? {} : { terminal }) };
      expect((await run(['items', 'get', '17', '-o', o], world)).stdout).toContain(Title);
    }
  });
});

function nameOf({ long }: OptionNode): string {
  return long;
}

function meaningOf({ flags, description }: OptionNode): string {
  return `${flags} ${description}`;
}

function allOptions(): readonly OptionNode[] {
  return commands.flatMap(({ options }) => options);
}

/** With its last letter twice. */
function slipped(word = ''): string {
  return word + word.slice(-1);
}

/** What an item looks like on stdout, and an error on stderr. */
async function printedOnBoth(
  more: readonly string[],
  env: Readonly<Record<string, string>>,
  isTerminal: (stream: string) => boolean,
) {
  await using service = await scriptedService({ status: 200, body: { id: '17', fields: { Title: 'a' } } });
  const made = testHost({ env: { TERM: 'xterm', ...environmentFor(service), ...env } });
  const onTerminal = { isTTY: true, columns: 80 };
  const host = {
    ...made,
    stdout: { ...made.stdout, ...(isTerminal('stdout') ? onTerminal : {}) },
    stderr: { ...made.stderr, ...(isTerminal('stderr') ? onTerminal : {}) },
  };
  await main(['items', 'get', '17', '-o', 'pretty', ...more], host);
  await main(['items', 'get', '..', ...more], host);
  return made.printed;
}

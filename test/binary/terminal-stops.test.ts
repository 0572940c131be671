/** Who stops listctl at a terminal gets it back as it was: echo, lines, the cursor. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { describe, expect, test } from 'vitest';
import { environmentFor, newItems, type ScriptedService, scriptedService } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { openShell, type ShellSession } from '../support/typed-shell.ts';

const ctrlC = '\u0003';
const ctrlZ = '\u001a';
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGKILL: 137 } as const;

/** Every kind of question, and the words that lead to it. */
const questions = [
  { kind: 'a yes or no', line: 'listctl items delete 17', sign: 'Delete item 17', typed: 'y' },
  { kind: 'a text', line: 'listctl init -p default', sign: 'Service URL', typed: 'https://half' },
  { kind: 'a secret', line: 'listctl auth login', sign: 'Token for', typed: 'half-canary' },
] as const;

/** At a question, something ends listctl: nothing was sent or saved, and the terminal is as it was. */
async function expectStopAt(
  { line, sign }: (typeof questions)[number],
  stop: (world: ShellWorld, sttyBefore: string) => unknown,
  exitCode: number = exitCodes.SIGINT,
): Promise<void> {
  await using world = await inShell();
  const { session, service } = world;
  const before = await session.run('stty -a');

  session.start(line);
  await session.shows(sign);
  await stop(world, before);
  await session.ended();

  await expectUsable(session, before, exitCode);
  expect(service.requests).toHaveLength(0);
  expect(world.kept()).toEqual([]);
  expect(session.terminal.written).not.toContain('canary');
}

describe.each(questions)('at the question for $kind', (question) => {
  const { sign, typed } = question;

  test('Ctrl-C ends listctl by its signal, and the terminal is as it was', () =>
    expectStopAt(question, ({ session }) => session.terminal.type(`${typed}${ctrlC}`)));

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s from elsewhere does the same', (signal) =>
    expectStopAt(question, (world) => world.kill(signal), exitCodes[signal]),
  );

  test('Ctrl-Z returns to the shell, and fg repeats the prompt', () =>
    expectStopAt(question, async ({ session }, before) => {
      session.terminal.type(`${typed}${ctrlZ}`);
      await session.ended();
      expect(await session.run('stty -a')).toBe(before);
      session.start('fg');
      await session.shows(sign);
      session.terminal.type(ctrlC);
    }));
});

test('a prompt suspended with Ctrl-Z accepts its answer after fg, without the input typed before', async () => {
  await using world = await inShell();
  const { session, service } = world;

  session.start('listctl items delete 17');
  await session.shows('Delete item 17');
  session.terminal.type(`n${ctrlZ}`);
  await session.ended();
  session.start('fg');
  await session.shows('Delete item 17');
  session.terminal.type('y\r');

  expect(await session.ended()).toContain('deleted 17');
  expect(service.requests.map(({ method }) => method)).toEqual(['DELETE']);
});

test('Ctrl-C says what a write waits for, and a second one prints the doubt and its key', async () => {
  await using world = await inShell({ silent: true });
  const { session, service } = world;

  session.start('listctl items create -f Title=x');
  await session.terminal.comesTo('the request', () => service.requests.length > 0);
  session.terminal.type(ctrlC);
  await session.shows('stopping: waiting up to 2 s for the response');
  session.terminal.type(ctrlC);
  const shown = await session.ended();

  expect(shown.replaceAll(/\s+/g, ' ')).toContain('in doubt: cannot confirm the request to create an item');
  expect(shown).toContain('--idempotency-key ');
});

describe('while a run shows its bar', () => {
  test('Ctrl-C waits for pending requests, then prints a summary and how to resume, and restores the terminal', async () => {
    let answer = () => {};
    const after = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using world = await inShell({ after });
    const { session, service } = world;
    const before = await startRows(world);

    await session.terminal.comesTo('requests', () => service.requests.length > 0);
    session.terminal.type(ctrlC);
    await session.shows('stopping: waiting for 1 response');
    answer();
    const shown = await session.ended();

    const done = service.requests.length;
    expect(shown).toContain(`50 rows: ${done} created, ${50 - done} remaining`);
    expect(shown).toContain('resume with: listctl items create --from rows.csv');
    expect(shown).not.toMatch(/\[[-=]+\]|\^C/);
    await expectUsable(session, before, exitCodes.SIGINT);
  });

  test('twice does not wait, and still leaves the terminal usable', async () => {
    await using world = await inShell({ silent: true });
    const { session, service } = world;
    const before = await startRows(world);

    await session.terminal.comesTo('requests', () => service.requests.length > 0);
    session.terminal.type(ctrlC);
    // Two that come at once may count as one.
    await session.shows('stopping: waiting for 1 response');
    session.terminal.type(ctrlC);
    const shown = await session.ended();

    expect(shown).toContain('in doubt');
    await expectUsable(session, before, exitCodes.SIGINT);
  });

  test('kill -9 leaves the terminal usable too', async () => {
    await using world = await inShell({ silent: true });
    const { session } = world;
    const before = await startRows(world);

    world.kill('SIGKILL');
    await session.ended();

    await expectUsable(session, before, exitCodes.SIGKILL);
  });
});

/** Starts to create the rows, until the bar is shown; returns what the terminal was set to. */
async function startRows({ session }: ShellWorld): Promise<string> {
  const before = await session.run('stty -a');
  session.start('listctl items create --from rows.csv --concurrency 4 > results');
  await session.shows(/^\[-+\] 0 of 50/m);
  return before;
}

interface ShellWorld extends AsyncDisposable {
  readonly session: ShellSession;
  readonly service: ScriptedService;
  /** Sends a signal to the listctl that was started last, and to nothing else. */
  kill(signal: NodeJS.Signals): void;
  /** The settings that are kept. */
  kept(): readonly string[];
}

/** A shell that leaves the terminal as it finds it, a file of rows, and a service that answers like this. */
async function inShell(answer: { after?: Promise<unknown>; silent?: boolean } = {}): Promise<ShellWorld> {
  const service = await scriptedService({ status: 201, body: newItems(), ...answer });
  const directory: TemporaryDirectory = await temporaryDirectory();
  const home = directory.path;
  const rows = Array.from({ length: 50 }, (_, at) => `row ${at + 1}\n`);
  writeFileSync(join(home, 'rows.csv'), `Title\n${rows.join('')}`);
  const settings = join(home, 'settings');
  const { LISTCTL_TOKEN: token, ...env } = environmentFor(service);
  const session = await openShell('sh', home, {
    columns: 120,
    env: { ...env, LISTCTL_TOKEN: token ?? '', LISTCTL_CONFIG_DIR: settings },
  });
  return {
    ...{ session, service },
    kill: (signal) => kill(Number(readFileSync(join(home, 'pid'), 'utf8')), signal),
    kept: () => readdirSync(home).filter((name) => name === 'settings'),
    [Symbol.asyncDispose]: async () => {
      await session[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** What is typed next is shown and taken as a line, and the cursor is there. */
async function expectUsable({ terminal, run }: ShellSession, sttyBefore: string, exitCode: number): Promise<void> {
  expect(terminal.cursor.isVisible).toBe(true);
  expect(terminal.screen.modes.wraparoundMode).toBe(true);
  expect(await run('echo "it was $?"')).toBe(`it was ${exitCode}`);
  expect(terminal.text()).toContain('ready> echo "it was $?"\n');
  const sttyAfter = await run('stty -a');
  expect(sttyAfter).toBe(sttyBefore);
  expect(sttyAfter.split(/[\s;]+/)).toEqual(expect.arrayContaining(['isig', 'icanon', 'echo']));
}

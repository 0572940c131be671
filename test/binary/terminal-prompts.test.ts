/** Questions on a real terminal: what is shown, what each answer does, and how the terminal is left. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listctlFile, testNode } from '../support/listctl.ts';
import { environmentFor, type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { listctlInTerminal, openTerminal, type Terminal, type TerminalOptions } from '../support/terminal.ts';

const missing = { status: 404, body: { error: 'there is no such item' } };
const token = 'canary-0123456789-abcdefghij';
const clear = '\u0015';

describe('init', () => {
  test('asks for everything, one question after the other, and shows every answer but the token', async () => {
    await using service = await scriptedService(missing);
    await using directory = await settingsDirectory();
    await using terminal = listctlInTerminal(['init'], { env: directory.env });

    await terminal.shows('? Profile name, for --profile (default)');
    terminal.type('\r');
    await terminal.shows('? Service URL, including the version path');
    terminal.type(`${service.url}\r`);
    await terminal.shows('? Site');
    terminal.type('home\r');
    await terminal.shows('? List');
    terminal.type('tasks\r');
    await terminal.shows('? Token for');
    terminal.type(`${token}\r`);
    await terminal.shows('? Ask before every write through this profile? (y/N)');
    terminal.type('\r');

    expect(await terminal.ended).toEqual({ exitCode: 0, signal: undefined });
    expect(terminal.lines().slice(0, 6)).toEqual([
      '✔ Profile name, for --profile default',
      `✔ Service URL, including the version path ${service.url}`,
      '✔ Site home',
      '✔ List tasks',
      `✔ Token for ${service.url}`,
      'the service responds and accepts the token',
    ]);
    expect(withoutEscapes(terminal)).not.toContain('canary');
    expect(directory.tokens()).toEqual({ default: { origin: new URL(service.url).origin, token } });
    expect(terminal.cursor).toMatchObject({ column: 0, isVisible: true });
  });
});

describe('delete', () => {
  test.each([
    { keys: 'y\r', shown: 'Yes', exitCode: 0, sent: 1 },
    { keys: 'n\r', shown: 'No', exitCode: 2, sent: 0 },
    { keys: '\r', shown: 'No', exitCode: 2, sent: 0 },
    { keys: '\u0004', shown: '(y/N)', exitCode: 2, sent: 0 },
  ])('asks, and answered by $keys ends with $exitCode', async ({ keys, shown, exitCode, sent }) => {
    await using world = await atService({ status: 204 });
    await using terminal = world.open(['items', 'delete', '17']);

    await terminal.shows(world.question);
    terminal.type(keys);

    expect(await terminal.ended).toEqual({ exitCode, signal: undefined });
    expect(world.service.requests).toHaveLength(sent);
    expect(terminal.lines()[0]).toBe(`${keys === '\u0004' ? '?' : '✔'} ${world.question} ${shown}`);
    expect(terminal.lines()[1]).toBe(sent === 1 ? 'deleted 17' : 'listctl: not confirmed: nothing was deleted');
    expect(terminal.cursor).toMatchObject({ column: 0, isVisible: true });
  });

  test('accepts no other word as an answer, nor one that was typed before the prompt', async () => {
    await using world = await atService({ status: 204 });
    await using terminal = world.open(['items', 'delete', '17']);

    terminal.type('y\r');
    await terminal.shows(world.question);
    terminal.type('what\r');
    await terminal.shows('You must answer with "Yes" or "No"');
    terminal.type(`${clear}no\r`);

    expect(await terminal.ended).toMatchObject({ exitCode: 2 });
    expect(world.service.requests).toHaveLength(0);
    expect(terminal.text()).toContain(`✔ ${world.question} No\n`);
  });

  test('asks in words that wrap where the terminal is narrow, and leaves one question there', async () => {
    await using world = await atService({ status: 204 });
    await using terminal = world.open(['items', 'delete', '17'], { columns: 48 });

    await terminal.shows('(y/N)');
    for (const key of ['n', '\u007f', 'y']) terminal.type(key);
    await terminal.shows('(y/N) y');
    terminal.type('\r');

    expect(await terminal.ended).toMatchObject({ exitCode: 0 });
    const rows = terminal.rows().map(({ text }) => text);
    const compact = (text: string) => text.replaceAll(/\s/g, '');
    expect(compact(rows.slice(0, -1).join(''))).toBe(compact(`✔ ${world.question} Yes`));
    const words = new Set(`✔ ${world.question} Yes`.split(' '));
    expect(
      rows
        .slice(0, -1)
        .flatMap((row) => row.trim().split(' '))
        .filter((word) => !words.has(word)),
    ).toEqual([]);
    expect(rows.at(-1)).toBe('deleted 17');
  });

  test('asks on the terminal where the errors go into a file, too', async () => {
    await using world = await atService({ status: 204 });
    await using terminal = world.openShell('items delete 17 2> errors');

    await terminal.shows(world.question);
    terminal.type('y\r');

    expect(await terminal.ended).toMatchObject({ exitCode: 0 });
    expect(world.service.requests).toHaveLength(1);
    expect(readFileSync(join(world.home, 'errors'), 'utf8')).toBe('');
  });

  test('takes an end of input from before the question for a no', async () => {
    await using world = await atService({ status: 204 });
    // As script(1) does at the end of its own input.
    await using terminal = world.open(['items', 'delete', '17']);
    terminal.type('\u0004');

    expect(await terminal.ended).toEqual({ exitCode: 2, signal: undefined });
    expect(world.service.requests).toHaveLength(0);
  });

  test('asks on the terminal where the results go into a file', async () => {
    await using world = await atService({ status: 204 });
    await using terminal = world.openShell('items delete 17 > result');

    await terminal.shows(world.question);
    terminal.type('y\r');

    expect(await terminal.ended).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(world.home, 'result'), 'utf8')).toBe('{\n  "id": "17"\n}\n');
  });
});

test('auth login asks for the token: it is stored, and seen nowhere', async () => {
  await using service = await scriptedService(missing);
  await using directory = await settingsDirectory();
  const env = { ...directory.env, LISTCTL_BASE_URL: service.url };
  await using terminal = listctlInTerminal(['auth', 'login'], { env });

  await terminal.shows(`Token for ${service.url} [input is masked]`);
  const before = terminal.text();
  // One after the other, as if typed; and Ctrl-T, which may show them.
  for (const key of `${token}x\u007f\u0014`) terminal.type(key);
  terminal.type('\r');

  expect(await terminal.ended).toMatchObject({ exitCode: 0 });
  expect(withoutEscapes(terminal)).not.toMatch(/canary|anary-|0123|abcdef/);
  expect(before.replace(' [input is masked]', '').slice(1)).toBe(terminal.lines()[0]?.slice(1));
  expect(directory.tokens()['default']?.token).toBe(token);
});

describe('a terminal that is closed at a question', () => {
  test.each([
    { words: 'items delete 17 -s s -l l --local', question: '? Delete item 17' },
    { words: 'auth login --base-url https://lists.example', question: '? Token for' },
    { words: 'init -p default', question: '? Service URL' },
    { words: 'apply manifest.yaml -s s -l l --local', question: '(y/N)' },
  ])('ends $words as SIGHUP does, and leaves no lock, core file or settings', async ({ words, question }) => {
    await using directory = await temporaryDirectory();
    const at = (name: string) => join(directory.path, name);
    writeFileSync(at('manifest.yaml'), 'key: Title\nitems:\n  - Title: Milk\n');
    // The shell is needed to report how it ended.
    const line = `trap '' HUP; (trap - HUP; exec '${testNode}' '${listctlFile}' ${words}); echo $? > status`;
    await using terminal = openTerminal('/bin/sh', ['-c', line], {
      cwd: directory.path,
      env: { HOME: directory.path },
    });

    await terminal.shows(question);
    terminal.close();

    await expect.poll(() => readdirSync(directory.path)).toContain('status');
    await expect.poll(() => readFileSync(at('status'), 'utf8')).toBe('129\n');
    expect(readdirSync(directory.path).filter((name) => !/^(manifest.yaml|status|\.local)$/.test(name))).toEqual([]);
  });
});

/** A service, a home of its own, and listctl in terminals between them. */
async function atService(...answers: readonly ScriptedAnswer[]) {
  const service = await scriptedService(...answers);
  const directory = await temporaryDirectory();
  const home = directory.path;
  const env = { ...environmentFor(service), HOME: home, PATH: process.env['PATH'] ?? '' };
  return {
    ...{ service, home },
    question: `Delete item 17 from list "tasks" of site "home" on ${new URL(service.url).origin}?`,
    open: (words: readonly string[], more: TerminalOptions = {}) =>
      listctlInTerminal(words, { env, columns: 120, ...more }),
    /** The same through a shell, for what only its words can say. */
    openShell: (line: string) =>
      openTerminal('sh', ['-c', `'${testNode}' '${listctlFile}' ${line}`], { env, cwd: home, columns: 120 }),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** The output without cursor movements and colors: a secret might be between the colors. */
function withoutEscapes({ written }: Terminal): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
  return written.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
}

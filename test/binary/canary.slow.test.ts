/**
 * The token is nowhere but where it must be: a canary goes through every way that a token may take, and is searched
 * for in what is printed, in every file that is left, and in the list of processes (P28).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { filesWith, newCanary, processesWith } from '../support/canary.ts';
import { listctl } from '../support/listctl.ts';
import { type ScriptedAnswer, scriptedService, tokensSeen } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const canary = newCanary();
const item = { id: '17', fields: { Title: 'Buy milk' } };
const list = ['-s', 'home', '-l', 'tasks'];

/** Commands of every kind, in every mood; none of them is to print the token. */
const commands: readonly (readonly string[])[] = [
  ['items', 'get', '17', ...list],
  ['items', 'get', '17', ...list, '-o', 'json'],
  ['items', 'get', '17', ...list, '--dry-run'],
  ['items', 'create', '-f', 'Title=x', ...list],
  ['items', 'create', '-f', 'Title=x', ...list, '--json'],
  ['items', 'create', '-f', 'Title=x', ...list, '--dry-run', '-o', 'curl'],
  ['items', 'update', '17', '18', '-f', 'Title=x', ...list],
  ['items', 'delete', '17', ...list],
  ['api', 'GET', 'sites/home/lists/tasks/items/17', '--include'],
  ['api', 'POST', 'sites/home/lists/tasks/items', '-f', 'fields:={}', '--dry-run', '-o', 'curl'],
  ['items', 'get', '17', ...list, '-v'],
  ['items', 'get', '17', ...list, '-vv'],
  ['auth', 'status'],
  ['auth', 'status', '-o', 'json'],
  ['profile', 'list', '-o', 'json'],
  ['profile', 'show'],
  ['doctor'],
  ['items', 'get', '17', ...list, '--token', 'x'],
  ['items', 'get'],
  ['--help'],
];

/** Responses of every kind; the last one is no response at all. */
const answers: readonly ScriptedAnswer[] = [
  { status: 200, body: item },
  { status: 401, body: { error: 'expired' } },
  { status: 403, body: { error: { code: 'denied', message: 'no' } } },
  { status: 302, headers: { location: 'https://elsewhere.example/login?next=x' } },
  { status: 500, body: 'broken' },
  { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } },
  { status: 200, cut: true },
];

let home: TemporaryDirectory;
beforeEach(async () => {
  home = await temporaryDirectory();
});
afterEach(() => home[Symbol.asyncDispose]());

/** The only file that holds a token on purpose. */
const kept = () => join(home.path, 'config/credentials.json');

/** The environment of every run: all that it may write is below one directory. */
function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    HOME: home.path,
    LISTCTL_CONFIG_DIR: join(home.path, 'config'),
    LISTCTL_DATA_DIR: join(home.path, 'data'),
    LISTCTL_STATE_DIR: join(home.path, 'state'),
    TMPDIR: home.path,
    LISTCTL_RETRIES: '0',
    ...more,
  };
}

/** Runs a command, and gives every place where the canary was seen. */
async function leaksOf(
  words: readonly string[],
  more: Readonly<Record<string, string>>,
  input = '',
): Promise<string[]> {
  const running = listctl(words, environment(more), { cwd: home.path, input });
  const seen = new Set<string>();
  const look = () => {
    for (const pid of processesWith(canary)) seen.add(`process ${pid}`);
  };
  const looking = setInterval(look, 20);
  const { stdout, stderr } = await running;
  clearInterval(looking);
  return [
    ...(stdout.includes(canary) ? [`stdout of ${words.join(' ')}: ${stdout}`] : []),
    ...(stderr.includes(canary) ? [`stderr of ${words.join(' ')}: ${stderr}`] : []),
    ...seen,
  ];
}

/** Where a run of every command leaks, against every answer. */
async function leaksOfAll(more: Readonly<Record<string, string>>, against = answers): Promise<string[]> {
  const leaks: string[] = [];
  for (const answer of against) {
    await using service = await scriptedService(answer);
    const results = await Promise.all(
      commands.map((words) => leaksOf(words, { LISTCTL_BASE_URL: service.url, ...more })),
    );
    leaks.push(...results.flat());
  }
  return leaks;
}

test('the canary is another one in each run, so that no other suite on the machine is seen', () => {
  expect(newCanary()).toMatch(/^canary-[0-9a-f]{8}-[0-9a-f]{16}$/);
  expect(newCanary()).not.toBe(newCanary());
});

describe('the search finds what is planted', () => {
  test('in a file, at any depth, and in invalid UTF-8', () => {
    const planted = join(home.path, 'a/b/config.json.bak');
    mkdirSync(join(home.path, 'a/b'), { recursive: true });
    writeFileSync(planted, Buffer.concat([Buffer.from([0, 255, 254]), Buffer.from(`{"token":"${canary}"}`)]));

    expect(filesWith(canary, home.path)).toEqual([planted]);
    expect(filesWith(canary, home.path, [planted])).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')('in the list of processes', async () => {
    const planted = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 10_000)', canary]);
    try {
      await expect.poll(() => processesWith(canary), { timeout: 10_000 }).toEqual([String(planted.pid)]);
    } finally {
      planted.kill();
    }
  });

  test('in what a command prints, where printing it is its purpose', async () => {
    expect(await leaksOf(['auth', 'token'], { LISTCTL_TOKEN: canary })).toEqual([expect.stringMatching(/^stdout of/)]);
  });
});

describe('and nothing else', { timeout: 120_000 }, () => {
  test('with a token in the environment', async () => {
    expect(await leaksOfAll({ LISTCTL_TOKEN: canary })).toEqual([]);
    expect(filesWith(canary, home.path)).toEqual([]);
  });

  test('with one in a file', async () => {
    const file = join(home.path, 'token.txt');
    writeFileSync(file, `${canary}\n`);

    expect(await leaksOfAll({ LISTCTL_TOKEN_FILE: file })).toEqual([]);
    expect(filesWith(canary, home.path, [file])).toEqual([]);
  });

  test('with one that a command prints', async () => {
    const file = join(home.path, 'token.txt');
    writeFileSync(file, canary);
    await leaksOf(['profile', 'set', 'default', '--token-command', `cat ${file}`], { PATH: env['PATH'] ?? '' });

    expect(await leaksOfAll({ PATH: env['PATH'] ?? '' })).toEqual([]);
    expect(filesWith(canary, home.path, [file])).toEqual([]);
  });

  test('with a stored token: it is in one file only, and is removed by logout', async () => {
    await using service = await scriptedService({ status: 200, body: item });
    const login = ['auth', 'login', '--with-token', '--no-check', '--base-url', service.url];
    expect(await leaksOf(login, {}, `${canary}\n`)).toEqual([]);
    expect(await leaksOf([...login, '-p', 'other'], {}, canary)).toEqual([]);

    const results = await Promise.all(commands.map((words) => leaksOf(words, {})));
    const changed = await leaksOf(['profile', 'set', 'third', '--site', 'x'], {});

    expect([...results.flat(), ...changed]).toEqual([]);
    expect(tokensSeen(service)).toContain(`Bearer ${canary}`);
    expect(filesWith(canary, home.path, [kept()])).toEqual([]);
    expect(filesWith(canary, home.path)).toEqual([kept()]);

    await leaksOf(['auth', 'logout', '-p', 'default'], {});
    await leaksOf(['profile', 'remove', 'other'], {});
    expect(filesWith(canary, home.path)).toEqual([]);
  });

  test('with one for another origin', async () => {
    await using service = await scriptedService({ status: 200, body: item });
    await leaksOf(['auth', 'login', '--with-token', '--no-check', '--base-url', 'https://own.example'], {}, canary);

    const results = await Promise.all(commands.map((words) => leaksOf(words, { LISTCTL_BASE_URL: service.url })));

    expect(results.flat()).toEqual([]);
    expect(tokensSeen(service)).toEqual([]);
  });

  test.each(['CANARY ', 'CANARY\u0007', 'CANARYé', '"CANARY"\n\n'])('with an invalid token: %j', async (form) => {
    const bad = form.replace('CANARY', canary);
    expect(
      await leaksOf(['auth', 'login', '--with-token', '--no-check', '--base-url', 'https://own.example'], {}, bad),
    ).toEqual([]);
    expect(await leaksOfAll({ LISTCTL_TOKEN: bad }, answers.slice(0, 1))).toEqual([]);
    expect(filesWith(canary, home.path)).toEqual([]);
  });

  test('in what Node prints about itself', async () => {
    await using service = await scriptedService({ status: 201, body: item });
    const more = { LISTCTL_TOKEN: canary, LISTCTL_BASE_URL: service.url, NODE_DEBUG: '*' };

    expect(await leaksOf(['items', 'create', '-f', 'Title=x', ...list], more)).toEqual([]);
    expect(tokensSeen(service)).toEqual([`Bearer ${canary}`]);
  });

  test('in damaged credentials', async () => {
    await leaksOf(['auth', 'login', '--with-token', '--no-check', '--base-url', 'https://own.example'], {}, canary);
    writeFileSync(kept(), readFileSync(kept(), 'utf8').slice(0, -4));

    const results = await Promise.all(commands.map((words) => leaksOf(words, {})));

    expect(results.flat()).toEqual([]);
  });

  test.skipIf(process.platform === 'win32')('in the report of a process (P28)', async () => {
    await using service = await scriptedService({ status: 200, silent: true });
    const report = `--report-on-signal --report-directory=${home.path}`;
    const more = { LISTCTL_TOKEN: canary, LISTCTL_BASE_URL: service.url, NODE_OPTIONS: report };
    const running = listctl(['items', 'get', '17', ...list], environment(more), { cwd: home.path });
    while (service.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));

    running.kill('SIGUSR2');
    const reports = () => readdirSync(home.path).filter((name) => name.startsWith('report.'));
    const isWhole = (name: string) => readFileSync(join(home.path, name), 'utf8').endsWith('\n}\n');
    await expect.poll(() => reports().some(isWhole)).toBe(true);
    running.kill('SIGKILL');
    await running;

    expect(tokensSeen(service)).toEqual([`Bearer ${canary}`]);
    expect(filesWith('LISTCTL_BASE_URL', home.path)).toHaveLength(1);
    expect(filesWith(canary, home.path)).toEqual([]);
  });
});

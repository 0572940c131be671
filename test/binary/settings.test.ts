/** The user's settings, written by real processes: at once, on a full disk, killed in the middle, at a terminal. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { describe, expect, test } from 'vitest';
import { listctl, listctlFile, shell, testNode } from '../support/listctl.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { smallDisk, whyNoMount } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openTerminal } from '../support/terminal.ts';

/** How many settings each of two loops makes: 200 shows more, 8 is quick. */
const loopLength = Number(env['LISTCTL_TEST_LOOP'] ?? 8);

const noMount = whyNoMount();
const because = noMount === undefined ? '' : ` (skipped: ${noMount})`;

test('two loops of profile set at once lose nothing (P25)', { timeout: 600_000 }, async () => {
  await using directory = await settingsDirectory();
  const loop = (name: string) =>
    shell(
      `for i in $(seq ${loopLength}); do listctl profile set ${name}.$i --site $i -o none || exit $?; done`,
      directory.env,
    );

  const ended = await Promise.all([loop('one'), loop('other')]);

  expect(ended.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual([
    { exitCode: 0, stderr: '' },
    { exitCode: 0, stderr: '' },
  ]);
  expect(Object.keys(directory.read().profiles)).toHaveLength(2 * loopLength);
  expect(readdirSync(directory.path).sort()).toEqual(['config.json', 'config.json.bak']);
});

test('a kill at any time leaves the settings intact, loses no acknowledged change, and leaves no lock', async () => {
  await using directory = await settingsDirectory();
  const told: string[] = [];
  // The first start measures how long one takes here.
  const startedAt = performance.now();
  await listctl(['profile', 'set', 'first', '--site', 'x'], directory.env);
  const tookMs = performance.now() - startedAt;

  for (let round = 0; round < 10; round += 1) {
    const running = listctl(['profile', 'set', `p${round}`, '--site', 'x', '-o', 'id'], directory.env);
    const timer = setTimeout(() => running.kill('SIGKILL'), tookMs * (0.4 + 0.7 * Math.random()));
    if ((await running).stdout !== '') told.push(`p${round}`);
    clearTimeout(timer);
    expect(Object.keys(directory.read().profiles)).toEqual(expect.arrayContaining(told));
  }
  const last = await listctl(['profile', 'set', 'last', '--site', 'x'], directory.env);

  expect(last).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readdirSync(directory.path).sort()).toEqual(['config.json', 'config.json.bak']);
});

describe('what does not fit on the disk changes nothing (P09)', () => {
  /** A string that makes a settings file larger by the given number of bytes. */
  const large = (bytes: number) => `echo ${'x'.repeat(bytes)}`;

  const diskKb = 32;

  test.skipIf(noMount !== undefined).each([
    { first: 7000, second: 9000, because: 'conf writes a part of it, and says nothing' },
    { first: 15_000, second: 100, because: 'there is no room for the copy' },
    { first: 7000, second: 60_000, because: 'it is larger than the disk' },
  ])(`a full disk${because}: $because`, async ({ first, second }) => {
    await using disk = await smallDisk(diskKb);
    const inside = { LISTCTL_CONFIG_DIR: disk.path };
    const set = (name: string, bytes: number) =>
      listctl(['profile', 'set', name, '--token-command', large(bytes)], inside);
    expect(await set('a', first)).toMatchObject({ exitCode: 0 });
    const before = readFileSync(join(disk.path, 'config.json'));

    const { exitCode, stdout, stderr } = await set('b', second);

    expect({ exitCode, stdout }).toEqual({ exitCode: 10, stdout: '' });
    expect(stderr).toContain(`cannot write ${disk.path}/config.json: no space left on the device`);
    expect(readFileSync(join(disk.path, 'config.json')).equals(before)).toBe(true);
    expect(readdirSync(disk.path).filter((name) => name !== 'config.json.bak')).toEqual(['config.json']);
  });

  test.skipIf(noMount !== undefined)(`nor is a token lost${because}`, async () => {
    await using disk = await smallDisk(diskKb);
    const inside = { LISTCTL_CONFIG_DIR: disk.path };
    const login = (profile: string, token: string) =>
      listctl(
        ['auth', 'login', '-p', profile, '--base-url', 'https://a.example', '--with-token', '--no-check'],
        inside,
        {
          input: token,
        },
      );
    expect(await login('a', 'x'.repeat(7000))).toMatchObject({ exitCode: 0 });
    const before = readFileSync(join(disk.path, 'credentials.json'));

    expect(await login('b', 'y'.repeat(9000))).toMatchObject({ exitCode: 10, stdout: '' });

    expect(readFileSync(join(disk.path, 'credentials.json')).equals(before)).toBe(true);
    expect(readdirSync(disk.path)).not.toContain('credentials.json.bak');
  });

  test.skipIf(process.platform === 'win32')('a limit on the size of files', async () => {
    await using directory = await settingsDirectory();
    const set = 'listctl profile set';
    await shell(`${set} a --site x`, directory.env);
    const before = readFileSync(directory.config);

    const { exitCode, stderr } = await shell(`ulimit -f 4; ${set} b --token-command '${large(9000)}'`, directory.env);

    expect([exitCode, stderr]).toEqual([10, expect.stringContaining(`cannot write ${directory.config}`)]);
    expect(readFileSync(directory.config).equals(before)).toBe(true);
  });
});

test.skipIf(noMount !== undefined)(`a read-only directory is named, and reads still work${because} (P11)`, async () => {
  await using disk = await smallDisk(64);
  const inside = { LISTCTL_CONFIG_DIR: disk.path };
  await listctl(['profile', 'set', 'a', '--local', '-s', 's', '-l', 'l'], inside);
  spawnSync('mount', ['-o', 'remount,ro', disk.path]);

  const read = await listctl(['items', 'get', '1', '--dry-run', '-o', 'json'], inside);
  const write = await listctl(['profile', 'set', 'b', '--site', 'x'], inside);

  expect(read).toMatchObject({ exitCode: 0, stderr: '' });
  expect(write).toMatchObject({ exitCode: 10, stdout: '', stderr: expect.stringContaining(disk.path) });
});

test('without a home there are settings from the environment, and no place to keep others (P30)', async () => {
  const reads = await listctl(['items', 'get', '1', '--dry-run', '--local', '-s', 's', '-l', 'l'], { HOME: '' });

  expect(reads).toMatchObject({ exitCode: 0, stderr: '' });
});

test.each(['', '.', 'x'])('settings below the current directory do not count, HOME being "%s"', async (home) => {
  await using clone = await temporaryDirectory();
  const config = { version: 1, current: 'planted', profiles: { planted: { tokenCommand: 'touch ran' } } };
  for (const above of ['.config', join('x', '.config')]) {
    mkdirSync(join(clone.path, above, 'listctl'), { recursive: true });
    writeFileSync(join(clone.path, above, 'listctl', 'config.json'), JSON.stringify(config), { mode: 0o600 });
  }
  // Read-only: the home directory of the passwd database, which is used then, is that of the user who runs the tests.
  const { exitCode, stdout } = await listctl(
    ['profile', 'list'],
    { HOME: home, XDG_CONFIG_HOME: '.config' },
    { cwd: clone.path },
  );

  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('planted');
});

describe('at a terminal', () => {
  const token = 'canary-0123456789-abcdefghij';

  test.each([
    { typed: '\u0003', exit: 130, stored: [], because: 'Ctrl-C' },
    { typed: `${token}\u0003`, exit: 130, stored: [], because: 'Ctrl-C behind half a token' },
    { typed: '\u0004', exit: 2, stored: [], because: 'Ctrl-D' },
    {
      typed: `${token}\u0014\u0014x\u007f\u0014\r`,
      exit: 0,
      stored: ['config.json', 'credentials.json'],
      because: 'Ctrl-T',
    },
    { typed: `${token}\r`, exit: 0, stored: ['config.json', 'credentials.json'], because: 'Enter' },
  ])('the token is never shown, and after $because the terminal echoes again (P04)', async (row) => {
    await using directory = await settingsDirectory();
    const line = `'${testNode}' '${listctlFile}' auth login --base-url https://a.example; echo "exit=$?"; stty -a; read -r _`;
    await using terminal = openTerminal('sh', ['-c', line], { env: { ...directory.env, PATH: env['PATH'] ?? '' } });

    await terminal.shows('Token for');
    terminal.type(row.typed);
    // The shell stays until all of it was read: Linux discards what a terminal holds when its session leader exits.
    await terminal.shows(/[ ;-]icanon[ ;]/);
    terminal.type('\r');
    await terminal.ended;

    const { written } = terminal;
    expect(written).toContain(`exit=${row.exit}`);
    expect(written).toMatch(/[ ;]echo[ ;]/);
    expect(written).toMatch(/[ ;]icanon[ ;]/);
    expect(written).not.toContain('canary');
    expect(readdirSync(directory.path).sort()).toEqual(row.stored);
  });
});

// In a process of its own: what is guarded against is a call that never returns.
test.skipIf(process.platform !== 'linux').each([
  { words: ['profile', 'set', 'a', '--site', 'b'], variable: 'LISTCTL_CONFIG_DIR', path: '/proc/x', exit: 10 },
  { words: ['profile', 'set', 'a', '--site', 'b'], variable: 'LISTCTL_CONFIG_DIR', path: '/proc/x/y', exit: 10 },
  { words: ['items', 'get', '1', '--local'], variable: 'LISTCTL_DATA_DIR', path: '/proc/y', exit: 10 },
  {
    words: ['items', 'delete', '--yes', '--from', '-', '--input-format', 'ids', '--local'],
    variable: 'LISTCTL_STATE_DIR',
    path: '/proc/w',
    exit: 10,
  },
])('a directory below one that takes none ends: $variable=$path', async ({ words, variable, path, exit }) => {
  await using directory = await temporaryDirectory();
  const env = {
    LISTCTL_SITE: 's',
    LISTCTL_LIST: 'l',
    LISTCTL_CONFIG_DIR: join(directory.path, 'settings'),
    [variable]: path,
  };

  const { exitCode, stderr } = await listctl(words, env, { timeout: 60_000, killSignal: 'SIGKILL', input: '1\n' });

  expect([exitCode, stderr]).toEqual([exit, expect.stringContaining(exit === 0 ? '' : path)]);
});

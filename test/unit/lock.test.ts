/** The lock between processes (locks-1, locks-2). */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Stopped } from '../../src/core/errors.ts';
import { entryOf, type Holder, isLocked, takeLock, thisHolder } from '../../src/core/lock.ts';
import { testHost } from '../support/test-host.ts';
import { test as base } from '../support/test-in-directory.ts';

/** A test with a directory, and the path of a lock in it. */
const test = base.extend<{ path: string }>({
  path: ({ directory }, use) => use(join(directory.path, 'a.lock')),
});

const atOnce = { waitMs: 0 };
/** The real processes of this machine. */
const processes = { own: process.pid, isRunning };

test('one at a time: the second caller sees the holder, and acquires the lock once it is released', async ({
  path,
}) => {
  const first = await takeLock(path, atOnce, testHost());

  await expect(takeLock(path, atOnce, testHost())).rejects.toMatchObject({
    kind: 'locked',
    message: expect.stringMatching(new RegExp(`a\\.lock is held by process ${process.pid} on .+, since 20`)),
  });
  first.release();
  const second = await takeLock(path, atOnce, testHost());
  second.release();

  expect(existsSync(path)).toBe(false);
});

test('a waiting process checks again after 50 to 250 ms, and gives up after its timeout', async ({ path }) => {
  const host = testHost();
  await takeLock(path, atOnce, testHost());

  await expect(takeLock(path, { waitMs: 1000 }, host)).rejects.toMatchObject({ kind: 'locked' });

  expect(host.sleptMs.length).toBeGreaterThanOrEqual(4);
  expect(host.sleptMs.every((ms) => ms >= 50 && ms <= 250)).toBe(true);
  expect(readdirSync(path)).toHaveLength(1);
});

test('a wait stops when its signal aborts', async ({ path }) => {
  await takeLock(path, atOnce, testHost());
  const host = testHost();
  const clock = { ...host.clock, sleep: (_: number, signal: AbortSignal) => Promise.reject(signal.reason) };
  const signal = AbortSignal.abort(new Stopped('SIGINT'));

  await expect(takeLock(path, { waitMs: 1000 }, { ...host, clock, signal })).rejects.toBeInstanceOf(Stopped);
});

describe('what others left behind', () => {
  test('the entry of an exited process is removed', async ({ path }) => {
    const gone = spawnSync('true').pid;
    leave(path, { ...thisHolder(processes), pid: gone, startedAt: '1' });

    await takeLock(path, atOnce, { ...testHost(), processes });

    expect(readdirSync(path)).toHaveLength(1);
  });

  test.skipIf(process.platform !== 'linux')(
    'so is that of a process whose number another one has now',
    async ({ path }) => {
      leave(path, { ...thisHolder(processes), startedAt: '1' });

      await takeLock(path, atOnce, { ...testHost(), processes });
    },
  );

  test('that of a living process is respected, however old it is', async ({ path }) => {
    leave(path, thisHolder(processes));

    const taking = takeLock(path, atOnce, { ...testHost(), processes });

    await expect(taking).rejects.toMatchObject({ kind: 'locked', message: expect.stringContaining(`${process.pid}`) });
  });

  test('the entry of another machine is treated as live until the lock is broken', async ({ path }) => {
    leave(path, { pid: 1, startedAt: '1', domain: '0123456789abcdef', nonce: '0123456789ab' });

    await expect(takeLock(path, atOnce, { ...testHost(), processes })).rejects.toMatchObject({
      kind: 'locked',
      details: { hint: expect.stringContaining('if that host is permanently gone') },
    });
    await takeLock(path, { waitMs: 0, breakLock: true }, { ...testHost(), processes });
  });

  test('a file that is not an entry is ignored', async ({ path }) => {
    mkdirSync(path);
    writeFileSync(join(path, 'README'), '');

    await takeLock(path, atOnce, testHost());
  });
});

test('a lock that cannot be made is a local file, named', async ({ directory }) => {
  writeFileSync(join(directory.path, 'file'), '');

  await expect(takeLock(join(directory.path, 'file', 'a.lock'), atOnce, testHost())).rejects.toMatchObject({
    kind: 'local-file',
    message: expect.stringContaining('a.lock'),
  });
});

test('a check reports whether the lock is held, and does not acquire it', async ({ path }) => {
  expect(isLocked(path, processes)).toBe(false);

  const lock = await takeLock(path, atOnce, testHost());
  expect(isLocked(path, processes)).toBe(true);
  expect(readdirSync(path)).toHaveLength(1);
  lock.release();

  expect(isLocked(path, processes)).toBe(false);
  leave(path, { ...thisHolder(processes), pid: spawnSync('true').pid, startedAt: '1' });
  expect(isLocked(path, processes)).toBe(false);
  expect(readdirSync(path)).toHaveLength(1);
  writeFileSync(join(path, entryOf({ pid: 1, startedAt: '1', domain: '0123456789abcdef', nonce: '0123456789ab' })), '');
  expect(isLocked(path, processes)).toBe(true);
});

function leave(path: string, holder: Holder): void {
  mkdirSync(path);
  writeFileSync(join(path, entryOf(holder)), '');
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

test.for(['null', '7', '"x"', '{"host":{},"since":[]}', '{"host":null}', '[]', '{'])(
  'an entry that contains %s still counts, by its name',
  async (said, { path }) => {
    mkdirSync(path);
    const entry = entryOf({ ...thisHolder(processes), domain: '0123456789abcdef' });
    writeFileSync(join(path, entry), said);

    await expect(takeLock(path, atOnce, testHost())).rejects.toMatchObject({
      kind: 'locked',
      message: `${path} is held by process ${process.pid} on another host, since an unknown time`,
    });
  },
);

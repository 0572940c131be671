import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { execa } from 'execa';
import { describe, expect } from 'vitest';
import { openStore } from '../../../src/server/store.ts';
import { failureOf } from '../../support/failure-of.ts';
import { serviceIn, tasks, test } from './service-in.ts';

const runTypescript = join(import.meta.dirname, '../../support/run-typescript.js');
const creatingProcess = join(import.meta.dirname, 'creating-process.ts');

function creating(directory: string, count: number, bytes = 10, shell: readonly string[] = []) {
  const [program, ...before] = [...shell, process.execPath];
  const words = [...before, runTypescript, creatingProcess, directory, String(count), String(bytes)];
  return execa(program ?? '', words, { reject: false });
}

function createdIn(stdout: string): readonly string[] {
  return stdout.split('\n').flatMap((line) => (line.startsWith('201 ') ? [line.slice(4)] : []));
}

describe('a store', () => {
  test('is made in a directory for its owner alone, dots in its name or not', async ({ directory }) => {
    const path = join(directory.path, 'state', 'listctl.d');

    await openStore(path).close();

    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(existsSync(join(path, 'data.mdb'))).toBe(true);
  });

  test('does all of a write or nothing of it', async ({ directory }) => {
    const store = openStore(directory.path);

    const failing = store.write((transaction) => {
      transaction.put(['a'], '1');
      throw new Error('on second thought');
    });
    const passing = store.write((transaction) => transaction.put(['b'], '2'));

    await expect(failing).rejects.toThrow('on second thought');
    await passing;
    expect([store.get(['a']), store.get(['b'])]).toEqual([undefined, '2']);
    await store.close();
  });

  test('commits what waits when it is closed, and then takes no more', async ({ directory }) => {
    const store = openStore(directory.path);

    const write = store.write((transaction) => transaction.put(['a'], '1'));
    await store.close();
    await store.close();

    await write;
    await expect(store.write(() => undefined)).rejects.toThrow('the store is closed');
    const next = openStore(directory.path);
    expect(next.get(['a'])).toBe('1');
    await next.close();
  });

  test('orders its keys part by part, numbers by value', async ({ directory }) => {
    const store = openStore(directory.path);

    const keys = await store.write((transaction) => {
      for (const key of [['e', 10, 'a'], ['e', 9], ['e', 2 ** 41, ''], ['f'], ['d', 1]]) transaction.put(key, '');
      return transaction.entries(['e'], ['e', 2 ** 41], 10).map(([key]) => key);
    });

    expect(keys).toEqual([
      ['e', 9],
      ['e', 10, 'a'],
    ]);
    await store.close();
  });

  test('is shared: what one process stored is visible to another', async ({ service }) => {
    await service.create({ by: 'us' });
    expect((await service.send('GET', `${tasks}/2`)).status).toBe(404);

    const others = await Promise.all([1, 2, 3].map(() => creating(service.directory, 60, 3_000)));
    const ours = await Promise.all(Array.from({ length: 20 }, () => service.create({ by: 'us' })));

    const theirs = others.flatMap(({ stdout }) => createdIn(stdout));
    const ids = ['1', ...theirs, ...ours].map(Number).toSorted((one, other) => one - other);
    expect(ids).toEqual(Array.from({ length: 201 }, (_, at) => at + 1));
    for (const id of theirs) expect((await service.send('GET', `${tasks}/${id}`)).status).toBe(200);
  });

  test('keeps every acknowledged write when the process is killed', async ({ directory }) => {
    const running = creating(directory.path, 1_000_000);
    let told = 0;
    running.stdout.on('data', (chunk: Buffer) => {
      told += chunk.toString().split('\n').length - 1;
      if (told > 100) running.kill('SIGKILL');
    });

    const { stdout, signal } = await running;

    expect(signal).toBe('SIGKILL');
    await using service = await serviceIn(directory);
    const ids = createdIn(stdout);
    expect(ids.length).toBeGreaterThan(100);
    for (const id of ids) expect((await service.send('GET', `${tasks}/${id}`)).status).toBe(200);
    expect(ids).not.toContain(await service.create({}));
  });

  test('lets a disk that is nearly full not be filled', async ({ directory }) => {
    let free = 1.5 * 1024 * 1024;
    const store = openStore(directory.path, () => free);
    const put = (key: string, bytes: number) => store.write((transaction) => transaction.put([key], 'x'.repeat(bytes)));

    const outcomes = await Promise.allSettled([put('a', 10), put('b', 1_000_000), put('c', 10)]);
    free = 1024 * 1024;

    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(put('d', 10)).rejects.toMatchObject({
      kind: 'local-file',
      message: `cannot write to the store in ${directory.path}: no space left on the device`,
    });
    expect(['a', 'b', 'c', 'd'].map((key) => store.get([key])?.length)).toEqual([10, undefined, 10, undefined]);
    await store.close();
  });

  // A limit on the file size replaces a quota, which the free space does not show: writes beyond it fail.
  // Odd, so that it is within a page: a write that fails in its middle must not damage lmdb.
  test.skipIf(process.platform === 'win32')(
    'that can grow no more says so, and has not half of an item',
    async ({ directory }) => {
      const limited = ['sh', '-c', 'ulimit -f 4001 && exec "$0" "$@"'];

      const { stdout, stderr, exitCode } = await creating(directory.path, 1_000, 50_000, limited);

      const ids = createdIn(stdout);
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      expect(stdout.split('\n').at(-1)).toBe('507 undefined');
      await using service = await serviceIn(directory);
      for (const id of ids) expect((await service.send('GET', `${tasks}/${id}`)).status).toBe(200);
      expect(await service.create({})).toBe(String(ids.length + 1));
    },
    30_000,
  );

  test('lets those of a group through that there is room for', async ({ directory }) => {
    const store = openStore(directory.path);
    // Too long for a key of LMDB, which fails the transaction that it is in.
    const tooLong = 'x'.repeat(5_000);

    const outcomes = await Promise.allSettled(
      ['a', tooLong, 'b'].map((name) => store.write((transaction) => transaction.put([name], name))),
    );

    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([store.get(['a']), store.get(['b'])]).toEqual(['a', 'b']);
    await store.close();
  });
});

describe('a directory that cannot be used is named, with the reason', () => {
  test('a file', async ({ directory }) => {
    const path = join(directory.path, 'file');
    writeFileSync(path, 'text');

    expect(failureOf(() => openStore(path))).toMatchObject({
      kind: 'local-file',
      message: `cannot open the store in ${path}: not a directory`,
    });
    expect(failureOf(() => openStore(join(path, 'below')))).toMatchObject({ kind: 'local-file' });
  });

  test.for([
    ['text', Buffer.from('not a store'), 'data.mdb is not a listctl store'],
    ['noise', Buffer.alloc(40_000, 0x5a), 'data.mdb is not a listctl store'],
  ] as const)('%s in the place of the data', async ([_, bytes, reason], { directory }) => {
    writeFileSync(join(directory.path, 'data.mdb'), bytes);

    expect(failureOf(() => openStore(directory.path))).toMatchObject({
      kind: 'local-file',
      message: `cannot open the store in ${directory.path}: ${reason}`,
    });
  });

  test.for([
    [100, 'data.mdb is not a listctl store'],
    [4_200, 'data.mdb is damaged: truncated header'],
    [20_000, 'data.mdb is damaged: truncated'],
  ] as const)('data cut short at %i bytes', async ([bytes, reason], { directory }) => {
    const copy = join(directory.path, 'copy');
    {
      await using service = await serviceIn();
      for (let at = 0; at < 50; at += 1) await service.create({ Text: 'x'.repeat(2_000) });
      cpSync(service.directory, copy, { recursive: true });
    }
    truncateSync(join(copy, 'data.mdb'), bytes);

    expect(failureOf(() => openStore(copy)).message).toBe(`cannot open the store in ${copy}: ${reason}`);
  });

  test.for([0, 1])(
    'one whose head has a wrong bit in transaction %d: no id is given twice',
    async (half, { directory }) => {
      const store = openStore(directory.path);
      for (const id of [1, 2, 3, 4]) await store.write((transaction) => transaction.put(['id'], String(id)));
      await store.close();
      const file = join(directory.path, 'data.mdb');
      const bytes = readFileSync(file);
      for (let bit = 0; bit < 16; bit += 1) {
        const at = half * bytes.readUInt32LE(48) + 152 + (bit >> 3);
        const damaged = Buffer.from(bytes);
        damaged[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        writeFileSync(file, damaged);

        expect(failureOf(() => openStore(directory.path))).toMatchObject({
          kind: 'local-file',
          message: expect.stringContaining('data.mdb is damaged: inconsistent header'),
        });
      }
    },
  );

  test('an empty file, left by a process that exited early, is initialized again', async ({ directory }) => {
    writeFileSync(join(directory.path, 'data.mdb'), '');
    await using service = await serviceIn(directory);

    expect(await service.create({})).toBe('1');
  });

  // Nothing is closed to root.
  test.skipIf(process.getuid?.() === 0)(
    'a directory without access (not for root, who has it)',
    async ({ directory }) => {
      const path = join(directory.path, 'closed');
      mkdirSync(path);
      chmodSync(path, 0o500);

      expect(failureOf(() => openStore(path)).message).toContain('EACCES: permission denied');
      expect(failureOf(() => openStore(join(path, 'below'))).message).toContain('EACCES: permission denied');
      chmodSync(path, 0o700);
    },
  );
});

test.skipIf(process.platform !== 'linux')(
  'a store is made in directories that are missing, whatever their way',
  async ({ directory }) => {
    await openStore(join(directory.path, 'a', 'b', '..', 'c', 'd')).close();

    expect(existsSync(join(directory.path, 'a/c/d/data.mdb'))).toBe(true);
    expect(statSync(join(directory.path, 'a')).mode & 0o777).toBe(0o700);
  },
);

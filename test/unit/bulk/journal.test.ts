/** How a journal is written. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createJournal, reopenJournal } from '../../../src/bulk/journal.ts';
import { encodeLine, encodeLines } from '../../../src/bulk/journal-format.ts';
import { fileIo, type JournalIo } from '../../../src/bulk/journal-lines.ts';
import { readJournal } from '../../../src/bulk/journal-read.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { test } from '../../support/test-in-directory.ts';
import { doneOf, intentOf, readBegun, sampleHeader, sampleSession, writeSample } from './journal-samples.ts';

const path = '/runs/a.journal';
const header = sampleHeader(20);
const session = sampleSession();

describe('a new journal', () => {
  test("is its owner's alone, as is the directory that is made for it, and holds what was written", async ({
    directory,
  }) => {
    const file = join(directory.path, 'state', 'runs', 'a.journal');
    const journal = createJournal(file, header, session);

    journal.write([intentOf(1, 1), intentOf(2, 2)], 5.7);
    await journal.sync();
    journal.write([doneOf(1)], 9);
    await journal.close();

    const lines = encodeLines({ listctl: 'journal', version: 2, ...header }, [
      [0, ['B', session]],
      [5, intentOf(1, 1), intentOf(2, 2)],
      [9, doneOf(1)],
    ]);
    expect(readFileSync(file, 'utf8')).toBe(lines.toString());
    if (process.platform !== 'win32') {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(join(directory.path, 'state')).mode & 0o777).toBe(0o700);
      expect(statSync(join(directory.path, 'state', 'runs')).mode & 0o777).toBe(0o700);
    }
  });

  test('never takes the place of another run, nor of anything else', async ({ directory }) => {
    const file = join(directory.path, 'a.journal');
    await createJournal(file, header, session).close();
    const before = readFileSync(file);
    const other = join(directory.path, 'notes.txt');
    writeFileSync(other, 'milk, eggs');

    expect(() => createJournal(file, header, session)).toThrow('file already exists');
    expect(() => createJournal(other, header, session)).toThrow('is not a listctl journal');

    expect(readFileSync(file)).toEqual(before);
    expect(readFileSync(other, 'utf8')).toBe('milk, eggs');
  });

  test('has its name only once its first line is on disk', () => {
    const disk = powerLossDisk();
    const seen = new Set<number | undefined>();
    disk.onChange = () => seen.add(disk.bytesOf(path)?.length);

    createJournal(path, header, session, disk.io);

    expect([...seen]).toEqual([undefined, disk.bytesOf(path)?.length]);
  });

  test('is created beside the leftovers of a killed process', async () => {
    const disk = powerLossDisk();
    disk.put(`${path}.tmp-listctl-0123456789ab`, Buffer.from('half'));

    await createJournal(path, header, session, disk.io).close();

    expect(await readJournal(path, { boot: 'here', io: disk.io })).toMatchObject({ sessions: [session] });
    expect(disk.io.list('/runs')).toEqual(['a.journal']);
  });

  test.each(['write', 'sync', 'rename', 'syncDirectory'] as const)(
    'leaves nothing behind when it cannot be made: %s',
    (call) => {
      const disk = powerLossDisk();

      expect(() => createJournal(path, header, session, { ...disk.io, [call]: failing('ENOSPC') })).toThrow(
        expect.objectContaining({
          kind: 'local-file',
          message: 'cannot create /runs/a.journal: no space left on the device',
        }),
      );

      expect(disk.io.list('/runs')).toEqual([]);
    },
  );

  test('reports its path if the file cannot be created', async ({ directory }) => {
    writeFileSync(join(directory.path, 'file'), '');

    const make = () => createJournal(join(directory.path, 'file', 'a.journal'), header, session);

    expect(make).toThrow(
      expect.objectContaining({ kind: 'local-file', message: expect.stringContaining('a.journal') }),
    );
  });
});

test('does not write what it could not read again: this is a bug, and is reported at once', async () => {
  const disk = powerLossDisk();
  const journal = createJournal(path, header, session, disk.io);
  const before = disk.bytesOf(path);

  expect(() => journal.write([['D', 1, 'item-1', null, Number.NaN]], 1)).toThrow(TypeError);
  expect(() => journal.write([['I', 1, 1, 1, null, 'no hash']], 1)).toThrow(TypeError);
  expect(() => journal.write([intentOf(1, 1)], Number.NaN)).toThrow(TypeError);
  expect(() => createJournal('/runs/b.journal', { ...header, identity: 'no hash' }, session, disk.io)).toThrow(
    TypeError,
  );
  expect(() => createJournal('/runs/b.journal', header, { ...session, limit: -1 }, disk.io)).toThrow(TypeError);
  journal.write([], 1);

  expect(disk.bytesOf(path)).toBe(before);
  expect(disk.bytesOf('/runs/b.journal')).toBeUndefined();
});

describe('P08: a disk that is full', () => {
  test('is reported at once, also after a partial write; nothing is written after that', async () => {
    for (let room = 0; room < 40; room += 1) {
      const disk = powerLossDisk();
      const full = withRoom(disk.io, Number.POSITIVE_INFINITY);
      const journal = createJournal(path, header, session, full.io);
      journal.write([intentOf(1, 1)], 1);
      await journal.sync();
      full.leave(room);

      const write = () => journal.write([doneOf(1), intentOf(2, 2)], 2);
      const message = 'cannot write /runs/a.journal: no space left on the device';
      expect(write).toThrow(expect.objectContaining({ kind: 'local-file', message }));
      full.leave(1_000_000);
      const after = disk.bytesOf(path);
      expect(write).toThrow(message);
      await expect(journal.sync()).rejects.toThrow(message);
      await expect(journal.close()).rejects.toThrow(message);
      expect(disk.bytesOf(path)).toBe(after);

      const replay = await readJournal(path, { boot: 'here', io: disk.io });
      expect(replay).toMatchObject({ tornBytes: room, nextSeq: 2, counts: { inDoubt: 1, done: 0 } });
      if (replay === undefined) continue;
      await reopenJournal(path, replay, session, disk.io).close();
      expect(await readJournal(path, { boot: 'here', io: disk.io })).toMatchObject({
        tornBytes: 0,
        sessions: [session, session],
        counts: { inDoubt: 1 },
      });
    }
  });

  test('what has begun goes in place of the reserve, once; what was torn is cut off', async () => {
    for (let room = 0; room < 40; room += 1) {
      const disk = powerLossDisk();
      const full = withRoom(disk.io, Number.POSITIVE_INFINITY);
      let reserve: number | undefined;
      const io: JournalIo = {
        ...full.io,
        reserve: () => {
          reserve = disk.io.open('/reserve', 'ax');
          return reserve;
        },
        close: (descriptor) => {
          disk.io.close(descriptor);
          if (descriptor === reserve) full.leave(300);
        },
      };
      const journal = createJournal(path, header, { ...session, limit: 4 }, io);
      journal.write([intentOf(1, 1)], 1);
      await journal.sync();
      expect(journal.full).toBeUndefined();
      full.leave(room);

      journal.write([doneOf(1), intentOf(2, 2)], 2);
      expect(journal.full).toMatchObject({ kind: 'local-file', message: expect.stringContaining('no space left') });
      journal.write([['N', 2]], 3);
      await journal.close();

      const replay = await readJournal(path, { boot: 'here', io: disk.io });
      expect(replay).toMatchObject({ tornBytes: 0, counts: { inDoubt: 0, done: 1 } });
    }
  });

  test.each(['EIO', 'EFBIG'])('a write that fails with %s uses no reserve', (code) => {
    const disk = powerLossDisk();
    const io: { -readonly [call in keyof JournalIo]: JournalIo[call] } = {
      ...disk.io,
      reserve: () => disk.io.open('/reserve', 'ax'),
    };
    const journal = createJournal(path, header, { ...session, limit: 4 }, io);
    io.write = failing(code);

    expect(() => journal.write([intentOf(1, 1)], 1)).toThrow('cannot write /runs/a.journal');
    io.write = disk.io.write;
    expect(() => journal.write([intentOf(1, 1)], 2)).toThrow('cannot write /runs/a.journal');
    expect(journal.full).toBeUndefined();
  });

  test('a disk that takes a little at a time takes all of it', async () => {
    const disk = powerLossDisk();
    const slow: JournalIo = {
      ...disk.io,
      write: (descriptor, bytes, ...at) => disk.io.write(descriptor, bytes.subarray(0, at[0] + 7), ...at),
    };

    await writeSample(path, [[intentOf(1, 1)], [doneOf(1)]], slow);

    expect(await readJournal(path, { boot: 'here', io: disk.io })).toMatchObject({ tornBytes: 0, counts: { done: 1 } });
  });

  test('a system that writes nothing, and reports no error, does not cause an endless loop', () => {
    expect(() => createJournal(path, header, session, { ...powerLossDisk().io, write: () => 0 })).toThrow(
      'no space left on the device',
    );
  });
});

describe('a journal that loses its name while it is written', () => {
  test.each(['removed', 'replaced', 'moved'] as const)('%s: the next sync fails, and all after it', async (how) => {
    const disk = powerLossDisk();
    const journal = createJournal(path, header, session, disk.io);
    journal.write([intentOf(1, 1)], 1);
    await journal.sync();

    if (how === 'moved') disk.io.rename(path, '/runs/b.journal');
    else disk.io.remove(path);
    if (how === 'replaced') disk.put(path, Buffer.from('another'));
    journal.write([doneOf(1)], 2);

    const lost = { kind: 'local-file', message: expect.stringContaining('removed or replaced during the run') };
    await expect(journal.sync()).rejects.toMatchObject(lost);
    expect(() => journal.write([intentOf(2, 2)], 3)).toThrow(expect.objectContaining(lost));
  });

  test('is noticed at the end where nothing was to be synced any more', async () => {
    const disk = powerLossDisk();
    const journal = createJournal(path, header, session, disk.io);
    disk.io.remove(path);

    await expect(journal.close()).rejects.toMatchObject({ kind: 'local-file' });
    await journal.close();
  });
});

describe('P10: a sync that fails once', () => {
  test('is final: every later call fails with it, without another system call', async () => {
    const disk = powerLossDisk();
    let asked = 0;
    const syncData = () => {
      asked += 1;
      return asked === 1 ? Promise.reject(systemError('EIO')) : Promise.resolve();
    };
    const journal = createJournal(path, header, session, { ...disk.io, syncData });
    const failure = { kind: 'local-file', message: 'cannot write /runs/a.journal: input/output error' };
    journal.write([intentOf(1, 1)], 1);
    const first = journal.sync();
    const meanwhile = journal.sync();
    const before = disk.bytesOf(path);

    await expect(first).rejects.toMatchObject(failure);
    await expect(meanwhile).rejects.toMatchObject(failure);
    await expect(journal.sync()).rejects.toMatchObject(failure);
    expect(() => journal.write([intentOf(2, 2)], 2)).toThrow(expect.objectContaining(failure));
    await expect(journal.close()).rejects.toMatchObject(failure);

    expect(asked).toBe(1);
    expect(disk.bytesOf(path)).toBe(before);
  });
});

describe('sync', () => {
  test('runs one at a time; calls made meanwhile share one that begins later', async () => {
    const { io, syncs } = slowSyncs();
    const journal = createJournal(path, header, session, io);
    const settled: string[] = [];
    const asking: Promise<unknown>[] = [];
    const asked = (name: string) => asking.push(journal.sync().then(() => settled.push(name)));
    journal.write([intentOf(1, 1)], 1);
    asked('first');
    journal.write([intentOf(2, 2)], 2);
    asked('second');
    asked('third');
    expect(syncs).toHaveLength(1);

    syncs[0]?.();
    await turn();
    expect([settled, syncs.length]).toEqual([['first'], 2]);
    syncs[1]?.();
    await Promise.all(asking);

    expect([settled, syncs.length]).toEqual([['first', 'second', 'third'], 2]);
  });

  test('costs nothing when there is nothing new', async () => {
    const { io, syncs } = slowSyncs();
    const journal = createJournal(path, header, session, io);

    await journal.sync();
    await journal.close();

    expect(syncs).toHaveLength(0);
  });

  test('close waits for what is under way, and for what was written since', async () => {
    const { io, syncs, closed } = slowSyncs();
    const journal = createJournal(path, header, session, io);
    journal.write([intentOf(1, 1)], 1);
    const first = journal.sync();
    journal.write([intentOf(2, 2)], 2);
    const closing = journal.close();
    syncs[0]?.();
    await first;
    await turn();
    expect(closed()).toBe(0);
    syncs[1]?.();
    await closing;

    await journal.close();
    expect(closed()).toBe(1);
    expect(() => journal.write([intentOf(3, 3)], 3)).toThrow('is closed');
    await expect(journal.sync()).rejects.toThrow('is closed');
  });
});

describe('resuming with a journal', () => {
  test('is refused if the journal was written to since it was read', async () => {
    const { io } = powerLossDisk();
    await writeSample(path, [[intentOf(1, 1)]], io);
    const replay = await readBegun(path, io);
    await reopenJournal(path, replay, session, io).close();

    expect(() => reopenJournal(path, replay, session, io)).toThrow(
      expect.objectContaining({ kind: 'local-file', message: expect.stringContaining('it changed since') }),
    );
  });

  test('has cut off what was torn before anything is written behind it', async ({ directory }) => {
    const file = join(directory.path, 'a.journal');
    await writeSample(file, [[intentOf(1, 1)]], fileIo);
    const whole = readFileSync(file);
    writeFileSync(file, Buffer.concat([whole, Buffer.from('1234abcd [7,["D",1'), Buffer.alloc(4096)]));
    const replay = await readBegun(file);
    expect(replay.tornBytes).toBe(4114);

    const journal = reopenJournal(file, replay, session);
    journal.write([doneOf(1)], 3);
    await journal.close();

    expect(readFileSync(file)).toEqual(
      encodeLines({ listctl: 'journal', version: 2, ...header }, [
        [0, ['B', session]],
        [1, intentOf(1, 1)],
        [0, ['B', session]],
        [3, doneOf(1)],
      ]),
    );
  });

  test('of version 1 continues it in that version', async ({ directory }) => {
    const file = join(directory.path, 'a.journal');
    const old = { listctl: 'journal', version: 1, ...header } as const;
    const before = [encodeLine(old), encodeLine([0, ['B', session]]), encodeLine([1, intentOf(1, 1)])];
    writeFileSync(file, Buffer.concat(before));

    const journal = reopenJournal(file, await readBegun(file), session);
    journal.write([doneOf(1)], 3);
    await journal.close();

    const added = [encodeLine([0, ['B', session]]), encodeLine([3, doneOf(1)])];
    expect(readFileSync(file)).toEqual(Buffer.concat([...before, ...added]));
    expect(await readBegun(file)).toMatchObject({ tornBytes: 0, counts: { done: 1 } });
  });

  test('E4: every system call that fails, at any point, is reported, and leaves what can be read', async () => {
    for (let nth = 1; ; nth += 1) {
      const disk = powerLossDisk();
      const broken = failingAt(disk.io, nth);
      const told = await scripted(broken.io).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!broken.hasFailed()) break;

      expect(told, `call ${nth}`).toMatchObject({ kind: 'local-file' });
      const replay = await readJournal(path, { boot: 'here', io: disk.io });
      if (replay !== undefined) expect(['pending', 'in-doubt', 'done']).toContain(replay.stateOf(1));
    }
  });
});

async function scripted(io: JournalIo): Promise<void> {
  await writeSample(path, [[intentOf(1, 1)], [doneOf(1), intentOf(2, 2)]], io);
  const replay = await readBegun(path, io);
  await reopenJournal(path, replay, session, io).close();
}

/** The n-th call fails, but for `close` and `remove`, which tidy up: there is nothing to do about that. */
function failingAt(io: JournalIo, nth: number): { readonly io: JournalIo; hasFailed(): boolean } {
  let calls = 0;
  const broken = Object.fromEntries(
    Object.entries(io).map(([name, call]) => [
      name,
      (...args: unknown[]) => {
        const tidies = name === 'close' || name === 'remove';
        calls += tidies ? 0 : 1;
        if (calls !== nth || tidies) return (call as (...args: unknown[]) => unknown)(...args);
        if (name === 'syncData') return Promise.reject(systemError('EIO'));
        throw systemError('EIO');
      },
    ]),
  );
  return { io: broken as unknown as JournalIo, hasFailed: () => calls >= nth };
}

/** A disk with so much room, as a nearly full one has: a write takes what fits, the next one fails. */
function withRoom(io: JournalIo, roomBytes: number): { readonly io: JournalIo; leave(bytes: number): void } {
  let left = roomBytes;
  const write = (descriptor: number, bytes: Uint8Array, offset: number, position: number) => {
    if (left === 0) throw systemError('ENOSPC');
    const taken = Math.min(left, bytes.length - offset);
    left -= taken;
    return io.write(descriptor, bytes.subarray(0, offset + taken), offset, position);
  };
  return {
    io: { ...io, write },
    leave: (bytes) => {
      left = bytes;
    },
  };
}

function slowSyncs() {
  const syncs: (() => void)[] = [];
  let closed = 0;
  const io: JournalIo = {
    ...powerLossDisk().io,
    syncData: () => new Promise((resolve) => syncs.push(resolve)),
    close: () => {
      closed += 1;
    },
  };
  return { io, syncs, closed: () => closed };
}

function failing(code: string) {
  return () => {
    throw systemError(code);
  };
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Reading the lines of a journal, and refusing other files. */
import { closeSync, openSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  encodeLine,
  encodeLines,
  isGroup,
  type JournalGroup,
  type JournalHeader,
  seedAfter,
} from '../../../src/bulk/journal-format.ts';
import {
  beginsAsJournal,
  fileIo,
  type JournalIo,
  lostJournal,
  readGroups,
  readHeader,
  readLastGroup,
} from '../../../src/bulk/journal-lines.ts';
import { test } from '../../support/test-in-directory.ts';
import { sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';
const header = { listctl: 'journal', version: 2, ...sampleHeader(20) } as const;
const head = encodeLine(header, 0);
const start = startOf(header);
const begin: JournalGroup = [0, ['B', sampleSession()]];
const longHeader = { ...header, list: 'x'.repeat(200_000) };
const failure = (message: string) => expect.objectContaining({ kind: 'local-file', message });

/** Where the groups of a journal begin. */
function startOf(header: JournalHeader) {
  const head = encodeLines(header, []);
  return { lengthBytes: head.length, seed: seedAfter(head, header.version === 1 ? undefined : 0) };
}

/** The lines of a whole journal. */
function linesOf(header: JournalHeader, groups: readonly JournalGroup[]): readonly Buffer[] {
  const lengths = [-1, ...groups.keys()].map((at) => encodeLines(header, groups.slice(0, at + 1)).length);
  const whole = encodeLines(header, groups);
  return lengths.map((end, at) => whole.subarray(lengths[at - 1] ?? 0, end));
}

/** A disk with these bytes in its only file, which is read in pieces; how many files are open is counted. */
function diskOf(bytes: Uint8Array | string, pieceBytes = 65_536) {
  const stored = Buffer.from(bytes);
  const disk = { open: 0 };
  const io: JournalIo = {
    ...fileIo,
    open: (_, flags) => {
      expect(flags).toBe('r');
      disk.open += 1;
      return 3;
    },
    close: () => {
      disk.open -= 1;
    },
    lengthOf: () => stored.length,
    read: (_, into, position) => {
      const piece = stored.subarray(position, position + Math.min(into.length, pieceBytes));
      return piece.copy(into);
    },
  };
  return Object.assign(disk, { io });
}

/** What a reading gave, or threw; the file is closed behind it. */
function after<T>(disk: ReturnType<typeof diskOf>, work: (io: JournalIo) => T): T | unknown {
  try {
    return work(disk.io);
  } catch (error) {
    return error;
  } finally {
    expect(disk.open).toBe(0);
  }
}

/** A disk that fails at a call. */
function failingAt(call: 'open' | 'read' | 'lengthOf', code: string): JournalIo {
  const fail = () => {
    throw Object.assign(new Error(code), { code });
  };
  return { ...diskOf('').io, [call]: fail };
}

describe('the first line', () => {
  const read = (bytes: Uint8Array | string, pieceBytes?: number) =>
    after(diskOf(bytes, pieceBytes), (io) => readHeader(path, io));

  test('is read, however small the pieces are and however long it is', () => {
    for (const each of [header, { ...header, version: 1 } as const, longHeader]) {
      expect(read(encodeLines(each, []))).toEqual({ header: each, ...startOf(each) });
      expect(read(encodeLines(each, [begin]), 7)).toEqual({ header: each, ...startOf(each) });
    }
  });

  test('is damaged where the file is empty', () => {
    expect(read('')).toEqual(failure(`${path} is damaged at byte 0: it is empty`));
  });

  test('is damaged, or not a journal, if it is incomplete', () => {
    const somebodyElses = failure(`${path} is not a listctl journal, or its first line is damaged (at byte 0)`);

    expect(read(head.subarray(0, 4))).toEqual(somebodyElses);
    expect(read(head.subarray(0, 40))).toEqual(somebodyElses);
    expect(read(Buffer.concat([head.subarray(0, 40), Buffer.alloc(65_537 - 40)]))).toEqual(somebodyElses);
    expect(read(Buffer.from('x'.repeat(5_000_000)))).toEqual(somebodyElses);
    expect(read('milk')).toEqual(somebodyElses);
    expect(read('x00000000')).toEqual(somebodyElses);
    expect(read('00000000x')).toEqual(somebodyElses);
    expect(read('00000000 {"listctl":"diary",')).toEqual(somebodyElses);
    expect(read('x00000000 {"listctl":"journal",')).toEqual(somebodyElses);
    expect(read('00000000 {"listctl":"journal",\r')).toEqual(somebodyElses);
    expect(read('milk\n')).toEqual(somebodyElses);
    expect(read(head.toString().replace('\n', '\v'))).toEqual(somebodyElses);
    expect(read(encodeLine({ listctl: 'diary', version: 1 } as never))).toEqual(somebodyElses);
  });

  test('of a newer listctl is reported as such, and one without a required member as damage', () => {
    expect(read(encodeLine({ ...header, version: 3 } as never))).toEqual(
      expect.objectContaining({
        message: `${path} was written by a newer listctl (journal version 3)`,
        details: { hint: 'update listctl; the file was not changed' },
      }),
    );
    expect(read(encodeLine({ ...header, rows: 'all' } as never))).toEqual(
      failure(`${path} is damaged at byte 0: its first line is not valid`),
    );
  });

  test('that cannot be read is reported with the path', async ({ directory }) => {
    const file = join(directory.path, 'a.journal');
    writeFileSync(file, head);

    expect(readHeader(join(directory.path, 'none'), fileIo)).toBeUndefined();
    expect(readHeader(join(file, 'below-a-file'), fileIo)).toBeUndefined();
    expect(() => readHeader(path, failingAt('open', 'EACCES'))).toThrow(`cannot read ${path}: permission denied`);
    expect(() => readHeader(path, failingAt('read', 'EIO'))).toThrow(`cannot read ${path}: input/output error`);
  });
});

describe('whether a file begins as a journal', () => {
  test.each([
    ['an empty one may become one', '', true],
    ['a whole one', head, true],
    ['one with damage behind its beginning', '00000000 {"listctl":"journal","version":', true],
    ['one with something before it', 'x00000000 {"listctl":"journal"', false],
    ["somebody's notes", 'milk, eggs', false],
    ["another tool's lines", '00000000 {"a":1}', false],
  ])('%s', (_what, bytes, is) => {
    expect(after(diskOf(bytes), (io) => beginsAsJournal(path, io))).toBe(is);
  });

  test('one that is not there may become one', () => {
    expect(beginsAsJournal('/nowhere/a.journal')).toBe(true);
  });
});

test('a journal that was removed or replaced during its run is not at its path any more', async ({ directory }) => {
  const [file, moved] = [join(directory.path, 'a.journal'), join(directory.path, 'b.journal')];
  writeFileSync(file, head);
  const descriptor = openSync(file, 'r');
  try {
    expect(fileIo.isAt(descriptor, file)).toBe(true);
    renameSync(file, moved);
    expect([file, moved].map((each) => fileIo.isAt(descriptor, each))).toEqual([false, true]);
    writeFileSync(file, head);
    expect(fileIo.isAt(descriptor, file)).toBe(false);
  } finally {
    closeSync(descriptor);
  }
  expect(lostJournal(file).details.hint).toContain('the run was stopped');
});

test('the file system says when a file was written, and that it cannot be synced', async ({ directory }) => {
  const file = join(directory.path, 'a.journal');
  writeFileSync(file, head);
  utimesSync(file, 1000, 2000);

  expect(fileIo.modifiedMs(file)).toBe(2_000_000);
  rmSync(file);
  expect(fileIo.modifiedMs(file)).toBeNaN();
  await expect(fileIo.syncData(2 ** 30)).rejects.toMatchObject({ code: 'EBADF' });
});

describe('the groups', () => {
  const groups: readonly JournalGroup[] = [begin, [5, ['N', 1]], [6, ['U', 1, 'x'.repeat(200_000), 1]], [7, ['N', 2]]];
  const lines = linesOf(header, groups).slice(1);
  const whole = encodeLines(header, groups);
  const lastSeed = seedAfter(lines.at(-1) ?? head, 0);

  /** What a reading gives: each group with its place, and the end. */
  async function readAll(bytes: Uint8Array, pieceBytes?: number) {
    const disk = diskOf(bytes, pieceBytes);
    const reading = readGroups(path, start, disk.io);
    const placed = [];
    let next = await reading.next();
    for (; !next.done; next = await reading.next()) placed.push(next.value);
    expect(disk.open).toBe(0);
    return { placed, tail: next.value };
  }

  test.each([65_536, 10_000])(
    'are reported with their places, also if longer than a block: pieces of %i bytes',
    async (size) => {
      const { placed, tail } = await readAll(whole, size);

      expect(placed.map(({ group }) => group)).toEqual(groups);
      const lengths = lines.map((line) => line.length);
      const places = lengths.map((_, at) => lengths.slice(0, at).reduce((sum, length) => sum + length, head.length));
      expect(placed.map(({ offsetBytes }) => offsetBytes)).toEqual(places);
      expect(tail).toEqual({ lengthBytes: whole.length, seed: lastSeed, tornBytes: 0 });
    },
  );

  test('end where a line was torn', async () => {
    expect((await readAll(whole.subarray(0, -5))).tail).toEqual({
      lengthBytes: whole.length - (lines.at(-1)?.length ?? 0),
      seed: seedAfter(lines.at(-2) ?? head, 0),
      tornBytes: (lines.at(-1)?.length ?? 0) - 5,
    });
  });

  test('end there too where that line holds what the end of a changed one looks like', async () => {
    const torn = encodeLine([8, ['U', 1, 'a]*b}J', 1]], lastSeed).subarray(0, -5);

    expect((await readAll(Buffer.concat([whole, torn]))).tail).toEqual({
      lengthBytes: whole.length,
      seed: lastSeed,
      tornBytes: torn.length,
    });
  });

  test('close the file, also if the caller stops early', async () => {
    const disk = diskOf(whole);
    const reading = readGroups(path, start, disk.io);
    await reading.next();
    expect(disk.open).toBe(1);
    await reading.return({ lengthBytes: 0, seed: 0, tornBytes: 0 });

    expect(disk.open).toBe(0);
  });

  test('yield to other work between their blocks', async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();

    await readAll(whole);
    isOver = true;

    expect(turns).toBeGreaterThan(3);
  });

  test('are damaged where a line has no end, which fills no memory', async () => {
    const endless: JournalIo = { ...diskOf('').io, read: (_, into) => into.fill(0x78).length };

    await expect(readGroups(path, { lengthBytes: 9, seed: 0 }, endless).next()).rejects.toEqual(
      failure(`${path} is damaged at byte 9: a line is too long`),
    );
  });

  test('are damaged where the bytes of a line were changed, or those of its end', async () => {
    const changed = Buffer.from(whole);
    changed.writeUInt8(0x34, head.length + 2);
    const changedEnd = Buffer.from(whole);
    changedEnd.writeUInt8(0x0b, whole.length - 1);

    await expect(readAll(changed)).rejects.toEqual(
      failure(`${path} is damaged at byte ${head.length}: the checksum of the line does not match`),
    );
    await expect(readAll(changedEnd)).rejects.toMatchObject({
      message: expect.stringContaining('the end of the line was changed'),
    });
  });

  test('are read at any offset from the beginning', async () => {
    const fromBytes = 67_108_864;
    const place = { lengthBytes: fromBytes, seed: 7 };
    const { io } = diskOf(encodeLine(begin, 7));
    const far: JournalIo = { ...io, read: (file, into, position) => io.read(file, into, position - fromBytes) };

    expect((await readGroups(path, place, far).next()).value).toEqual({ group: begin, offsetBytes: fromBytes });
    const reading = readGroups(path, place, far);
    await reading.next();
    expect((await reading.next()).done).toBe(true);
  });

  test('cannot be read where the file was removed, or the disk fails', async () => {
    await expect(readGroups('/nowhere/a.journal', start, fileIo).next()).rejects.toEqual(
      failure('cannot read /nowhere/a.journal: it was removed'),
    );
    await expect(readGroups(path, start, failingAt('read', 'EIO')).next()).rejects.toMatchObject({
      message: `cannot read ${path}: input/output error`,
    });
  });
});

/** Every order, choice and repetition of the lines that may happen to a file. */
describe('lines that are whole, but not where they were written', () => {
  const groups: readonly JournalGroup[] = [begin, [5, ['N', 1]], [6, ['N', 1]], [6, ['N', 1]], [9, ['N', 2]]];
  const lines = linesOf(header, groups);
  const others = linesOf({ ...header, run: '20261120-101530-k3f8' }, groups);
  const places = lines.map((_, at) => at);
  const without = (at: number) => lines.filter((_, place) => place !== at);
  const inserted = (line: Buffer | undefined, at: number) => lines.toSpliced(at, 0, line ?? head);

  const read = (changed: readonly Buffer[]) => {
    const { io } = diskOf(Buffer.concat(changed));
    return (async () => {
      const found = readHeader(path, io);
      if (found === undefined) throw new Error('there is a file');
      for await (const { group } of readGroups(path, found, io)) expect(isGroup(group)).toBe(true);
    })();
  };

  test.each([
    ['two swapped', places.flatMap((one) => places.slice(one + 1).map((other) => swapped(lines, one, other)))],
    ['one removed, but the last', places.slice(0, -1).map(without)],
    ['one repeated anywhere', places.flatMap((from) => places.map((at) => inserted(lines[from], at + 1)))],
    ['the header of another journal', [[others[0] ?? head, ...lines.slice(1)]]],
    ['a line of another journal', places.slice(1).map((at) => lines.with(at, others[at] ?? head))],
    ['a line of another journal at the end', others.map((line) => [...lines, line])],
    ['the lines of two journals', places.slice(1).map((at) => [...lines.slice(0, at), ...others.slice(at)])],
  ])('%s: damage', async (_what, changes) => {
    await read(lines);
    for (const changed of changes) await expect(read(changed)).rejects.toMatchObject({ kind: 'local-file' });
  });

  test('were not noticed in a journal of version 1, which is read as before', async () => {
    const old = linesOf({ ...header, version: 1 }, groups);

    await read(swapped(old, 2, 5));
  });
});

function swapped(lines: readonly Buffer[], one: number, other: number): readonly Buffer[] {
  return lines.with(one, lines[other] ?? head).with(other, lines[one] ?? head);
}

describe('the last group', () => {
  const last: JournalGroup = [9, ['N', 3]];
  const many = Array.from({ length: 5000 }, (_, at): JournalGroup => [at, ['N', 1]]);
  const read = (bytes: Uint8Array, from = start) => after(diskOf(bytes), (io) => readLastGroup(path, from, io));

  test.each([1, 2] as const)('is found, in a short journal and in a long one of version %i', (version) => {
    const own = { ...header, version };
    for (const before of [[], [begin], many]) {
      expect(read(encodeLines(own, [...before, last]), startOf(own))).toEqual(last);
    }
  });

  test('is found if its line and the one before are within what is read from the end', () => {
    const long = (textBytes: number): JournalGroup => [9, ['U', 1, 'x'.repeat(textBytes), 1]];
    const [, before = head] = linesOf(header, [[5000, ['N', 1]]]);
    const roomBytes = 65_536 - before.length - encodeLine(long(0)).length;
    const groupsWith = (textBytes: number) => encodeLines(header, [...many, [5000, ['N', 1]], long(textBytes)]);

    expect(read(groupsWith(roomBytes))).toEqual(long(roomBytes));
    expect(read(groupsWith(roomBytes + 1))).toBeUndefined();
    expect(read(groupsWith(roomBytes + before.length))).toBeUndefined();
    expect(read(groupsWith(roomBytes + before.length + 1))).toBeUndefined();
  });

  test('is undefined if there is no file, no group, a torn one, or a damaged one', () => {
    const line = encodeLine(last, start.seed);
    const changedEnd = Buffer.from(line);
    changedEnd.writeUInt8(0x0b, line.length - 1);
    const changed = Buffer.from(line);
    changed.writeUInt8(0x34, line.length - 4);

    expect(read(Buffer.concat([head, line]))).toEqual(last);
    expect(readLastGroup('/nowhere/a.journal', start, fileIo)).toBeUndefined();
    const foreign = encodeLine(last);
    const ends = [Buffer.alloc(0), line.subarray(0, -1), changedEnd, changed, encodeLine(header), foreign];
    for (const end of [...ends, Buffer.concat([Buffer.from('milk\n'), line]), Buffer.concat([line, line])]) {
      expect(read(Buffer.concat([head, end]))).toBeUndefined();
    }
    expect(read(head.subarray(0, 30))).toBeUndefined();
  });

  test('cannot be read where the disk fails', () => {
    expect(() => readLastGroup(path, start, failingAt('lengthOf', 'EIO'))).toThrow(
      `cannot read ${path}: input/output error`,
    );
  });
});

/** What is read from a journal, whole, torn or damaged. */

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { reopenJournal } from '../../../src/bulk/journal.ts';
import { encodeLine, encodeLines, type JournalRecord, type SessionStart } from '../../../src/bulk/journal-format.ts';
import { fileIo, type JournalIo } from '../../../src/bulk/journal-lines.ts';
import { doneRow, journalRecords, type Replay, readJournal } from '../../../src/bulk/journal-read.ts';
import { IdSet } from '../../../src/bulk/keys.ts';
import { Failure } from '../../../src/core/errors.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { test } from '../../support/test-in-directory.ts';
import {
  doneOf,
  hashFor,
  intentOf,
  readBegun,
  sampleHeader,
  sampleSession,
  sampleTotals,
  startedAt,
  writeSample,
} from './journal-samples.ts';

const path = '/runs/a.journal';
const boot = 'here';

/** A run with every kind of record. */
const everything: readonly (readonly JournalRecord[])[] = [
  [intentOf(1, 1), intentOf(2, 2)],
  [doneOf(1), ['X', 3], intentOf(4, 3)],
  [
    ['F', 2, 'refused', 400, 'invalidRequest', 9],
    ['N', 4],
    ['T', 2000],
  ],
  [intentOf(4, 4, 2), intentOf(5, 5)],
  [
    ['U', 4, 'the connection was closed', 30],
    ['U', 5, 'no response', null],
  ],
  [
    ['R', 4, 'applied', 'item-4'],
    ['R', 5, 'not-applied'],
  ],
  [intentOf(6, 6), intentOf(7, 7), intentOf(8, 8)],
];

describe('a row', () => {
  test('is what its last record says', async () => {
    const replay = await replayed([everything]);

    expect(statesOf(replay, 8)).toEqual([
      ...['done', 'failed', 'invalid', 'done', 'pending', 'in-doubt', 'in-doubt', 'pending'],
    ]);
    expect(replay.counts).toEqual({ done: 2, failed: 1, invalid: 1, inDoubt: 2, skipped: 0, left: 14 });
    expect(replay.nextSeq).toBe(9);
    expect([...replay.doubts()]).toEqual([6, 7]);
    expect([replay.hashOf(4), replay.hashOf(3), replay.hashOf(9)]).toEqual([hashFor(4, 2), undefined, undefined]);
    expect(replay.ended).toBeUndefined();
  });

  test('in doubt has its key, its payload, its time, and its reason if that is known', async () => {
    const replay = await replayed([[[intentOf(1, 1), intentOf(2, 2)], [['U', 2, 'no response', 31]]]]);

    const known = { attempt: 1, sentAt: startedAt + 1, session: sampleSession() };
    expect(replay.doubtOf(1)).toEqual({
      ...{ ...known, key: 'key-1', hash: hashFor(1) },
      cause: undefined,
    });
    expect(replay.doubtOf(2)).toEqual({
      ...{ ...known, key: 'key-2', hash: hashFor(2) },
      cause: 'no response',
    });
    expect(replay.doubtOf(3)).toBeUndefined();
  });

  test('is left as many times as the shard has rows', async () => {
    const header = sampleHeader(20, { rows: 7, shard: '2/3' });

    const { counts } = await replayed([[[intentOf(2, 1)], [doneOf(2)]]], { header });

    expect(counts).toMatchObject({ done: 1, left: 6 });
  });

  test('in doubt has the time of the service too, once its clock is known in the session', async () => {
    const intents = (row: number): JournalRecord[][] => [
      [intentOf(row, row)],
      [['S', 60_000]],
      [intentOf(row + 1, row + 1)],
    ];

    const replay = await replayed([[[intentOf(9, 1)]], intents(1), [[intentOf(3, 9)]]], {
      boots: ['gone', 'gone too'],
    });

    const at = (row: number) => (replay.doubtOf(row)?.serviceAt ?? Number.NaN) - startedAt;
    expect([9, 1, 2, 3].map(at)).toEqual([Number.NaN, 60_001, 60_003, Number.NaN]);
  });

  test('that was resolved manually is no longer in doubt', async () => {
    const rows: JournalRecord[] = [
      ['R', 1, 'applied', 'item-1'],
      ['R', 2, 'not-applied'],
      ['R', 3, 'skipped'],
    ];
    const intents = [intentOf(1, 1), intentOf(2, 2), intentOf(3, 3)];

    const replay = await replayed([[intents], [rows]], { boots: ['gone', 'here'] });

    expect(statesOf(replay, 3)).toEqual(['done', 'pending', 'skipped']);
    expect(replay.counts).toMatchObject({ inDoubt: 0, skipped: 1, left: 18 });
  });
});

describe('an open intent', () => {
  // Not in the order of the file: the order of the client counts.
  const intents = [intentOf(1, 3), intentOf(2, 1), intentOf(3, 4), intentOf(4, 2), intentOf(5, 5)];

  test('on the same boot is in doubt only among the first that can have been sent', async () => {
    const replay = await replayed([[intents]]);

    expect(statesOf(replay, 5)).toEqual(['pending', 'in-doubt', 'pending', 'in-doubt', 'pending']);
  });

  test.each(['there', ''])('on another boot is in doubt, each of them: %j', async (other) => {
    expect([...(await replayed([[intents]], { now: other })).doubts()]).toEqual([1, 2, 3, 4, 5]);
  });

  test('where boots have no ids is in doubt', async () => {
    expect([...(await replayed([[intents]], { boots: [''], now: '' })).doubts()]).toEqual([1, 2, 3, 4, 5]);
  });

  test('keeps the verdict that the next session began with', async () => {
    // Whatever boot it is read on: what the second session read was on disk when it began.
    const sameBoot = await replayed([[intents], []], { now: 'later' });
    const otherBoot = await replayed([[intents], []], { boots: ['before', 'here'] });

    expect([...sameBoot.doubts()]).toEqual([2, 4]);
    expect([...otherBoot.doubts()]).toEqual([1, 2, 3, 4, 5]);
  });

  test('is judged by the limit of the session that sent it', async () => {
    const replay = await replayed([[intents], [[intentOf(1, 6, 2), intentOf(3, 7, 2), intentOf(5, 8, 2)]]], {
      limits: [1, 2],
    });

    expect([...replay.doubts()]).toEqual([1, 2, 3]);
    expect(replay.doubtOf(1)).toMatchObject({ attempt: 2 });
    expect(replay.stateOf(5)).toBe('pending');
  });
});

describe('a doubt that is not over', () => {
  const unknown: JournalRecord[][] = [[intentOf(1, 1)], [['U', 1, 'no response', 30]]];

  test('outlives another attempt that cannot have been sent: that one says nothing of the first', async () => {
    const intents = [intentOf(2, 2), intentOf(3, 3), intentOf(1, 4, 2)];

    const replay = await replayed([[...unknown, intents]]);

    expect(replay.doubtOf(1)).toMatchObject({ attempt: 1, cause: 'no response' });
  });

  test('outlives one that was refused for now', async () => {
    const replay = await replayed([[...unknown, [intentOf(1, 2, 2)], [['N', 1]]]]);

    expect(replay.doubtOf(1)).toMatchObject({ attempt: 1, cause: 'no response' });
  });

  test('keeps the time of the first attempt with its key, since services forget keys', async () => {
    const again: JournalRecord[] = [intentOf(1, 2, 2)];
    const other: JournalRecord[] = [['I', 1, 2, 2, 'another', hashFor(1, 2)]];

    expect((await replayed([[...unknown, again]])).doubtOf(1)).toMatchObject({ attempt: 2, sentAt: startedAt + 1 });
    expect((await replayed([[...unknown, other]])).doubtOf(1)).toMatchObject({ attempt: 2, sentAt: startedAt + 3 });
  });

  test('is left by an attempt that another one follows without a word of what became of it', async () => {
    const replay = await replayed([[[intentOf(2, 1)], [intentOf(3, 2)], [intentOf(1, 3)], [intentOf(1, 4, 2)]]]);

    expect(replay.doubtOf(1)).toMatchObject({ attempt: 1, cause: undefined });
  });

  test('is over when the row is done', async () => {
    const replay = await replayed([[...unknown, [intentOf(1, 2, 2)], [doneOf(1)]]]);

    expect([replay.stateOf(1), replay.doubtOf(1)]).toEqual(['done', undefined]);
  });
});

describe('the end of a session', () => {
  test('is reported if it is the last record', async () => {
    const totals = sampleTotals(1, { left: 19, reason: 'stopped' });
    const groups: JournalRecord[][] = [[intentOf(1, 1)], [doneOf(1), ['E', totals]]];

    expect((await replayed([groups])).ended).toEqual(totals);
    expect((await replayed([groups, []])).ended).toBeUndefined();
    expect((await replayed([groups])).lastAt).toBe(startedAt + 2);
  });
});

test('a journal that was shrunk says by its first and last line that every row is done', async () => {
  const head = {
    listctl: 'journal',
    version: 2,
    ...sampleHeader(20, { rows: 7, shard: '2/3' }),
    isShrunk: true,
  } as const;
  const replay = await read(encodeLines(head, [[900, ['B', sampleSession()], ['E', sampleTotals(7)]]]));

  expect(replay?.counts).toEqual({ done: 7, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 });
  expect([replay?.stateOf(1), replay?.stateOf(20), replay?.hashOf(1)]).toEqual(['done', 'done', undefined]);
  expect([replay?.ended, replay?.lastAt]).toEqual([sampleTotals(7), startedAt + 900]);
});

test.each([
  ['create', [false, false, true, true]],
  ['undo', [false, false, true, true]],
  ['update', [true, true, true, true]],
] as const)('a run of %s knows the ids that it was given', async (action, isNew) => {
  const rows: JournalRecord[] = [doneOf(1), ['R', 2, 'applied', 'item-2'], ['R', 3, 'not-applied'], ['X', 4]];
  const disk = await diskWith([[rows]], { header: sampleHeader(20, { action }) });
  const seenIds = new IdSet();

  await readJournal(path, { boot, io: disk.io, seenIds });

  expect(['item-1', 'item-2', 'undefined', '4'].map((id) => seenIds.add(id))).toEqual(isNew);
});

test('a row is done by its answer, or by a resolution that says so', () => {
  expect(doneRow(['D', 1, 'item-1', '"v1"', 12])).toEqual({ row: 1, id: 'item-1', etag: '"v1"', isFound: false });
  expect(doneRow(doneOf(1))).toEqual({ row: 1, id: 'item-1', etag: undefined, isFound: false });
  expect(doneRow(['R', 2, 'applied', 'item-2'])).toEqual({ row: 2, id: 'item-2', etag: undefined, isFound: false });
  expect(doneRow(['R', 2, 'applied', 'item-2', 'found'])?.isFound).toBe(true);
  expect(doneRow(['D', 2, 'item-2', null, 3, 'found'])?.isFound).toBe(true);
  expect(doneRow(['R', 3, 'applied', ''])).toEqual({ row: 3, id: undefined, etag: undefined, isFound: false });
  const others: JournalRecord[] = [
    ['R', 3, 'not-applied'],
    ['R', 3, 'skipped'],
    ['X', 3],
    ['U', 3, 'applied', null],
  ];
  expect(others.map(doneRow)).toEqual(Array(4).fill(undefined));
});

test('every record is passed on in order, with its session and its time', async () => {
  const disk = await diskWith([[[intentOf(1, 1)]], [[intentOf(1, 2, 2)], [doneOf(1)]]]);
  const found: unknown[] = [];
  for await (const { session, timeMs, record } of journalRecords(path, disk.io))
    found.push([session, timeMs, record[0]]);

  expect(found).toEqual([
    [0, 0, 'B'],
    [0, 1, 'I'],
    [1, 0, 'B'],
    [1, 1, 'I'],
    [1, 2, 'D'],
  ]);
});

describe('no run was begun', () => {
  test('the file is missing', async () => {
    const { io } = powerLossDisk();
    expect(await readJournal('/nowhere/a.journal', { boot })).toBeUndefined();
    for await (const nothing of journalRecords('/nowhere/a.journal')) expect(nothing).toBeUndefined();
    expect(await readJournal(path, { boot, io })).toBeUndefined();
  });

  test('but another kind of file is not treated as a torn journal', async () => {
    for (const text of [
      'milk',
      'id,Title\n1,a\n',
      '00000000 {"a":1}',
      '{"listctl":"journal"}\n',
      'x'.repeat(300_000),
    ]) {
      await expect(readText(text), text.slice(0, 20)).rejects.toMatchObject({
        kind: 'local-file',
        message: expect.stringContaining('is not a listctl journal'),
      });
    }
  });
});

describe('P14: a journal cut at any byte', () => {
  test('opens behind its first session, with all that is before the tear; the NULs of a lost block are a tear too', async () => {
    const { bytes, history } = await historyOf(everything);
    const { lengthBytes: firstBytes = 0 } = history[0] ?? {};
    for (let length = firstBytes; length <= bytes.length; length += 1) {
      for (const nuls of [0, 1, 700]) {
        const replay = await read(Buffer.concat([bytes.subarray(0, length), Buffer.alloc(nuls)]));
        const whole = history.findLast(({ lengthBytes }) => lengthBytes <= length);
        expect(replay?.lengthBytes).toBe(whole?.lengthBytes);
        expect(replay?.tornBytes).toBe(length + nuls - (whole?.lengthBytes ?? 0));
        expect(replay && statesOf(replay, 20)).toEqual(whole?.states);
        expect(replay?.nextSeq).toBe(whole?.nextSeq);
      }
    }
  });
});

test('P14: a journal cut before the end of its first session is damage: nothing of ours is without it', async () => {
  const { bytes, history } = await historyOf(everything);
  for (let length = 0; length < (history[0]?.lengthBytes ?? 0); length += 1) {
    for (const nuls of [0, 1, 700]) {
      const cut = Buffer.concat([bytes.subarray(0, length), Buffer.alloc(nuls)]);
      await expect(read(cut)).rejects.toMatchObject({ kind: 'local-file' });
      if (length !== history[0]?.headerBytes || nuls > 0) continue;
      const message = `${path} is damaged at byte ${length}: the rest is missing`;
      await expect(read(cut)).rejects.toMatchObject({ message });
    }
  }
});

describe('P15: one bit that changed', () => {
  test('in any complete line is damage, reported with the byte where that line begins; never another state', async () => {
    const { bytes, history } = await historyOf(everything);
    const tails = [Buffer.alloc(0), bytes.subarray(history.at(-2)?.lengthBytes, -5), Buffer.alloc(30)];
    for (let at = 0; at < bytes.length; at += 1) {
      const lineStart = Math.max(0, ...history.map((each) => each.lengthBytes).filter((length) => length <= at));
      const inHeader = at < (history[0]?.headerBytes ?? 0);
      for (let bit = 0; bit < 8; bit += 1) {
        const changed = Buffer.concat([bytes, tails[bit % 3] ?? Buffer.alloc(0)]);
        changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
        const told = await failureOf(read(changed));
        expect(told.kind).toBe('local-file');
        expect(told.message).toContain(path);
        const offset = inHeader ? 0 : Math.max(lineStart, history[0]?.headerBytes ?? 0);
        expect(told.message, `byte ${at}, bit ${bit}`).toContain(`at byte ${offset}`);
        expect(told.details.hint).toContain('--restart');
        expect(told.details.hint).toContain(path);
      }
    }
  });

  test('in the end of a header without further lines is damage', async () => {
    const head = encodeLine({ listctl: 'journal', version: 2, ...sampleHeader(3) });
    for (let bit = 0; bit < 8; bit += 1) {
      const changed = Buffer.from(head);
      changed.writeUInt8(0x0a ^ (1 << bit), head.length - 1);

      expect((await failureOf(read(changed))).kind).toBe('local-file');
    }
  });
});

describe('lines that are whole, and contradict each other, are damage', () => {
  test.each<[string, JournalRecord[][]]>([
    ['the completion of row 1', [[intentOf(1, 1)], [doneOf(1)], [intentOf(1, 2)]]],
    ['the completion of row 1', [[intentOf(1, 1)], [doneOf(1)], [['R', 1, 'not-applied']]]],
    ['the completion of row 1', [[intentOf(1, 1)], [['U', 1, '', 1]], [['R', 1, 'applied', 'x'], doneOf(1)]]],
    ['refers to row 21', [[intentOf(21, 1)]]],
    ['that was not sent', [[['U', 1, 'no response', 1]]]],
  ])('%s', async (reason, groups) => {
    const disk = await diskWith([groups]);
    const { lengthBytes = 0 } = (await historyOf(groups.slice(0, -1))).history.at(-1) ?? {};

    const told = await failureOf(readJournal(path, { boot, io: disk.io }));

    expect(told).toMatchObject({ kind: 'local-file', message: expect.stringContaining(reason) });
    expect(told.message).toContain(`at byte ${lengthBytes}:`);
  });

  test('a line that no listctl of this version writes is damage too', async () => {
    const { bytes } = await historyOf([]);
    const { seed } = (await read(bytes)) ?? {};
    const odd = encodeLine([1, ['Z', 1]] as never, seed);

    expect(await failureOf(read(Buffer.concat([bytes, odd])))).toMatchObject({
      message: `${path} is damaged at byte ${bytes.length}: the line is not valid`,
    });
  });

  test('no record comes before the first session', async () => {
    const bytes = encodeLines({ listctl: 'journal', version: 2, ...sampleHeader(3) }, [[1, ['N', 1]]]);

    expect(await failureOf(read(bytes))).toMatchObject({
      message: expect.stringContaining('no session was started'),
    });
  });
});

test('a journal of a newer listctl is left alone, whatever else is in it', async () => {
  const newer = encodeLine({ listctl: 'journal', version: 3, shape: 'new' } as never);

  expect(await failureOf(read(newer))).toMatchObject({
    kind: 'local-file',
    message: `${path} was written by a newer listctl (journal version 3)`,
  });
});

test('E5: any prefix of a history reads as that prefix', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 12 }), fc.nat(), async (rows, cut) => {
      const groups = [...new Set(rows)].flatMap((row, at) => [[intentOf(row, at + 1)], [doneOf(row)]]);
      const { bytes, history } = await historyOf(groups);
      const { lengthBytes: firstBytes = 0 } = history[0] ?? {};
      const length = firstBytes + (cut % (bytes.length + 1 - firstBytes));

      const replay = await read(bytes.subarray(0, length));

      const whole = history.findLast(({ lengthBytes }) => lengthBytes <= length);
      expect(replay?.sessions).toHaveLength(1);
      expect(replay && statesOf(replay, 20)).toEqual(whole?.states);
    }),
    { numRuns: 100 },
  );
});

test('any bytes are a journal, or a failure that can be acted on', async () => {
  const { bytes } = await historyOf(everything);
  const edit = fc.tuple(fc.nat(bytes.length), fc.nat(40), fc.uint8Array({ maxLength: 40 }));
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { maxLength: 3 }), fc.uint8Array(), async (edits, rest) => {
      let mutant = Buffer.concat([bytes, rest]);
      for (const [at, cut, put] of edits) {
        mutant = Buffer.concat([mutant.subarray(0, at), put, mutant.subarray(at + cut)]);
      }
      await read(mutant).catch((error: unknown) => expect(error).toMatchObject({ kind: 'local-file' }));
    }),
    { numRuns: 300 },
  );
});

test('a file that cannot be read is reported with its path', async ({ directory }) => {
  await expect(readJournal(directory.path, { boot })).rejects.toMatchObject({
    kind: 'local-file',
    message: `cannot read ${directory.path}: it is a directory`,
  });
});

interface Written {
  readonly header?: ReturnType<typeof sampleHeader>;
  /** The boots of the sessions; `here` by default. */
  readonly boots?: readonly string[];
  readonly limits?: readonly number[];
  /** The boot that it is read on. */
  readonly now?: string;
}

/** A disk with a run's journal on it: each of the sessions with its groups. */
async function diskWith(
  sessions: readonly (readonly (readonly JournalRecord[])[])[],
  { header = sampleHeader(20), boots = [], limits = [] }: Written = {},
) {
  const disk = powerLossDisk();
  for (const [index, groups] of sessions.entries()) {
    const session: SessionStart = sampleSession({ boot: boots[index] ?? boot, limit: limits[index] ?? 2 });
    if (index === 0) {
      await writeSample(path, groups, disk.io, { header, session });
      continue;
    }
    const journal = reopenJournal(path, await readBegun(path, disk.io), session, disk.io);
    for (const [at, records] of groups.entries()) journal.write(records, at + 1);
    await journal.close();
  }
  return disk;
}

async function replayed(
  sessions: readonly (readonly (readonly JournalRecord[])[])[],
  written: Written = {},
): Promise<Replay> {
  const { io } = await diskWith(sessions, written);
  const replay = await readJournal(path, { boot: written.now ?? boot, io });
  if (replay === undefined) throw new Error('it was begun');
  return replay;
}

/** The bytes of a run's journal, and its contents after each of its lines but the header. */
async function historyOf(groups: readonly (readonly JournalRecord[])[]) {
  const history = [];
  let bytes: Buffer = Buffer.alloc(0);
  const headerBytes = encodeLine({ listctl: 'journal', version: 2, ...sampleHeader(20) }).length;
  for (let count = 0; count <= groups.length; count += 1) {
    bytes = (await diskWith([groups.slice(0, count)])).bytesOf(path) ?? bytes;
    const replay = await read(bytes);
    if (replay === undefined) throw new Error('it was begun');
    const states = statesOf(replay, 20);
    history.push({ headerBytes, lengthBytes: bytes.length, states, nextSeq: replay.nextSeq });
  }
  return { bytes, history };
}

function read(bytes: Buffer): Promise<Replay | undefined> {
  const io: JournalIo = {
    ...fileIo,
    open: () => 0,
    close: () => {},
    lengthOf: () => bytes.length,
    read: (_, into, position) => bytes.copy(into, 0, position),
  };
  return readJournal(path, { boot, io });
}

function readText(text: string): Promise<Replay | undefined> {
  return read(Buffer.from(text));
}

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const error = await work.then(
    () => 'it was read',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Failure)) throw error;
  return error;
}

function statesOf(replay: Replay, rows: number) {
  return Array.from({ length: rows }, (_, at) => replay.stateOf(at + 1));
}

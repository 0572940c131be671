/** Two processes that write to one journal, as where its file is mounted at two paths and each has a lock. */
import { describe, expect, test } from 'vitest';
import { createJournal, type Journal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import type { JournalIo } from '../../../src/bulk/journal-lines.ts';
import { journalRecords } from '../../../src/bulk/journal-read.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { hashFor, intentOf, readBegun, sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';
const failure = expect.objectContaining({ kind: 'local-file' });

/** The row that both would send next. */
const next = (writer: string): JournalRecord => ['I', 2, 2, 1, writer, hashFor(2)];

/** The system calls, with `meanwhile` before the n-th of them: what another process does at that moment. */
function interrupted(io: JournalIo) {
  const moment = { calls: Number.NEGATIVE_INFINITY, at: 0, meanwhile: () => {} };
  const counted =
    (call: (...args: never[]) => unknown) =>
    (...args: never[]) => {
      if (moment.calls === moment.at) moment.meanwhile();
      moment.calls += 1;
      return call(...args);
    };
  const calls = Object.entries(io).map(([name, call]) => [name, counted(call)]);
  return { moment, io: Object.fromEntries(calls) as JournalIo };
}

/** Whether the writer may send the row: its intent is on disk, so far as it knows. */
async function isSent(write: () => Journal): Promise<boolean> {
  try {
    await write().sync();
    return true;
  } catch (error) {
    expect(error).toEqual(failure);
    return false;
  }
}

/** The writers whose intent of the row is in the journal, up to its first damage. */
async function writersIn(io: JournalIo): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  try {
    for await (const { record } of journalRecords(path, io)) {
      if (record[0] === 'I' && record[1] === 2) found.push(record[4]);
    }
  } catch (error) {
    expect(error).toEqual(failure);
  }
  return found;
}

async function begun() {
  const disk = powerLossDisk();
  const { io, moment } = interrupted(disk.io);
  const first = createJournal(path, sampleHeader(20), sampleSession(), io);
  first.write([intentOf(1, 1)], 1);
  await first.sync();
  return { disk, io, moment, first, replay: await readBegun(path, disk.io) };
}

describe('a row is sent by one of two writers at most, whose intent is in the journal', () => {
  test('the second begins its session before any system call of the first', async () => {
    const outcomes = new Set<string>();
    for (let at = 0; ; at += 1) {
      const { disk, moment, first, replay } = await begun();
      let second: Promise<boolean> | undefined;
      const meanwhile = () => {
        second = isSent(() => {
          const journal = reopenJournal(path, replay, sampleSession(), disk.io);
          journal.write([next('second')], 1);
          return journal;
        });
      };
      Object.assign(moment, { calls: 0, at, meanwhile });
      const isFirst = await isSent(() => {
        first.write([next('first')], 2);
        return first;
      });
      if (second === undefined) break;
      const sent = [...(isFirst ? ['first'] : []), ...((await second) ? ['second'] : [])];
      expect(sent.length, `call ${at}`).toBeLessThan(2);
      expect(await writersIn(disk.io)).toEqual(expect.arrayContaining(sent));
      if (!isFirst) expect(() => first.write([next('first')], 3)).toThrow(failure);
      outcomes.add(sent.join());
    }
    expect(outcomes).toEqual(new Set(['first', 'second', '']));
  });

  test('the first writes before any system call of the second', async () => {
    const outcomes = new Set<string>();
    for (let at = 0; ; at += 1) {
      const { disk, io, moment, first, replay } = await begun();
      // Its own calls are not counted.
      let isFirst: Promise<boolean> | undefined;
      const meanwhile = () => {
        moment.calls = Number.NEGATIVE_INFINITY;
        isFirst = isSent(() => {
          first.write([next('first')], 2);
          return first;
        });
      };
      Object.assign(moment, { calls: 0, at, meanwhile });
      const isSecond = await isSent(() => {
        const journal = reopenJournal(path, replay, sampleSession(), io);
        journal.write([next('second')], 1);
        return journal;
      });
      if (isFirst === undefined) break;
      const sent = [...((await isFirst) ? ['first'] : []), ...(isSecond ? ['second'] : [])];
      expect(sent.length, `call ${at}`).toBeLessThan(2);
      expect(await writersIn(disk.io)).toEqual(expect.arrayContaining(sent));
      outcomes.add(sent.join());
    }
    expect(outcomes).toEqual(new Set(['first', 'second', '']));
  });
});

test('a write of another process is noticed at the next write, and at the end of the next sync', async () => {
  const { disk, first, replay } = await begun();
  first.write([next('first')], 2);
  const line = disk.bytesOf(path)?.subarray(replay.lengthBytes) ?? Buffer.alloc(0);
  disk.put(path, Buffer.concat([disk.bytesOf(path) ?? line, line]));
  // The file of the descriptor is another one now, which is noticed as well.
  await expect(first.sync()).rejects.toEqual(failure);

  const other = await begun();
  const second = reopenJournal(path, other.replay, sampleSession(), other.disk.io);
  expect(() => other.first.write([next('first')], 2)).toThrow(
    expect.objectContaining({ message: `cannot write ${path}: another process writes to it` }),
  );
  expect(await isSent(() => second)).toBe(true);
  await expect(other.first.sync()).rejects.toThrow('another process');
});

/** What is shown while a file is checked, and in a log while its rows are sent. */

import { createHash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { Pace } from '../../../src/bulk/pace.ts';
import { checkShown, openProgress } from '../../../src/bulk/progress.ts';
import type { Messages } from '../../../src/cli/report.ts';
import type { Session } from '../../../src/cli/session.ts';
import { plainStyle } from '../../../src/output/view.ts';
import type { Pass, RowsFile } from '../../../src/rows/read.ts';
import type { Row } from '../../../src/rows/types.ts';
import { testHost } from '../../support/test-host.ts';

/** A run of 1,000 rows over a log, with a clock that is moved by hand; `line` gives the next line, 10 s later. */
function watched(pace: Pace, before?: number) {
  let nowMs = 0;
  let tick = () => {};
  const lines: string[] = [];
  const running = { inFlight: 8, isStopping: false, settled: { settled: 0, failed: 0, inDoubt: 0 } };
  const clock = {
    monotonicMs: () => nowMs,
    every: (_: number, work: () => void) => {
      tick = work;
      return () => {};
    },
  };
  const say = async (line: string) => void lines.push(line);
  const session = {
    host: { clock, stderr: { isTTY: false }, env: {} },
    messages: { isQuiet: false, isJsonWanted: false, say },
  } as unknown as Session;
  openProgress({ running, pace, toDo: 1000, ...(before === undefined ? {} : { before }) }, session);
  return {
    running,
    line: (done: number, toMs: number) => {
      running.settled.settled += done;
      nowMs = toMs;
      tick();
      return lines.at(-1);
    },
  };
}

const newPace = () => new Pace({ limitMax: 8, maxWaitMs: 900_000 }, () => 1);

test('the rate and the time left are those of the last seconds', () => {
  const { line } = watched(newPace());

  expect(line(100, 10_000)).toBe('  100 of 1,000 rows, 10 rows/s, about 1 min 30 s left');
  expect(line(400, 20_000)).toBe('  500 of 1,000 rows, 40 rows/s, about 13 s left');
  expect(line(0, 30_000)).toBe('  500 of 1,000 rows, 0 rows/s');
});

test('a pause for a budget that is used up is shown', () => {
  const pace = newPace();
  const { line } = watched(pace);
  pace.ended(pace.started(0), 'accepted', 1000, undefined, { remaining: 0, resetMs: 60_000 });
  pace.started(1000);

  expect(line(1, 11_000)).toBe('  1 of 1,000 rows, throttled, retrying in 50.0 s');
});

test('the time left counts the time that the service asks to wait, but not an outage or a sleep', () => {
  const pace = newPace();
  const { line } = watched(pace);
  const throttle = (nowMs: number) => {
    for (const stamp of Array.from({ length: 8 }, () => pace.started(nowMs)))
      pace.ended(stamp, 'throttled', nowMs, 6000);
  };
  throttle(1000);
  expect(line(100, 10_000)).toBe('  100 of 1,000 rows, 25 rows/s, about 1 min 30 s left');
  throttle(11_000);
  expect(line(100, 20_000)).toContain('about 1 min 20 s left');
  // Ctrl-Z for an hour.
  expect(line(0, 3_620_000)).toBe('  200 of 1,000 rows');
  expect(line(100, 3_630_000)).toBe('  300 of 1,000 rows, 10 rows/s, about 1 min 10 s left');
});

test('rows that earlier sessions have done count', () => {
  const { line } = watched(newPace(), 200);

  expect(line(100, 10_000)).toBe('  300 of 1,200 rows, 10 rows/s, about 1 min 30 s left');
});

test('an outage shows the time of the next try, and neither it nor a pause counts in a rate', () => {
  const pace = newPace();
  const { line } = watched(pace);
  const end = (as: 'accepted' | 'no-response' | 'throttled', nowMs: number) =>
    pace.ended(pace.started(nowMs), as, nowMs);
  end('accepted', 1000);
  expect(line(100, 10_000)).toContain('10 rows/s');

  for (let count = 0; count < 8; count += 1) end('no-response', 11_000);
  expect(line(0, 14_000)).toBe('  100 of 1,000 rows, service unreachable for 3.0 s, retrying in 2.0 s');
  pace.waitMs(16_000);
  const stamp = pace.started(16_000);
  expect(line(0, 20_000)).toBe('  100 of 1,000 rows, service unreachable for 9.0 s, retrying now');
  pace.ended(stamp, 'accepted', 21_000);
  // The outage ended 1 s after the last line.
  expect(line(180, 29_000)).toBe('  280 of 1,000 rows, 23 rows/s, about 32 s left');

  const throttled = Array.from({ length: 8 }, () => pace.started(29_000));
  for (const each of throttled) pace.ended(each, 'throttled', 29_000, 4000);
  expect(line(0, 30_000)).toBe('  280 of 1,000 rows, throttled, retrying in 3.0 s');
});

test('a run that stops shows what it waits for', () => {
  const { line, running } = watched(newPace());
  line(100, 10_000);
  running.isStopping = true;

  expect(line(100, 20_000)).toBe('  200 of 1,000 rows, stopping: waiting for 8 responses');
});

const patiently = { timeout: 60_000 };

/** How a line is taken away. */
const lineGone = '\u001b[1G\u001b[J\u001b[1G';

test('the check of a file shows its rows so far, counted over all shards, and how much of the file that is', async () => {
  const { session, host, tick } = watching();
  const gate = closedGate();
  const file = fileOf(async function* ({ onBytes, onContent }) {
    yield [rowOf(1), rowOf(2)];
    onBytes?.(new Uint8Array(30));
    yield [rowOf(3)];
    await gate.opened;
    onBytes?.(new Uint8Array(70));
    onContent?.(new Uint8Array(100));
    yield [rowOf(4)];
  });

  const checking = checkShown(file, session);
  await tick(/checking tasks\.csv: 3 rows, 30 %/);
  gate.open();

  expect(await checking).toMatchObject({
    ...{ rows: 4, sizeBytes: 100, sha256: createHash('sha256').update(Buffer.alloc(100)).digest('hex') },
  });
  expect(host.printed.stderr.endsWith(lineGone)).toBe(true);
});

test('a check that fails leaves no line behind', async () => {
  const { session, host, tick } = watching();
  const gate = closedGate();
  const file = fileOf(async function* () {
    yield [rowOf(1)];
    await gate.opened;
    throw new Error('got shorter');
  });

  const checking = checkShown(file, session);
  await tick(/1 row/);
  gate.open();

  await expect(checking).rejects.toThrow('got shorter');
  expect(host.printed.stderr.endsWith(lineGone)).toBe(true);
});

function closedGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** What a session is to a display. */
function watching() {
  const works = new Set<() => void>();
  const made = testHost({ terminal: 80, env: { TERM: 'xterm' } });
  const every = (_: number, work: () => void) => {
    works.add(work);
    return () => works.delete(work);
  };
  const host = { ...made, clock: { ...made.clock, every } };
  const screen = { columns: 80, style: plainStyle };
  const session = {
    host,
    messages: { isQuiet: false, errorScreen: async () => screen } as Partial<Messages> as Messages,
  } as Partial<Session> as Session;
  const tick = (sign: RegExp) =>
    vi.waitFor(() => {
      for (const work of [...works]) work();
      expect(host.printed.stderr).toMatch(sign);
    }, patiently);
  return { session, host, tick };
}

function fileOf(blocks: (pass: Pass) => AsyncGenerator<readonly Row[]>): RowsFile {
  const input = {
    name: 'tasks.csv',
    isSpooled: false,
    isRegular: true,
    descriptor: -1,
    sizeBytes: 100,
    close: () => {},
  };
  return {
    ...{ input, format: 'csv', delimiter: ',', header: ['Title'], blocks: (pass = {}) => blocks(pass) },
    ...{ isOfShard: () => true, notices: () => [], checkNames: () => {} },
  } as Partial<RowsFile> as RowsFile;
}

function rowOf(number: number): Row {
  return { number, line: number + 1, id: undefined, fields: {}, source: { kind: 'cells', cells: [] } } as Row;
}

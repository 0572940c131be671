/** The loop of a run, with a clock that jumps, a sender and a journal that tests look into. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AttemptResult } from '../../../src/api/attempts.ts';
import { Pace } from '../../../src/bulk/pace.ts';
import type { Task } from '../../../src/bulk/task.ts';
import { Failure, Stopped } from '../../../src/core/errors.ts';
import { done, type Event, notDone, sendTask, steps, type TestRow, watchedRun } from './runner-world.ts';

/** A pace that never holds back. */
function freePace(limit: number): Pace {
  const pace: Pick<Pace, keyof Pace> = {
    limit,
    waitMs: () => 0,
    writeAheadMax: () => 64,
    started: (nowMs) => nowMs,
    ended: () => {},
    ...{
      pausedUntilMs: undefined,
      throttledMs: 0,
      episodes: 0,
      outage: 'none',
      outageSinceMs: undefined,
      probeAtMs: undefined,
    },
    ratePerSecond: Number.POSITIVE_INFINITY,
    ...{ outageMs: () => 0, pausedMs: () => 0 },
  };
  return pace as Pace;
}

describe('what is on disk when', () => {
  test('an intent is synced before its request is begun, each time that it is sent', async () => {
    const run = watchedRun({
      rows: 50,
      syncMs: 3,
      answer: (row, attempt) => (row % 5 === 0 && attempt === 1 ? steps.unreachable(100) : done()),
    });

    await run.end();

    const [sent, intents] = [new Map<number, number>(), new Map<number, number>()];
    for (const { what, row } of momentsOf(run.events)) {
      if (what === 'I synced') count(intents, row);
      if (what !== 'sent') continue;
      count(sent, row);
      expect(intents.get(row)).toBe(sent.get(row));
    }
    expect([sent.size, sent.get(5), sent.get(6)]).toEqual([50, 2, 1]);
    const [first, second] = run.records.filter(([letter, row]) => letter === 'I' && row === 5);
    // The same key, and the number of the attempt.
    expect(second).toEqual(['I', 5, expect.any(Number), 2, first?.[4], first?.[5]]);
    expect(first?.[3]).toBe(1);
  });

  test('an outcome is synced before its result is reported', async () => {
    const outcomes: readonly AttemptResult<string>[] = [done(), steps.refused(), steps.doubtful()];
    const run = watchedRun({ rows: 60, syncMs: 3, answer: (row) => outcomes[row % 3] ?? done() });

    await run.end();

    const durable = new Set<number>();
    for (const { what, row } of momentsOf(run.events)) {
      if (/^[DFU] synced$/.test(what)) durable.add(row);
      if (what === 'told') expect(durable.has(row)).toBe(true);
    }
    expect([durable.size, run.results.length]).toEqual([60, 60]);
  });

  test('C5: an outcome is written before its slot is used again', async () => {
    const limit = 4;
    const run = watchedRun({ rows: 200, syncMs: 7, pace: freePace(limit), takesMs: (row) => 3 + ((row * 7) % 11) });

    await run.end();

    // At every moment no more rows are sent without a written outcome than may be under way.
    const open = new Set<number>();
    for (const { what, row } of momentsOf(run.events)) {
      if (what === 'sent') open.add(row);
      else if (/^[DFUN] written$/.test(what)) open.delete(row);
      expect(open.size).toBeLessThanOrEqual(limit);
    }
    expect(run.atOnceMax).toBe(limit);
  });

  test('intents are numbered in the order in which they go to the client', async () => {
    const run = watchedRun({ rows: 80, nextSeq: 41, takesMs: (row) => (row * 7) % 13 });

    await run.end();

    const intents = run.records.filter((record) => record[0] === 'I');
    expect(intents.map((record) => record[2])).toEqual(Array.from({ length: 80 }, (_, index) => 41 + index));
    const client = momentsOf(run.events).filter(({ what }) => what === 'sent');
    expect(client.map(({ row }) => row)).toEqual(intents.map((record) => record[1]));
  });

  test('the last thing that is written is the end, with what the session did', async () => {
    const run = watchedRun({
      rows: 3,
      answer: (row, attempt) => (row === 2 && attempt === 1 ? steps.unreachable(50) : done()),
    });

    const end = await run.end();

    expect(run.records.at(-1)).toEqual(['E', end?.totals]);
    expect(end?.totals).toMatchObject({ done: 3, left: 0, sent: 4, retries: 1 });
  });
});

describe('how many', () => {
  test.each([1, 3, 32])('never more than the limit are under way: %i', async (limit) => {
    const run = watchedRun({ rows: 200, limitMax: limit, takesMs: (row) => 5 + (row % 9) });

    await run.end();

    expect(run.atOnceMax).toBeLessThanOrEqual(limit);
    expect(run.results).toHaveLength(200);
  });

  test('with a limit of one the intent of the next row is not even written', async () => {
    const run = watchedRun({ rows: 20, limitMax: 1 });

    await run.end();

    expect(run.records.map(([letter]) => letter).join('')).toBe(`${'ID'.repeat(20)}E`);
  });

  test('rows that wait to be sent have intents ahead of them: not more than 1,024 over the limit', async () => {
    const run = watchedRun({ rows: 5000, pace: freePace(2), limitMax: 2, takesMs: () => 1000, syncMs: 400 });

    for (let times = 0; times < 60; times += 1) {
      await run.settle();
      run.clock.jump();
    }

    const intents = run.records.filter(([letter]) => letter === 'I').length;
    const outcomes = run.records.filter(([letter]) => letter === 'D').length;
    expect(intents - outcomes).toBeLessThanOrEqual(2 + 1024);
    expect(intents - outcomes).toBeGreaterThan(2);
  });

  test('4,096 results may wait for one that is slow; then no new row is sent', async () => {
    const run = watchedRun({
      ...{ rows: 6000, pace: freePace(64), limitMax: 64 },
      takesMs: (row) => (row === 2 ? 1e9 : 1),
    });

    await run.until(() => run.running.inFlight === 1 && run.running.sent > 4000);

    // The first one was reported; the slow second one is among those that wait.
    expect([run.running.sent, run.results.length]).toEqual([1 + 4096, 1]);
    const end = await run.end();
    expect(end?.totals.done).toBe(6000);
    expect(run.results.map(({ row }) => row.number)).toEqual(Array.from({ length: 6000 }, (_, index) => index + 1));
  });

  test('a taker of results that needs time holds back new rows, and gets one result after the other', async () => {
    let isTaking = false;
    let free: () => void = () => {};
    const run = watchedRun({
      ...{ rows: 9000, pace: freePace(64), limitMax: 64, takesMs: () => 1 },
      onResult: () => {
        expect(isTaking).toBe(false);
        isTaking = true;
        return new Promise((resolve) => {
          free = () => {
            isTaking = false;
            resolve();
          };
        });
      },
    });
    await run.until(() => run.running.inFlight === 0 && run.running.sent >= 4000);

    expect(run.running.sent).toBeLessThanOrEqual(4096 + 1);
    expect([run.results.length, run.running.inFlight]).toEqual([1, 0]);
    free();
    await run.settle();
    expect(run.results).toHaveLength(2);
  });

  test('at a slow rate a row that is not answered holds none of the others back', async () => {
    const pace = new Pace({ limitMax: 8, ratePerSecond: 10, maxWaitMs: 900_000 }, () => 0.5);
    const run = watchedRun({ rows: 8, pace, syncMs: 1, takesMs: (row) => (row === 5 ? 5000 : 10) });

    await run.end();

    const moments = run.events.flatMap((event) => ('row' in event ? [`${event.row} ${event.what}`] : []));
    expect(moments.indexOf('8 answered')).toBeLessThan(moments.indexOf('5 answered'));
    expect(run.counts.done).toBe(8);
  });

  test('sends the first row alone, until there is a response', async () => {
    const run = watchedRun({ rows: 40, limitMax: 8, takesMs: () => 100 });

    await run.until(() => run.events.some(({ what }) => what === 'sent'));

    expect([run.running.sent, run.records.filter(([letter]) => letter === 'I').length]).toEqual([1, 1]);
    expect((await run.end())?.totals.done).toBe(40);
  });
});

describe('waiting', () => {
  test('a throttled row is sent again when the pause is over, and not before; it counts against no row', async () => {
    const run = watchedRun({
      ...{ rows: 3, limitMax: 1, retries: 0 },
      answer: (row, attempt) => (row === 2 && attempt <= 10 ? steps.throttled(2000) : done()),
    });

    const end = await run.end();

    expect(end?.totals).toMatchObject({ done: 3, sent: 13, retries: 10 });
    expect(run.clock.monotonicMs()).toBeGreaterThanOrEqual(20_000);
    // One or two throttles are no limit: the third in a row, and each one after it, pauses the run.
    expect(end?.totals.throttledMs).toBeGreaterThanOrEqual(16_000);
    expect(run.records.filter(([letter]) => letter === 'T')).toHaveLength(8);
  });

  test('while all wait, intents that were written ahead are undone: a crash then leaves none of them in doubt', async () => {
    const run = watchedRun({
      rows: 60,
      limitMax: 2,
      answer: (row, nth) => (row > 1 && row < 10 && nth === 1 ? steps.throttled(900) : done()),
    });
    await run.until(() => run.pace.pausedUntilMs !== undefined);

    const open = new Set<number>();
    for (const record of run.records) {
      if (record[0] === 'I') open.add(record[1]);
      else if (/^[NDFU]$/.test(record[0])) open.delete(Number(record[1]));
    }
    expect(run.pace.pausedUntilMs).toBeDefined();
    expect(open.size).toBe(run.running.inFlight);
    expect((await run.end())?.totals.done).toBe(60);
  });

  test('a row is tried as often as --retries says, then it has failed, or is in doubt', async () => {
    const run = watchedRun({
      ...{ rows: 3, limitMax: 1, retries: 2 },
      answer: (row) => {
        if (row === 1) return done();
        return row === 2 ? notDone({ kind: 'unavailable', waitMs: 100 }) : steps.doubtfulAgain(100);
      },
    });

    const end = await run.end();

    expect(run.results.map(({ status }) => status)).toEqual(['done', 'failed', 'in-doubt']);
    expect(end?.totals.sent).toBe(7);
  });

  // Defect: a row whose wait is over asks for a turn at once, again and again, while it cannot be sent (#waitOrEnd: #wake of a moment that is past).
  test('a row that is due while every slot is taken does not keep the processor busy', async () => {
    const run = watchedRun({
      ...{ rows: 3, limitMax: 1, takesMs: (row) => (row === 3 ? 400 : 10) },
      answer: (row, nth) => (row === 2 && nth === 1 ? steps.unreachable(20) : done()),
    });

    await run.end();

    expect(run.clock.sleptMs.length).toBeLessThan(40);
  });

  // Defect: the same; and each of those turns leaves a sleep behind it until the end of the pause.
  test('a pause leaves no pile of sleeps, of which Node would warn on stderr', async () => {
    const run = watchedRun({
      ...{ rows: 60, limitMax: 8 },
      answer: (row, nth) => (row === 20 && nth === 1 ? steps.throttled(500) : done()),
    });

    await run.end();

    expect(run.clock.asleepMax).toBeLessThanOrEqual(8 + 10);
  });
});

describe('a stop', () => {
  test('what is under way is waited for; what is ready is undone; nothing new is sent', async () => {
    const stopping = new AbortController();
    const run = watchedRun({ rows: 100, limitMax: 4, signal: stopping.signal, takesMs: () => 50 });
    await run.until(() => run.running.sent >= 10);
    const { sent } = run.running;
    stopping.abort(new Stopped('SIGINT'));

    const end = await run.end();

    expect(end?.stoppedBy).toBeInstanceOf(Stopped);
    expect(end?.totals).toMatchObject({ done: sent, sent, left: 100 - sent, inDoubt: 0, reason: 'SIGINT' });
    expect(run.records.filter(([letter]) => letter === 'N').length).toBeGreaterThan(0);
    expect(run.results.some(({ status }) => status === 'failed' || status === 'in-doubt')).toBe(false);
  });

  test('that aborts requests is no outage', async () => {
    const stopping = new AbortController();
    const run = watchedRun({
      ...{ rows: 200, limitMax: 16, signal: stopping.signal, takesMs: (row) => 50 + (row % 16) },
      answer: (row) => {
        if (row === 100) stopping.abort(new Stopped('SIGINT'));
        return stopping.signal.aborted ? notDone({ outcome: 'not-sent', service: 'unreachable' }) : done();
      },
    });

    const end = await run.end();

    expect(run.atOnceMax).toBe(16);
    expect(end?.totals).not.toHaveProperty('outageMs');
  });

  test('before the first row sends nothing', async () => {
    const stopping = new AbortController();
    stopping.abort(new Stopped('SIGTERM'));
    const run = watchedRun({ rows: 10, signal: stopping.signal });

    const end = await run.end();

    expect(end?.totals).toMatchObject({ sent: 0, left: 10, reason: 'SIGTERM' });
    expect(run.events.some(({ what }) => what === 'begun')).toBe(false);
  });

  test('rows that waited to be sent again are remaining; those that may have been done are in doubt', async () => {
    const stopping = new AbortController();
    const run = watchedRun({
      ...{ rows: 4, limitMax: 3, signal: stopping.signal, takesMs: (row) => (row === 4 ? 100 : 10) },
      answer: (row) => {
        if (row === 4) stopping.abort(new Stopped('SIGINT'));
        return row === 2 ? steps.unreachable(60_000) : row === 3 ? steps.doubtfulAgain(60_000) : done();
      },
    });

    const end = await run.end();

    expect(end?.totals).toMatchObject({ done: 2, left: 1, inDoubt: 1, sent: 4 });
    expect(run.results.map(({ row, status }) => [row.number, status])).toEqual(
      expect.arrayContaining([
        [1, 'done'],
        [3, 'in-doubt'],
      ]),
    );
    // The reason is that of the last attempt.
    expect(run.results.find(({ row }) => row.number === 3)).toMatchObject({ failure: { message: 'it was in-doubt' } });
  });

  test('reports every remaining row in order, if requested', async () => {
    const run = watchedRun({
      rows: 900,
      limitMax: 1,
      reportLeft: true,
      answer: (row) => (row === 3 ? steps.unauthorised() : done()),
    });

    const end = await run.end();

    expect(run.results.map(({ row }) => row.number)).toEqual(Array.from({ length: 900 }, (_, index) => index + 1));
    expect(run.results.filter(({ status }) => status === 'left')).toHaveLength(898);
    expect(end?.totals).toMatchObject({ done: 2, left: 898 });
  });

  test('after a number of failed rows', async () => {
    const run = watchedRun({ rows: 50, limitMax: 1, maxErrors: 3, answer: () => steps.refused() });

    const end = await run.end();

    expect(end?.totals).toMatchObject({ failed: 3, left: 47, reason: 'incomplete' });
    expect(end?.stoppedBy).toMatchObject({ kind: 'incomplete', message: 'stopped after 3 failed rows' });
  });

  test('by an input that cannot be read further: what was sent is reported', async () => {
    async function* tasks(): AsyncGenerator<readonly Task<TestRow>[]> {
      yield [sendTask(1), sendTask(2)];
      throw new Failure('local-file', 'a.csv got shorter');
    }
    const run = watchedRun({ rows: 5, tasks: tasks(), pace: freePace(2), limitMax: 2 });

    const end = await run.end();

    expect(end?.stoppedBy).toMatchObject({ kind: 'local-file' });
    // Rows that were not sent yet when it was noticed are remaining.
    expect((end?.totals.done ?? 0) + (end?.totals.left ?? 0)).toBe(5);
    expect(run.results.map(({ row }) => row.number)).toEqual([1, 2]);
  });
});

describe('a journal that cannot be written', () => {
  test.each([
    { id: 'P08', what: { failsWrite: (nth: number) => nth === 3 } },
    { id: 'P10', what: { failsSync: (nth: number) => nth === 3 } },
  ])('$id: nothing further is sent or synced; the run ends with its reason', async ({ what }) => {
    const run = watchedRun({ rows: 200, limitMax: 4, syncMs: 2, ...what });

    const end = await run.end();

    expect(end?.stoppedBy).toMatchObject({ kind: 'local-file' });
    expect(end?.totals.reason).toBe('local-file');
    expect(run.running.sent).toBeLessThan(200);
    // What was reported before is on disk; nothing else is.
    const synced = run.events.flatMap((event) => (event.what === 'synced' ? event.records : []));
    const durable = synced.filter(([letter]) => letter === 'D').map((record) => record[1]);
    for (const { row } of run.results) expect(durable).toContain(row.number);
    expect(run.records.some(([letter]) => letter === 'E')).toBe(false);
    const { done: doneCount, inDoubt, left, failed } = end?.totals ?? { done: 0, inDoubt: 0, left: 0, failed: 0 };
    expect(doneCount + inDoubt + left + failed).toBe(200);
    expect(inDoubt).toBe(run.running.sent - doneCount);
  });

  test('P08: with a reserve, what is in flight is waited for and recorded; nothing is in doubt', async () => {
    const run = watchedRun({ rows: 200, pace: freePace(4), limitMax: 4, takesMs: () => 30, syncMs: 2, fullAt: 3 });

    const end = await run.end();

    expect(end?.stoppedBy).toMatchObject({ kind: 'local-file' });
    expect(end).toMatchObject({
      hasAllResults: true,
      totals: { done: run.running.sent, inDoubt: 0, reason: 'local-file' },
    });
    expect(run.running.sent).toBeGreaterThan(0);
    expect(run.running.sent).toBeLessThanOrEqual(5);
    expect(run.records.at(-1)).toEqual(['E', end?.totals]);
    // The intents of rows that were not sent are withdrawn.
    const last = new Map(run.records.map((record) => [record[1], record[0]]));
    expect([...last.values()]).not.toContain('I');
  });

  test('P10: the first one: nothing was sent at all', async () => {
    const run = watchedRun({ rows: 20, failsSync: () => true });

    const end = await run.end();

    expect([run.running.sent, run.results]).toEqual([0, []]);
    expect(end?.totals).toMatchObject({ left: 20, inDoubt: 0 });
  });

  test('P10: what is under way is waited for, and is in doubt: whether its outcome is on disk cannot be known', async () => {
    const run = watchedRun({
      rows: 8,
      pace: freePace(8),
      limitMax: 8,
      syncMs: 1,
      takesMs: () => 500,
      failsSync: (nth) => nth === 4,
    });

    const end = await run.end();

    expect(run.running.inFlight).toBe(0);
    // Those that were answered before the disk failed were done.
    const { done: doneCount = 0, inDoubt = 0, left } = end?.totals ?? {};
    expect([doneCount + inDoubt, left]).toEqual([8, 0]);
    expect(inDoubt).toBeGreaterThanOrEqual(6);
  });

  test('P08: the last line, the end itself, too', async () => {
    const run = watchedRun({ rows: 1, limitMax: 1, failsWrite: (nth) => nth === 3 });

    const end = await run.end();

    expect(run.results).toHaveLength(1);
    expect(end?.stoppedBy).toMatchObject({ kind: 'local-file' });
  });
});

describe('rows that are not sent', () => {
  const held: Task<TestRow> = { kind: 'in-doubt', row: { number: 1 }, failure: new Failure('in-doubt', 'held') };
  const invalid: Task<TestRow> = {
    kind: 'invalid',
    row: { number: 2 },
    was: 'left',
    failure: new Failure('usage', 'bad'),
  };

  test('are reported in their place, and counted', async () => {
    const run = watchedRun({
      tasks: [held, invalid, sendTask(3)],
      counts: { done: 0, failed: 0, invalid: 0, inDoubt: 1, skipped: 0, left: 2 },
    });

    const end = await run.end();

    expect(run.results.map(({ row, status }) => [row.number, status])).toEqual([
      [1, 'in-doubt'],
      [2, 'failed'],
      [3, 'done'],
    ]);
    expect(end?.totals).toMatchObject({ done: 1, invalid: 1, inDoubt: 1, left: 0, sent: 1 });
    expect(run.records.filter(([letter]) => letter === 'X')).toEqual([['X', 2]]);
  });

  test('more of them than fit in one turn, reported without a wait: the run ends', async () => {
    const tasks: Task<TestRow>[] = Array.from({ length: 300 }, (_, index) => ({ ...held, row: { number: index + 1 } }));
    const run = watchedRun({ tasks, counts: { done: 0, failed: 0, invalid: 0, inDoubt: 300, skipped: 0, left: 0 } });

    const end = await run.end();

    expect([end?.totals.inDoubt, run.results.length]).toEqual([300, 300]);
  });

  test('an empty input ends at once', async () => {
    const run = watchedRun({ rows: 0 });

    const end = await run.end();

    expect(end?.totals).toMatchObject({ done: 0, left: 0, sent: 0 });
    expect(run.records.map(([letter]) => letter)).toEqual(['E']);
  });
});

test('a taker of results that fails stops the run; what is under way is recorded', async () => {
  const run = watchedRun({
    ...{ rows: 50, limitMax: 4 },
    onResult: async () => {
      throw new Failure('local-file', 'stdout is full');
    },
  });

  const end = await run.end();

  expect(end?.stoppedBy).toMatchObject({ kind: 'local-file', message: 'stdout is full' });
  expect(run.results).toHaveLength(1);
  expect(end?.totals).toMatchObject({ done: run.running.sent, inDoubt: 0, left: 50 - run.running.sent });
  expect(run.records.at(-1)?.[0]).toBe('E');
});

test('a bug in the sender is not an outcome: it is rethrown unchanged', async () => {
  const run = watchedRun({
    rows: 3,
    answer: () => {
      throw new TypeError('a bug');
    },
  });

  await expect(run.end()).rejects.toThrow('a bug');
});

test('whatever the service does, every row ends exactly once, results are in order, and counts add up', async () => {
  const step = fc.constantFrom<() => AttemptResult<string>>(
    done,
    steps.refused,
    steps.doubtful,
    () => steps.throttled(70),
    () => steps.unreachable(30),
    () => steps.doubtfulAgain(30),
    steps.unauthorised,
    () => notDone({ scope: 'run-until-first-success', kind: 'credentials' }),
    () => notDone({ waitMs: 200, kind: 'unavailable', service: 'unreachable', outcome: 'unknown' }),
  );
  const likely = fc.oneof(
    { weight: 6, arbitrary: fc.constant<() => AttemptResult<string>>(done) },
    { weight: 3, arbitrary: step },
  );
  const run = fc.record({
    rows: fc.integer({ min: 0, max: 40 }),
    limitMax: fc.integer({ min: 1, max: 9 }),
    retries: fc.integer({ min: 0, max: 3 }),
    maxErrors: fc.constantFrom(Number.POSITIVE_INFINITY, 1, 3),
    reportLeft: fc.boolean(),
    syncMs: fc.integer({ min: 0, max: 9 }),
    isRead: fc.boolean(),
    answers: fc.array(likely, { minLength: 1, maxLength: 60 }),
    takes: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 7 }),
    stopAt: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ answers, takes, stopAt, ...says }) => {
      const stopping = new AbortController();
      let count = 0;
      const watched = watchedRun({
        ...says,
        // Without pauses and outages, in which virtual time is long.
        ...{ signal: stopping.signal, pace: freePace(says.limitMax) },
        takesMs: (row) => takes[row % takes.length] ?? 1,
        answer: () => {
          if (count === stopAt) stopping.abort(new Stopped('SIGINT'));
          count += 1;
          // A service that throttles for ever would be waited for as long.
          return count > 300 ? done() : (answers[count % answers.length] ?? done)();
        },
      });

      const end = await watched.end();

      expect(end).toBeDefined();
      const numbers = watched.results.map(({ row }) => row.number);
      expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      expect(new Set(numbers).size).toBe(numbers.length);
      const totals = end?.totals ?? { done: 0, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 };
      const byStatus = (status: string) => watched.results.filter((result) => result.status === status).length;
      expect(totals.done + totals.failed + totals.inDoubt + totals.left).toBe(says.rows);
      expect([byStatus('done'), byStatus('failed'), byStatus('in-doubt')]).toEqual([
        totals.done,
        totals.failed,
        totals.inDoubt,
      ]);
      if (says.reportLeft) expect(byStatus('left')).toBe(totals.left);
      if (end?.stoppedBy === undefined) expect(totals.left).toBe(0);
      expect(watched.atOnceMax).toBeLessThanOrEqual(says.limitMax);
    }),
    { numRuns: 150 },
  );
});

test('rows of one item follow each other: each after the record of the one before, none after one that is not done', async () => {
  const answer = fc.constantFrom<() => AttemptResult<string>>(
    ...[done, done, done, () => steps.throttled(70), () => steps.doubtfulAgain(30)],
    ...[steps.refused, steps.doubtful],
  );
  const run = fc.record({
    items: fc.array(fc.constantFrom('a', 'b', 'c', undefined), { minLength: 2, maxLength: 40 }),
    limitMax: fc.integer({ min: 1, max: 9 }),
    answers: fc.array(answer, { minLength: 1, maxLength: 40 }),
    takes: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 7 }),
    stopAt: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ items, limitMax, answers, takes, stopAt }) => {
      const stopping = new AbortController();
      let answered = 0;
      const itemOf = ({ number }: TestRow) => items[number - 1];
      const watched = watchedRun({
        ...{ rows: items.length, limitMax, itemOf, signal: stopping.signal, pace: freePace(limitMax) },
        takesMs: (row) => takes[row % takes.length] ?? 1,
        answer: () => {
          if (answered === stopAt) stopping.abort(new Stopped('SIGINT'));
          answered += 1;
          return answered > 300 ? done() : (answers[answered % answers.length] ?? done)();
        },
      });

      const end = await watched.end();

      if (end?.stoppedBy === undefined) expect(watched.results.length).toBe(items.length);
      for (const { row, ended } of sentAfter(watched.events)) {
        const earlier = items.slice(0, row - 1).flatMap((item, at) => (item === items[row - 1] ? [at + 1] : []));
        if (items[row - 1] !== undefined) expect(earlier.filter((each) => ended.get(each) !== 'D')).toEqual([]);
      }
    }),
    { numRuns: 150 },
  );
});

/** Each row that was sent, or whose intent was written, with the outcomes that were written before. */
function sentAfter(events: readonly Event[]) {
  const ended = new Map<number, string>();
  return momentsOf(events).flatMap(({ what, row }) => {
    if (/^[DFU] written$/.test(what)) ended.set(row, what[0] ?? '');
    return what === 'sent' || what === 'I written' ? [{ row, ended: new Map(ended) }] : [];
  });
}

test('rows of different items do not wait for each other', async () => {
  const run = watchedRun({
    rows: 40,
    limitMax: 8,
    pace: freePace(8),
    itemOf: ({ number }) => (number <= 20 ? 'a' : `b${number}`),
  });

  await run.end();

  expect(run.atOnceMax).toBe(8);
});

function count(counts: Map<number, number>, row: number): void {
  counts.set(row, (counts.get(row) ?? 0) + 1);
}

/** Events of rows in order: sent, responded and reported, and each record, as `D written`, `D synced`. */
function momentsOf(events: readonly Event[]): readonly { readonly what: string; readonly row: number }[] {
  return events.flatMap((event) =>
    'records' in event
      ? event.records.map((record) => ({ what: `${record[0]} ${event.what}`, row: Number(record[1]) }))
      : [event],
  );
}

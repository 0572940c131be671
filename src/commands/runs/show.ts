import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { type FailureText, readFailureTexts } from '../../bulk/failure-texts.ts';
import type { FailedRecord, JournalRecord, RunTotals } from '../../bulk/journal-format.ts';
import { doneRow, journalRecords, type Replay } from '../../bulk/journal-read.ts';
import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { countOf, printable } from '../../core/text.ts';
import {
  type RowResultShown,
  type RunDetailShown,
  type RunShown,
  rowResultView,
  runDetailView,
} from '../../output/runs.ts';
import type { View } from '../../output/view.ts';
import {
  type DoneItem,
  doneItems,
  findRunPath,
  isRunActive,
  readRun,
  runWords,
  shardRows,
  toRunSummary,
  undoneRows,
} from './named-run.ts';

/** The rate over time, in at most 120 steps whose length grows with the run. */
class RateSteps {
  #stepMs = 100;
  #rows: number[] = [];
  #pauses: boolean[] = [];

  addRow(atMs: number): void {
    const index = this.#indexOf(atMs);
    this.#rows[index] = (this.#rows[index] ?? 0) + 1;
  }

  addPause(fromMs: number, toMs: number): void {
    // The last step first, since it may change the length of steps.
    const last = this.#indexOf(toMs);
    for (let index = this.#indexOf(fromMs); index <= last; index += 1) this.#pauses[index] = true;
  }

  end(totalMs: number): Pick<RunDetailShown, 'ratePerSecond' | 'throttled'> {
    if (this.#rows.length + this.#pauses.length === 0) return { ratePerSecond: [], throttled: [] };
    // First, since it may change the length of steps.
    const last = this.#indexOf(Math.max(0, totalMs - 1));
    const [rows, pauses] = [this.#rows, this.#pauses];
    const count = Math.max(rows.length, pauses.length, last + 1);
    const ratePerSecond = Array.from({ length: count }, (_, index) => {
      // A very short last step would look like a peak.
      const lengthMs = Math.max(this.#stepMs / 2, Math.min(this.#stepMs, totalMs - index * this.#stepMs));
      return Number((((rows[index] ?? 0) * 1000) / lengthMs).toPrecision(3));
    });
    return { ratePerSecond, throttled: Array.from({ length: count }, (_, index) => pauses[index] === true) };
  }

  #indexOf(atMs: number): number {
    while (Math.floor(atMs / this.#stepMs) >= 120) {
      this.#rows = mergePairs(this.#rows, (one = 0, other = 0) => one + other);
      this.#pauses = mergePairs(this.#pauses, (one = false, other = false) => one || other);
      this.#stepMs *= 2;
    }
    return Math.floor(atMs / this.#stepMs);
  }
}

function mergePairs<T>(values: readonly T[], merge: (one: T | undefined, other: T | undefined) => T): T[] {
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, at) => merge(values[2 * at], values[2 * at + 1]));
}

/** Reads the figures of a run, without the time between sessions. For a killed session they come from its records. */
async function figuresOf(path: string, { sessions }: Pick<Replay, 'sessions'>) {
  const figures = new Figures();
  let session = 0;
  for await (const placed of journalRecords(path)) {
    if (placed.session !== session) figures.endSession();
    session = placed.session;
    figures.take(placed.record, placed.timeMs);
  }
  // The other sessions are those of runs resolve.
  const started = sessions.filter(({ limit }) => limit > 0).length;
  return figures.end(Math.max(1, started));
}

class Figures {
  /** Of milliseconds plus one, since a histogram begins at 1. */
  readonly #times = createHistogram({ highest: 1e9 });
  readonly #steps = new RateSteps();
  #sent = 0;
  #retries = 0;
  #throttledMs = 0;
  /** The start of the session without the time between sessions, and its figures so far. */
  #startMs = 0;
  #lastMs = 0;
  #responses = 0;
  #again = 0;
  #pauses: (readonly [fromMs: number, toMs: number])[] = [];
  #ended: RunTotals | undefined;

  take(record: JournalRecord, timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs);
    switch (record[0]) {
      case 'I':
        if (record[3] > 1) this.#again += 1;
        break;
      case 'D':
        this.#responded(record[4], timeMs);
        break;
      case 'F':
        this.#responded(record[5], timeMs);
        break;
      case 'U':
        this.#responded(record[3], timeMs);
        break;
      case 'T':
        this.#paused(timeMs, timeMs + record[1]);
        break;
      case 'E':
        this.#ended = record[1];
    }
  }

  endSession(): void {
    const ms = Math.max(this.#lastMs, this.#ended?.ms ?? 0);
    let pausedMs = 0;
    for (const [fromMs, toMs] of this.#pauses) {
      const endMs = Math.min(ms, toMs);
      this.#steps.addPause(this.#startMs + fromMs, this.#startMs + Math.max(fromMs, endMs - 1));
      pausedMs += Math.max(0, endMs - fromMs);
    }
    this.#sent += this.#ended?.sent ?? this.#responses + this.#again;
    this.#retries += this.#ended?.retries ?? this.#again;
    this.#throttledMs += this.#ended?.throttledMs ?? pausedMs;
    this.#startMs += ms;
    [this.#lastMs, this.#responses, this.#again, this.#pauses, this.#ended] = [0, 0, 0, [], undefined];
  }

  end(sessions: number): Omit<RunDetailShown, keyof RunShown> {
    this.endSession();
    return {
      sessions,
      seconds: Math.round(this.#startMs) / 1000,
      sent: this.#sent,
      retries: this.#retries,
      throttledMs: Math.round(this.#throttledMs),
      answerTimes: timePercentiles(this.#times),
      ...this.#steps.end(this.#startMs),
    };
  }

  /** @param tookMs null without a complete response */
  #responded(tookMs: number | null, timeMs: number): void {
    if (tookMs === null) return;
    this.#responses += 1;
    this.#times.record(Math.min(Math.round(tookMs), 1e9 - 1) + 1);
    this.#steps.addRow(this.#startMs + timeMs);
  }

  /** Overlapping pauses are merged. */
  #paused(fromMs: number, toMs: number): void {
    const last = this.#pauses.at(-1);
    if (last === undefined || last[1] < fromMs) this.#pauses.push([fromMs, toMs]);
    else this.#pauses[this.#pauses.length - 1] = [last[0], Math.max(last[1], toMs)];
  }
}

/** The usual three, to three digits; undefined without a response. */
function timePercentiles(times: RecordableHistogram): RunDetailShown['answerTimes'] {
  if (times.count === 0) return undefined;
  const at = (percent: number) => Number((times.percentile(percent) - 1).toPrecision(3));
  return { p50Ms: at(50), p95Ms: at(95), p99Ms: at(99) };
}

export const showCommand: CommandSpec = {
  name: 'show',
  summary: 'show a run, or its item ids with -o id',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('--in-doubt', 'only the rows in doubt')
      .option('--rows', 'all rows in input order: status, id and error')
      .action(inSession(context, showRun));
    addHelpNotes(command, {
      examples: [
        'listctl runs show last',
        'listctl runs show last -o id > created.txt',
        'listctl runs show 20261120-101530-k3f9 --in-doubt',
        'listctl runs show ci/tasks.journal -o json',
        'listctl runs show last --rows -o csv > rows.csv',
      ],
      exitCodes: {
        2: 'invalid usage, no such run, or its rows are no longer stored',
        9: 'some recorded ids are not valid',
      },
    });
  },
};

async function showRun(
  session: Session,
  word: string,
  { inDoubt, rows }: { readonly inDoubt?: boolean; readonly rows?: boolean },
): Promise<void> {
  const { host } = session;
  if (inDoubt && rows) throw new Failure('usage', '--rows cannot be used with --in-doubt');
  const path = findRunPath(word, host);
  const replay = await readRun(path);
  const { header, counts } = replay;
  const isRunning = isRunActive(path, host);
  if (inDoubt || rows) {
    if (isRunning) await session.messages.say(`run ${header.run} is in progress: rows in flight are shown as in doubt`);
    if (inDoubt) return (await import('./doubts.ts')).showDoubts(path, replay, session);
    refuseCompacted(replay);
    return session.output.printing(rowResultView, true, async (print) => {
      for await (const outcome of rowResults(path, replay)) await print(outcome);
    });
  }
  if (session.output.format(false) === 'id') return showIds(path, replay, session);
  const figures = await figuresOf(path, replay);
  const undone = await undoneRows(path, header, host);
  const run = toRunSummary({ run: header.run, header, counts, isRunning, undone });
  await session.output.printing(runDetailView, false, async (print) => print({ ...run, ...figures }));
  if (header.isShrunk)
    await session.messages.say(`run ${header.run} ${compacted}; the figures are those of its last session`);
}

const compacted = 'completed more than 30 days ago; its ids and the results of its rows are no longer stored';

/** @throws {Failure} usage, if the records of the run are gone */
export function refuseCompacted({ header: { run, isShrunk } }: Replay, hint?: string): void {
  if (isShrunk) throw new Failure('usage', `run ${run} ${compacted}`, { hint });
}

const idView: View<{ readonly id: string }> = {
  pretty: (items) => items.map(({ id }) => printable(id)).join('\n'),
  json: ({ id }) => ({ id }),
  id: ({ id }) => id,
};

async function showIds(path: string, replay: Replay, session: Session): Promise<void> {
  refuseCompacted(replay);
  let invalidCount = 0;
  await session.output.printing(idView, true, async (print) => {
    const rows: DoneItem[] = [];
    for await (const row of doneItems(path)) rows.push(row);
    rows.sort((one, other) => one.row - other.row);
    for (const { row, id, problem } of rows) {
      if (problem === undefined) {
        await print({ id });
        continue;
      }
      invalidCount += 1;
      await session.messages.report(new Failure(problem.kind, `row ${row}: ${problem.message}`));
    }
  });
  if (invalidCount === 0) return;
  const are = `${countOf(invalidCount, 'id')} of run ${replay.header.run} ${invalidCount === 1 ? 'is' : 'are'}`;
  throw new Failure('incomplete', `${are} not valid`, {
    hint: `check ${path}: the service returned these ids, or the file was changed`,
  });
}

/**
 * Reads the results of all rows of the shard in order; those of an undo only as far as it got. The texts of failures are
 * not in the journal; without them a failure has kind, status and code.
 */
async function* rowResults(path: string, replay: Replay): AsyncGenerator<RowResultShown> {
  const { header } = replay;
  const ids = new Map<number, string>();
  const failures = new Map<number, FailedRecord>();
  for await (const { record } of journalRecords(path)) {
    const done = doneRow(record);
    if (done?.id !== undefined) ids.set(done.row, done.id);
    else if (record[0] === 'F') failures.set(record[1], record);
  }
  const texts = readFailureTexts(path);
  for (const row of shardRows(header)) {
    if (header.action === 'undo' && replay.stateOf(row) === 'pending') continue;
    const result = toResult(row, replay, ids.get(row), failures.get(row));
    const text = result.status === 'failed' ? texts.get(row) : undefined;
    yield text === undefined ? result : withText(result, text);
  }
}

function withText(result: RowResultShown, { message, errors }: FailureText): RowResultShown {
  const { kind, details } = result.failure ?? {};
  return kind === undefined ? result : { ...result, failure: new Failure(kind, message, { ...details, errors }) };
}

function toResult(
  row: number,
  { header, stateOf, doubtOf }: Replay,
  id: string | undefined,
  failed: FailedRecord | undefined,
): RowResultShown {
  const { action } = header;
  const state = stateOf(row);
  switch (state) {
    case 'done':
      return { row, action, status: 'done', id };
    case 'failed':
      return { row, action, status: 'failed', failure: toFailure(row, failed) };
    case 'invalid': {
      const failure = new Failure('usage', 'invalid row', { outcome: 'not-sent', about: { row } });
      return { row, action, status: 'failed', failure };
    }
    case 'in-doubt': {
      const { key, cause = 'listctl ended before the response arrived' } = doubtOf(row) ?? {};
      const details = { outcome: 'unknown', idempotencyKey: key ?? undefined, about: { row } } as const;
      return { row, action, status: 'in-doubt', failure: new Failure('in-doubt', cause, details) };
    }
    case 'pending':
      return { row, action, status: 'left' };
    case 'skipped':
      return { row, action, status: 'skipped' };
  }
}

function toFailure(row: number, record: FailedRecord | undefined): Failure {
  const [, , kind = 'refused', status, code] = record ?? [];
  const parts = [...(status == null ? [] : [`HTTP ${status}`]), ...(code == null ? [] : [code])];
  return new Failure(kind, parts.length === 0 ? kind : `${kind}: ${parts.join(', ')}`, {
    // Without a status no response said no.
    outcome: status == null ? undefined : 'refused',
    status: status ?? undefined,
    serviceCode: code ?? undefined,
    about: { row },
  });
}

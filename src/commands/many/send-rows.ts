/** Rows through the runner: what came of each to stdout, how it goes and how it ended to stderr. */
import { noJournal } from '../../bulk/commits.ts';
import type { RunTotals } from '../../bulk/journal-records.ts';
import { startPace } from '../../bulk/pace.ts';
import { type RunEnd, startRun } from '../../bulk/runner.ts';
import { Failure } from '../../errors.ts';
import type { Session } from '../session.ts';
import { openProgress } from './progress.ts';
import { openRowReport, type RowReport } from './row-report.ts';
import type { KnownBefore, PlannedRow, RowsPlan } from './rows-plan.ts';
import { runFailure } from './run-failure.ts';
import type { Recorded } from './run-record.ts';
import { twoStageStop } from './stops.ts';

/**
 * Sends rows, up to the outcome of each.
 *
 * @throws {Failure} what the run ended in: a local file before doubt, before a service that is gone, before
 *   credentials, before rows that were not done (rulings, "Exit codes")
 * @throws {Stopped} when it was told to stop
 */
export async function sendRows<R extends PlannedRow>(plan: RowsPlan<R>, session: Session): Promise<void> {
  const report = openRowReport(plan, session);
  let ended: EndedRun | undefined;
  let unprinted: unknown;
  try {
    await report.printing(async () => {
      const known = plan.known?.results ?? [];
      for (const result of known) await report.take(result);
      ended = withKnown(await run(plan, report, session), known);
    });
  } catch (error) {
    // What was done is told all the same, though it could not be printed.
    if (ended === undefined) throw error;
    unprinted = error;
  }
  if (ended === undefined) throw new Error('the run has not ended');
  const { totals, recorded } = ended;
  const hasTold = unprinted === undefined && ended.hasTold;
  const rejected = await endRejects(plan, hasTold);
  const stoppedBy = untoldFailure(unprinted ?? ended.stoppedBy, hasTold) ?? rejected ?? ended.stoppedBy;
  const next = nextOf(plan, totals, recorded?.word);
  const failure = endingOf({ plan, totals, stoppedBy, next, report });
  // A failure has them in its hint.
  const notes = failure === undefined || failure instanceof Failure ? [] : next;
  const { run: name, journal } = recorded ?? {};
  plan.summary.ended({ run: name, journal: journal?.path, totals, settled: report, groups: report.groups(), notes });
  if (failure !== undefined) throw failure;
}

/** What is not recorded cannot be resumed; a plan is made anew. */
function nextOf<R extends PlannedRow>(
  plan: RowsPlan<R>,
  totals: RunTotals,
  word: string | undefined,
): readonly string[] {
  const { left, failed, invalid, inDoubt } = totals;
  if (left + failed + invalid + inDoubt === 0) return [];
  return word === undefined && plan.prints !== 'steps' ? [] : plan.nextSteps(word ?? '', totals);
}

/** Why results could not be printed: whatever the reason, the rows themselves are done, and recorded. */
function untoldFailure(error: unknown, hasTold: boolean): Failure | undefined {
  if (hasTold || !(error instanceof Failure)) return undefined;
  if (error.kind === 'local-file') return error;
  return new Failure('local-file', `results could not be printed: ${error.message}`, {
    hint: 'what was done is recorded, and is not sent again by --resume',
    cause: error,
  });
}

/** Writes the rejects; gives why they can't be: what became of the rows is told all the same. */
async function endRejects<R extends PlannedRow>(
  { rejects }: Pick<RowsPlan<R>, 'rejects'>,
  hasTold: boolean,
): Promise<Failure | undefined> {
  try {
    // Where results or records could not be written, rows are missing in it.
    if (hasTold) await rejects?.end();
    else rejects?.discard();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Why a read ends early: nobody is there any more to whom its items could be given. */
const readerGone = new Error('the reader of the results has gone');

/** The counts, with what was known before. */
function withKnown(ended: EndedRun, results: KnownBefore<unknown>['results'] = []): EndedRun {
  const failed = results.filter(({ status }) => status === 'failed').length;
  const { totals } = ended;
  const all = { failed: totals.failed + failed, inDoubt: totals.inDoubt + results.length - failed };
  return { ...ended, totals: { ...totals, ...all } };
}

/** What a run came to. */
interface Outcome<R extends PlannedRow> {
  readonly plan: RowsPlan<R>;
  readonly totals: RunTotals;
  readonly stoppedBy: unknown;
  readonly next: readonly string[];
  readonly report: RowReport<R>;
}

/** As `runFailure`. What nobody waits for is not left to do; what failed before did fail. */
function endingOf<R extends PlannedRow>({ plan, totals, stoppedBy, next, report }: Outcome<R>): unknown {
  const doubtful = plan.prints === 'steps' ? report.doubtful : undefined;
  if (stoppedBy === readerGone) return runFailure({ ...totals, left: 0 }, undefined, plan.done, next, doubtful);
  const { results = [], failure } = plan.known ?? {};
  const { failed, invalid, left, inDoubt } = totals;
  const isOnlyKnown = stoppedBy === undefined && failed === results.length && invalid + left + inDoubt === 0;
  if (isOnlyKnown && failure !== undefined) return failure;
  return runFailure(totals, stoppedBy, plan.done, next, doubtful);
}

/** How a run ended, and where it was recorded. */
interface EndedRun extends RunEnd {
  readonly recorded: Recorded | undefined;
}

async function run<R extends PlannedRow>(plan: RowsPlan<R>, report: RowReport<R>, session: Session): Promise<EndedRun> {
  const { host } = session;
  const { concurrency: limitMax, ratePerSecond, maxErrors } = plan.pace;
  const stops = twoStageStop(host, plan.isRead);
  const { retries, maxWaitMs } = session.retryPolicy('many');
  const gone = new AbortController();
  let recorded: Recorded | undefined;
  try {
    const wire = await session.wire('many', { signal: stops.cut, stopGraceMs: 0 });
    recorded = plan.begin();
    const toDo = plan.counts.left + plan.counts.failed + plan.counts.invalid + plan.counts.inDoubt;
    const pace = startPace({ limitMax, ratePerSecond, maxWaitMs }, () => host.random());
    const running = startRun({
      tasks: plan.tasks,
      sender: plan.senderOver(wire),
      journal: recorded?.journal ?? noJournal,
      ...{ counts: plan.counts, nextSeq: plan.nextSeq },
      ...{ pace, limitMax, retries, maxErrors, maxWaitMs },
      clock: host.clock,
      serviceMs: () => wire.serviceMs(),
      signal: AbortSignal.any([stops.signal, gone.signal]),
      onResult: (result) => {
        // What is recorded is worth having without a reader, too; what was written is told by the record alone.
        if (plan.isRead && recorded === undefined && host.stdout.isClosed) gone.abort(readerGone);
        return report.take(result);
      },
      tellsLeft: plan.rejects !== undefined,
    });
    const progress = openProgress({ running, pace, report, toDo }, session);
    report.attach(progress, recorded?.word);
    try {
      const end = await running.ended;
      const unrecorded = await closeFailure(recorded);
      return { ...end, stoppedBy: unrecorded ?? end.stoppedBy, recorded };
    } finally {
      progress.end();
    }
  } finally {
    stops.end();
    await recorded?.journal.close();
  }
}

/** Why a journal could not be closed: what became of the rows is told all the same. */
async function closeFailure(recorded: Recorded | undefined): Promise<Failure | undefined> {
  try {
    await recorded?.journal.close();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

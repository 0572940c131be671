/** Sends the rows of a plan: results to stdout, progress and summary to stderr. The loop itself is in runner.ts. */
import type { Session } from '../cli/session.ts';
import { Failure, Stopped } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { countOf, listNames, oneLine, shellWord } from '../core/text.ts';
import type { FailureGroup } from '../output/failure.ts';
import { noJournal } from './journal.ts';
import type { RunTotals } from './journal-format.ts';
import { failureOf } from './outputs.ts';
import { Pace } from './pace.ts';
import { openProgress } from './progress.ts';
import type { RunRecording } from './record.ts';
import { RowReport } from './report.ts';
import { Run, type RunEnd } from './runner.ts';
import { isComplete } from './runs.ts';
import type { KnownResults, PlannedRow, RunPlan } from './senders.ts';

/**
 * Runs a plan, and prints results and summary.
 *
 * @throws {Failure} if a row is not done; the order of failures is that of docs/decisions.md, codes-2
 * @throws {Stopped}
 */
export async function sendRows<R extends PlannedRow>(plan: RunPlan<R>, session: Session): Promise<void> {
  const report = await RowReport.open(plan, session);
  const ended = await runReported(plan, report, session);
  // The summary is printed even if the results could not be.
  const unprinted: unknown = await report.end().catch((error: unknown) => error);
  const { totals, settled, recorded } = ended;
  const isPrinted = unprinted === undefined && ended.hasAllResults;
  // Rows are missing in the rejects file if results or records could not be written.
  const rejected = await failureOf(async () => (isPrinted ? plan.rejects?.end() : plan.rejects?.discard()));
  const stoppedBy = unprintedFailure(unprinted ?? ended.stoppedBy, isPrinted) ?? rejected ?? ended.stoppedBy;
  const next = nextOf(plan, totals, recorded?.word, report.groups());
  const failure = endingOf(plan, { totals, stoppedBy }, next, report);
  const notes = failure === undefined || failure instanceof Failure ? [] : next;
  const { run: name, journal } = recorded ?? {};
  plan.report?.ended({ done: settled.settled - settled.failed - settled.inDoubt, left: totals.left });
  const applied = plan.unchanged === undefined ? undefined : { ...report.applied, unchanged: plan.unchanged };
  const groups = report.groups();
  plan.summary.ended({ run: name, journal: journal?.path, totals, settled, applied, groups, notes });
  if (failure !== undefined) throw failure;
}

/** Runs a plan after the results that are known before it. */
async function runReported<R extends PlannedRow>(
  plan: RunPlan<R>,
  report: RowReport<R>,
  session: Session,
): Promise<EndedRun> {
  const known = plan.known?.results ?? [];
  try {
    for (const result of known) await report.add(result);
    return addKnown(await run(plan, report, session), known);
  } catch (error) {
    await report.abort();
    throw error;
  }
}

/** The hints of a run that did not complete; a run without a journal cannot be resumed. */
function nextOf<R extends PlannedRow>(
  plan: RunPlan<R>,
  totals: RunTotals,
  word: string | undefined,
  failures: readonly FailureGroup[],
): readonly string[] {
  const { left, failed, invalid, inDoubt } = totals;
  if (left + failed + invalid + inDoubt === 0) return [];
  return word === undefined && plan.prints !== 'steps' ? [] : plan.nextSteps(word ?? '', totals, failures);
}

function unprintedFailure(error: unknown, isPrinted: boolean): Failure | undefined {
  if (isPrinted || !(error instanceof Failure)) return undefined;
  if (error.kind === 'local-file') return error;
  return new Failure('local-file', `cannot print results: ${error.message}`, {
    hint: 'resume with --resume: rows that are done are not sent again',
    cause: error,
  });
}

const stdoutClosed = new Error('stdout was closed');

function addKnown(ended: EndedRun, results: KnownResults<unknown>['results'] = []): EndedRun {
  const failed = results.filter(({ status }) => status === 'failed').length;
  const inDoubt = results.length - failed;
  const { totals, settled } = ended;
  const add = <C extends Record<'failed' | 'inDoubt', number>>(counts: C): C => ({
    ...counts,
    ...{ failed: counts.failed + failed, inDoubt: counts.inDoubt + inDoubt },
  });
  const all = { ...add(settled), settled: settled.settled + results.length };
  return { ...ended, totals: add(totals), settled: all };
}

/** As `findRunFailure`, but unread rows of a closed stdout are not a failure. */
function endingOf<R extends PlannedRow>(
  plan: RunPlan<R>,
  { totals, stoppedBy }: Pick<EndedRun, 'totals' | 'stoppedBy'>,
  next: readonly string[],
  report: RowReport<R>,
): unknown {
  const doubtful = plan.prints === 'steps' ? report.inDoubtNames : undefined;
  const text = { done: plan.done, next, doubtful };
  if (stoppedBy === stdoutClosed) return findRunFailure({ ...totals, left: 0 }, undefined, text);
  const { results = [], failure } = plan.known ?? {};
  const { failed, invalid, left, inDoubt } = totals;
  const isOnlyKnown = stoppedBy === undefined && failed === results.length && invalid + left + inDoubt === 0;
  if (isOnlyKnown && failure !== undefined) return failure;
  return findRunFailure(totals, stoppedBy, text);
}

interface EndedRun extends RunEnd {
  readonly recorded: RunRecording | undefined;
}

/** The rate with which a run begins. */
export function startOf({ service: { facts } }: Session): { readonly startPerSecond?: number } {
  const { startPerSecond } = facts;
  return startPerSecond === undefined ? {} : { startPerSecond };
}

async function run<R extends PlannedRow>(plan: RunPlan<R>, report: RowReport<R>, session: Session): Promise<EndedRun> {
  const { host } = session;
  const { concurrency: limitMax, ratePerSecond, maxErrors } = plan.pace;
  const isRead = plan.prints === 'items';
  const stops = startGracefulStop(host, isRead);
  const { retries, maxWaitMs } = session.service.retryPolicy('many');
  const closed = new AbortController();
  let recorded: RunRecording | undefined;
  try {
    const client = await session.service.client('many', { signal: stops.abort, stopGraceMs: 0 });
    recorded = plan.openRecord();
    const toDo = plan.counts.left + plan.counts.failed + plan.counts.invalid + plan.counts.inDoubt;
    const before = plan.counts.done + plan.counts.skipped;
    const left = () => plan.counts.left;
    const pace = new Pace({ limitMax, ratePerSecond, maxWaitMs, left, ...startOf(session) }, () => host.random());
    const running = new Run({
      tasks: plan.tasks,
      sender: plan.createSender(client, await session.service.items()),
      itemOf: plan.itemOf,
      journal: recorded?.journal ?? noJournal,
      ...{ counts: plan.counts, nextSeq: plan.nextSeq },
      ...{ pace, limitMax, retries, maxErrors, maxWaitMs },
      clock: host.clock,
      serviceMs: () => client.serviceMs(),
      signal: AbortSignal.any([stops.signal, closed.signal]),
      onResult: (result) => {
        // Writes, and recorded reads, continue without a reader.
        if (isRead && recorded === undefined && host.stdout.isClosed) closed.abort(stdoutClosed);
        return report.add(result);
      },
      reportLeft: plan.rejects !== undefined,
    });
    const progress = openProgress({ running, pace, toDo, before }, session);
    report.attach(progress, recorded);
    try {
      const end = await running.ended;
      const unrecorded = await failureOf(async () => {
        await recorded?.earlier?.close();
        await recorded?.journal.close();
      });
      if (unrecorded === undefined && isComplete(end.totals)) recorded?.texts?.remove();
      return { ...end, stoppedBy: unrecorded ?? end.stoppedBy, recorded };
    } finally {
      progress.end();
    }
  } finally {
    stops.end();
    recorded?.texts?.close();
    await recorded?.earlier?.close();
    await recorded?.journal.close();
  }
}

const nameMax = 100;

/** @param run the run to name, if another input may take the place of this one */
export function resumeCommand(words: readonly string[], run?: string): string {
  // --in-doubt was about the rows in doubt of that time.
  const kept = words.filter(
    (word, at) => !/^--(restart|(resume|in-doubt)(=.*)?)$/.test(word) && !(words[at - 1] === '--in-doubt' && at > 0),
  );
  return ['listctl', ...kept.map(shellWord), run === undefined ? '--resume' : `--resume=${run}`].join(' ');
}

/** The kinds of failures that the same row has again; a lock (HTTP 423) ends by itself. */
const permanentKinds: ReadonlySet<string> = new Set(['usage', 'refused', 'not-found', 'conflict']);

function isPermanent({ kind, status }: FailureGroup): boolean {
  return permanentKinds.has(kind) && status !== 423;
}

interface NextStepsOptions {
  /** Makes the command that resumes it, of the run on a command line. */
  readonly resumeOf: (word: string) => string;
  /** Whether that does not send rows in doubt. */
  readonly keepsDoubt: boolean;
  /** Makes the hint if all rows of the run are done, except those that failed in these ways. */
  readonly repair?: (kinds: ReadonlySet<string>, word: string) => string;
  /** Whether `runs resolve --auto` may find the items of rows in doubt. */
  readonly canLookUp?: boolean;
  /** See `serviceWords`. */
  readonly service?: string;
}

/** Makes the hints of a run that did not complete. */
export function nextSteps(options: NextStepsOptions): RunPlan<never>['nextSteps'] {
  const { resumeOf, keepsDoubt, canLookUp = false, service = '' } = options;
  const { repair = (_, word) => `fix these rows, then resume with: ${resumeOf(word)}` } = options;
  return (word, { left, failed, invalid, inDoubt, reason }, failures) => {
    const listing = `list rows in doubt with: listctl runs show ${word} --in-doubt`;
    const isLeft = left + failed + invalid > 0;
    const kinds = new Set(failures.map(({ kind }) => kind));
    // Without a reason to stop, the rows that are left follow failed ones of the same item.
    const isStopped = left > 0 && reason !== undefined;
    if (!isStopped && inDoubt === 0 && failures.every(isPermanent) && kinds.size > 0) return [repair(kinds, word)];
    if (isLeft || !keepsDoubt) return [`resume with: ${resumeOf(word)}`, ...(inDoubt > 0 ? [listing] : [])];
    const resolving = `listctl runs resolve ${word}${service}`;
    if (canLookUp) return [listing, `look for their items with: ${resolving} --auto`];
    return [listing, `resolve each row with: ${resolving} --row N --applied ID, or --not-applied`];
  };
}

/** The words of the failure of a run. */
interface EndText {
  /** `created` */
  readonly done: string;
  /** Its hints. */
  readonly next: readonly string[];
  /**
   * For steps of a plan: the keys of the first ones in doubt. They come before a signal, since the next run does not send
   * them either.
   */
  readonly doubtful?: readonly string[] | undefined;
}

/**
 * Finds the failure of a run by precedence: a signal, a local file, doubt, what stopped it, failed rows (docs/decisions.md,
 * codes-2). Undefined if every row is done.
 */
export function findRunFailure(
  totals: Pick<RunTotals, 'failed' | 'invalid' | 'inDoubt' | 'left'>,
  stoppedBy: unknown,
  text: EndText,
): unknown {
  const { done, next, doubtful } = text;
  const isResumed = doubtful === undefined || totals.inDoubt === 0;
  if (stoppedBy instanceof Stopped ? isResumed : isBug(stoppedBy)) return stoppedBy;
  const stop = stoppedBy as Failure | Stopped | undefined;
  if (stop instanceof Failure && stop.kind === 'local-file') return withNext(stop, next);
  if (totals.inDoubt > 0) return doubtFailure(totals.inDoubt, stop, text);
  if (stop instanceof Failure && !leavesRows.has(stop.kind)) return withNext(stop, next);
  const count = totals.failed + totals.invalid + totals.left;
  if (count === 0) return undefined;
  const stopped = stop === undefined ? '' : `; ${stop.message}`;
  const what = countOf(count, doubtful === undefined ? 'row' : 'step');
  const message = `${what} ${count === 1 ? 'was' : 'were'} not ${done}${stopped}`;
  const hint = stop instanceof Failure ? stop.details.hint : undefined;
  return withNext(new Failure('incomplete', message, { hint }), next);
}

/** The kinds of failures that stop a run with missing rows as its failure: `--max-errors`, and a locked list. */
const leavesRows: ReadonlySet<string> = new Set(['incomplete', 'conflict']);

function isBug(error: unknown): boolean {
  return error !== undefined && !(error instanceof Failure);
}

function withNext(stoppedBy: Failure, next: readonly string[]): Failure {
  const hints = [stoppedBy.details.hint, ...next].filter((line) => line !== undefined).slice(0, 2);
  return new Failure(stoppedBy.kind, stoppedBy.message, { ...stoppedBy.details, hint: hints.join('\n') || undefined });
}

function doubtFailure(
  count: number,
  stop: Failure | Stopped | undefined,
  { done, next, doubtful: names }: EndText,
): Failure {
  const what = names?.length ? namesText(names, count) : countOf(count, names === undefined ? 'row' : 'step');
  const reason = stop instanceof Stopped ? stop.message : `the run stopped: ${stop?.message}`;
  const because = stop === undefined ? '' : `; ${reason}`;
  const doubt = `${what} in doubt: ${count === 1 ? 'it' : 'they'} may or may not have been ${done}`;
  return new Failure('in-doubt', doubt + because, { hint: next.join('\n') || undefined, outcome: 'unknown' });
}

function namesText(names: readonly string[], count: number): string {
  const shown = names.map((name) => oneLine(JSON.stringify(name), nameMax));
  return listNames(shown, 3, count);
}

/** How long requests in flight are awaited, in milliseconds (docs/decisions.md, stops-1). */
const graceMs = { SIGINT: 60_000, SIGTERM: 10_000, SIGHUP: 10_000 } as const;

/**
 * Stops in two stages: `signal` stops sending, and `abort` waiting for requests in flight: after a second stop signal or
 * some time, for reads at once.
 */
export function startGracefulStop(host: Host, isRead: boolean) {
  const { signal, forceStop, clock } = host;
  const aborting = new AbortController();
  const ended = new AbortController();
  const abort = () => aborting.abort(forceStop.aborted ? forceStop.reason : signal.reason);
  const tooLong = () => {
    abort();
    // A pipe without a reader would block the end.
    host.escalateStop();
  };
  const wait = () => {
    const { reason } = signal;
    if (isRead) abort();
    else if (reason instanceof Stopped) clock.sleep(graceMs[reason.signal], ended.signal).then(tooLong, () => {});
  };
  const listening = { once: true, signal: ended.signal };
  signal.addEventListener('abort', wait, listening);
  forceStop.addEventListener('abort', abort, listening);
  if (signal.aborted) wait();
  return { signal, abort: aborting.signal, end: () => ended.abort() };
}

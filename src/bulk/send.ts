/** Rows through the runner: what came of each to stdout, how it goes and how it ended to stderr. */
import type { Print, Session } from '../cli/session.ts';
import { Failure, Stopped } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import type { Item } from '../core/item.ts';
import { objectFrom } from '../core/json.ts';
import { countOf, oneLine } from '../core/text.ts';
import { type FailureGroup, openFailureGroups } from '../output/failure.ts';
import { itemView } from '../output/item.ts';
import { shellWord } from '../output/request.ts';
import { type RowResultShown, rowResultView, stepResultView } from '../output/runs.ts';
import type { View } from '../output/view.ts';
import { noJournal } from './journal.ts';
import type { RunTotals } from './journal-format.ts';
import type { RowResult } from './outcome.ts';
import { startPace } from './pace.ts';
import type { KnownResults, PlannedRow, RunPlan, SettledCounts } from './plan.ts';
import { openProgress, type Progress } from './progress.ts';
import type { RunRecording } from './record.ts';
import { type RunEnd, startRun } from './runner.ts';
import type { SentResult } from './senders.ts';

/** Takes the results of a run. */
export interface RowReport<R> extends SettledCounts {
  /** Prints the results that `work` leads to. */
  print(work: () => Promise<void>): Promise<void>;
  /** Takes one result. */
  readonly take: (result: RowResult<R, SentResult>) => Promise<void> | undefined;
  groups(): readonly FailureGroup[];
  /** The names of rows in doubt, where rows have names; the first ten. */
  readonly inDoubtNames: readonly string[];
  /**
   * From now on the progress is taken away before anything is printed beside it.
   *
   * @param word names the run on a command line, where it is recorded
   */
  attach(progress: Progress, word: string | undefined): void;
}

/** A person is shown so many failures, a program all of them; all of them are counted. */
const shownMax = 20;

interface Printed extends RowResultShown {
  readonly item?: Item | undefined;
}

/** What was read is printed as the items that they are. */
const readView: View<Printed> = {
  pretty: (results, screen) => itemView.pretty(results.map(itemIn), screen),
  json: (result) => itemView.json(itemIn(result)),
  id: (result) => itemView.id(itemIn(result)),
  row: (result) => itemView.row?.(itemIn(result)) ?? new Map(),
};

const views = { results: rowResultView, steps: stepResultView, items: readView };

function itemIn({ item, id = '' }: Printed): Item {
  return item ?? { id, fields: objectFrom([]), members: objectFrom([['id', id]]) };
}

/** Makes the report of a run. */
function openRowReport<R extends PlannedRow>(plan: RunPlan<R>, session: Session): RowReport<R> {
  return new Report(plan, session);
}

class Report<R extends PlannedRow> implements RowReport<R> {
  settled = 0;
  failed = 0;
  inDoubt = 0;
  readonly inDoubtNames: string[] = [];
  readonly #plan: RunPlan<R>;
  readonly #session: Session;
  readonly #groups = openFailureGroups();
  /** Whether failures are for a person on stderr; else they are results like any other. */
  readonly #reportsFailures: boolean;
  /** Whether what was done is seen in the summary alone. */
  readonly #isSilent: boolean;
  #print: Print<Printed> = () => undefined;
  #progress: Progress | undefined;
  #word: string | undefined;
  #shown = 0;

  constructor(plan: RunPlan<R>, session: Session) {
    this.#plan = plan;
    this.#session = session;
    const format = session.format(true);
    const isResult = plan.prints !== 'items' && (format !== 'pretty' || session.hasQuery);
    this.#reportsFailures = !isResult;
    this.#isSilent = !isResult && plan.prints !== 'items';
  }

  async print(work: () => Promise<void>): Promise<void> {
    const printAll = async (print: Print<Printed>) => {
      this.#print = print;
      await work();
    };
    await this.#session.printing<Printed>(views[this.#plan.prints], true, printAll, undefined, () =>
      this.#progress?.clear(),
    );
  }

  readonly take = (result: RowResult<R, SentResult>): Promise<void> | undefined => {
    const { row, status } = result;
    if (status === 'left') {
      this.#plan.rejects?.add(row, 'not sent: the run stopped before');
      return undefined;
    }
    this.settled += 1;
    const { number, id, name: key, action = this.#plan.action } = row;
    if (status === 'done') {
      if (this.#isSilent) return undefined;
      const { value } = result;
      const item = 'members' in value ? value : undefined;
      return this.#print({ row: number, key, action, status, id: value.id, item });
    }
    const told = status === 'in-doubt' ? this.#doubtOf(row, result.failure) : result.failure;
    const place = key === undefined ? { row: number, line: row.line } : { key, action };
    const failure = told.about({ ...place, id });
    return this.#notDone(row, { row: number, key, action, status, id, failure }, failure);
  };

  groups(): readonly FailureGroup[] {
    return this.#groups.list();
  }

  attach(progress: Progress, word: string | undefined): void {
    this.#progress = progress;
    this.#word = word;
  }

  #notDone(row: R, shown: Printed, failure: Failure): Promise<void> | undefined {
    this.#groups.add(row.number, failure, row.name);
    if (shown.status === 'failed') {
      this.failed += 1;
      this.#plan.rejects?.add(row, failure.message);
    } else {
      this.inDoubt += 1;
      if (row.name !== undefined && this.inDoubtNames.length < 10) this.inDoubtNames.push(row.name);
    }
    if (!this.#reportsFailures) return this.#print(shown);
    this.#shown += 1;
    return this.#shown > shownMax && !this.#session.isJsonWanted ? undefined : this.#report(row, failure);
  }

  /** What to do about a row is not what to do about a single item. */
  #doubtOf({ number }: R, { message, details }: Failure): Failure {
    const { action } = this.#plan;
    const word = this.#word;
    const isOfRun = word !== undefined && action !== 'apply';
    const hint = isOfRun
      ? `look whether it was ${this.#plan.done}, then: listctl runs resolve ${word} --row ${number} --applied ID, or --not-applied`
      : undefined;
    return new Failure('in-doubt', message, { ...details, hint });
  }

  async #report({ number, line, name }: R, failure: Failure): Promise<void> {
    this.#progress?.clear();
    const { message } = failure;
    const where = line === undefined || message.startsWith('line ') ? '' : ` (line ${line})`;
    const row = name === undefined ? `row ${number}${where}` : `"${name}"`;
    await this.#session.report(failure.about({}, `${row}: ${message}`));
    if (this.#shown === shownMax && !this.#session.isJsonWanted)
      await this.#session.say('  further rows are counted below, and not shown');
  }
}

/** Columns of a key in a message. */
const nameMax = 100;

/** The same command line, with --resume. */
export function resumeCommand(words: readonly string[]): string {
  // Neither is what was decided about the doubts of that time.
  const same = words.filter(
    (word, at) => !/^--(restart|resume|in-doubt(=.*)?)$/.test(word) && !(words[at - 1] === '--in-doubt' && at > 0),
  );
  return ['listctl', ...same.map(shellWord), '--resume'].join(' ');
}

/**
 * What to do about a run over a file that did not do every row.
 *
 * @param goOn the command that goes on with it
 * @param holdsDoubt whether that leaves alone what is in doubt
 */
export function nextSteps(goOn: string, holdsDoubt: boolean): RunPlan<never>['nextSteps'] {
  return (word, { left, failed, invalid, inDoubt }) => {
    const looking = `rows in doubt: listctl runs show ${word} --in-doubt`;
    const isLeft = left + failed + invalid > 0;
    if (isLeft || !holdsDoubt) return [`go on with: ${goOn}`, ...(inDoubt > 0 ? [looking] : [])];
    return [looking, `settle each: listctl runs resolve ${word} --row N --applied ID, or --not-applied`];
  };
}

/**
 * What a run ended in, in the order of the rulings: a signal, a local file, doubt, then what stopped it, then rows that
 * were not done. Undefined where every row was done.
 *
 * @param doubtful where the rows are steps of a plan: the keys of those in doubt, the first ones at least
 */
export function findRunFailure(
  totals: RunTotals,
  stoppedBy: unknown,
  done: string,
  next: readonly string[],
  doubtful?: readonly string[],
): unknown {
  if (stoppedBy instanceof Stopped) return stoppedBy;
  if (stoppedBy !== undefined && !(stoppedBy instanceof Failure)) return stoppedBy;
  if (stoppedBy?.kind === 'local-file') return withNext(stoppedBy, next);
  const noun = doubtful === undefined ? 'row' : 'step';
  if (totals.inDoubt > 0) {
    const what = doubtful?.length ? namesText(doubtful, totals.inDoubt) : countOf(totals.inDoubt, noun);
    return doubtFailure(what, totals.inDoubt, stoppedBy, done, next);
  }
  if (stoppedBy !== undefined && stoppedBy.kind !== 'incomplete') {
    return withNext(stoppedBy, next);
  }
  const count = totals.failed + totals.invalid + totals.left;
  if (count === 0) return undefined;
  const stopped = stoppedBy === undefined ? '' : `; ${stoppedBy.message}`;
  return new Failure('incomplete', `${countOf(count, noun)} could not be ${done}${stopped}`, { hint: joined(next) });
}

/** What stopped the run says what to fix; how to resume it follows. */
function withNext(stoppedBy: Failure, next: readonly string[]): Failure {
  const hints = [stoppedBy.details.hint, ...next].filter((line) => line !== undefined).slice(0, 2);
  return new Failure(stoppedBy.kind, stoppedBy.message, { ...stoppedBy.details, hint: joined(hints) });
}

function doubtFailure(
  what: string,
  count: number,
  stoppedBy: Failure | undefined,
  done: string,
  next: readonly string[],
): Failure {
  const because = stoppedBy === undefined ? '' : `; the run stopped: ${stoppedBy.message}`;
  const doubt = `${what} in doubt: ${count === 1 ? 'it' : 'they'} may or may not have been ${done}`;
  return new Failure('in-doubt', doubt + because, { hint: joined(next), outcome: 'unknown' });
}

function joined(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The first three names, and how many more there are. */
function namesText(names: readonly string[], count: number): string {
  const shown = names.slice(0, 3).map((name) => oneLine(JSON.stringify(name), nameMax));
  const more = count - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** How a run is told to stop. */
export interface GracefulStop {
  /** Nothing new is to be sent. */
  readonly signal: AbortSignal;
  /** What is under way is not waited for any more. */
  readonly abort: AbortSignal;
  /** To be called at the end of the run. */
  end(): void;
}

/** How long requests that are under way may take to be answered, in milliseconds (reliability, P01 and P02). */
const graceMs = { SIGINT: 60_000, SIGTERM: 10_000, SIGHUP: 10_000 } as const;

/**
 * The two stages of a stop: the first time what is under way is waited for, the second time not. A run that only reads
 * has nothing to wait for.
 */
export function startGracefulStop(host: Host, isRead: boolean): GracefulStop {
  const { signal, forceStop, clock } = host;
  const cutting = new AbortController();
  const ended = new AbortController();
  const cut = () => cutting.abort(forceStop.aborted ? forceStop.reason : signal.reason);
  const tooLong = () => {
    cut();
    // A pipe that nobody reads would be waited for for ever.
    host.escalateStop();
  };
  const wait = () => {
    const { reason } = signal;
    if (isRead) cut();
    else if (reason instanceof Stopped) clock.sleep(graceMs[reason.signal], ended.signal).then(tooLong, () => {});
  };
  signal.addEventListener('abort', wait, { once: true });
  forceStop.addEventListener('abort', cut, { once: true });
  if (signal.aborted) wait();
  return {
    signal,
    abort: cutting.signal,
    end: () => {
      ended.abort();
      signal.removeEventListener('abort', wait);
      forceStop.removeEventListener('abort', cut);
    },
  };
}

/**
 * Sends rows, up to the outcome of each.
 *
 * @throws {Failure} what the run ended in: a local file before doubt, before a service that is gone, before
 *   credentials, before rows that were not done (rulings, "Exit codes")
 * @throws {Stopped} when it was told to stop
 */
export async function sendRows<R extends PlannedRow>(plan: RunPlan<R>, session: Session): Promise<void> {
  const report = openRowReport(plan, session);
  let ended: EndedRun | undefined;
  let unprinted: unknown;
  try {
    await report.print(async () => {
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
  const hasTold = unprinted === undefined && ended.hasAllResults;
  const rejected = await endRejects(plan, hasTold);
  const stoppedBy = unprintedFailure(unprinted ?? ended.stoppedBy, hasTold) ?? rejected ?? ended.stoppedBy;
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
  plan: RunPlan<R>,
  totals: RunTotals,
  word: string | undefined,
): readonly string[] {
  const { left, failed, invalid, inDoubt } = totals;
  if (left + failed + invalid + inDoubt === 0) return [];
  return word === undefined && plan.prints !== 'steps' ? [] : plan.nextSteps(word ?? '', totals);
}

/** Why results could not be printed: whatever the reason, the rows themselves are done, and recorded. */
function unprintedFailure(error: unknown, hasTold: boolean): Failure | undefined {
  if (hasTold || !(error instanceof Failure)) return undefined;
  if (error.kind === 'local-file') return error;
  return new Failure('local-file', `results could not be printed: ${error.message}`, {
    hint: 'what was done is recorded, and is not sent again by --resume',
    cause: error,
  });
}

/** Writes the rejects; gives why they cannot be: what became of the rows is told all the same. */
async function endRejects<R extends PlannedRow>(
  { rejects }: Pick<RunPlan<R>, 'rejects'>,
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
function withKnown(ended: EndedRun, results: KnownResults<unknown>['results'] = []): EndedRun {
  const failed = results.filter(({ status }) => status === 'failed').length;
  const { totals } = ended;
  const all = { failed: totals.failed + failed, inDoubt: totals.inDoubt + results.length - failed };
  return { ...ended, totals: { ...totals, ...all } };
}

/** What a run came to. */
interface Outcome<R extends PlannedRow> {
  readonly plan: RunPlan<R>;
  readonly totals: RunTotals;
  readonly stoppedBy: unknown;
  readonly next: readonly string[];
  readonly report: RowReport<R>;
}

/** As `runFailure`. What nobody waits for is not left to do; what failed before did fail. */
function endingOf<R extends PlannedRow>({ plan, totals, stoppedBy, next, report }: Outcome<R>): unknown {
  const doubtful = plan.prints === 'steps' ? report.inDoubtNames : undefined;
  if (stoppedBy === readerGone) return findRunFailure({ ...totals, left: 0 }, undefined, plan.done, next, doubtful);
  const { results = [], failure } = plan.known ?? {};
  const { failed, invalid, left, inDoubt } = totals;
  const isOnlyKnown = stoppedBy === undefined && failed === results.length && invalid + left + inDoubt === 0;
  if (isOnlyKnown && failure !== undefined) return failure;
  return findRunFailure(totals, stoppedBy, plan.done, next, doubtful);
}

/** How a run ended, and where it was recorded. */
interface EndedRun extends RunEnd {
  readonly recorded: RunRecording | undefined;
}

async function run<R extends PlannedRow>(plan: RunPlan<R>, report: RowReport<R>, session: Session): Promise<EndedRun> {
  const { host } = session;
  const { concurrency: limitMax, ratePerSecond, maxErrors } = plan.pace;
  const stops = startGracefulStop(host, plan.isRead);
  const { retries, maxWaitMs } = session.retryPolicy('many');
  const gone = new AbortController();
  let recorded: RunRecording | undefined;
  try {
    const client = await session.client('many', { signal: stops.abort, stopGraceMs: 0 });
    recorded = plan.openRecord();
    const toDo = plan.counts.left + plan.counts.failed + plan.counts.invalid + plan.counts.inDoubt;
    const pace = startPace({ limitMax, ratePerSecond, maxWaitMs }, () => host.random());
    const running = startRun({
      tasks: plan.tasks,
      sender: plan.createSender(client),
      journal: recorded?.journal ?? noJournal,
      ...{ counts: plan.counts, nextSeq: plan.nextSeq },
      ...{ pace, limitMax, retries, maxErrors, maxWaitMs },
      clock: host.clock,
      serviceMs: () => client.serviceMs(),
      signal: AbortSignal.any([stops.signal, gone.signal]),
      onResult: (result) => {
        // What is recorded is worth having without a reader, too; what was written is told by the record alone.
        if (plan.isRead && recorded === undefined && host.stdout.isClosed) gone.abort(readerGone);
        return report.take(result);
      },
      reportLeft: plan.rejects !== undefined,
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
async function closeFailure(recorded: RunRecording | undefined): Promise<Failure | undefined> {
  try {
    await recorded?.journal.close();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

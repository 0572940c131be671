/** Reports a run while it is in progress: the results of its rows, and a bar, or a line every 10 seconds in a log. */
import type { Print } from '../cli/output.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { Item } from '../core/item.ts';
import { objectFrom } from '../core/json.ts';
import { countOf, timeText } from '../core/text.ts';
import { type FailureGroup, FailureGroups } from '../output/failure.ts';
import { itemView } from '../output/item.ts';
import type { ProgressDisplay } from '../output/progress-bar.ts';
import { canRedraw, type ProgressShown, plainProgressLine, type RunProgressShown } from '../output/progress-text.ts';
import { type RowResultShown, rowResultView, stepResultView } from '../output/runs.ts';
import type { View } from '../output/view.ts';
import type { RowResult } from './outcome.ts';
import type { Pace } from './pace.ts';
import type { PlannedRow, RunPlan, SentResult } from './plan.ts';
import type { Run } from './runner.ts';

/** The most failures in text; JSON has all, and all are counted. */
const shownMax = 20;

interface Printed extends RowResultShown {
  readonly item?: Item | undefined;
}

/** Prints items that were read like single items. */
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

/** Reports the results of a run: done rows to stdout, failures to stderr or, with a machine format, to stdout. */
export class RowReport<R extends PlannedRow> {
  /** The steps of a plan that are done. */
  readonly applied = { created: 0, updated: 0, deleted: 0 };
  /** The first ten names of rows in doubt, if rows have names. */
  readonly inDoubtNames: string[] = [];
  readonly #plan: RunPlan<R>;
  readonly #session: Session;
  readonly #groups = new FailureGroups();
  /** Whether failures go to stderr; otherwise they are results. */
  readonly #reportsFailures: boolean;
  /** Whether done rows are only counted. */
  readonly #isSilent: boolean;
  #print: Print<Printed> = () => undefined;
  #progress: Progress | undefined;
  #word: string | undefined;
  #shown = 0;

  constructor(plan: RunPlan<R>, session: Session) {
    this.#plan = plan;
    this.#session = session;
    const format = session.output.format(true);
    const isResult = plan.prints !== 'items' && (format !== 'pretty' || session.output.hasQuery);
    this.#reportsFailures = !isResult;
    this.#isSilent = !isResult && plan.prints === 'results';
  }

  async print(work: () => Promise<void>): Promise<void> {
    const printAll = async (print: Print<Printed>) => {
      this.#print = print;
      await work();
    };
    await this.#session.output.printing<Printed>(views[this.#plan.prints], true, printAll, undefined, () =>
      this.#progress?.clear(),
    );
  }

  readonly take = (result: RowResult<R, SentResult>): Promise<void> | undefined => {
    const { row, status } = result;
    if (status === 'left') {
      this.#plan.rejects?.add(row, 'not sent: the run stopped first');
      return undefined;
    }
    const { number, id, name: key, action = this.#plan.action } = row;
    if (status === 'done') {
      if (action === 'create') this.applied.created += 1;
      else if (action === 'update') this.applied.updated += 1;
      else if (action === 'delete') this.applied.deleted += 1;
      if (this.#isSilent) return undefined;
      const { value } = result;
      const item = 'members' in value ? value : undefined;
      return this.#print({ row: number, key, action, status, id: value.id, item });
    }
    const shown = status === 'in-doubt' ? this.#doubtOf(row, result.failure) : result.failure;
    const place = key === undefined ? { row: number, line: row.line } : { key, action };
    const failure = shown.about({ ...place, id });
    return this.#notDone(row, { row: number, key, action, status, id, failure }, failure);
  };

  groups(): readonly FailureGroup[] {
    return this.#groups.list();
  }

  /**
   * Clears the progress before anything is printed.
   *
   * @param word the run on a command line, if it is recorded
   */
  attach(progress: Progress, word: string | undefined): void {
    this.#progress = progress;
    this.#word = word;
  }

  #notDone(row: R, shown: Printed, failure: Failure): Promise<void> | undefined {
    this.#groups.add(row.number, failure, row.name);
    this.#plan.report?.add(failure);
    if (shown.status === 'failed') this.#plan.rejects?.add(row, failure.message);
    else if (row.name !== undefined && this.inDoubtNames.length < 10) this.inDoubtNames.push(row.name);
    if (!this.#reportsFailures) return this.#print(shown);
    this.#shown += 1;
    return this.#shown > shownMax && !this.#session.messages.isJsonWanted ? undefined : this.#report(row, failure);
  }

  /** Replaces the hint, which is that of a single item. */
  #doubtOf({ number }: R, { message, details }: Failure): Failure {
    const { action } = this.#plan;
    const word = this.#word;
    const isOfRun = word !== undefined && action !== 'apply';
    const hint = isOfRun
      ? `check whether it was ${this.#plan.done}, then run: listctl runs resolve ${word} --row ${number} --applied ID, or --not-applied`
      : undefined;
    return new Failure('in-doubt', message, { ...details, hint });
  }

  async #report({ number, line, name }: R, failure: Failure): Promise<void> {
    this.#progress?.clear();
    const { message } = failure;
    const where = line === undefined || message.startsWith('line ') ? '' : ` (line ${line})`;
    const row = name === undefined ? `row ${number}${where}` : `"${name}"`;
    await this.#session.messages.report(failure.about({}, `${row}: ${message}`));
    if (this.#shown === shownMax && !this.#session.messages.isJsonWanted)
      await this.#session.messages.say('  further failures are not shown; see the summary');
  }
}

/** Shorter work draws nothing (clig.dev asks for a reaction within 100 ms). */
const firstDrawMs = 50;

const redrawMs = 200;

/** Draws a line periodically until `end`; undefined without a terminal, or with --quiet. */
function openDisplay(shown: () => ProgressShown | undefined, session: Session) {
  const { stderr, env, clock } = session.host;
  if (session.messages.isQuiet || session.messages.isJsonWanted || !canRedraw(stderr, env)) return undefined;
  let opening: Promise<ProgressDisplay> | undefined;
  let bar: ProgressDisplay | undefined;
  let isEnded = false;
  const draw = async () => {
    opening ??= openBar(session);
    bar = await opening;
    const progress = shown();
    if (progress !== undefined && !isEnded) bar.show(progress);
  };
  const look = () => {
    if (shown() !== undefined) void draw();
  };
  let stop = clock.every(firstDrawMs, () => {
    stop();
    stop = clock.every(redrawMs, look);
    look();
  });
  return {
    draw,
    clear: () => bar?.clear(),
    end: () => {
      isEnded = true;
      stop();
      bar?.end();
    },
  };
}

async function openBar(session: Session): Promise<ProgressDisplay> {
  const { openProgressBar } = await import('../output/progress-bar.ts');
  return openProgressBar(session.host.stderr, await session.messages.errorScreen());
}

/**
 * Shows progress while work is in progress.
 *
 * @param isDrawnFirst draws before the work, which may block timers
 */
export async function whileShown<T>(
  shown: () => ProgressShown | undefined,
  session: Session,
  work: () => Promise<T>,
  isDrawnFirst = false,
): Promise<T> {
  const display = openDisplay(shown, session);
  try {
    if (isDrawnFirst) await display?.draw();
    return await work();
  } finally {
    display?.end();
  }
}

/** The progress of a run on stderr. */
type Progress = Pick<ProgressDisplay, 'clear' | 'end'>;

const lineMs = 10_000;

/** The time of which the rate is shown, and the shortest time that gives one, in milliseconds. */
const rateMs = { window: 5000, least: 1000 } as const;

/**
 * Measures the rate of the last seconds, without the time in which nothing was sent: from the number of rows done so far,
 * and how long the run was paused so far. Returns rows per second; undefined if it is too early to tell.
 */
function createRateMeter(): (count: number, pausedMs: number, nowMs: number) => number | undefined {
  const samples: { readonly atMs: number; readonly sendingMs: number; readonly count: number }[] = [];
  return (count, pausedMs, nowMs) => {
    samples.push({ atMs: nowMs, sendingMs: nowMs - pausedMs, count });
    while ((samples[1]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs - rateMs.window) samples.shift();
    const [first] = samples;
    const sendingMs = nowMs - pausedMs - (first?.sendingMs ?? 0);
    return sendingMs < rateMs.least ? undefined : ((count - (first?.count ?? 0)) * 1000) / sendingMs;
  };
}

/**
 * Starts to show the progress of a run.
 *
 * @param watched.toDo the rows of this session
 */
export function openProgress(
  watched: {
    readonly running: Pick<Run<never, never>, 'inFlight' | 'isStopping' | 'settled'>;
    readonly pace: Pace;
    readonly toDo: number;
  },
  session: Session,
): Progress {
  const { clock } = session.host;
  if (session.messages.isQuiet || session.messages.isJsonWanted) return nothingShown;
  const measure = createRateMeter();
  const shown = () => shownOf(watched, measure, clock.monotonicMs());
  shown();
  const display = openDisplay(shown, session);
  if (display !== undefined) return display;
  // A write error will occur again at the next write.
  const say = () => session.messages.say(plainProgressLine(shown())).catch(() => {});
  return { clear: () => {}, end: clock.every(lineMs, () => void say()) };
}

const nothingShown: Progress = { clear: () => {}, end: () => {} };

function shownOf(
  { running, pace, toDo }: Parameters<typeof openProgress>[0],
  measure: ReturnType<typeof createRateMeter>,
  nowMs: number,
): RunProgressShown {
  const { settled, failed, inDoubt } = running.settled;
  const recent = measure(settled, pace.pausedMs(nowMs), nowMs);
  const reason = running.isStopping ? stoppingText(running.inFlight) : reasonOf(pace, nowMs);
  const ratePerSecond = reason === undefined ? recent : undefined;
  const leftMs = ratePerSecond === undefined ? undefined : ((toDo - settled) / ratePerSecond) * 1000;
  return { ...{ rows: toDo, settled, failed, inDoubt }, ratePerSecond, leftMs, reason };
}

function stoppingText(inFlight: number): string {
  return inFlight === 0 ? 'stopping' : `stopping: waiting for ${countOf(inFlight, 'response')}`;
}

function reasonOf({ pausedUntilMs, outage, outageSinceMs, probeAtMs }: Pace, nowMs: number): string | undefined {
  if (outage === 'probing' && outageSinceMs !== undefined) {
    const next = probeAtMs === undefined || probeAtMs <= nowMs ? 'now' : `in ${timeText(probeAtMs - nowMs)}`;
    return `service unreachable for ${timeText(nowMs - outageSinceMs)}, retrying ${next}`;
  }
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return undefined;
  return `throttled, retrying in ${timeText(pausedUntilMs - nowMs)}`;
}

/**
 * Shows progress: on a terminal a bar, while an input is read and checked and while its rows are sent; elsewhere a line every
 * 10 seconds, while rows are sent.
 */
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { untilStopped } from '../core/host.ts';
import { countOf, timeText } from '../core/text.ts';
import {
  canRedraw,
  openProgressBar,
  type ProgressDisplay,
  type ProgressShown,
  plainProgressLine,
  type RunProgressShown,
} from '../output/progress.ts';
import { badRowFailures, badRowsFailure, type Check, checkRows } from '../rows/check.ts';
import { type Input, nameOf, openIds, openInput } from '../rows/input.ts';
import type { RowsFile } from '../rows/read.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { rowsMax } from './journal-format.ts';
import type { FailureReport } from './outputs.ts';
import type { Pace } from './pace.ts';
import type { Run } from './runner.ts';

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
    opening ??= session.messages.errorScreen().then((screen) => openProgressBar(stderr, screen));
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

type Progress = Pick<ProgressDisplay, 'clear' | 'end'>;

const lineMs = 10_000;

/** In milliseconds: the time of which the rate is shown, the shortest that gives one, and that of the time left. */
const rateMs = { window: 5000, least: 1000, lasting: 60_000 } as const;

/** After a longer time without a sample, listctl was stopped or the machine slept. */
const sleptMs = 15_000;

interface Rates {
  /** Rows per second of the last seconds, without the time in which nothing was sent. */
  readonly recent: number;
  /** Of the last minute, with the time for which the service asked to wait: it will ask again. */
  readonly lasting: number;
}

/**
 * Measures rates from the number of rows done so far, and how long the run was throttled and in outages so far. The
 * function that it returns gives undefined if it is too early to tell.
 */
function createRateMeter() {
  let samples: { readonly count: number; readonly atMs: number; readonly openMs: number; readonly sendMs: number }[] =
    [];
  return (count: number, pace: Pick<Pace, 'pausedMs' | 'outageMs'>, nowMs: number): Rates | undefined => {
    if (nowMs - (samples.at(-1)?.atMs ?? nowMs) > sleptMs) samples = [];
    // Without outages; without pauses as well.
    const now = { count, atMs: nowMs, openMs: nowMs - pace.outageMs(nowMs), sendMs: nowMs - pace.pausedMs(nowMs) };
    samples.push(now);
    while ((samples[1]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs - rateMs.lasting) samples.shift();
    const [oldest = now] = samples;
    const since = samples.findLast(({ atMs }) => atMs <= nowMs - rateMs.window) ?? oldest;
    const sendingMs = now.sendMs - since.sendMs;
    if (sendingMs < rateMs.least) return undefined;
    const recent = ((count - since.count) * 1000) / sendingMs;
    const wasThrottled = now.openMs - oldest.openMs > now.sendMs - oldest.sendMs;
    return { recent, lasting: wasThrottled ? ((count - oldest.count) * 1000) / (now.openMs - oldest.openMs) : recent };
  };
}

/**
 * Starts to show the progress of a run.
 *
 * @param watched.toDo the rows of this session
 * @param watched.before the rows that were done before it (default 0)
 */
export function openProgress(
  watched: {
    readonly running: Pick<Run<never, never>, 'inFlight' | 'isStopping' | 'settled'>;
    readonly pace: Pace;
    readonly toDo: number;
    readonly before?: number;
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
  { running, pace, toDo, before = 0 }: Parameters<typeof openProgress>[0],
  measure: ReturnType<typeof createRateMeter>,
  nowMs: number,
): RunProgressShown {
  const { settled, failed, inDoubt } = running.settled;
  const rates = measure(settled, pace, nowMs);
  const reason = running.isStopping ? stoppingText(running.inFlight) : reasonOf(pace, nowMs);
  const { recent, lasting } = (reason === undefined ? rates : undefined) ?? {};
  const leftMs = lasting === undefined ? undefined : ((toDo - settled) / lasting) * 1000;
  const counts = { rows: before + toDo, settled: before + settled, failed, inDoubt };
  return { ...counts, ratePerSecond: recent, leftMs, reason };
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

/** Opens the file of `--from`, and shows progress while a stream is copied. */
export function openShown(from: string, session: Session): Promise<Input> {
  const { host } = session;
  const doing = `reading ${nameOf(from)}`;
  let bytes = 0;
  const onCopied = (copied: number) => {
    bytes = copied;
  };
  // Before the first byte, the program that writes the input may use the terminal.
  const shown = () => (bytes === 0 ? undefined : { doing, bytes });
  return whileShown(shown, session, () => openInput(from, { host, spoolDirectory: findRunsDirectory(host), onCopied }));
}

/** Opens typed ids as an input. */
export function openTyped(ids: readonly string[], { host }: Session): Promise<Input> {
  return openIds(ids, { host, spoolDirectory: findRunsDirectory(host) });
}

/**
 * Reads a file to its end and reports invalid rows.
 *
 * @throws {Failure} usage, for invalid rows without `skipInvalid`
 */
export async function checkFile(
  file: RowsFile,
  skipInvalid: boolean,
  report: FailureReport | undefined,
  session: Session,
): Promise<Check> {
  const check = await checkShown(file, session);
  for (const notice of check.notices) await session.messages.say(`listctl: ${notice}`);
  await refuseBadRows(check, file, { skipInvalid, report }, session);
  return check;
}

/**
 * Checks what a file alone shows, before the service is asked about its list.
 *
 * @throws {Failure} as `checkFile`
 */
export async function checkAlone(
  file: RowsFile,
  skipInvalid: boolean,
  report: FailureReport,
  session: Session,
): Promise<void> {
  await refuseBadRows(await checkShown(file, session), file, { skipInvalid, report }, session);
}

async function refuseBadRows(
  check: Check,
  file: RowsFile,
  { skipInvalid, report }: { readonly skipInvalid: boolean; readonly report: FailureReport | undefined },
  session: Session,
): Promise<void> {
  if (check.rows > rowsMax) {
    throw new Failure('usage', `${nameOf(file.input.name)} has ${check.rows} rows, more than ${rowsMax}`, {
      hint: 'split the file',
    });
  }
  if (check.badCount === 0 || skipInvalid) return;
  const name = nameOf(file.input.name);
  const failures = check.bad.flatMap((row) => badRowFailures(row, file));
  for (const failure of failures) report?.add(failure);
  await reportBadRows(name, failures, failures.length + check.badCount - check.bad.length, session);
  throw badRowsFailure(check, file);
}

/** The most invalid rows in text; JSON has all. */
const shownMax = 20;

/** Prints the errors of a file with several; a single one is the failure of the command. */
export async function reportBadRows(
  file: string,
  failures: readonly Failure[],
  count: number,
  session: Session,
): Promise<void> {
  if (count < 2) return;
  const shown = session.messages.isJsonWanted ? failures : failures.slice(0, shownMax);
  for (const failure of shown) await session.messages.report(failure.about({}, `${file}: ${failure.message}`));
  if (count > shown.length) await session.messages.say(`${file}: and ${count - shown.length} more`);
}

export function checkShown(file: RowsFile, session: Session): Promise<Check> {
  const doing = `checking ${nameOf(file.input.name)}`;
  const { sizeBytes } = file.input;
  let rows = 0;
  let bytes = 0;
  const onRow = ({ number }: { readonly number: number }) => {
    rows = number;
  };
  const onBytes = ({ length }: Uint8Array) => {
    bytes += length;
  };
  return whileShown(
    () => ({ doing, rows, bytes, sizeBytes }),
    session,
    () => untilStopped(checkRows(file, onRow, onBytes), session.host.signal),
  );
}

/** The summary of a run at its end. */
import type { RunTotals } from '../bulk/journal-format.ts';
import { Failure, Stopped } from '../core/errors.ts';
import { type JsonObject, withoutUndefined } from '../core/json.ts';
import { countOf, countText, rateText, timeText } from '../core/text.ts';
import { type FailureGroup, failureGroupLines, failureObject } from './failure.ts';
import { pastTense } from './runs.ts';
import type { Screen } from './view.ts';

/** The action and the place of a run. */
export interface SummarizedRun {
  readonly action: string;
  /** The address of the service. */
  readonly service: string;
  readonly site: string;
  readonly list: string;
  /** `2/4`; null for every row. */
  readonly shard: string | null;
}

/** The end of a run. */
export interface RunResults {
  /** Undefined for a run without a journal. */
  readonly run: string | undefined;
  readonly journal: string | undefined;
  readonly totals: RunTotals;
  /** The counts of this session. */
  readonly settled: Readonly<Record<'settled' | 'failed' | 'inDoubt', number>>;
  readonly groups: readonly FailureGroup[];
  /** Lines below the summary. */
  readonly notes: readonly string[];
}

/** The error that a command ends with, and its exit code. */
export interface CommandEnd {
  readonly error: unknown;
  readonly exit: number;
}

/**
 * The summary as an object, with the members that are known. Counts have the names that `runs list` gives them.
 *
 * @param results undefined for a command that ended before its run
 */
export function summaryObject(
  of: SummarizedRun,
  results: RunResults | undefined,
  { error, exit }: CommandEnd,
): JsonObject {
  const { action, service, site, list, shard } = of;
  const { run, journal, groups } = results ?? {};
  return withoutUndefined({
    ...{ run, journal, action, service, site, list, shard, exit },
    signal: error instanceof Stopped ? error.signal : undefined,
    error: error instanceof Failure ? failureObject(error, exit) : undefined,
    ...(results && countsObject(results)),
    failures: groups?.map(groupObject),
  });
}

/** The rows of the run, and what this session did. */
function countsObject({ totals, settled: { settled: rows, failed, inDoubt } }: RunResults) {
  const { ms: durationMs, sent, retries, throttledMs } = totals;
  return {
    total: {
      ...{ rows: rowsOf(totals), done: totals.done, failed: totals.failed + totals.invalid },
      ...{ inDoubt: totals.inDoubt, skipped: totals.skipped, left: totals.left },
    },
    session: { rows, done: rows - failed - inDoubt, failed, inDoubt, sent, retries, throttledMs, durationMs },
  };
}

/** The number of rows of a run. */
export function rowsOf({ done, failed, invalid, inDoubt, skipped, left }: RunTotals): number {
  return done + failed + invalid + inDoubt + skipped + left;
}

function groupObject({ count, kind, status, serviceCode, row, name: key, message }: FailureGroup): JsonObject {
  const first = key === undefined ? { row } : { key };
  return withoutUndefined({ count, kind, status, serviceCode, ...first, message });
}

/**
 * The summary for a person, as printable lines without newlines: one with all counts, then one for each kind of failure.
 * Zeros are left out, except for the rows, and those done.
 */
export function runSummary(
  action: string,
  { totals, groups }: Pick<RunResults, 'totals' | 'groups'>,
  screen: Screen,
): readonly string[] {
  const rows = rowsOf(totals);
  const noun = action === 'apply' ? 'step' : 'row';
  const counts = rows === 0 ? '' : `: ${countsOf(action, totals, screen).join(', ')}`;
  const speed = rows === 0 ? [] : speedOf(totals, noun);
  const first = `${countOf(rows, noun)}${counts}${speed.length === 0 ? '' : `; ${speed.join(', ')}`}`;
  return [first, ...failureGroupLines(groups, screen)];
}

function countsOf(action: string, totals: RunTotals, { style }: Screen): string[] {
  const { done, inDoubt, skipped, left } = totals;
  const failed = totals.failed + totals.invalid;
  return [
    `${countText(done)} ${pastTense(action)}`,
    ...(failed === 0 ? [] : [style.red(`${countText(failed)} failed`)]),
    ...(inDoubt === 0 ? [] : [style.yellow(`${countText(inDoubt)} in doubt`)]),
    ...(skipped === 0 ? [] : [`${countText(skipped)} skipped`]),
    ...(left === 0 ? [] : [`${countText(left)} remaining`]),
  ];
}

function speedOf({ ms, sent, retries, throttledMs }: RunTotals, noun: string): string[] {
  // A row that is sent again is no further row.
  const rowsSent = sent - retries;
  return [
    ...(ms <= 0 ? [] : [timeText(ms)]),
    ...(ms <= 0 || rowsSent <= 0 ? [] : [rateText((rowsSent * 1000) / ms, `${noun}s`)]),
    ...(retries === 0 ? [] : [countOf(retries, 'retry', 'retries')]),
    ...(throttledMs <= 0 ? [] : [`${timeText(throttledMs)} throttled`]),
  ];
}

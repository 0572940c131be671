/** What a run says when it ends. */
import type { Failure, StopSignal } from '../core/errors.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../core/json.ts';
import { countOf, countText, rateText, timeText } from '../core/text.ts';
import { type FailureGroup, failureGroupLines, failureObject } from './failure.ts';
import { pastTense } from './runs.ts';
import type { Screen } from './view.ts';

/** What is known of a run at its end. */
export interface RunFacts {
  /** `create`, `update`, `delete`, `get` */
  readonly action: string;
  /** All rows of the run; each is in one of the five states below. */
  readonly rows: number;
  readonly done: number;
  /** Refused, and invalid. */
  readonly failed: number;
  readonly inDoubt: number;
  /** Not done yet. */
  readonly left: number;
  /** In doubt, and given up on when somebody said so. */
  readonly skipped: number;
  /** How long this session took. */
  readonly ms: number;
  /** Requests of this session; those that were sent again count each time. */
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  readonly groups: readonly FailureGroup[];
}

/** What a run is of. */
export interface SummarizedRun {
  readonly action: string;
  /** The address of the service. */
  readonly service: string;
  readonly site: string;
  readonly list: string;
  /** `2/4`; null where every row is the run's. */
  readonly shard: string | null;
}

/** A run at its end, for a program. Counts have the names that `runs list` gives them. */
export interface ProgramSummary extends SummarizedRun {
  readonly run?: string | undefined;
  readonly journal?: string | undefined;
  /** The status that the process ends with. */
  readonly exit: number;
  /** What it ended in. */
  readonly failure?: Failure | undefined;
  readonly signal?: StopSignal | undefined;
  /** Every row of the run. */
  readonly total?: Readonly<Record<'rows' | 'done' | 'failed' | 'inDoubt' | 'skipped' | 'left', number>>;
  /** What this session did. */
  readonly session?: Readonly<
    Record<'rows' | 'done' | 'failed' | 'inDoubt' | 'sent' | 'retries' | 'throttledMs' | 'durationMs', number>
  >;
  readonly groups?: readonly FailureGroup[];
}

/** The summary as an object, with the members that are known. */
export function summaryObject(summary: ProgramSummary): JsonObject {
  const { run, journal, action, service, site, list, shard, exit, failure, signal, total, session, groups } = summary;
  const members: Record<string, JsonValue | undefined> = {
    ...{ run, journal, action, service, site, list, shard, exit, signal },
    error: failure && failureObject(failure, exit),
    ...{ total, session, failures: groups?.map(groupObject) },
  };
  return known(members);
}

function groupObject({ count, kind, status, serviceCode, row, name: key, message }: FailureGroup): JsonObject {
  const first = key === undefined ? { row } : { key };
  return known({ count, kind, status, serviceCode, ...first, message });
}

function known(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return objectFrom(Object.entries(members).filter((member): member is [string, JsonValue] => member[1] !== undefined));
}

/**
 * The summary for a person, as printable lines without newlines: one with all counts, then one for each sort of
 * failure. What is zero is left out, but for the rows, and those done.
 */
export function runSummary(facts: RunFacts, screen: Screen): readonly string[] {
  const { rows, groups } = facts;
  const counts = rows === 0 ? '' : `: ${countsOf(facts, screen).join(', ')}`;
  const noun = facts.action === 'apply' ? 'step' : 'row';
  const speed = rows === 0 ? [] : speedOf(facts, noun);
  const first = `${countOf(rows, noun)}${counts}${speed.length === 0 ? '' : `; ${speed.join(', ')}`}`;
  return [first, ...failureGroupLines(groups, screen)];
}

function countsOf({ action, done, failed, inDoubt, skipped, left }: RunFacts, { style }: Screen): string[] {
  return [
    `${countText(done)} ${pastTense(action)}`,
    ...(failed === 0 ? [] : [style.red(`${countText(failed)} failed`)]),
    ...(inDoubt === 0 ? [] : [style.yellow(`${countText(inDoubt)} in doubt`)]),
    ...(skipped === 0 ? [] : [`${countText(skipped)} skipped`]),
    ...(left === 0 ? [] : [`${countText(left)} remaining`]),
  ];
}

function speedOf({ ms, sent, retries, throttledMs }: RunFacts, noun: string): string[] {
  // A row that is sent again is no further row.
  const rowsSent = sent - retries;
  return [
    ...(ms <= 0 ? [] : [timeText(ms)]),
    ...(ms <= 0 || rowsSent <= 0 ? [] : [rateText((rowsSent * 1000) / ms, `${noun}s`)]),
    ...(retries === 0 ? [] : [countOf(retries, 'retry', 'retries')]),
    ...(throttledMs <= 0 ? [] : [`${timeText(throttledMs)} throttled`]),
  ];
}

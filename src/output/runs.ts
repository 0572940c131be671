/** How runs over many rows look. `pretty` brings the libraries of tables, when it is asked for. */
import type { RunTotals } from '../bulk/journal-format.ts';
import { Failure, Stopped } from '../core/errors.ts';
import { type JsonObject, type JsonValue, objectFrom, withoutUndefined } from '../core/json.ts';
import { countOf, countText, oneLine, rateText, timeText } from '../core/text.ts';
import { type FailureGroup, failureGroupLines, failureObject } from './failure.ts';
import type { Row, Screen, View } from './view.ts';

/** Bars, and under them the marks of those that are set apart. */
export interface Sparkline {
  /** As many characters as there are bars. */
  readonly bars: string;
  /** `x` under each bar that is marked, blanks under the others; no blanks at the end, '' where none is marked. */
  readonly marks: string;
  /** What the highest bar stands for; 0 where there is none. */
  readonly largest: number;
}

const levels = '▁▂▃▄▅▆▇█';

/**
 * Draws numbers from 0 to the largest of them. More numbers than there is room for are drawn in stretches of nearly
 * the same length: the mean of each, marked where any of it is.
 *
 * @param isMarked for each number; what is missing is not marked
 * @param widthMax columns of the terminal, at least 1
 */
export function sparkline(numbers: readonly number[], isMarked: readonly boolean[], widthMax: number): Sparkline {
  const width = Math.min(numbers.length, Math.max(1, widthMax));
  const stretches = Array.from({ length: width }, (_, at) => {
    const [start, end] = [at, at + 1].map((edge) => Math.floor((edge * numbers.length) / width));
    return { mean: meanOf(numbers.slice(start, end)), isMarked: isMarked.slice(start, end).includes(true) };
  });
  const largest = stretches.reduce((max, { mean }) => Math.max(max, mean), 0);
  return {
    bars: stretches.map(({ mean }) => barOf(mean, largest)).join(''),
    marks: stretches
      .map((stretch) => (stretch.isMarked ? 'x' : ' '))
      .join('')
      .trimEnd(),
    largest,
  };
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number / numbers.length, 0);
}

function barOf(value: number, largest: number): string {
  const level = largest > 0 ? Math.ceil((value / largest) * levels.length) - 1 : 0;
  return levels.charAt(Math.max(0, level));
}

/** A run, as a list of them shows it. What is not known of it, since its journal cannot be read, is undefined. */
export interface RunShown {
  readonly run: string;
  readonly action: string | undefined;
  readonly site: string | undefined;
  readonly list: string | undefined;
  /** The input's absolute path, or what stands for it. */
  readonly file: string | undefined;
  /** ISO 8601, in UTC. */
  readonly startedAt: string | undefined;
  readonly status: string;
  readonly rows: number | undefined;
  readonly done: number | undefined;
  /** Refused, and invalid. */
  readonly failed: number | undefined;
  readonly inDoubt: number | undefined;
  /** Still to do. */
  readonly left: number | undefined;
}

/** A run, with what it took. */
export interface RunDetailShown extends RunShown {
  /** How often it was started. */
  readonly sessions: number;
  /** What its sessions took together. */
  readonly seconds: number;
  /** Requests; those that were sent again count each time. */
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  /** Percentiles of the response times; undefined without a response. */
  readonly answerTimes: { readonly p50Ms: number; readonly p95Ms: number; readonly p99Ms: number } | undefined;
  /** Rows a second, over time, in steps of the same length. */
  readonly ratePerSecond: readonly number[];
  /** Whether the run was throttled, for each of those. */
  readonly throttled: readonly boolean[];
}

const runMembers = [
  ...['run', 'action', 'site', 'list', 'file', 'startedAt', 'status'],
  ...['rows', 'done', 'failed', 'inDoubt', 'left'],
] as const satisfies readonly (keyof RunShown)[];

const detailMembers = [
  ...runMembers,
  ...['sessions', 'seconds', 'sent', 'retries', 'throttledMs'],
] as const satisfies readonly (keyof RunDetailShown)[];

/** In tables the counts come first: a narrow terminal leaves out the last columns. */
const tableMembers = [
  ...['run', 'action', 'status', 'rows', 'done', 'failed', 'inDoubt', 'left'],
  ...['file', 'list', 'site', 'startedAt'],
] as const satisfies readonly (keyof RunShown)[];

/** Cut, a path still says something; a count says something else. */
const cuttable: ReadonlySet<keyof RunShown> = new Set(['file', 'list', 'site', 'startedAt']);

/** The columns to assume where there is no terminal, or it does not say; bars at least. */
const widths = { usual: 80, bars: 8 } as const;

/** Runs, as `runs list` shows them: a table, and the same columns in every file of cells. */
export const runView: View<RunShown> = {
  pretty: drawRuns,
  printsNone: true,
  json: (run) => objectFrom(membersOf(run, runMembers)),
  id: ({ run }) => run,
  row: (run) => new Map(runMembers.map((name): [string, JsonValue] => [name, run[name] ?? null])),
};

/** A run, as `runs show` shows it: names and values, the rate as a sparkline. Its id is the run's. */
export const runDetailView: View<RunDetailShown> = {
  pretty: async (runs, screen) => {
    const { drawPairs } = await import('./table.ts');
    const { cellOf } = await import('./table.ts');
    const draw = (run: RunDetailShown) => {
      const pairs = [...detailLines(run, screen)];
      return drawPairs(
        pairs.map(([name, value]) => [name, cellOf(value, screen)]),
        screen,
      );
    };
    return runs.map(draw).join('\n\n');
  },
  json: detailObject,
  id: ({ run }) => run,
};

async function drawRuns(runs: readonly RunShown[], screen: Screen): Promise<string> {
  const { drawTable } = await import('./table.ts');
  const { cellOf } = await import('./table.ts');
  const columns = tableMembers.map((name) => ({
    name,
    cell: (run: RunShown) => cellOf(run[name], screen),
    isWhole: !cuttable.has(name),
  }));
  return drawTable(runs, columns, screen);
}

function detailObject(run: RunDetailShown): JsonObject {
  const { answerTimes, ratePerSecond, throttled } = run;
  return objectFrom([
    ...membersOf(run, detailMembers),
    ...(answerTimes === undefined ? [] : [['answerTimes', { ...answerTimes }] as const]),
    ['ratePerSecond', ratePerSecond],
    ['throttled', throttled],
  ]);
}

function detailLines(run: RunDetailShown, screen: Screen): Row {
  const { answerTimes, ratePerSecond, throttled } = run;
  const lines = new Map<string, JsonValue>(membersOf(run, detailMembers));
  if (answerTimes !== undefined) {
    const { p50Ms, p95Ms, p99Ms } = answerTimes;
    lines.set('answerTimes', `p50 ${p50Ms} ms, p95 ${p95Ms} ms, p99 ${p99Ms} ms`);
  }
  if (ratePerSecond.length === 0) return lines;
  const { bars, marks, largest } = sparkline(ratePerSecond, throttled, barsMax(screen));
  lines.set('ratePerSecond', `${bars} up to ${Number(largest.toPrecision(3))}`);
  return marks === '' ? lines : lines.set('throttled', marks);
}

/** What is left of a terminal beside the name, and the scale with a number of 7 characters. */
function barsMax({ columns }: Screen): number {
  return Math.max(widths.bars, (columns || widths.usual) - 'ratePerSecond   up to 1234567'.length);
}

function membersOf<N extends string>(
  run: Readonly<Partial<Record<N, JsonValue | undefined>>>,
  names: readonly N[],
): [string, JsonValue][] {
  return names.flatMap((name): [string, JsonValue][] => {
    const value = run[name];
    return value === undefined ? [] : [[name, value]];
  });
}

const doneWords: ReadonlyMap<string, string> = new Map([
  ['create', 'created'],
  ['update', 'updated'],
  ['delete', 'deleted'],
  ['get', 'read'],
  ['undo', 'undone'],
  ['apply', 'applied'],
]);

/** What a row is once its action is done: `created`; `done` for an action without a word of its own. */
function pastTense(action: string): string {
  return doneWords.get(action) ?? 'done';
}

/** What came of one row. */
export interface RowResultShown {
  /** Its number in the input, from 1. */
  readonly row: number;
  /** Of a step of a plan, the key that it is about. */
  readonly key?: string | undefined;
  /** `create`, `update`, `delete`, `get` */
  readonly action: string;
  /** `left` is not done yet, and `skipped` was given up in doubt: in what `runs show --rows` lists. */
  readonly status: 'done' | 'failed' | 'in-doubt' | 'left' | 'skipped';
  /** The item's id, where it is known. */
  readonly id?: string | undefined;
  /** Why it is not done. */
  readonly failure?: Failure | undefined;
}

/** Columns of a terminal: of an id as long as one may be, of what went wrong, of the request id. */
const limits = { id: 1024, message: 800, requestId: 100 } as const;

/**
 * Results: as JSON with the failure as everywhere, as cells with its message; as ids only of what was done. As `pretty`
 * one line for each. The cells are the same ones for every row, so that a file's header does not depend on its luck.
 */
export const rowResultView: View<RowResultShown> = {
  pretty: (results, screen) => results.map((result) => lineFor(result, screen)).join('\n'),
  // Literals, since there is one of these for each row of a run.
  json: ({ row, action, status, id, failure }) => {
    if (failure === undefined) return id === undefined ? { row, action, status } : { row, action, status, id };
    const error = failureObject(failure);
    return id === undefined ? { row, action, status, error } : { row, action, status, id, error };
  },
  id: ({ status, id }) => (status === 'done' ? id : undefined),
  row: cellsOf,
  columns: ['row', 'action', 'status', 'id', 'error'],
};

/** Results of the steps of a plan: the same by their keys, and an empty list where there was nothing to do. */
export const stepResultView: View<RowResultShown> = {
  pretty: rowResultView.pretty,
  printsNone: true,
  json: stepObject,
  id: rowResultView.id,
  row: (step) => new Map(Object.entries({ id: null, ...stepObject(step), error: step.failure?.message ?? null })),
  columns: ['key', 'action', 'status', 'id', 'error'],
};

function stepObject({ key = '', action, status, id, failure }: RowResultShown): JsonObject {
  const known = id === undefined ? { key, action, status } : { key, action, status, id };
  return failure === undefined ? known : { ...known, error: failureObject(failure) };
}

function cellsOf({ row, action, status, id, failure }: RowResultShown): Row {
  return new Map<string, JsonValue>([
    ...Object.entries({ row, action, status, id: id ?? null }),
    ['error', failure === undefined ? null : failure.message],
  ]);
}

function lineFor({ row, action, status, id, failure }: RowResultShown, { style }: Screen): string {
  if (status === 'done')
    return `row ${row} ${pastTense(action)}${id === undefined ? '' : `: ${oneLine(id, limits.id)}`}`;
  if (status === 'left' || status === 'skipped') return `row ${row} ${status === 'left' ? 'remaining' : 'skipped'}`;
  const word = status === 'failed' ? style.red('failed') : style.yellow('in doubt');
  return `row ${row} ${word}${failure === undefined ? '' : `: ${reasonOf(failure)}`}`;
}

/** The message, with the name that the service's operators know the request by. */
function reasonOf({ message, details: { requestId } }: Failure): string {
  const request = requestId === undefined ? '' : ` (request ${oneLine(requestId, limits.requestId)})`;
  return `${oneLine(message, limits.message)}${request}`;
}

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

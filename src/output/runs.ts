/** The views of runs, of their rows, and of their summaries. */
import type { JournalHeader, RowCounts, RunTotals } from '../bulk/journal-format.ts';
import type { SettledRows } from '../bulk/ledger.ts';
import { Failure, Stopped } from '../core/errors.ts';
import { type JsonObject, type JsonValue, withoutUndefined } from '../core/json.ts';
import { countOf, countText, oneLine, printable, rateText, timeText } from '../core/text.ts';
import { type FailureGroup, failureGroupLines, failureObject } from './failure.ts';
import { jsonText } from './layout.ts';
import type { Row, Screen, View } from './view.ts';

const levels = '▁▂▃▄▅▆▇█';

/**
 * Draws numbers as bars, from 0 to the largest one, with an `x` below those that are marked. If there are too many,
 * each bar is the mean of several.
 */
export function sparkline(
  numbers: readonly number[],
  isMarked: readonly boolean[],
  widthMax: number,
): { readonly bars: string; readonly marks: string; readonly largest: number } {
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

/** A run in a list, without header and counts if its journal is damaged. */
export interface RunShown {
  readonly run: string;
  readonly status: string;
  readonly header: JournalHeader | undefined;
  readonly counts: RowCounts | undefined;
  /** The rows that `runs undo` took back; undefined for none. */
  readonly undone?: number | undefined;
}

export interface RunDetailShown extends RunShown {
  readonly sessions: number;
  readonly seconds: number;
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  readonly answerTimes: { readonly p50Ms: number; readonly p95Ms: number; readonly p99Ms: number } | undefined;
  /** Rows per second over time, in steps of the same length. */
  readonly ratePerSecond: readonly number[];
  readonly throttled: readonly boolean[];
}

/** The members in their order. The input of an undo is the run that it undoes. */
function runMembers({ run, status, header, counts, undone }: RunShown) {
  return {
    ...{ run, action: header?.action, service: header?.origin, profile: header?.profile },
    ...{ site: header?.site, list: header?.list, file: header?.file ?? header?.of },
    ...{ startedAt: header?.startedAt, status, rows: header?.rows, done: counts?.done },
    failed: counts && counts.failed + counts.invalid,
    ...{ inDoubt: counts?.inDoubt, left: counts?.left, undone, skipped: counts?.skipped || undefined },
  };
}

function detailMembers(run: RunDetailShown): Readonly<Record<string, JsonValue | undefined>> {
  const { sessions, seconds, sent, retries, throttledMs } = run;
  return { ...runMembers(run), sessions, seconds, sent, retries, throttledMs };
}

/** Makes the view of `runs list`; times are relative to `nowMs` on a terminal. */
export function runView(nowMs: number): View<RunShown> {
  return {
    pretty: (runs, screen) => drawRuns(runs, nowMs, screen),
    printsNone: true,
    json: (run) => withoutUndefined(runMembers(run)),
    id: ({ run }) => run,
    row: (run) => new Map(Object.entries(runMembers(run)).map(([name, value]) => [name, value ?? null])),
  };
}

export function removedRunView(nowMs: number): View<RunShown> {
  const removed = ({ run, header }: RunShown) => {
    const what = header && ` (${header.action}, ${countOf(header.rows, 'row')}, ${header.startedAt})`;
    return `removed run ${run}${what ?? ''}`;
  };
  return { ...runView(nowMs), pretty: (runs) => runs.map(removed).join('\n') };
}

/** The view of `runs show`: names and values, the rate as a sparkline. */
export const runDetailView: View<RunDetailShown> = {
  pretty: async (runs, screen) => {
    const { drawRows } = await import('./table.ts');
    return runs.map((run) => drawRows([detailRow(run, screen)], screen, undefined)).join('\n\n');
  },
  json: (run) => {
    const { answerTimes, ratePerSecond, throttled } = run;
    const times = answerTimes && { ...answerTimes };
    return withoutUndefined({ ...detailMembers(run), answerTimes: times, ratePerSecond, throttled });
  },
  id: ({ run }) => run,
};

/**
 * What distinguishes runs comes first, since a narrow terminal omits the last columns. A count is never truncated: it
 * would be another number.
 */
function tableColumns(
  nowMs: number,
  isTerminal: boolean,
): readonly { name: string; value: (run: RunShown) => JsonValue | undefined; isCuttable?: boolean }[] {
  const started = (iso: string) => (isTerminal ? agoText(new Date(iso), nowMs) : iso);
  const failed = (counts: RowCounts) => counts.failed + counts.invalid;
  return [
    { name: 'run', value: ({ run }) => run },
    { name: 'status', value: ({ status }) => status },
    { name: 'file', value: ({ header }) => header?.file?.replace(/^.*\//, '') ?? header?.of, isCuttable: true },
    { name: 'list', value: ({ header }) => header?.list, isCuttable: true },
    { name: 'profile', value: ({ header }) => header?.profile, isCuttable: true },
    { name: 'in doubt', value: ({ counts }) => counts && nonZero(counts.inDoubt) },
    { name: 'rows', value: ({ header }) => header && countText(header.rows) },
    { name: 'done', value: ({ counts }) => counts && countText(counts.done) },
    { name: 'failed', value: ({ counts }) => counts && nonZero(failed(counts)) },
    { name: 'action', value: ({ header }) => header?.action },
    // The run id has the time, too.
    { name: 'started', value: ({ header }) => header && started(header.startedAt) },
    { name: 'remaining', value: ({ counts }) => counts && nonZero(counts.left) },
    { name: 'skipped', value: ({ counts }) => counts && nonZero(counts.skipped) },
    { name: 'undone', value: ({ undone }) => undone && countText(undone) },
    { name: 'service', value: ({ header }) => header && serviceText(header.origin) },
    { name: 'site', value: ({ header }) => header?.site, isCuttable: true },
  ];
}

/** The host of a service; the directory of a built-in one, without those above. */
function serviceText(origin: string): string {
  return origin.startsWith('local:')
    ? `local:${origin.replace(/^.*[:/]/, '')}`
    : origin.replace(/^https?:\/\/([^/]*).*$/, '$1');
}

function nonZero(count: number): string | undefined {
  return count === 0 ? undefined : countText(count);
}

async function drawRuns(runs: readonly RunShown[], nowMs: number, screen: Screen): Promise<string> {
  const { cellOf, drawTable } = await import('./table.ts');
  // A column that is empty in every row is left out.
  const columns = tableColumns(nowMs, screen.columns !== undefined)
    .filter(({ value }) => runs.some((run) => value(run) !== undefined))
    .map(({ name, value, isCuttable = false }) => ({
      name,
      cell: (run: RunShown) => cellOf(value(run), screen),
      isWhole: !isCuttable,
    }));
  return drawTable(runs, columns, screen);
}

const agoUnits = [
  [60_000, 1000, 's'],
  [3_600_000, 60_000, 'min'],
  [86_400_000, 3_600_000, 'h'],
  [60 * 86_400_000, 86_400_000, 'd'],
] as const;

/** `2 min ago`, in the last 60 days; else the local date. */
export function agoText(time: Date, nowMs: number): string {
  const ms = nowMs - time.getTime();
  const [, unitMs, unit] = agoUnits.find(([belowMs]) => ms >= 0 && ms < belowMs) ?? [];
  if (unitMs !== undefined) return `${Math.floor(ms / unitMs)} ${unit} ago`;
  const digits = (value: number) => String(value).padStart(2, '0');
  return [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(digits).join('-');
}

/** Names and values, with the words that the summary of a run uses. */
function detailRow(run: RunDetailShown, screen: Screen): Row {
  const { header, counts, answerTimes, ratePerSecond, throttled } = run;
  const { service, site, list, profile, file, startedAt, rows, done, failed, inDoubt, left, skipped, undone } =
    runMembers(run);
  const counted = { rows, done, failed, 'in doubt': inDoubt, remaining: left, skipped, undone };
  const lines = new Map<string, JsonValue>(
    Object.entries(
      withoutUndefined({
        ...{ run: run.run, status: run.status, action: header?.action, file, started: startedAt },
        ...{ service, profile, list, site, shard: header?.shard ?? undefined },
        ...(counts &&
          Object.fromEntries(Object.entries(counted).map(([name, count = 0]) => [name, nonZero(count) ?? '0']))),
        ...{ sessions: countText(run.sessions), time: timeText(run.seconds * 1000), requests: countText(run.sent) },
        ...{ retries: countText(run.retries), throttled: run.throttledMs > 0 ? timeText(run.throttledMs) : undefined },
      }),
    ),
  );
  if (skipped === undefined) lines.delete('skipped');
  if (undone === undefined) lines.delete('undone');
  if (answerTimes !== undefined) {
    const { p50Ms, p95Ms, p99Ms } = answerTimes;
    lines.set('latency', `p50 ${p50Ms} ms, p95 ${p95Ms} ms, p99 ${p99Ms} ms`);
  }
  if (ratePerSecond.length === 0) return lines;
  const { bars, marks, largest } = sparkline(ratePerSecond, throttled, barsMax(screen));
  lines.set('rows/s', `${bars} up to ${Number(largest.toPrecision(3))}`);
  return marks === '' ? lines : lines.set('throttled at', marks);
}

function barsMax({ columns }: Screen): number {
  return Math.max(8, (columns || 80) - 'throttled at   up to 1234567'.length);
}

const doneWords: ReadonlyMap<string, string> = new Map([
  ['create', 'created'],
  ['update', 'updated'],
  ['delete', 'deleted'],
  ['get', 'read'],
  ['undo', 'undone'],
  ['apply', 'applied'],
]);

function pastTense(action: string): string {
  return doneWords.get(action) ?? 'done';
}

export interface RowResultShown {
  readonly row: number;
  readonly key?: string | undefined;
  readonly action: string;
  /** In `runs show --rows` also `left`, for a row that is not done, and `skipped`, for one that is no longer sent. */
  readonly status: 'done' | 'failed' | 'in-doubt' | 'left' | 'skipped';
  readonly id?: string | undefined;
  readonly failure?: Failure | undefined;
}

/** The maximum columns of parts of a line. */
const limits = { id: 1024, message: 800, requestId: 100 } as const;

/** Results of rows. Every row has the same columns, so that the header of a file does not depend on failures. */
export const rowResultView: View<RowResultShown> = {
  pretty: (results, screen) => results.map((result) => lineFor(result, screen)).join('\n'),
  // Literals are fast, and there may be millions of rows.
  json: ({ row, action, status, id, failure }) => {
    if (failure === undefined) return id === undefined ? { row, action, status } : { row, action, status, id };
    const error = failureObject(failure);
    return id === undefined ? { row, action, status, error } : { row, action, status, id, error };
  },
  id: ({ status, id }) => (status === 'done' ? id : undefined),
  row: cellsOf,
  columns: ['row', 'action', 'status', 'id', 'error'],
};

/** Results of the steps of a plan, by key. */
export const stepResultView: View<RowResultShown> = {
  pretty: rowResultView.pretty,
  printsNone: true,
  json: stepObject,
  id: rowResultView.id,
  row: (step) => new Map(Object.entries({ id: null, ...stepObject(step), error: step.failure?.message ?? null })),
  columns: ['key', 'action', 'status', 'id', 'error'],
  line: stepLine,
};

/** A step that is done: `created "Buy milk": id 17`. */
function stepLine({ key = '', action, id }: RowResultShown, { style }: Screen): string {
  const paint = { create: style.green, update: style.yellow, delete: style.red }[action] ?? style.bold;
  const name = oneLine(jsonText(key), limits.message);
  return `${paint(pastTense(action))} ${name}${id === undefined ? '' : `: id ${oneLine(id, limits.id)}`}`;
}

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

function reasonOf({ message, details: { requestId } }: Failure): string {
  const request = requestId === undefined ? '' : ` (request ${oneLine(requestId, limits.requestId)})`;
  return `${oneLine(message, limits.message)}${request}`;
}

export interface SummarizedRun {
  readonly action: string;
  readonly service: string;
  readonly profile: string | undefined;
  readonly site: string;
  readonly list: string;
  /** `2/4`; null for every row. */
  readonly shard: string | null;
}

export interface RunResults {
  /** Undefined for a run without a journal. */
  readonly run: string | undefined;
  readonly journal: string | undefined;
  readonly totals: RunTotals;
  readonly settled: Readonly<SettledRows>;
  readonly applied?: AppliedCounts | undefined;
  readonly groups: readonly FailureGroup[];
  readonly notes: readonly string[];
}

/** The steps of a plan that are done, and the items that needed none. */
export type AppliedCounts = Readonly<Record<'created' | 'updated' | 'deleted' | 'unchanged', number>>;

export interface CommandEnd {
  readonly error: unknown;
  readonly exit: number;
}

/**
 * The summary as an object, with the members that are known: without results, those of a command that ended before its
 * run. Counts have the names that `runs list` gives them.
 */
export function summaryObject(
  of: SummarizedRun,
  results: RunResults | undefined,
  { error, exit }: CommandEnd,
): JsonObject {
  const { action, service, profile, site, list, shard } = of;
  const { run, journal, groups, applied } = results ?? {};
  return withoutUndefined({
    ...{ run, journal, action, service, profile, site, list, shard, exit },
    signal: error instanceof Stopped ? error.signal : undefined,
    error: error instanceof Failure ? failureObject(error, exit) : undefined,
    ...(results && countsObject(results)),
    applied: applied && { ...applied },
    failures: groups?.map(groupObject),
  });
}

function countsObject({ totals, settled: { settled: rows, failed, inDoubt } }: RunResults) {
  const { ms: durationMs, sent, retries, throttledMs, outageMs = 0 } = totals;
  return {
    total: {
      ...{ rows: rowsOf(totals), done: totals.done, failed: totals.failed + totals.invalid },
      ...{ inDoubt: totals.inDoubt, skipped: totals.skipped, left: totals.left },
    },
    session: { rows, done: rows - failed - inDoubt, failed, inDoubt, sent, retries, throttledMs, outageMs, durationMs },
  };
}

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
  { action, shard, target }: Pick<SummarizedRun, 'action' | 'shard'> & { readonly target: string },
  { totals, settled, groups, applied }: Pick<RunResults, 'totals' | 'settled' | 'groups' | 'applied'>,
  screen: Screen,
): readonly string[] {
  const rows = rowsOf(totals);
  const ofShard = shard === null ? '' : ` of shard ${shard}`;
  const head = applied === undefined ? `${countOf(rows, 'row')}${ofShard}` : '';
  const done = applied === undefined ? doneTexts(action, totals, settled) : appliedTexts(applied);
  const counts = rows === 0 && applied === undefined ? '' : [...done, ...undoneTexts(totals, screen)].join(', ');
  const speed = rows === 0 ? [] : speedOf(totals, applied === undefined ? 'row' : 'step');
  const parts = [head, counts].filter((part) => part !== '').join(': ');
  return [`${parts}; ${[...speed, `on ${printable(target)}`].join(', ')}`, ...failureGroupLines(groups, screen)];
}

function doneTexts(action: string, totals: RunTotals, session: Readonly<SettledRows>): readonly string[] {
  const done = session.settled - session.failed - session.inDoubt;
  const before = totals.done - done;
  return [`${countText(done)} ${pastTense(action)}`, ...(before <= 0 ? [] : [`${countText(before)} before`])];
}

function appliedTexts(applied: AppliedCounts): readonly string[] {
  return (['created', 'updated', 'deleted', 'unchanged'] as const).map((name) => `${countText(applied[name])} ${name}`);
}

function undoneTexts(totals: RunTotals, { style }: Screen): readonly string[] {
  const { inDoubt, skipped, left } = totals;
  const failed = totals.failed + totals.invalid;
  return [
    ...(failed === 0 ? [] : [style.red(`${countText(failed)} failed`)]),
    ...(inDoubt === 0 ? [] : [style.yellow(`${countText(inDoubt)} in doubt`)]),
    ...(skipped === 0 ? [] : [`${countText(skipped)} skipped`]),
    ...(left === 0 ? [] : [`${countText(left)} remaining`]),
  ];
}

function speedOf({ ms, sent, retries, throttledMs, outageMs = 0 }: RunTotals, noun: string): string[] {
  // A row that is sent again is not another row.
  const rowsSent = sent - retries;
  const sendingMs = ms - throttledMs - outageMs;
  return [
    ...(ms <= 0 ? [] : [timeText(ms)]),
    ...(sendingMs <= 0 || rowsSent <= 0 ? [] : [rateText((rowsSent * 1000) / sendingMs, noun)]),
    ...(retries === 0 ? [] : [countOf(retries, 'retry', 'retries')]),
    ...(throttledMs <= 0 ? [] : [`${timeText(throttledMs)} throttled`]),
    ...(outageMs <= 0 ? [] : [`${timeText(outageMs)} unreachable`]),
  ];
}

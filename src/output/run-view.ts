/** How runs over many rows look. `pretty` brings the libraries of tables, when it is asked for. */
import { type JsonObject, type JsonValue, objectFrom } from '../json.ts';
import type { TimePercentiles } from './percentiles.ts';
import { sparkline } from './sparkline.ts';
import type { Row, Screen, View } from './view.ts';

/** A run, as a list of them shows it. What is not known of it, since its journal can't be read, is undefined. */
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
  /** Undefined where nothing was answered. */
  readonly answerTimes: TimePercentiles | undefined;
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
    const { cellOf } = await import('./cell.ts');
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
  const { cellOf } = await import('./cell.ts');
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

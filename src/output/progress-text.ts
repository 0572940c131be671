/** How far a run is, or the reading before it, in words. */
import type { Output } from '../core/host.ts';
import { countOf, countText, cutText, printable, rateText, roughTimeText, widthAtMost } from '../core/text.ts';
import type { Screen } from './view.ts';

/** How far a run is. */
export interface RunProgressShown {
  /** All that there are to do. */
  readonly rows: number;
  /** Those of which it is known, or certain never to be known, what became of them. */
  readonly settled: number;
  readonly failed: number;
  readonly inDoubt: number;
  readonly ratePerSecond: number;
  /** Undefined while nobody can tell. */
  readonly leftMs: number | undefined;
  /** Why it is slow: `throttled for 12 s`, `the service is gone: next try in 8 s`. */
  readonly reason: string | undefined;
}

/** How far the reading of a file is, before there is anything to send. */
export interface ReadingShown {
  /** `checking tasks.csv` */
  readonly doing: string;
  /** How many rows there were until now, where that is known. */
  readonly rows?: number | undefined;
  /** How much has been read. */
  readonly bytes?: number | undefined;
  /** How much there is, where that is known. */
  readonly sizeBytes?: number | undefined;
}

/** What one line can show. */
export type ProgressShown = RunProgressShown | ReadingShown;

/** A bar is worth its place if it has so many marks, and says no more with more than these. */
const barMarks = { min: 5, max: 40 } as const;

/** A part of the line, as it is measured and as it is shown. */
interface Part {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

/** Whether a line can be drawn over again there: on a terminal that moves its cursor. Else lines are for `plainProgressLine`. */
export function canRedraw(
  { isTTY }: Pick<Output, 'isTTY'>,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTTY && env['TERM'] !== 'dumb';
}

/** One plain line, without a newline: `  12,000 of 100,000 rows, 3 failed, 812 rows/s, about 1 min 48 s left`. */
export function plainProgressLine(progress: RunProgressShown): string {
  const { rows, settled } = progress;
  const left = timeLeft(progress).map((text) => `about ${text}`);
  const parts = [`${countText(settled)} of ${countText(rows)} rows`, ...details(progress).map(({ text }) => text)];
  return `  ${[...parts, ...left].join(', ')}`;
}

/**
 * A line with a bar that is drawn over the one before it: `[=====-----] 12,000 of 100,000, 3 failed, 812 rows/s`. It
 * is narrower than the terminal, since a full line may wrap. Where there is little room the bar is short, then the
 * last parts are left out, then the bar.
 *
 * @param width columns of the terminal
 */
export function progressBarLine(progress: RunProgressShown, width: number, style: Screen['style']): string {
  const { rows, settled } = progress;
  const parts: readonly Part[] = [
    { text: `${countText(settled)} of ${countText(rows)}` },
    ...details(progress, style),
    ...timeLeft(progress).map((text) => ({ text })),
  ];
  const widthMax = width - 1;
  for (let count = parts.length; count > 0; count -= 1) {
    const shown = parts.slice(0, count);
    const marks = widthMax - '[] '.length - shown.map(({ text }) => text).join(', ').length;
    if (marks < barMarks.min) continue;
    const bar = barOf(progress, Math.min(marks, barMarks.max));
    return `[${bar}] ${shown.map(({ text, paint }) => paint?.(text) ?? text).join(', ')}`;
  }
  return (parts[0]?.text ?? '').slice(0, Math.max(0, widthMax));
}

/**
 * A line about a file that is read: `checking tasks.csv: 430,000 rows, 43 %`, `reading standard input: 12.3 MB`.
 *
 * @param width columns of the terminal; as `progressBarLine` it is narrower
 */
export function readingLine({ doing, rows, bytes = 0, sizeBytes }: ReadingShown, width: number): string {
  const amount = sizeBytes ? `${Math.floor((bytes / sizeBytes) * 100)} %` : `${(bytes / 1e6).toFixed(1)} MB`;
  const parts = [...(rows === undefined ? [] : [countOf(rows, 'row')]), ...(bytes === 0 ? [] : [amount])];
  const told = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  const widthMax = Math.max(1, width - 1);
  // How far it is tells more than the end of a long path.
  return cutText(
    cutText(printable(doing), Math.max(1, widthMax - told.length), widthAtMost) + told,
    widthMax,
    widthAtMost,
  );
}

/** What is told between the rows and the time that is left; what counts most comes first. */
function details({ failed, inDoubt, reason, ratePerSecond }: RunProgressShown, style?: Screen['style']): Part[] {
  return [
    ...(failed === 0 ? [] : [painted(`${countText(failed)} failed`, style?.red)]),
    ...(inDoubt === 0 ? [] : [painted(`${countText(inDoubt)} in doubt`, style?.yellow)]),
    ...(reason === undefined ? [] : [painted(printable(reason), style?.yellow)]),
    { text: rateText(ratePerSecond) },
  ];
}

/** Nothing for ever, either: a rate of zero says no more than that nobody can tell. */
function timeLeft({ leftMs }: RunProgressShown): string[] {
  return leftMs === undefined || !Number.isFinite(leftMs) ? [] : [`${roughTimeText(leftMs)} left`];
}

function painted(text: string, paint: Part['paint']): Part {
  return paint === undefined ? { text } : { text, paint };
}

/** ASCII: other marks are two columns wide where East Asian fonts are in use, and the line would wrap. */
function barOf({ rows, settled }: RunProgressShown, marks: number): string {
  // Full only when everything is settled.
  const full = rows === 0 ? marks : Math.min(marks, Math.floor((settled / rows) * marks));
  return '='.repeat(full) + '-'.repeat(marks - full);
}

/** The progress of a run: its lines, and the bar on a terminal. Wraps cli-progress, which loads for terminals alone. */
import { Writable } from 'node:stream';
import type { Output } from '../core/host.ts';
import { countOf, countText, cutText, printable, rateText, roughTimeText, widthAtMost } from '../core/text.ts';
import type { Cell } from './table.ts';
import type { Screen } from './view.ts';

export interface RunProgressShown {
  readonly rows: number;
  /** Rows with a final result. */
  readonly settled: number;
  readonly failed: number;
  readonly inDoubt: number;
  /** Undefined if unknown, and while nothing is sent. */
  readonly ratePerSecond: number | undefined;
  /** The estimated time; undefined if unknown. */
  readonly leftMs: number | undefined;
  /** Why it is slow: `throttled, resuming in 12 s`. */
  readonly reason: string | undefined;
}

/** The progress of a run, or of reading a file. */
export type ProgressShown =
  | RunProgressShown
  | {
      readonly doing: string;
      readonly rows?: number | undefined;
      readonly bytes?: number | undefined;
      readonly sizeBytes?: number | undefined;
    };

const barMarks = { min: 5, max: 40 } as const;

/** Whether a terminal can redraw a line; for others there is `plainProgressLine`. */
export function canRedraw(
  { isTTY }: Pick<Output, 'isTTY'>,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTTY && env['TERM'] !== 'dumb';
}

/** A plain line: `  12,000 of 100,000 rows, 3 failed, 812 rows/s, about 1 min 48 s left`. */
export function plainProgressLine(progress: RunProgressShown): string {
  const { rows, settled } = progress;
  const left = timeLeft(progress).map((text) => `about ${text}`);
  const parts = [`${countText(settled)} of ${countOf(rows, 'row')}`, ...details(progress).map(({ text }) => text)];
  return `  ${[...parts, ...left].join(', ')}`;
}

/**
 * A line with a bar: `[=====-----] 12,000 of 100,000, 3 failed, 812 rows/s`. It is narrower than the terminal, since a
 * full line may wrap: the bar is shortened first, then the last parts are omitted.
 */
export function progressBarLine(progress: RunProgressShown, width: number, style: Screen['style']): string {
  const { rows, settled } = progress;
  const parts: readonly Cell[] = [
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

/** A line about a file: `checking tasks.csv: 430,000 rows, 43 %`, `reading standard input: 12.3 MB`. */
export function readingLine(
  { doing, rows, bytes = 0, sizeBytes }: Exclude<ProgressShown, RunProgressShown>,
  width: number,
): string {
  const amount = sizeBytes ? `${Math.floor((bytes / sizeBytes) * 100)} %` : `${(bytes / 1e6).toFixed(1)} MB`;
  const parts = [...(rows === undefined ? [] : [countOf(rows, 'row')]), ...(bytes === 0 ? [] : [amount])];
  const amounts = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  const widthMax = Math.max(1, width - 1);
  // The path is truncated, not the amounts.
  return cutText(
    cutText(printable(doing), Math.max(1, widthMax - amounts.length), widthAtMost) + amounts,
    widthMax,
    widthAtMost,
  );
}

function details({ failed, inDoubt, reason, ratePerSecond }: RunProgressShown, style?: Screen['style']): Cell[] {
  return [
    ...(failed === 0 ? [] : [painted(`${countText(failed)} failed`, style?.red)]),
    ...(inDoubt === 0 ? [] : [painted(`${countText(inDoubt)} in doubt`, style?.yellow)]),
    ...(reason === undefined ? [] : [painted(printable(reason), style?.yellow)]),
    ...(ratePerSecond === undefined ? [] : [{ text: rateText(ratePerSecond) }]),
  ];
}

function timeLeft({ leftMs }: RunProgressShown): string[] {
  return leftMs === undefined || !Number.isFinite(leftMs) ? [] : [`${roughTimeText(leftMs)} left`];
}

function painted(text: string, paint: Cell['paint']): Cell {
  return paint === undefined ? { text } : { text, paint };
}

/** In ASCII, since other characters are two columns wide in East Asian fonts, and the line would wrap. */
function barOf({ rows, settled }: RunProgressShown, marks: number): string {
  const full = rows === 0 ? marks : Math.min(marks, Math.floor((settled / rows) * marks));
  return '='.repeat(full) + '-'.repeat(marks - full);
}

export interface ProgressDisplay {
  /** Shows this from now on; it is drawn a few times a second. */
  show(progress: ProgressShown): void;
  /** Removes the line until the next `show`. */
  clear(): void;
  /** Removes the line for good, so that the process can end. */
  end(): void;
}

/** Opens a display on a terminal for which `canRedraw` is true, and ignores errors of the terminal. */
export async function openProgressBar(output: Output, screen: Screen): Promise<ProgressDisplay> {
  const { SingleBar } = await import('cli-progress');
  let shown: ProgressShown | undefined;
  let isEnded = false;
  // Each time, since the window may be resized.
  const width = () => output.columns || screen.columns || 80;
  const { stream, flush } = collector(output);
  const bar = new SingleBar({
    stream,
    fps: 5,
    format: () => (shown === undefined ? '' : displayLine(shown, width(), screen)),
    clearOnComplete: true,
    // Also over what the terminal echoes, such as ^C.
    forceRedraw: true,
    // Wrapping and the cursor stay on, since after a kill nothing would turn them on again.
    ...{ linewrap: true, hideCursor: null, gracefulExit: false },
  });
  bar.on('redraw-post', flush);
  const clear = () => {
    if (!bar.isActive) return;
    bar.stop();
    flush();
  };
  return {
    show: (progress) => {
      if (isEnded) return;
      shown = progress;
      // Its own values are not used; the timer redraws the line.
      if (!bar.isActive) bar.start(1, 0);
    },
    clear,
    end: () => {
      isEnded = true;
      clear();
    },
  };
}

function displayLine(progress: ProgressShown, width: number, { style }: Screen): string {
  return 'doing' in progress ? readingLine(progress, width) : progressBarLine(progress, width, style);
}

/**
 * Puts the cursor at the start of the line, where the terminal shows ^C over it, and stays when a narrower window wraps
 * the line; the next frame clears all of it from there.
 */
function withCursorAtStart(text: string): string {
  return `${text.replaceAll('\x1b[0K', '\x1b[J').replaceAll('\x1b[2K', '\x1b[J')}\x1b[1G`;
}

/** Collects what cli-progress writes, so that each frame is one write. */
function collector(output: Output): { readonly stream: NodeJS.WritableStream; flush(): void } {
  let waiting = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (text, _encoding, done) => {
      // Without saved positions, which are wrong after scrolling.
      if (text !== '\x1b7' && text !== '\x1b8') waiting += text;
      done();
    },
  });
  return {
    // The line fits already; truncated here, it would lose the end of a color.
    stream: Object.assign(stream, { isTTY: true, columns: Number.MAX_SAFE_INTEGER }),
    flush: () => {
      const text = waiting;
      waiting = '';
      if (text !== '') output.write(withCursorAtStart(text)).catch(() => {});
    },
  };
}

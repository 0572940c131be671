/** The progress bar of a run. Wraps cli-progress; to be loaded for terminals alone. */
import { Writable } from 'node:stream';
import { SingleBar } from 'cli-progress';
import type { Output } from '../core/host.ts';
import { type ProgressShown, progressBarLine, readingLine } from './progress-text.ts';
import type { Screen } from './view.ts';

export interface ProgressDisplay {
  /** Shows this from now on; it is drawn a few times a second. */
  show(progress: ProgressShown): void;
  /** Removes the line until the next `show`. */
  clear(): void;
  /** Removes the line for good, so that the process can end. */
  end(): void;
}

/** Opens a display on a terminal for which `canRedraw` is true, and ignores errors of the terminal. */
export function openProgressBar(output: Output, screen: Screen): ProgressDisplay {
  let shown: ProgressShown | undefined;
  let isEnded = false;
  // Each time, since the window may be resized.
  const width = () => output.columns || screen.columns || 80;
  const { stream, flush } = collector(output);
  const bar = new SingleBar({
    stream,
    fps: 5,
    format: () => (shown === undefined ? '' : lineOf(shown, width(), screen)),
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

function lineOf(progress: ProgressShown, width: number, { style }: Screen): string {
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

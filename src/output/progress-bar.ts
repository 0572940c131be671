/** A line on a terminal that tells how far a run is. The door to cli-progress: `import()` it, and only for a terminal. */
import { Writable } from 'node:stream';
import { SingleBar } from 'cli-progress';
import type { Output } from '../core/host.ts';
import { type ProgressShown, progressBarLine, readingLine } from './progress-text.ts';
import type { Screen } from './view.ts';

/** A place where a run shows how far it is. */
export interface ProgressDisplay {
  /** Shows this from now on. As often as one likes: it is drawn a few times a second. */
  show(progress: ProgressShown): void;
  /** Takes the line away, so that other text may be written; the next `show` brings it back. */
  clear(): void;
  /** Takes the line away for good. Without it the process does not end. */
  end(): void;
}

/** Often enough to look alive, and little to redraw over a slow line. */
const framesPerSecond = 5;

/** The width to assume of a terminal that says 0: a serial line, some continuous integration systems. */
const usualTerminalWidth = 80;

/**
 * Opens a display; nothing is drawn before the first `show`. Nothing that happens to the terminal is a failure: the
 * run goes on without it.
 *
 * @param output a terminal where `canRedraw`
 */
export function openProgressBar(output: Output, screen: Screen): ProgressDisplay {
  let shown: ProgressShown | undefined;
  let isEnded = false;
  // Asked each time, since a window may change its size.
  const width = () => output.columns || screen.columns || usualTerminalWidth;
  const { stream, flush } = collector(output);
  const bar = new SingleBar({
    stream,
    fps: framesPerSecond,
    format: () => (shown === undefined ? '' : lineOf(shown, width(), screen)),
    clearOnComplete: true,
    // Neither wrapping nor the cursor is switched off: after a kill nobody would switch it on again. Signals are Host's.
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
      // What it counts is of no matter: the line is drawn anew by its own timer.
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

/** A terminal for cli-progress whose writes go on together: one for each frame, so that none is seen half drawn. */
function collector(output: Output): { readonly stream: NodeJS.WritableStream; flush(): void } {
  let waiting = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (text, _encoding, done) => {
      // A position that was saved is that of another line once the screen has scrolled: the line is cleared where it is.
      if (text !== '\x1b7' && text !== '\x1b8') waiting += text;
      done();
    },
  });
  return {
    // A line is made to fit; cut by this width, it would lose the end of a color.
    stream: Object.assign(stream, { isTTY: true, columns: Number.MAX_SAFE_INTEGER }),
    flush: () => {
      const text = waiting;
      waiting = '';
      if (text !== '') output.write(text).catch(() => {});
    },
  };
}

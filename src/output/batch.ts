import type { Output } from '../host.ts';

/** Text on its way to a stream, in pieces that are worth a system call. */
export interface Batch {
  /** Takes a text; undefined while there is room, else it resolves when the stream has taken what was there. */
  write(text: string): Promise<void> | undefined;
  /** Resolves when the stream has taken everything. */
  flush(): Promise<void>;
}

/** UTF-16 units that may wait: many lines, and no memory to speak of. */
const waitingMax = 65_536;

/**
 * Joins short texts on their way to a stream. Nothing waits longer than for what is ready in this turn of the event
 * loop, so that a reader of a slow run sees each line when it is known.
 */
export function batched(output: Pick<Output, 'write'>): Batch {
  let waiting = '';
  let isScheduled = false;
  let written: Promise<void> = Promise.resolve();
  const flush = () => {
    const text = waiting;
    waiting = '';
    // After a failure nothing more is written, and whoever asks next hears of it.
    if (text !== '') written = written.then(() => output.write(text));
    return written;
  };
  return {
    flush,
    write: (text) => {
      waiting += text;
      if (waiting.length >= waitingMax) return flush();
      if (isScheduled) return undefined;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        flush().catch(() => {});
      });
      return undefined;
    },
  };
}

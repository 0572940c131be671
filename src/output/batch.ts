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
 * loop, or for the stream to take what came before, so that a reader of a slow run sees each line when it is known.
 */
export function batched(output: Pick<Output, 'write'>): Batch {
  let waiting = '';
  let isScheduled = false;
  let hasFailed = false;
  let writing: Promise<void> | undefined;
  const drain = async () => {
    while (waiting !== '') {
      const text = waiting;
      waiting = '';
      await output.write(text);
    }
  };
  const flush = () => {
    // After a failure nothing more is written, and whoever asks next hears of it.
    writing ??= drain().then(
      () => {
        writing = undefined;
      },
      (error: unknown) => {
        hasFailed = true;
        throw error;
      },
    );
    return writing;
  };
  return {
    flush,
    write: (text) => {
      waiting += text;
      if (hasFailed || waiting.length >= waitingMax) return flush();
      if (isScheduled || writing !== undefined) return undefined;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        flush().catch(() => {});
      });
      return undefined;
    },
  };
}

import { Stopped } from '../../errors.ts';
import type { Host } from '../../host.ts';

/** How a run is told to stop. */
export interface Stops {
  /** Nothing new is to be sent. */
  readonly signal: AbortSignal;
  /** What is under way is not waited for any more. */
  readonly cut: AbortSignal;
  /** To be called at the end of the run. */
  end(): void;
}

/** How long requests that are under way may take to be answered, in milliseconds (reliability, P01 and P02). */
const graceMs = { SIGINT: 60_000, SIGTERM: 10_000, SIGHUP: 10_000 } as const;

/**
 * The two stages of a stop: the first time what is under way is waited for, the second time not. A run that only reads
 * has nothing to wait for.
 */
export function twoStageStop(host: Host, isRead: boolean): Stops {
  const { signal, hurry, clock } = host;
  const cutting = new AbortController();
  const ended = new AbortController();
  const cut = () => cutting.abort(hurry.aborted ? hurry.reason : signal.reason);
  const tooLong = () => {
    cut();
    // A pipe that nobody reads would be waited for for ever.
    host.insist();
  };
  const wait = () => {
    const { reason } = signal;
    if (isRead) cut();
    else if (reason instanceof Stopped) clock.sleep(graceMs[reason.signal], ended.signal).then(tooLong, () => {});
  };
  signal.addEventListener('abort', wait, { once: true });
  hurry.addEventListener('abort', cut, { once: true });
  if (signal.aborted) wait();
  return {
    signal,
    cut: cutting.signal,
    end: () => {
      ended.abort();
      signal.removeEventListener('abort', wait);
      hurry.removeEventListener('abort', cut);
    },
  };
}

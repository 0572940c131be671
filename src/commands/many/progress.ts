/** How far a run is, on stderr: a bar for a person, a line now and then for a log. */
import type { Pace } from '../../bulk/pace.ts';
import type { RunningRun } from '../../bulk/runner.ts';
import { canRedraw, plainProgressLine, type RunProgressShown } from '../../output/progress-text.ts';
import { timeText } from '../../output/quantity-text.ts';
import type { Session } from '../session.ts';
import type { Settled } from './rows-plan.ts';

/** Shows how far a run is. */
export interface Progress {
  /** Takes the bar away, so that something else may be written; it comes back by itself. */
  clear(): void;
  end(): void;
}

/** What is looked at. */
export interface Watched {
  readonly running: RunningRun;
  readonly pace: Pace;
  readonly report: Settled;
  /** How many rows this session has to do. */
  readonly toDo: number;
}

const barMs = 200;
const lineMs = 10_000;

/** Begins to show it. */
export async function openProgress(watched: Watched, session: Session): Promise<Progress> {
  const { host, isQuiet } = session;
  const { clock, stderr, env } = host;
  if (isQuiet) return nothingShown;
  if (canRedraw(stderr, env)) {
    const { openProgressBar } = await import('../../output/progress-bar.ts');
    const bar = openProgressBar(stderr, await session.errorScreen());
    const stop = clock.every(barMs, () => bar.show(shownOf(watched, clock.monotonicMs())));
    return {
      clear: bar.clear,
      end: () => {
        stop();
        bar.end();
      },
    };
  }
  // What can't be written now will be said by who writes next.
  const say = () => session.say(plainProgressLine(shownOf(watched, clock.monotonicMs()))).catch(() => {});
  return { clear: () => {}, end: clock.every(lineMs, () => void say()) };
}

const nothingShown: Progress = { clear: () => {}, end: () => {} };

function shownOf({ running, pace, report, toDo }: Watched, nowMs: number): RunProgressShown {
  const { settled, failed, inDoubt } = report;
  const ratePerSecond = settled / Math.max(0.001, running.elapsedMs / 1000);
  return {
    ...{ rows: toDo, settled, failed, inDoubt, ratePerSecond },
    leftMs: settled === 0 ? undefined : ((toDo - settled) / ratePerSecond) * 1000,
    reason: reasonOf(pace, nowMs),
  };
}

/** Why it does not go on. */
function reasonOf(pace: Pace, nowMs: number): string | undefined {
  const { pausedUntilMs, goneSinceMs } = pace;
  if (pace.outage === 'probing' && goneSinceMs !== undefined)
    return `the service is gone for ${timeText(nowMs - goneSinceMs)}`;
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return undefined;
  return `throttled for ${timeText(pausedUntilMs - nowMs)}`;
}

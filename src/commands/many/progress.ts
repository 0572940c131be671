/** How far a run is, on stderr: a bar for a person, a line now and then for a log. */
import type { Pace } from '../../bulk/pace.ts';
import type { RunningRun } from '../../bulk/runner.ts';
import { plainProgressLine, type RunProgressShown } from '../../output/progress-text.ts';
import { countOf, timeText } from '../../output/quantity-text.ts';
import type { Session } from '../session.ts';
import { openDisplay } from './display.ts';
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

const lineMs = 10_000;
const foretellsAfterMs = 1000;

/** Begins to show it: to a person soon, to a log after a while. */
export function openProgress(watched: Watched, session: Session): Progress {
  const { clock } = session.host;
  if (session.isQuiet || session.isJsonWanted) return nothingShown;
  const display = openDisplay(() => shownOf(watched, clock.monotonicMs()), session);
  if (display !== undefined) return display;
  // What can't be written now will be said by who writes next.
  const say = () => session.say(plainProgressLine(shownOf(watched, clock.monotonicMs()))).catch(() => {});
  return { clear: () => {}, end: clock.every(lineMs, () => void say()) };
}

const nothingShown: Progress = { clear: () => {}, end: () => {} };

function shownOf({ running, pace, report, toDo }: Watched, nowMs: number): RunProgressShown {
  const { settled, failed, inDoubt } = report;
  const { elapsedMs } = running;
  const ratePerSecond = settled / Math.max(0.001, elapsedMs / 1000);
  // The first rows wait for a connection: what they foretell is wrong many times over.
  const foretells = settled > 0 && elapsedMs >= foretellsAfterMs && !running.isStopping;
  return {
    ...{ rows: toDo, settled, failed, inDoubt, ratePerSecond },
    leftMs: foretells ? ((toDo - settled) / ratePerSecond) * 1000 : undefined,
    reason: running.isStopping ? stoppingText(running.underWay) : reasonOf(pace, nowMs),
  };
}

/** What is done after the first Ctrl-C, so that nobody has to guess. */
function stoppingText(underWay: number): string {
  return underWay === 0 ? 'stopping' : `stopping: waiting for ${countOf(underWay, 'answer')}`;
}

/** Why it does not go on. */
function reasonOf(pace: Pace, nowMs: number): string | undefined {
  const { pausedUntilMs, goneSinceMs } = pace;
  if (pace.outage === 'probing' && goneSinceMs !== undefined)
    return `the service is gone for ${timeText(nowMs - goneSinceMs)}`;
  if (pausedUntilMs === undefined || pausedUntilMs <= nowMs) return undefined;
  return `throttled for ${timeText(pausedUntilMs - nowMs)}`;
}

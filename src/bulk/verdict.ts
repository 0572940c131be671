import { Failure } from '../errors.ts';
import type { RowStep } from './task.ts';

/** What is known of the run when an attempt has ended without success. */
export interface RunSoFar {
  /** Whether any row of the run has been done. */
  readonly hasDone: boolean;
  /** Whether the service has answered anything in this session. */
  readonly hasAnswered: boolean;
  /** Whether the run is to end: nothing is sent any more. */
  readonly isStopping: boolean;
  /** Whether the service is known to be gone: then attempts ask for it, and count against no row. */
  readonly isGone: boolean;
  /** How many attempts of the row count already, this one left out, and how many may. */
  readonly tries: number;
  readonly triesMax: number;
}

/** What becomes of a row after an attempt without success. */
export interface Verdict {
  /** It is tried again; its outcome is unknown for good; it failed; or it is left as it was, still to do. */
  readonly row: 'again' | 'in-doubt' | 'failed' | 'left';
  /** Why the whole run stops, where it does. */
  readonly stopsFor?: unknown;
  /** Whether the attempt counts against the row's tries. */
  readonly counts: boolean;
}

type NotDone = RowStep<unknown> & { readonly isDone: false };

/**
 * What becomes of a row, and of the run, after an attempt that was no success (cli.md, "Many items"; reliability, C3).
 *
 * What concerns every row stops the run, and is no row's failure. A throttled attempt counts against no row, nor does
 * one that was never sent once the service has answered: that a service is gone is judged over all rows. Where nothing
 * has answered yet it is as for one item: the first row that is out of tries ends the run.
 */
export function verdictOf(step: NotDone, run: RunSoFar): Verdict {
  const concernsAll = step.concerns === 'every' || (step.concerns === 'every-until-done' && !run.hasDone);
  if (concernsAll) return ended(step, 'left', { stopsFor: step.failure() });
  const counts = countsAgainst(step, run);
  const mayRepeat = step.waitMs !== undefined && (!counts || run.tries + 1 <= run.triesMax);
  if (mayRepeat) return run.isStopping ? ended(step, 'left', {}) : { row: 'again', counts };
  if (step.sign === 'silent' && !run.hasAnswered) return ended(step, 'left', { stopsFor: step.failure() });
  return ended(step, run.isStopping && step.sign === 'silent' ? 'left' : 'failed', {});
}

function countsAgainst({ sign, outcome }: NotDone, { hasAnswered, isGone }: RunSoFar): boolean {
  if (sign === 'throttled') return false;
  return !(sign === 'silent' && (isGone || (outcome === 'not-sent' && hasAnswered)));
}

/** What may have happened is in doubt, whatever else is to be said. */
function ended(step: NotDone, otherwise: 'left' | 'failed', more: Pick<Verdict, 'stopsFor'>): Verdict {
  const failure = step.failure();
  if (!(failure instanceof Failure)) return { row: 'left', counts: true, ...more };
  return { row: failure.kind === 'in-doubt' ? 'in-doubt' : otherwise, counts: true, ...more };
}

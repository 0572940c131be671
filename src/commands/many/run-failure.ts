import type { RunTotals } from '../../bulk/journal-records.ts';
import { Failure, Stopped } from '../../errors.ts';
import type { Recorded } from './run-record.ts';

/** What is known of a run beside its totals. */
export interface RunNamed {
  readonly done: string;
  readonly recorded: Recorded | undefined;
  readonly goOn: string | undefined;
}

/** What to do about a run that did not do every row: at most two lines. */
export function whatNext(
  { left, failed, invalid, inDoubt }: RunTotals,
  { recorded, goOn }: RunNamed,
): readonly string[] {
  if (recorded === undefined || left + failed + invalid + inDoubt === 0) return [];
  const { run } = recorded;
  const doubt = inDoubt > 0 ? [`rows in doubt: listctl runs show ${run} --in-doubt`] : [];
  const rest = left + failed + invalid > 0 || inDoubt > 0 ? [`go on with: ${goOn ?? 'the same command'}`] : [];
  return [...rest, ...doubt];
}

/**
 * What a run ended in, in the order of the rulings: a signal, a local file, doubt, then what stopped it, then rows that
 * were not done. Undefined where every row was done.
 */
export function runFailure(
  totals: RunTotals,
  stoppedBy: unknown,
  { done }: RunNamed,
  next: readonly string[],
): unknown {
  if (stoppedBy instanceof Stopped) return stoppedBy;
  if (stoppedBy !== undefined && !(stoppedBy instanceof Failure)) return stoppedBy;
  if (stoppedBy?.kind === 'local-file') return stoppedBy;
  const hint = next.length === 0 ? undefined : next.join('\n');
  const { inDoubt, failed, invalid, left } = totals;
  if (inDoubt > 0) {
    const because = stoppedBy === undefined ? '' : `; ${stoppedBy.message}`;
    return new Failure('in-doubt', `${rowsText(inDoubt)} in doubt: they may or may not have been ${done}${because}`, {
      hint,
      outcome: 'unknown',
    });
  }
  if (stoppedBy !== undefined && stoppedBy.kind !== 'incomplete') {
    // What stopped the run says what to mend; how to go on stands below it.
    const hints = [stoppedBy.details.hint, ...next].filter((line) => line !== undefined).slice(0, 2);
    return new Failure(stoppedBy.kind, stoppedBy.message, {
      ...stoppedBy.details,
      hint: hints.join('\n') || undefined,
    });
  }
  if (failed + invalid + left === 0) return undefined;
  const stopped = stoppedBy === undefined ? '' : `; ${stoppedBy.message}`;
  return new Failure('incomplete', `${rowsText(failed + invalid + left)} could not be ${done}${stopped}`, { hint });
}

function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`;
}

import type { RunTotals } from '../../bulk/journal-records.ts';
import { Failure, Stopped } from '../../errors.ts';

/**
 * What to do about a run that did not do every row: at most two lines.
 *
 * @param run its id; undefined where it is not recorded: then nothing can be gone on with
 * @param goOn the command that goes on with it; undefined where the same one does
 */
export function whatNext(
  { left, failed, invalid, inDoubt }: RunTotals,
  run: string | undefined,
  goOn: string | undefined,
): readonly string[] {
  if (run === undefined || left + failed + invalid + inDoubt === 0) return [];
  const doubt = inDoubt > 0 ? [`rows in doubt: listctl runs show ${run} --in-doubt`] : [];
  return [`go on with: ${goOn ?? 'the same command'}`, ...doubt];
}

/**
 * What a run ended in, in the order of the rulings: a signal, a local file, doubt, then what stopped it, then rows that
 * were not done. Undefined where every row was done.
 */
export function runFailure(totals: RunTotals, stoppedBy: unknown, done: string, next: readonly string[]): unknown {
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

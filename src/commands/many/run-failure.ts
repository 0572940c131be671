import type { RunTotals } from '../../bulk/journal-records.ts';
import { Failure, Stopped } from '../../errors.ts';
import { shellWord } from '../../output/curl-line.ts';
import { oneLine } from '../../output/one-line.ts';
import { countOf } from '../../output/quantity-text.ts';
import type { RowsPlan } from './rows-plan.ts';

/** Columns of a key in a message. */
const nameMax = 100;

/** The same command line, with --resume. */
export function resumeCommand(words: readonly string[]): string {
  // Neither is what was decided about the doubts of that time.
  const same = words.filter(
    (word, at) => !/^--(restart|resume|in-doubt(=.*)?)$/.test(word) && !(words[at - 1] === '--in-doubt' && at > 0),
  );
  return ['listctl', ...same.map(shellWord), '--resume'].join(' ');
}

/**
 * What to do about a run over a file that did not do every row.
 *
 * @param goOn the command that goes on with it
 * @param holdsDoubt whether that leaves alone what is in doubt
 */
export function nextSteps(goOn: string, holdsDoubt: boolean): RowsPlan<never>['nextSteps'] {
  return (word, { left, failed, invalid, inDoubt }) => {
    const looking = `rows in doubt: listctl runs show ${word} --in-doubt`;
    const isLeft = left + failed + invalid > 0;
    if (isLeft || !holdsDoubt) return [`go on with: ${goOn}`, ...(inDoubt > 0 ? [looking] : [])];
    return [looking, `settle each: listctl runs resolve ${word} --row N --applied ID, or --not-applied`];
  };
}

/**
 * What a run ended in, in the order of the rulings: a signal, a local file, doubt, then what stopped it, then rows that
 * were not done. Undefined where every row was done.
 *
 * @param doubtful where the rows are steps of a plan: the keys of those in doubt, the first ones at least
 */
export function runFailure(
  totals: RunTotals,
  stoppedBy: unknown,
  done: string,
  next: readonly string[],
  doubtful?: readonly string[],
): unknown {
  if (stoppedBy instanceof Stopped) return stoppedBy;
  if (stoppedBy !== undefined && !(stoppedBy instanceof Failure)) return stoppedBy;
  if (stoppedBy?.kind === 'local-file') return withNext(stoppedBy, next);
  const noun = doubtful === undefined ? 'row' : 'step';
  if (totals.inDoubt > 0) {
    const what = doubtful?.length ? namesText(doubtful, totals.inDoubt) : countOf(totals.inDoubt, noun);
    return doubtFailure(what, totals.inDoubt, stoppedBy, done, next);
  }
  if (stoppedBy !== undefined && stoppedBy.kind !== 'incomplete') {
    return withNext(stoppedBy, next);
  }
  const count = totals.failed + totals.invalid + totals.left;
  if (count === 0) return undefined;
  const stopped = stoppedBy === undefined ? '' : `; ${stoppedBy.message}`;
  return new Failure('incomplete', `${countOf(count, noun)} could not be ${done}${stopped}`, { hint: joined(next) });
}

/** What stopped the run says what to fix; how to resume it follows. */
function withNext(stoppedBy: Failure, next: readonly string[]): Failure {
  const hints = [stoppedBy.details.hint, ...next].filter((line) => line !== undefined).slice(0, 2);
  return new Failure(stoppedBy.kind, stoppedBy.message, { ...stoppedBy.details, hint: joined(hints) });
}

function doubtFailure(
  what: string,
  count: number,
  stoppedBy: Failure | undefined,
  done: string,
  next: readonly string[],
): Failure {
  const because = stoppedBy === undefined ? '' : `; the run stopped: ${stoppedBy.message}`;
  const doubt = `${what} in doubt: ${count === 1 ? 'it' : 'they'} may or may not have been ${done}`;
  return new Failure('in-doubt', doubt + because, { hint: joined(next), outcome: 'unknown' });
}

function joined(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The first three names, and how many more there are. */
function namesText(names: readonly string[], count: number): string {
  const shown = names.slice(0, 3).map((name) => oneLine(JSON.stringify(name), nameMax));
  const more = count - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

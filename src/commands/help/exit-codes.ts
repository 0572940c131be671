/** What each exit code means, and what a script would do about it. The README has the same table, held by a test. */
import type { exitCodes } from '../../errors.ts';

/** A way to end. */
export interface ExitCodeRow {
  readonly kind: keyof typeof exitCodes;
  readonly meaning: string;
  /** What a script would do next. */
  readonly advice: string;
}

const meanings: Readonly<Record<ExitCodeRow['kind'], readonly [meaning: string, advice: string]>> = {
  done: ['done', 'go on'],
  refused: ['the service refused, or gave an answer that cannot be used', 'read the message'],
  usage: ['wrong usage or input, or not confirmed: nothing was sent', 'fix the call'],
  credentials: ['no token, 401, 403', 'log in'],
  'not-found': ['404, 410', 'go on, or create'],
  conflict: ['409, 412, 423, 428', 'read again, then decide'],
  unavailable: ['throttled or unavailable: nothing was changed', 'run again later'],
  unreachable: ['not reached, or no complete answer to a read: nothing was changed', 'check the network'],
  'in-doubt': ['a write may or may not have happened', 'look before running again'],
  incomplete: ['of several items, or of a run’s rows, some were not done', 'look at the errors, or the rejects'],
  'local-file': ['a local file or stream is unreadable, full or damaged', 'mend it'],
  locked: ['another process is at work on the same', 'wait'],
  changes: ['apply --dry-run --detailed-exitcode: there are changes', 'apply'],
  bug: ['a bug in listctl', 'report it'],
};

/** In the order of their numbers. */
export const exitCodeRows: readonly ExitCodeRow[] = Object.entries(meanings).map(([kind, [meaning, advice]]) => ({
  kind: kind as ExitCodeRow['kind'],
  meaning,
  advice,
}));

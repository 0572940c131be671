import type { JournalHeader, RowCounts } from '../../bulk/journal-records.ts';
import type { RunShown } from '../../output/run-view.ts';
import { isWhollyDone } from '../many/going-on.ts';

/** What is known of a run; of a damaged one its id alone. */
export interface KnownRun {
  readonly run: string;
  readonly header?: JournalHeader | undefined;
  readonly counts?: RowCounts | undefined;
  readonly isRunning?: boolean;
}

/** A run as it is shown: of one that takes another back, that one stands for its input. */
export function shownRun({ run, header, counts, isRunning = false }: KnownRun): RunShown {
  return {
    run,
    action: header?.action,
    site: header?.site,
    list: header?.list,
    file: header?.file ?? header?.of,
    startedAt: header?.startedAt,
    status: isRunning ? 'running' : statusOf(counts),
    rows: header?.rows,
    done: counts?.done,
    failed: counts && counts.failed + counts.invalid,
    inDoubt: counts?.inDoubt,
    left: counts?.left,
  };
}

function statusOf(counts: RowCounts | undefined): 'done' | 'incomplete' | 'in-doubt' | 'damaged' {
  if (counts === undefined) return 'damaged';
  if (counts.inDoubt > 0) return 'in-doubt';
  return isWhollyDone(counts) ? 'done' : 'incomplete';
}

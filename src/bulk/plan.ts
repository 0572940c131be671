/** What a run over rows is made of, before it is begun. */
import type { Client } from '../api/client.ts';
import type { Failure } from '../core/errors.ts';
import type { RunLimits } from './flags.ts';
import type { RowCounts } from './journal-format.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, Task } from './outcome.ts';
import type { RunRecording } from './record.ts';
import type { RejectsFile } from './rejects-file.ts';
import type { SentResult } from './senders.ts';
import type { Summary } from './summary.ts';

/** What is to be sent, and how. */
export interface RunPlan<R extends PlannedRow> {
  /** `create`, `undo` */
  readonly action: string;
  /** What was done to a row that is done: `created`. */
  readonly done: string;
  /** Whether rows are read, and are not changed. */
  readonly isRead: boolean;
  /** What is printed on stdout: what came of each row, or of each step of a plan, or the items that were read. */
  readonly prints: 'results' | 'steps' | 'items';
  /** What is known without sending anything: reported first, neither recorded nor in `counts`. */
  readonly known?: KnownResults<R>;
  /**
   * Begins to record the run; undefined where it is not recorded. Called once the way to the service is open: a run that
   * cannot even begin leaves nothing behind. Who calls it closes the journal.
   */
  readonly openRecord: () => RunRecording | undefined;
  /** How the rows of the run stand, and the number of its next send. */
  readonly counts: RunningCounts;
  readonly nextSeq: number;
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly createSender: (client: Client) => Sender<R, SentResult>;
  readonly pace: RunLimits;
  /** Takes the rows that were not done, and need not be looked for. */
  readonly rejects?: RejectsFile<R> | undefined;
  /** Is told how the run ended. */
  readonly summary: Summary;
  /** What to do about a run that did not do every row: at most two lines. `word` names the run on a command line. */
  readonly nextSteps: (word: string, counts: RowCounts) => readonly string[];
}

/** A row, as far as messages name it. */
export interface PlannedRow extends NumberedRow {
  readonly line?: number;
  readonly id?: string | undefined;
  /** What a person knows it by, where that is not its number: the key of a step. */
  readonly name?: string;
  /** What is done to it, where that is not the same for all: of a step. */
  readonly action?: string;
}

/** Rows for which nothing is sent. */
export interface KnownResults<R> {
  readonly results: readonly Extract<RowResult<R, never>, { readonly status: 'failed' | 'in-doubt' }>[];
  /** What the run ends in where nothing else went wrong. */
  readonly failure: Failure | undefined;
}

/** How far the results of a run are. */
export interface SettledCounts {
  readonly settled: number;
  readonly failed: number;
  readonly inDoubt: number;
}

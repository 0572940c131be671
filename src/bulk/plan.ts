/** The plan of a run: its rows, sender, limits and outputs. */
import type { Client } from '../api/client.ts';
import type { Failure } from '../core/errors.ts';
import type { RunLimits } from './flags.ts';
import type { RowCounts } from './journal-format.ts';
import type { NumberedRow, RowResult, RunningCounts, Sender, Task } from './outcome.ts';
import type { RunRecording } from './record.ts';
import type { RejectsFile } from './rejects-file.ts';
import type { SentResult } from './senders.ts';
import type { Summary } from './summary.ts';

/** The plan of a run. */
export interface RunPlan<R extends PlannedRow> {
  /** `create`, `undo` */
  readonly action: string;
  /** The past tense of the action: `created`. */
  readonly done: string;
  /** Whether rows are only read. */
  readonly isRead: boolean;
  /** The output on stdout: results of rows, of steps of a plan, or the items that were read. */
  readonly prints: 'results' | 'steps' | 'items';
  /** Results that are known before sending: reported first, neither recorded nor in `counts`. */
  readonly known?: KnownResults<R>;
  /** Opens the journal; undefined for a run without one. Called when the connection is set up; the caller closes it. */
  readonly openRecord: () => RunRecording | undefined;
  /** The counts of rows, and the sequence number of the next request. */
  readonly counts: RunningCounts;
  readonly nextSeq: number;
  readonly tasks: AsyncIterator<readonly Task<R>[]>;
  readonly createSender: (client: Client) => Sender<R, SentResult>;
  readonly pace: RunLimits;
  readonly rejects?: RejectsFile<R> | undefined;
  readonly summary: Summary;
  /** Hints for a run that did not complete, at most two lines. `word` is the run on a command line. */
  readonly nextSteps: (word: string, counts: RowCounts) => readonly string[];
}

/** The parts of a row that messages use. */
export interface PlannedRow extends NumberedRow {
  readonly line?: number;
  readonly id?: string | undefined;
  /** The key of a step of a plan. */
  readonly name?: string;
  /** The action of a step of a plan. */
  readonly action?: string;
}

/** Rows whose results are known before sending. */
export interface KnownResults<R> {
  readonly results: readonly Extract<RowResult<R, never>, { readonly status: 'failed' | 'in-doubt' }>[];
  /** The failure of the run if nothing else fails. */
  readonly failure: Failure | undefined;
}

/** The number of results so far. */
export interface SettledCounts {
  readonly settled: number;
  readonly failed: number;
  readonly inDoubt: number;
}

/** The summary of a run, on stderr and in the file of `--summary-json`. */
import type { Session } from '../cli/session.ts';
import { exitCodes, Failure, Stopped } from '../core/errors.ts';
import { printJson } from '../core/json.ts';
import { descriptorNamed, openOutput } from '../core/write-file.ts';
import type { FailureGroup } from '../output/failure.ts';
import { runSummary, type SummarizedRun, summaryObject } from '../output/run-summary.ts';
import type { RowCounts, RunTotals } from './journal-format.ts';

/** The results of a run that ended. */
export interface RunResults {
  /** Undefined for a run without a journal. */
  readonly run: string | undefined;
  readonly journal: string | undefined;
  readonly totals: RunTotals;
  /** The counts of this session. */
  readonly settled: Readonly<Record<'settled' | 'failed' | 'inDoubt', number>>;
  readonly groups: readonly FailureGroup[];
  /** Lines below the summary. */
  readonly notes: readonly string[];
}

/** A summary that is printed when the command ends. */
export interface Summary {
  ended(run: RunResults): void;
}

/** The summary of a dry run. */
export const noSummary: Summary = { ended: () => {} };

/** @throws {Failure} usage, for a dry run with --summary-json */
export function refuseSummary(file: string | undefined): void {
  if (file !== undefined) throw new Failure('usage', '--summary-json cannot be used with --dry-run');
}

/**
 * Opens a summary, before anything is sent. It is written when the command ends, with its exit code.
 *
 * @param file as typed; `-` is stdout
 * @throws {Failure} usage, if stdout is for results; local-file
 */
export async function openSummary(file: string | undefined, of: SummarizedRun, session: Session): Promise<Summary> {
  const write = file === undefined ? undefined : await summaryFile(file, session);
  let ended: RunResults | undefined;
  session.command.atEnd(async (error, exit) => {
    const unwritten = await write?.(`${printJson(objectOf(of, ended, { error, exit }), 2)}\n`);
    // An earlier error takes precedence.
    if (unwritten !== undefined && error !== undefined) await session.messages.report(unwritten);
    const end = unwritten === undefined || error !== undefined ? { error, exit } : endedIn(unwritten);
    if (ended !== undefined) await print(of, ended, end, session);
    if (unwritten !== undefined && error === undefined) throw unwritten;
  });
  return {
    ended: (run) => {
      ended = run;
    },
  };
}

interface End {
  readonly error: unknown;
  readonly exit: number;
}

function endedIn(error: Failure): End {
  return { error, exit: exitCodes[error.kind] };
}

async function print(of: SummarizedRun, ended: RunResults, end: End, session: Session): Promise<void> {
  const { totals, groups, notes } = ended;
  // The plan has reported that nothing changes.
  if (of.action === 'apply' && rowsOf(totals) === 0) return;
  const facts = { ...totals, action: of.action, failed: failedOf(totals), rows: rowsOf(totals), groups };
  const lines = () => session.messages.errorScreen().then((screen) => runSummary(facts, screen));
  await session.messages.summarize(objectOf(of, ended, end), lines);
  for (const note of notes) await session.messages.say(note);
}

function objectOf(of: SummarizedRun, ended: RunResults | undefined, { error, exit }: End) {
  const failure = error instanceof Failure ? error : undefined;
  const signal = error instanceof Stopped ? error.signal : undefined;
  if (ended === undefined) return summaryObject({ ...of, exit, failure, signal });
  const { run, journal, totals, settled, groups } = ended;
  const { ms: durationMs, sent, retries, throttledMs } = totals;
  const { settled: rows, failed, inDoubt } = settled;
  return summaryObject({
    ...{ run, journal, ...of, exit, failure, signal, groups },
    total: {
      ...{ rows: rowsOf(totals), done: totals.done, failed: failedOf(totals) },
      ...{ inDoubt: totals.inDoubt, skipped: totals.skipped, left: totals.left },
    },
    session: { rows, done: rows - failed - inDoubt, failed, inDoubt, sent, retries, throttledMs, durationMs },
  });
}

function failedOf({ failed, invalid }: RowCounts): number {
  return failed + invalid;
}

function rowsOf({ done, failed, invalid, inDoubt, skipped, left }: RowCounts): number {
  return done + failed + invalid + inDoubt + skipped + left;
}

/** Opens the file; returns a function that writes it, and returns the failure if that fails. */
async function summaryFile(file: string, session: Session): Promise<(text: string) => Promise<Failure | undefined>> {
  const { host } = session;
  if (descriptorNamed(file, host) === 1 && session.output.format(true) !== 'none') {
    throw new Failure('usage', `--summary-json ${file} cannot be used without -o none: results are on stdout`, {
      hint: 'pass -o none or a file name; nothing was sent',
    });
  }
  const output = await openOutput(file, '--summary-json', host);
  return async (text) => {
    try {
      await output.write([text]);
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    } finally {
      await output.close();
    }
  };
}

/** The summary of a run, on stderr and in the file of `--summary-json`. */
import type { Session } from '../cli/session.ts';
import { exitCodes, Failure } from '../core/errors.ts';
import { printJson } from '../core/json.ts';
import { descriptorNamed, openOutput } from '../core/write-file.ts';
import {
  type CommandEnd,
  type RunResults,
  rowsOf,
  runSummary,
  type SummarizedRun,
  summaryObject,
} from '../output/run-summary.ts';

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
    const unwritten = await write?.(`${printJson(summaryObject(of, ended, { error, exit }), 2)}\n`);
    // An earlier error takes precedence.
    if (unwritten !== undefined && error !== undefined) await session.messages.report(unwritten);
    const isEnd = unwritten !== undefined && error === undefined;
    const end = isEnd ? { error: unwritten, exit: exitCodes[unwritten.kind] } : { error, exit };
    if (ended !== undefined) await print(of, ended, end, session);
    if (isEnd) throw unwritten;
  });
  return {
    ended: (run) => {
      ended = run;
    },
  };
}

async function print(of: SummarizedRun, ended: RunResults, end: CommandEnd, session: Session): Promise<void> {
  // The plan has reported that nothing changes.
  if (of.action === 'apply' && rowsOf(ended.totals) === 0) return;
  const lines = () => session.messages.errorScreen().then((screen) => runSummary(of.action, ended, screen));
  await session.messages.summarize(summaryObject(of, ended, end), lines);
  for (const note of ended.notes) await session.messages.say(note);
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

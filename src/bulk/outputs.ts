/** The files that a run writes besides its journal: those of --rejects and --summary-json. */
import type { Session } from '../cli/session.ts';
import { exitCodes, Failure } from '../core/errors.ts';
import { printJson } from '../core/json.ts';
import { openSpool } from '../core/spool.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';
import {
  type CommandEnd,
  type RunResults,
  rowsOf,
  runSummary,
  type SummarizedRun,
  summaryObject,
} from '../output/runs.ts';
import type { RejectsFormat } from '../rows/rejects.ts';

/** A rejects file that is being written. */
export interface RejectsFile<R> {
  add(row: R, error: string): void;
  /**
   * Writes the file, also without rows, since it replaces that of an earlier run.
   *
   * @throws {Failure} local-file
   */
  end(): Promise<void>;
  /** Removes the file, also that of an earlier run, if not every failed row is known. */
  discard(): void;
}

const batchLength = 65_536;

/**
 * Opens the file of `--rejects`, before anything is sent.
 *
 * @param printsItems whether stdout is for items that are read
 * @throws {Failure} usage, if results go to the same output; local-file
 */
export async function openRejectsOutput(
  typed: string | undefined,
  printsItems: boolean,
  session: Session,
): Promise<OutputFile | undefined> {
  if (typed === undefined) return undefined;
  if (descriptorNamed(typed, session.host) === 1) session.output.claimStdout('--rejects', printsItems);
  return openOutput(typed, '--rejects', session.host);
}

/** Starts a rejects file, spooled to a private temporary file until the run has ended. */
export function openRejectsFile<R>(
  output: OutputFile | undefined,
  format: RejectsFormat<R>,
): RejectsFile<R> | undefined {
  if (output === undefined) return undefined;
  const spool = openSpool();
  function* lines() {
    yield format.head?.() ?? '';
    yield* spool.lines();
    yield format.tail?.() ?? '';
  }
  return {
    add: (row, error) => spool.add(format.row(row, error)),
    end: () => output.write(batched(lines())),
    discard: () => output.discard(),
  };
}

/** Joins lines, so that each piece is worth a system call. */
export function* batched(lines: Iterable<string>): Generator<string> {
  let batch = '';
  for (const line of lines) {
    batch += line;
    if (batch.length < batchLength) continue;
    yield batch;
    batch = '';
  }
  yield batch;
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
export async function openSummary(
  file: string | undefined,
  of: Omit<SummarizedRun, 'profile'>,
  session: Session,
): Promise<Summary> {
  const summarized = { ...of, profile: session.settings.profile() };
  const write = file === undefined ? undefined : await summaryFile(file, session);
  let ended: RunResults | undefined;
  session.command.atEnd(async (error, exit) => {
    const unwritten = await write?.(`${printJson(summaryObject(summarized, ended, { error, exit }), 2)}\n`);
    // An earlier error takes precedence.
    if (unwritten !== undefined && error !== undefined) await session.messages.report(unwritten);
    const isEnd = unwritten !== undefined && error === undefined;
    const end = isEnd ? { error: unwritten, exit: exitCodes[unwritten.kind] } : { error, exit };
    if (ended !== undefined) await print(summarized, ended, end, session);
    if (isEnd) throw unwritten;
  });
  return {
    ended: (run) => {
      ended = run;
    },
  };
}

async function print(of: SummarizedRun, ended: RunResults, end: CommandEnd, session: Session): Promise<void> {
  // Stdout says that nothing changes.
  if (of.action === 'apply' && rowsOf(ended.totals) === 0 && session.output.format(true) !== 'none') return;
  const lines = () =>
    session.messages
      .errorScreen()
      .then((screen) => runSummary({ ...of, target: session.settings.target() }, ended, screen));
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
      return await failureOf(() => output.write([text]));
    } finally {
      await output.close();
    }
  };
}

/** Returns the failure of work instead of throwing it, so that the summary is printed. */
export async function failureOf(work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Forgetting runs. To be loaded late. */
import { basename } from 'node:path';
import { removeRun } from '../../bulk/run-files.ts';
import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import { type Lock, takeLock } from '../../lock.ts';
import { type RunShown, runView } from '../../output/run-view.ts';
import { isWhollyDone } from '../many/going-on.ts';
import { journalLock } from '../many/run-record.ts';
import { confirm } from '../prompts.ts';
import type { Session } from '../session.ts';
import { headerOfRun, pathOfRun, readRun } from './named-run.ts';
import { shownRun } from './run-shown.ts';

/** A run that is to be forgotten. */
interface LeavingRun {
  readonly path: string;
  readonly shown: RunShown;
  readonly isWhole: boolean;
}

/**
 * Removes the journals of runs: all of them, or none.
 *
 * @param mayAsk whether those that are not wholly done must be confirmed
 * @throws {Failure} usage, when there is no such run, or nobody confirmed it; locked, when a process is at work on one
 */
export async function removeRuns(words: readonly string[], mayAsk: boolean, session: Session): Promise<void> {
  const { host } = session;
  const paths = [...new Set(words.map((word) => pathOfRun(word, host)))];
  // A file of somebody's own is removed where it surely is a journal, and none else.
  for (const path of paths) if (!isInFolder(path, host)) headerOfRun(path);
  await session.printing(runView, words.length > 1, async (print) => {
    const locks: Lock[] = [];
    try {
      // Several runs of one input have one lock.
      for (const lock of new Set(paths.map((path) => journalLock(path, host)))) {
        locks.push(await takeLock(lock, { waitMs: 0 }, host));
      }
      const runs: LeavingRun[] = [];
      for (const path of paths) runs.push(await leavingRun(path, host));
      if (mayAsk) await askBefore(runs, session);
      for (const { path, shown } of runs) {
        removeRun(path);
        await print(shown);
      }
    } finally {
      for (const lock of locks) lock.release();
    }
  });
}

/** Whether its name says which run it is, whatever is in it. */
function isInFolder(path: string, host: Host): boolean {
  return journalLock(path, host) !== `${path}.lock`;
}

async function leavingRun(path: string, host: Host): Promise<LeavingRun> {
  try {
    const { header, counts } = await readRun(path);
    return { path, shown: shownRun({ run: header.run, header, counts }), isWhole: isWhollyDone(counts) };
  } catch (error) {
    if (!(error instanceof Failure && error.kind === 'local-file')) throw error;
    const run = isInFolder(path, host) ? (basename(path).split('.')[0] ?? '') : headerOfRun(path).run;
    return { path, shown: shownRun({ run }), isWhole: false };
  }
}

/** @throws {Failure} usage */
async function askBefore(runs: readonly LeavingRun[], session: Session): Promise<void> {
  const rest = runs.filter(({ isWhole }) => !isWhole).map(({ shown }) => `${shown.run} (${shown.status})`);
  if (rest.length === 0) return;
  const names = rest.slice(0, 10).join(', ') + (rest.length > 10 ? ` and ${rest.length - 10} more` : '');
  const what = rest.length === 1 ? `run ${names}` : `runs ${names}`;
  const question = `Forget ${what}? Rows that are not done can't be gone on with then.`;
  if (session.mayPrompt() && (await confirm(question, session))) return;
  throw new Failure('usage', `not wholly done: ${what}; once forgotten, rows can't be gone on with`, {
    hint: 'pass --yes to forget all the same; nothing was forgotten',
  });
}

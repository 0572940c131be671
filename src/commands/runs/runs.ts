import { basename } from 'node:path';
import { bootId, journalLock } from '../../bulk/record.ts';
import { type ListedRun, listRuns, removeRun, runLock } from '../../bulk/runs.ts';
import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../../cli/command.ts';
import { confirm } from '../../cli/prompts.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { isLocked, type Lock, takeLock } from '../../core/lock.ts';
import { listNames } from '../../core/text.ts';
import { type RunShown, runView } from '../../output/runs.ts';
import { runsDirectory } from '../../settings/directories.ts';
import { findRunPath, readRun, readRunHeader, runWords, toRunSummary, undoneRows } from './named-run.ts';
import { resolveCommand } from './resolve.ts';
import { showCommand } from './show.ts';
import { undoCommand } from './undo.ts';

/** `listctl runs list` */
export const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list runs, newest first',
  setUp: (command, context) => {
    command.action(inSession(context, showRuns));
    addHelpNotes(command, {
      examples: [
        'listctl runs list',
        'listctl runs list -o json -q "[?status==\'incomplete\'].run"',
        'listctl runs list -o csv > runs.csv',
      ],
    });
  },
};

async function showRuns(session: Session): Promise<void> {
  const { host } = session;
  const directory = runsDirectory(host);
  // Before printing, so that an error does not print an empty list.
  const runs = await listRuns(directory, { boot: bootId() });
  const undone = new Map<string, number>();
  for (const { header, counts } of runs) {
    // The newest undo of a run also has the items that an earlier one deleted.
    if (header?.of !== undefined && !undone.has(header.of)) undone.set(header.of, counts?.done ?? 0);
  }
  await session.output.printing(runView(host.clock.now()), true, async (print) => {
    if (runs.length === 0) await session.messages.notice('no runs yet: commands with --from record theirs');
    const seen = new Set<string>();
    for (const run of runs) {
      const isNewest = !seen.has(run.identityStart);
      seen.add(run.identityStart);
      const isRunning = isNewest && isLocked(runLock(directory, run.identityStart), host.processes);
      await print(toRunSummary({ ...run, isRunning, undone: undone.get(run.run) || undefined }));
    }
  });
  await reportDamaged(runs, session);
}

async function reportDamaged(runs: readonly ListedRun[], session: Session): Promise<void> {
  for (const { failure } of runs) if (failure !== undefined) await session.messages.say(`listctl: ${failure.message}`);
}

/** `listctl runs remove` */
export const removeCommand: CommandSpec = {
  name: 'remove',
  aliases: ['rm'],
  summary: 'remove runs from the list',
  setUp: (command, context) => {
    command
      .argument('<run...>', runWords)
      .option('-y, --yes', 'also remove unfinished runs, without asking')
      .action(
        inSession(context, async (session, words: readonly string[], { yes = false }: { readonly yes?: boolean }) => {
          await removeRuns(words, !yes, session);
        }),
      );
    addHelpNotes(command, {
      examples: [
        'listctl runs remove last',
        'listctl runs remove 20261120-101530-k3f9 --yes',
        'listctl runs list -q "[?status==\'done\'].run" -o id | xargs listctl runs remove',
      ],
      exitCodes: { 2: 'no such run, or not confirmed; no run was removed' },
      exits: [11],
    });
  },
};

/** `listctl runs` */
export const setUpRuns: SetUp = (runs, context) =>
  addCommands(runs, context, [listCommand, showCommand, resolveCommand, undoCommand, removeCommand]);

/**
 * Removes the journals of runs: all of them, or none.
 *
 * @param mayAsk whether incomplete runs need confirmation
 * @throws {Failure} usage; locked
 */
async function removeRuns(words: readonly string[], mayAsk: boolean, session: Session): Promise<void> {
  const { host } = session;
  const paths = [...new Set(words.map((word) => findRunPath(word, host)))];
  // A path is removed only if it is a journal.
  for (const path of paths) if (!isInDirectory(path, host)) readRunHeader(path);
  await session.output.printing(runView(host.clock.now()), words.length > 1, async (print) => {
    const locks: Lock[] = [];
    try {
      // Runs of one input share a lock.
      for (const lock of new Set(paths.map((path) => journalLock(path, host)))) {
        locks.push(await takeLock(lock, { waitMs: 0 }, host));
      }
      const runs = new Map<string, RunShown>();
      for (const path of paths) runs.set(path, await summarizeRun(path, host));
      if (mayAsk) await confirmRemoval([...runs.values()], session);
      for (const [path, run] of runs) {
        removeRun(path);
        await print(run);
      }
    } finally {
      for (const lock of locks) lock.release();
    }
  });
}

/** Whether the journal is in the directory of runs, so that its name is the run id. */
function isInDirectory(path: string, host: Host): boolean {
  return journalLock(path, host) !== `${path}.lock`;
}

async function summarizeRun(path: string, host: Host): Promise<RunShown> {
  try {
    const { header, counts } = await readRun(path);
    return toRunSummary({ run: header.run, header, counts, undone: await undoneRows(path, header, host) });
  } catch (error) {
    if (!(error instanceof Failure && error.kind === 'local-file')) throw error;
    const run = isInDirectory(path, host) ? (basename(path).split('.')[0] ?? '') : readRunHeader(path).run;
    return toRunSummary({ run });
  }
}

async function confirmRemoval(runs: readonly RunShown[], session: Session): Promise<void> {
  const rest = runs
    .filter(({ status }) => status !== 'done' && status !== 'undone')
    .map(({ run, status }) => `${run} (${status})`);
  if (rest.length === 0) return;
  const names = listNames(rest, 10);
  const what = rest.length === 1 ? `run ${names}` : `runs ${names}`;
  const question = `Remove ${what}? ${rest.length === 1 ? 'It' : 'They'} cannot be resumed afterwards.`;
  if (session.prompts.mayPrompt() && (await confirm(question, session))) return;
  throw new Failure('usage', `incomplete runs cannot be resumed once removed: ${names}`, {
    hint: 'pass --yes to remove without confirmation; nothing was removed',
  });
}

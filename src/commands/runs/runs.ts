import { basename } from 'node:path';
import { type Replay, readJournal } from '../../bulk/journal-read.ts';
import { bootId, journalLock, takeJournalLock } from '../../bulk/record.ts';
import { isComplete, type ListedRun, listRuns, removeRun, runLock } from '../../bulk/runs.ts';
import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../../cli/command.ts';
import { confirm } from '../../cli/prompts.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { isLocked, type Lock } from '../../core/lock.ts';
import { countOf, countText, listNames } from '../../core/text.ts';
import { type RunShown, removedRunView, runView } from '../../output/runs.ts';
import { runsDirectory } from '../../settings/directories.ts';
import { durationParser, parseFlag, parseLimit } from '../../settings/setting.ts';
import {
  findRunPath,
  readRun,
  readRunHeader,
  runWords,
  shardRows,
  toRunSummary,
  undoneRows,
  withLockedRun,
  wordForHint,
} from './named-run.ts';
import { recordResolutions, resolveCommand } from './resolve.ts';
import { showCommand } from './show.ts';
import { undoCommand } from './undo.ts';

export const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list runs, newest first',
  setUp: (command, context) => {
    command
      .option('--limit <n>', 'list only the newest n runs')
      .option('--since <time>', 'list only runs started since then: 2d, 12h, or a date')
      .action(inSession(context, showRuns));
    addHelpNotes(command, {
      examples: [
        'listctl runs list',
        'listctl runs list -o json -q "[?status==\'incomplete\'].run"',
        'listctl runs list --since 2d --limit 20',
      ],
    });
  },
};

async function showRuns(
  session: Session,
  { limit, since }: { readonly limit?: string; readonly since?: string },
): Promise<void> {
  const { host } = session;
  const nowMs = host.clock.now();
  const range = {
    limit: limit === undefined ? undefined : parseFlag('--limit', limit, parseLimit),
    sinceMs: since === undefined ? undefined : parseSince(since, nowMs),
  };
  const directory = runsDirectory(host);
  // Before printing, so that an error does not print an empty list.
  const runs = await listRuns(directory, { boot: bootId() }, range);
  const undone = new Map<string, number>();
  for (const { header, counts } of runs) {
    // The newest undo of a run also has the items that an earlier one deleted.
    if (header?.of !== undefined && !undone.has(header.of)) undone.set(header.of, counts?.done ?? 0);
  }
  await session.output.printing(runView(nowMs), true, async (print) => {
    const none = since === undefined ? 'no runs yet: commands with --from record theirs' : `no runs since ${since}`;
    if (runs.length === 0) await session.messages.notice(none);
    const seen = new Set<string>();
    for (const run of runs) {
      const isNewest = !seen.has(run.identityStart);
      seen.add(run.identityStart);
      const isRunning = isNewest && isLocked(runLock(directory, run.identityStart), host.processes);
      await print(toRunSummary({ ...run, isRunning, undone: undone.get(run.run) || undefined }));
    }
  });
  for (const { failure } of runs) if (failure !== undefined) await session.messages.say(`listctl: ${failure.message}`);
}

const parseAge = durationParser({ max: '36500d' });

/** A time before now, `2d`, or a local or ISO date. */
function parseSince(text: string, nowMs: number): number {
  if (/^[\d.]+(ms|[smhd])/.test(text)) return nowMs - parseFlag('--since', text, parseAge);
  // A date alone would be one in UTC.
  const ms = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(ms)) return ms;
  throw new Failure(
    'usage',
    `invalid --since "${text}": expected a time such as 2d or 12h, or a date such as 2026-11-20`,
  );
}

export const removeCommand: CommandSpec = {
  name: 'remove',
  aliases: ['rm'],
  summary: 'remove runs from the list',
  setUp: (command, context) => {
    command
      .argument('[run...]', runWords)
      .option('-y, --yes', 'also remove unfinished runs, without asking')
      .action(inSession(context, removeNamed));
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

export const closeCommand: CommandSpec = {
  name: 'close',
  summary: 'skip the rows of a run that are not done',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('-y, --yes', 'skip the confirmation prompt')
      .action(inSession(context, closeRun));
    addHelpNotes(command, {
      examples: ['listctl runs close last', 'listctl runs close 20261120-101530-k3f9 --yes'],
      exitCodes: { 2: 'no such run, rows in doubt, or not confirmed; nothing was recorded' },
      exits: [11],
    });
  },
};

export const pruneCommand: CommandSpec = {
  name: 'prune',
  summary: 'remove completed runs by age',
  setUp: (command, context) => {
    command
      .option('--older-than <time>', 'remove runs that ended longer ago than this, e.g. 30d')
      .option('-y, --yes', 'skip the confirmation prompt')
      .action(inSession(context, pruneRuns));
    addHelpNotes(command, {
      examples: ['listctl runs prune --older-than 30d', 'listctl runs prune --older-than 90d --yes'],
      exitCodes: { 2: 'invalid usage, or not confirmed; no run was removed' },
      exits: [11],
    });
  },
};

export const setUpRuns: SetUp = (runs, context) =>
  addCommands(runs, context, [
    ...[listCommand, showCommand, resolveCommand, closeCommand],
    ...[undoCommand, removeCommand, pruneCommand],
  ]);

/** Records every row that is neither done nor in doubt as skipped: the run is complete then. */
async function closeRun(session: Session, word: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { host } = session;
  const path = findRunPath(word, host);
  await session.output.printing(runView(host.clock.now()), false, (print) =>
    withLockedRun(path, { waitMs: 0 }, host, async (replay) => {
      const { header, counts } = replay;
      const { run } = header;
      refuseToClose(replay, wordForHint(word, path, run, host));
      const rows = isComplete(counts) ? [] : rowsNotDone(replay);
      const closed = { ...counts, failed: 0, invalid: 0, left: 0, skipped: counts.skipped + rows.length };
      if (rows.length === 0) await session.messages.notice(`run ${run} is complete: nothing to close`);
      else {
        if (!yes) await confirmClosing(replay, rows.length, session);
        const records = rows.map((row) => ['R', row, 'skipped'] as const);
        await recordResolutions(records, closed, path, replay, session);
        await session.messages.notice(`closed run ${run}: ${countOf(rows.length, 'row')} skipped`);
      }
      await print(toRunSummary({ run, header, counts: closed }));
    }),
  );
}

function refuseToClose({ header, counts }: Replay, word: string): void {
  const { run, action, of } = header;
  const refuse = (reason: string, hint: string) =>
    new Failure('usage', `cannot close run ${run}: ${reason}`, { hint: `${hint}; nothing was recorded` });
  if (action === 'undo') throw refuse(`it is the undo of run ${of}`, `run "listctl runs undo ${of}" to resume it`);
  // Its steps would count as in doubt.
  if (action === 'apply') throw refuse('it is of an apply', 'run "listctl apply" again, which makes a new plan');
  if (counts.inDoubt === 0) return;
  const are = counts.inDoubt === 1 ? 'is' : 'are';
  throw refuse(
    `${countOf(counts.inDoubt, 'row')} ${are} in doubt`,
    `list rows in doubt with "listctl runs show ${word} --in-doubt", and resolve them first`,
  );
}

function rowsNotDone({ header, stateOf }: Replay): readonly number[] {
  const rows: number[] = [];
  for (const row of shardRows(header)) if (['pending', 'failed', 'invalid'].includes(stateOf(row))) rows.push(row);
  return rows;
}

async function confirmClosing({ header, counts }: Replay, count: number, session: Session): Promise<void> {
  const { run, startedAt } = header;
  const rows = `${countOf(count, 'row')} of run ${run}`;
  const question = `Skip ${rows} (started ${startedAt}, ${countText(counts.done)} done)? --resume does not send them afterwards.`;
  if (await isConfirmed(question, session)) return;
  throw new Failure('usage', `not confirmed: ${rows} ${count === 1 ? 'was' : 'were'} not skipped`, {
    hint: 'pass --yes to skip the prompt; nothing was recorded',
  });
}

async function removeNamed(
  session: Session,
  words: readonly string[],
  { yes = false }: { readonly yes?: boolean },
): Promise<void> {
  const { host } = session;
  if (words.length === 0) {
    if (host.stdin.isTTY)
      throw new Failure('usage', 'no run given', { hint: 'run "listctl runs list" to see the runs' });
    // xargs runs its command even if there is no input.
    return session.messages.say('no runs to remove');
  }
  const paths = [...new Set(words.map((word) => findRunPath(word, host)))];
  // A path is removed only if it is a journal.
  for (const path of paths) if (!isInDirectory(path, host)) readRunHeader(path);
  const ask = async (runs: readonly RunShown[]) => {
    if (!yes) await confirmRemoval(runs, session);
  };
  await removeRuns(paths, words.length > 1, ask, session);
}

/** Removes completed runs; an undo stays as long as the run that it undid, which would count as done without it. */
async function pruneRuns(
  session: Session,
  { olderThan, yes = false }: { readonly olderThan?: string; readonly yes?: boolean },
): Promise<void> {
  if (olderThan === undefined)
    throw new Failure('usage', '--older-than is required', { hint: 'pass --older-than 30d' });
  const { host } = session;
  const beforeMs = host.clock.now() - parseFlag('--older-than', olderThan, parseAge);
  const directory = runsDirectory(host);
  const runs = await listRuns(directory, { boot: bootId() });
  const old = new Map<string, ListedRun>();
  for (const run of runs.toReversed()) {
    const isLockedNow = isLocked(runLock(directory, run.identityStart), host.processes);
    if (run.counts === undefined || !isComplete(run.counts) || isLockedNow) continue;
    const lastAt = (await readJournal(run.path, { boot: bootId() }))?.lastAt;
    if (lastAt !== undefined && lastAt < beforeMs) old.set(run.run, run);
  }
  const listed = new Set(runs.map(({ run }) => run));
  const paths = [...old.values()]
    .filter(({ header }) => header?.of === undefined || !listed.has(header.of) || old.has(header.of))
    .map(({ path }) => path);
  if (paths.length === 0) {
    await session.messages.say(`no completed runs are older than ${olderThan}`);
    return session.output.printing(removedRunView(host.clock.now()), true, async () => {});
  }
  const what = `${countOf(paths.length, 'completed run')} older than ${olderThan}`;
  const ask = async () => {
    if (yes || (await isConfirmed(`Remove ${what}? They cannot be undone afterwards.`, session))) return;
    throw new Failure('usage', `not confirmed: ${what} ${paths.length === 1 ? 'was' : 'were'} not removed`, {
      hint: 'pass --yes to skip the prompt',
    });
  };
  await removeRuns(paths, true, ask, session);
}

async function isConfirmed(question: string, session: Session): Promise<boolean> {
  return session.prompts.mayPrompt() && (await confirm(question, session));
}

/** Removes the journals of runs: all of them, or none. `ask` throws unless that is confirmed. */
async function removeRuns(
  paths: readonly string[],
  isSeveral: boolean,
  ask: (runs: readonly RunShown[]) => Promise<void>,
  session: Session,
): Promise<void> {
  const { host } = session;
  await session.output.printing(removedRunView(host.clock.now()), isSeveral, async (print) => {
    const locks: Lock[] = [];
    try {
      // Runs of one input share a lock.
      for (const lock of new Set(paths.map((path) => journalLock(path, host)))) {
        locks.push(await takeJournalLock(lock, { waitMs: 0 }, host));
      }
      const runs = new Map<string, RunShown>();
      for (const path of paths) runs.set(path, await summarizeRun(path, host));
      await ask([...runs.values()]);
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
  const rest = runs.filter(({ status }) => status !== 'done' && status !== 'undone');
  if (rest.length === 0) return;
  const texts = rest.map(({ run, status }) => `${run} (${status})`);
  const names = listNames(texts, 10);
  const [what, they] = rest.length === 1 ? ['run', 'It'] : ['runs', 'They'];
  if (await isConfirmed(`Remove ${what} ${names}? ${they} cannot be resumed afterwards.`, session)) return;
  throw new Failure('usage', `incomplete runs cannot be resumed once removed: ${names}`, {
    hint: 'pass --yes to remove without confirmation; nothing was removed',
  });
}

import { createHash } from 'node:crypto';
import { Option } from 'commander';
import { addPaceOptions, type BulkFlags, parsePaceFlags, type RunLimits } from '../../bulk/flags.ts';
import type { Replay } from '../../bulk/journal-read.ts';
import type { Task } from '../../bulk/outcome.ts';
import { openRejectsFile, openRejectsOutput, openSummary, type Summary } from '../../bulk/outputs.ts';
import type { RunPlan } from '../../bulk/plan.ts';
import {
  checkJournalPath,
  identityOf,
  isAmongRuns,
  journalFiles,
  openRecord,
  type RunRecord,
  type RunRecording,
  refuseSameFile,
} from '../../bulk/record.ts';
import { newCounts } from '../../bulk/resume.ts';
import { isComplete, isRunName } from '../../bulk/runs.ts';
import { nextSteps, sendRows } from '../../bulk/send.ts';
import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { addMaxDeleteOption, checkMaxDelete, readMaxDelete } from '../../cli/guards.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { absolutePath, resolveLinks } from '../../core/files.ts';
import type { Host } from '../../core/host.ts';
import type { ListRef } from '../../core/item.ts';
import { printJson } from '../../core/json.ts';
import { countOf, shellWord } from '../../core/text.ts';
import type { OutputFile } from '../../core/write-file.ts';
import { checkTarget, doneItems, findRunPath, readRun, runWords, whileLocked, wordForHint } from './named-run.ts';
import { compacted } from './show.ts';
import { type CreatedRow, createUndoSender, needsRead } from './undo-sender.ts';

interface UndoFlags extends BulkFlags {
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** `listctl runs undo` */
export const undoCommand: CommandSpec = {
  name: 'undo',
  summary: 'delete the items that a run created',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('-y, --yes', 'skip the confirmation prompt')
      .option('--force', 'also delete items that changed since the run')
      .addOption(new Option('--resume', 'undo always resumes').hideHelp())
      .option('--journal <file>', 'journal file of the undo (default RUN.undo if RUN is a path)');
    addMaxDeleteOption(command);
    command.optionsGroup('Bulk flags:');
    addPaceOptions(command);
    command.action(
      inSession(context, async (session, word: string, flags: UndoFlags) => undoRun(word, flags, session)),
    );
    addHelpNotes(command, {
      examples: [
        'listctl runs undo last',
        'listctl runs undo 20261120-101530-k3f9 --yes --rate 10/s',
        'listctl runs undo ci/tasks.journal --yes -p staging',
      ],
      exitCodes: {
        2: 'invalid usage, nothing to undo, or not confirmed; nothing was sent',
        8: 'in doubt: some items may have been deleted; it is safe to run undo again',
        9: 'some items were not deleted: changed since, or refused',
      },
      exits: [3, 6, 7, 11],
    });
  },
};

/** A run to undo, and how. */
interface Undo {
  /** The run as typed. */
  readonly word: string;
  readonly path: string;
  readonly of: Replay;
  readonly list: ListRef;
  readonly created: CreatedItems;
  readonly flags: UndoFlags;
  readonly pace: RunLimits;
  readonly maxDelete: number | undefined;
  readonly summary: Summary;
  readonly rejects: OutputFile | undefined;
}

interface CreatedItems {
  readonly count: number;
  /** Differs after the run was resumed and created more. */
  readonly sha256: string;
  /** Whether any item must be read before it is deleted. */
  readonly needsReads: boolean;
}

/** Deletes the items that a run created; resumes an earlier undo. */
async function undoRun(word: string, flags: UndoFlags, session: Session): Promise<void> {
  const { host } = session;
  const pace = parsePaceFlags(flags);
  const maxDelete = readMaxDelete(flags);
  const { lockWaitMs, breakLock } = pace;
  const path = findRunPath(word, host);
  const journal = undoJournal(path, word, flags, host);
  const records = {
    [word]: journalFiles(path),
    '--journal': journal === undefined ? undefined : journalFiles(journal),
  };
  refuseSameFile({ records, outputs: { '--rejects': pace.rejects, '--summary-json': pace.summaryJson } }, host);
  const rejects = await openRejectsOutput(pace.rejects, false, session);
  // The run must not be resumed meanwhile.
  const undone = whileLocked(path, { waitMs: lockWaitMs, breakLock }, host, async () => {
    const of = await readRun(path);
    refuseOtherRuns(of);
    const list = checkTarget(of.header, session);
    const created = await createdItems(path, flags.force === true);
    const { origin, site, list: name, run } = of.header;
    const summarized = { action: 'undo', service: origin, ...list, shard: null };
    const summary = await openSummary(pace.summaryJson, summarized, session);
    const undo = { word, path, of, list, created, flags, pace, maxDelete, summary, rejects };
    const identity = identityOf('undo', origin, site, name, run);
    const record = await openRecord({ identity, journal, typedJournal: flags.journal ?? journal }, pace, session);
    try {
      if (record.before !== undefined && record.before.header.identity !== identity) {
        throw new Failure('usage', `${journal} is the journal of another run`, {
          hint: 'pass another file with --journal; nothing was sent',
        });
      }
      await undoRows(undo, record, session);
    } finally {
      record.release();
    }
  });
  await undone.finally(() => rejects?.close());
}

/** The journal of an undo: beside that of the run if it was given as a path; undefined for the directory of runs. */
function undoJournal(path: string, word: string, { journal }: UndoFlags, host: Host): string | undefined {
  if (journal === 'none') {
    throw new Failure('usage', '--journal none cannot be used with runs undo');
  }
  if (journal !== undefined) {
    checkJournalPath(journal, host);
    return resolveLinks(absolutePath(journal, host));
  }
  return isRunName(word) || isAmongRuns(path, host) ? undefined : `${path}.undo`;
}

function refuseOtherRuns({ header: { action, run, of, isShrunk }, counts }: Replay): void {
  if (action === 'undo') {
    const isWhole = isComplete(counts);
    const what = isWhole ? `, and undid all of its ${countOf(counts.done, 'item')}` : '';
    throw new Failure('usage', `run ${run} is the undo of run ${of}${what}: it created nothing to undo`, {
      hint: isWhole ? 'nothing was sent' : `run "listctl runs undo ${of}" to resume it; nothing was sent`,
    });
  }
  if (action !== 'create') {
    throw new Failure('usage', `cannot undo run ${run}: its action is ${action}, and only creates can be undone`, {
      hint: 'nothing was sent',
    });
  }
  if (isShrunk) throw new Failure('usage', `run ${run} ${compacted}`, { hint: 'nothing was sent' });
}

async function createdItems(path: string, isForced: boolean): Promise<CreatedItems> {
  const digest = createHash('sha256');
  let count = 0;
  let needsReads = false;
  for await (const row of doneItems(path)) {
    count += 1;
    digest.update(`${JSON.stringify([row.row, row.id])}\n`);
    needsReads ||= needsRead(row, isForced);
  }
  return { count, sha256: digest.digest('hex'), needsReads };
}

async function undoRows(undo: Undo, record: RunRecord, session: Session): Promise<void> {
  const { of, created, list, flags } = undo;
  const { run, startedAt } = of.header;
  // An undo from before the run was resumed does not count.
  const before = record.before?.header.input.sha256 === created.sha256 ? record.before : undefined;
  const left = created.count - (before?.counts.done ?? 0);
  if (of.counts.inDoubt > 0) {
    await session.messages.say(
      `${countOf(of.counts.inDoubt, 'row')} of run ${run} in doubt: items that they may have created are not deleted; ` +
        `list them with: listctl runs show ${wordForHint(undo.word, undo.path, run, session.host)} --in-doubt`,
    );
  }
  if (left === 0) {
    const what = created.count === 0 ? 'it created nothing' : `run ${before?.header.run} undid it`;
    await session.messages.say(`nothing to undo in run ${run} (started ${startedAt}): ${what}`);
    return;
  }
  checkMaxDelete(left, undo.maxDelete);
  if (!flags.yes) await confirmUndo(undo, left, session);
  else if (undo.word === 'last')
    await session.messages.say(`undoing run ${run} (started ${startedAt}): ${countOf(left, 'item')}`);
  await session.service.confirmWrites(`list "${list.list}" of site "${list.site}"`);
  await sendRows(planOf(undo, before, record, session), session);
}

async function confirmUndo({ of, list }: Undo, left: number, session: Session): Promise<void> {
  const { run, startedAt } = of.header;
  const what = `the ${countOf(left, 'item')} that run ${run} (started ${startedAt}) created`;
  const question = `Delete ${what} in list "${list.list}" of site "${list.site}" on ${session.settings.target()}?`;
  if (await session.prompts.confirm(question)) return;
  throw new Failure('usage', `not confirmed: none of ${what} in list "${list.list}" was deleted`, {
    hint: 'pass --yes to skip the prompt',
  });
}

function begin({ of, created, pace }: Undo, before: Replay | undefined, record: RunRecord): RunRecording {
  if (before !== undefined) return record.reopen(pace.concurrency);
  const { run, origin, site, list, input } = of.header;
  const header = {
    ...({ action: 'undo', origin, site, list, file: null, of: run, mapping: '', shard: null } as const),
    // Rows keep their numbers.
    input: { bytes: 0, sha256: created.sha256, rows: input.rows },
    rows: created.count,
  };
  return record.create(header, pace.concurrency);
}

function planOf(undo: Undo, before: Replay | undefined, record: RunRecord, session: Session): RunPlan<CreatedRow> {
  const { word, path, of, list, created, flags, pace, summary } = undo;
  const { run } = of.header;
  const { ratePerSecond } = pace;
  const resume = resumeCommand(session.command.words, word, wordForHint(word, path, run, session.host));
  // --rate counts requests, and a row takes two then.
  const isHalved = created.needsReads && ratePerSecond !== undefined;
  return {
    ...({ action: 'undo', done: 'undone', isRead: false, prints: 'results', summary } as const),
    openRecord: () => begin(undo, before, record),
    counts: before === undefined ? newCounts(created.count) : { ...before.counts },
    nextSeq: before?.nextSeq ?? 1,
    tasks: tasksOf(path, of, before),
    createSender: (client) => createUndoSender({ run, list, client, isForced: flags.force === true }),
    pace: isHalved ? { ...pace, ratePerSecond: ratePerSecond / 2 } : pace,
    rejects: openRejectsFile(undo.rejects, { row: rejectedRow }),
    nextSteps: nextSteps(resume, false, (kinds) =>
      kinds.size === 1 && kinds.has('conflict')
        ? `check the items that changed; delete them anyway with: ${resume} --force`
        : `resume with: ${resume}`,
    ),
  };
}

async function* tasksOf(
  path: string,
  of: Replay,
  before: Replay | undefined,
): AsyncGenerator<readonly Task<CreatedRow>[]> {
  let block: Task<CreatedRow>[] = [];
  for await (const { row: number, id, etag, problem } of doneItems(path)) {
    const state = before?.stateOf(number) ?? 'pending';
    if (state === 'done' || state === 'skipped') continue;
    const row: CreatedRow = { number, id, etag, hash: of.hashOf(number) };
    const was = statesBefore[state];
    const doubt = before?.doubtOf(number);
    if (problem !== undefined) block.push({ kind: 'invalid', row, was, failure: problem });
    // Deleting again is safe.
    else if (doubt === undefined) block.push({ kind: 'send', row, was });
    else block.push({ kind: 'send', row, was, sent: { key: null, msAgo: () => 0 } });
    if (block.length < 256) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

const statesBefore = { pending: 'left', failed: 'failed', invalid: 'invalid', 'in-doubt': 'inDoubt' } as const;

/** JSONL, as for `items delete --from`. */
function rejectedRow({ number, id }: CreatedRow, error: string): string {
  return `${printJson({ row: number, id, 'listctl:error': error })}\n`;
}

/** The same command line; the undo is a run as well, so that `last` is another one now. */
function resumeCommand(words: readonly string[], word: string, run: string): string {
  const at = words.lastIndexOf(word);
  return ['listctl', ...words.map((each, index) => (index === at ? run : shellWord(each)))].join(' ');
}

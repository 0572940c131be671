import { createHash } from 'node:crypto';
import { Option } from 'commander';
import { type KeptValues, readEarlier } from '../../bulk/earlier-values.ts';
import { addPaceOptions, type BulkFlags, parsePaceFlags, type RunLimits, withHalfRate } from '../../bulk/flags.ts';
import { doneRow, journalRecords, type Replay } from '../../bulk/journal-read.ts';
import { IdSet, payloadHash } from '../../bulk/keys.ts';
import { openOutputs, openRejectsFile, type RunOutputs } from '../../bulk/outputs.ts';
import {
  checkJournalPath,
  identityOf,
  isAmongRuns,
  journalFiles,
  openRecord,
  type RunRecord,
  type RunRecording,
  readClocks,
  refuseSameFile,
} from '../../bulk/record.ts';
import { hasBegun, isComplete, isRunName } from '../../bulk/runs.ts';
import { nextSteps, sendRows } from '../../bulk/send.ts';
import { createRowSender, type RunPlan } from '../../bulk/senders.ts';
import type { Task } from '../../bulk/task.ts';
import { doubtTask, newCounts, states, type TaskOptions } from '../../bulk/tasks.ts';
import { addHelpNotes, type CommandSpec } from '../../cli/command.ts';
import { serviceWords } from '../../cli/flags.ts';
import { addMaxDeleteOption, checkMaxDelete, readMaxDelete } from '../../cli/guards.ts';
import { describeList } from '../../cli/run-settings.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { absolutePath, resolveLinks } from '../../core/files.ts';
import type { Host } from '../../core/host.ts';
import type { Fields, ListRef } from '../../core/item.ts';
import { printJson } from '../../core/json.ts';
import { countOf, listNames, shellWord } from '../../core/text.ts';
import type { ResolvedList } from '../../services/service.ts';
import { checkTarget, doneItems, findRunPath, runWords, withLockedRun, wordForHint } from './named-run.ts';
import { refuseCompacted } from './show.ts';
import { createUndoSender, needsRead, type UndoRow } from './undo-sender.ts';

interface UndoFlags extends BulkFlags {
  readonly yes?: boolean;
  readonly force?: boolean;
}

export const undoCommand: CommandSpec = {
  name: 'undo',
  summary: 'undo a run',
  setUp: (command, context) => {
    command
      .description('delete the items that a run created, or restore those it changed (--keep-before)')
      .argument('<run>', runWords)
      .option('-y, --yes', 'skip the confirmation prompt')
      .option('--force', 'also undo items that changed since the run')
      .addOption(new Option('--resume', 'undo always resumes').hideHelp())
      .option('--journal <file>', 'journal file of the undo (default RUN.undo if RUN is a path)');
    addMaxDeleteOption(command);
    command.optionsGroup('Bulk flags:');
    addPaceOptions(command);
    command.action(inSession(context, undoRun));
    addHelpNotes(command, {
      examples: [
        'listctl runs undo last',
        'listctl runs undo 20261120-101530-k3f9 --yes --rate 10/s',
        'listctl runs undo ci/tasks.journal --yes -p staging',
      ],
      exitCodes: {
        2: 'invalid usage, nothing to undo, or not confirmed; nothing was sent',
        8: 'in doubt: some items may have been undone; it is safe to run undo again',
        9: 'some items were not undone: changed since, or refused',
      },
      exits: [3, 6, 7, 11],
    });
  },
};

interface Undo {
  readonly word: string;
  readonly path: string;
  readonly of: Replay;
  readonly list: ResolvedList;
  readonly items: {
    readonly count: number;
    /** Differs after the run was resumed and did more. */
    readonly sha256: string;
    /** Whether any item must be read before it is written. */
    readonly needsReads: boolean;
    /** The fields that cannot be restored. */
    readonly left: ReadonlySet<string>;
    /** The items that are left, since the run is not known to have created them. */
    readonly found: readonly string[];
  };
  /** Undefined for a run that created its items. */
  readonly kept: KeptValues | undefined;
  /** The fields of a deleted item as a create takes them, and the names of those that it cannot have. */
  readonly form: { written(read: Fields): Fields; left(read: Fields): readonly string[] };
  readonly flags: UndoFlags;
  readonly pace: RunLimits;
  readonly maxDelete: number | undefined;
  readonly outputs: RunOutputs;
}

async function undoRun(session: Session, word: string, flags: UndoFlags): Promise<void> {
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
  // The run must not be resumed meanwhile.
  await withLockedRun(path, { waitMs: lockWaitMs, breakLock }, host, async (of) => {
    refuseOtherRuns(of);
    const { origin, site, list, run } = of.header;
    const identity = identityOf('undo', origin, site, list, run);
    const undoes = { action: 'undo', service: origin, list: { site, list }, shard: null };
    const outputs = await openOutputs(pace, undoes, session);
    try {
      const undo = await readUndo({ word, path, of, flags, pace, maxDelete, outputs }, session);
      const record = await openRecord({ identity, journal, typedJournal: flags.journal ?? journal }, pace, session);
      try {
        if (record.before !== undefined && record.before.header.identity !== identity) {
          throw new Failure('usage', `${journal} is the journal of another run`, {
            hint: 'pass another file with --journal',
          });
        }
        await undoItems(undo, record, session);
      } finally {
        record.release();
      }
    } finally {
      await outputs.close();
    }
  });
}

/** Reads what is to be undone: the list, and the items with the values that were kept of them. */
async function readUndo(asked: Omit<Undo, 'list' | 'items' | 'kept' | 'form'>, session: Session): Promise<Undo> {
  const { of, path, flags } = asked;
  const list = await checkTarget(of.header, session);
  const kept = of.header.keepsBefore ? await readEarlier(path) : undefined;
  const form = await readCreateForm(of, list.ids, session);
  const items = await countItems({ path, of, kept, form }, flags.force === true);
  return { ...asked, list, kept, form, items };
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

function refuseOtherRuns(replay: Replay): void {
  const { counts } = replay;
  const { action, run, of, keepsBefore } = replay.header;
  if (action === 'undo') {
    const isWhole = isComplete(counts);
    const what = isWhole ? `, and undid all of its ${countOf(counts.done, 'item')}` : '';
    throw new Failure('usage', `run ${run} is the undo of run ${of}${what}: it created nothing to undo`, {
      hint: isWhole ? undefined : `run "listctl runs undo ${of}" to resume it`,
    });
  }
  if (action !== 'create' && !keepsBefore) throw noEarlierValues(run, action);
  refuseCompacted(replay);
}

function noEarlierValues(run: string, action: string): Failure {
  const kind = { update: 'an update', delete: 'a delete' }[action];
  const why = kind === undefined ? `its action is ${action}` : `it is ${kind} without --keep-before`;
  const hint = kind === undefined ? undefined : 'the next time pass --keep-before, which keeps the earlier values';
  return new Failure('usage', `cannot undo run ${run}: ${why}`, { hint });
}

const words = {
  create: { did: 'created', undo: 'Delete', undone: 'deleted' },
  update: { did: 'updated', undo: 'Restore the earlier values of', undone: 'restored' },
  delete: { did: 'deleted', undo: 'Recreate', undone: 'recreated' },
} as const;

function wordsOf({ header: { action } }: Replay): (typeof words)[keyof typeof words] {
  return words[action === 'update' || action === 'delete' ? action : 'create'];
}

/** How the items of a delete are created again: without columns, as they were read. */
async function readCreateForm({ header }: Replay, list: ListRef, { service }: Session): Promise<Undo['form']> {
  const { schema: readSchema } = await service.load();
  if (header.action !== 'delete' || readSchema === undefined) return { written: (fields) => fields, left: () => [] };
  const schema = await readSchema(list, await service.client());
  return {
    written: (fields) => schema.toSent(schema.decode(fields).fields),
    left: (read) => schema.decode(read).omitted,
  };
}

async function countItems(source: Parameters<typeof undoRows>[0], isForced: boolean): Promise<Undo['items']> {
  const digest = createHash('sha256');
  let count = 0;
  let needsReads = false;
  const left = new Set<string>();
  const found: string[] = [];
  for await (const { row, kept } of undoRows(source, found)) {
    count += 1;
    digest.update(`${JSON.stringify([row.number, row.id])}\n`);
    needsReads ||= source.of.header.action !== 'delete' && needsRead(row, isForced);
    for (const name of kept === undefined ? [] : source.form.left(kept)) left.add(name);
  }
  return { count, sha256: digest.digest('hex'), needsReads, left, found };
}

/**
 * The items that a run created, or those that it changed, with the earlier values that it kept.
 *
 * @param found takes the ids of items that the run found, but is not known to have created
 */
async function* undoRows(
  { path, of, kept, form }: Pick<Undo, 'path' | 'of' | 'kept' | 'form'>,
  found: string[] = [],
): AsyncGenerator<{
  readonly row: UndoRow;
  readonly kept?: Fields;
  readonly problem?: Failure | undefined;
}> {
  if (kept === undefined) {
    for await (const { row: number, id, etag, isFound, problem } of doneItems(path)) {
      if (isFound) found.push(id);
      else yield { row: { number, id, etag, hash: of.hashOf(number) }, problem };
    }
    return;
  }
  for await (const { record } of journalRecords(path)) {
    const done = doneRow(record);
    const values = done && kept.of(done.row);
    if (done === undefined || values === undefined) continue;
    const { row: number, etag } = done;
    const row = { number, id: values.id, etag, hash: of.hashOf(number), fields: form.written(values.fields) };
    yield { row, kept: values.fields };
  }
}

async function undoItems(undo: Undo, record: RunRecord, session: Session): Promise<void> {
  const { of, items, list, flags, kept } = undo;
  const { run, startedAt } = of.header;
  const { did, undone } = wordsOf(of);
  // An undo from before the run was resumed does not count.
  const before = record.before?.header.input.sha256 === items.sha256 ? record.before : undefined;
  if (kept !== undefined && before === undefined && record.before !== undefined && hasBegun(record.before.counts)) {
    throw changedSince(record.before, run, kept);
  }
  const left = items.count - (before === undefined ? 0 : before.counts.done + before.counts.skipped);
  if (of.counts.inDoubt > 0) {
    await session.messages.say(
      `${countOf(of.counts.inDoubt, 'row')} of run ${run} in doubt: items that they may have ${did} are not ${undone}; ` +
        `list them with: listctl runs show ${wordForHint(undo.word, undo.path, run, session.host)} --in-doubt`,
    );
  }
  await sayFound(items.found, run, session);
  if (left === 0) {
    const what = items.count === 0 ? `it ${did} nothing` : `run ${before?.header.run} undid it`;
    await session.messages.say(`nothing to undo in run ${run} (started ${startedAt}): ${what}`);
    return;
  }
  if (items.left.size > 0) {
    await session.messages.say(
      `fields that Microsoft Graph cannot write are not restored: ${listNames([...items.left], 20)}`,
    );
  }
  if (kept === undefined) checkMaxDelete(left, undo.maxDelete);
  if (!flags.yes) await confirmUndo(undo, left, session);
  else if (undo.word === 'last')
    await session.messages.say(
      `undoing run ${run} (started ${startedAt}): ${countOf(left, 'item')} in ${describeList(list)}`,
    );
  await session.service.confirmWrites(describeList(list));
  await sendRows(await planOf(undo, before, record, session), session);
}

/** An item that was found by its key may be that of another run, or of another person. */
async function sayFound(ids: readonly string[], run: string, { messages }: Session): Promise<void> {
  if (ids.length === 0) return;
  const what = `${countOf(ids.length, 'item')} of run ${run} ${ids.length === 1 ? 'is' : 'are'} not deleted`;
  await messages.say(`${what}, found and not known to be created by it: ${listNames(ids, 10)}`);
}

/** A row is restored once: a second time it would overwrite later changes, or create its item twice. */
function changedSince({ header }: Replay, run: string, { path }: KeptValues): Failure {
  const why = `rows of it were sent or resolved after run ${header.run} undid a part of it`;
  return new Failure('usage', `cannot undo run ${run}: ${why}`, {
    hint: `the earlier values of its items are in ${path}`,
  });
}

async function confirmUndo({ of, list }: Undo, left: number, session: Session): Promise<void> {
  const { run, startedAt, action } = of.header;
  const { did, undo, undone } = wordsOf(of);
  const what = `the ${countOf(left, 'item')} that run ${run} (started ${startedAt}) ${did}`;
  const where = `in ${describeList(list)} on ${session.settings.target()}`;
  const ids = action !== 'delete' ? '' : left === 1 ? ' It gets a new id.' : ' They get new ids.';
  if (await session.prompts.confirm(`${undo} ${what} ${where}?${ids}`)) return;
  throw new Failure('usage', `not confirmed: none of ${what} in list "${list.ids.list}" was ${undone}`, {
    hint: session.prompts.skipHint(),
  });
}

function begin({ of, items, pace }: Undo, before: Replay | undefined, record: RunRecord): RunRecording {
  if (before !== undefined) return record.reopen(pace.concurrency);
  const { run, origin, site, list, input, action } = of.header;
  const undoes = action === 'update' || action === 'delete' ? action : undefined;
  const header = {
    ...({ action: 'undo', origin, site, list, file: null, of: run, undoes, mapping: '', shard: null } as const),
    // Rows keep their numbers.
    input: { bytes: 0, sha256: items.sha256, rows: input.rows },
    rows: items.count,
  };
  return record.create(header, pace.concurrency);
}

async function planOf(
  undo: Undo,
  before: Replay | undefined,
  record: RunRecord,
  session: Session,
): Promise<RunPlan<UndoRow>> {
  const { word, path, of, items, flags, pace, outputs } = undo;
  const list = undo.list.ids;
  const { run, action } = of.header;
  const { idempotency, sendsKeys } = session.settings;
  const resume = resumeCommand(session.command.words, word, wordForHint(word, path, run, session.host));
  const isCreate = action === 'delete';
  // As for `items create`: the age of keys decides about rows in doubt.
  const isByAge = isCreate && idempotency === 'honored' && (before?.counts.inDoubt ?? 0) > 0;
  const present = isByAge ? await readClocks(list, session) : undefined;
  const seenIds = (before && record.seenIds) ?? new IdSet();
  return {
    ...({ action: 'undo', done: 'undone', prints: 'results' } as const),
    summary: outputs.summary,
    openRecord: () => begin(undo, before, record),
    counts: before === undefined ? newCounts(items.count) : { ...before.counts },
    nextSeq: before?.nextSeq ?? 1,
    tasks: tasksOf(undo, before, present),
    createSender: (client, items) =>
      isCreate
        ? {
            ...createRowSender('create', list, client, {
              ...{ items, sendsKeys, seenIds },
              keyOf: undefined,
              ignoreMissing: false,
            }),
            hashOf: ({ fields = {} }) => payloadHash(undefined, fields),
          }
        : createUndoSender({ run, list, client, items, isForced: flags.force === true }),
    pace: items.needsReads ? withHalfRate(pace) : pace,
    rejects: openRejectsFile(outputs.rejects, { row: rejectedRow }),
    nextSteps: nextSteps({
      resumeOf: () => resume,
      keepsDoubt: isCreate && idempotency !== 'honored',
      repair: (kinds) =>
        kinds.size === 1 && kinds.has('conflict')
          ? `check the items that changed; ${action === 'create' ? 'delete them' : 'restore them'} anyway with: ${resume} --force`
          : `resume with: ${resume}`,
      service: serviceWords(session.settings.sources.flags),
    }),
  };
}

async function* tasksOf(
  undo: Undo,
  before: Replay | undefined,
  present: TaskOptions['present'],
): AsyncGenerator<readonly Task<UndoRow>[]> {
  let block: Task<UndoRow>[] = [];
  for await (const { row, problem } of undoRows(undo)) {
    const task = taskOf({ row, problem }, undo, before, present);
    if (task === undefined) continue;
    block.push(task);
    if (block.length < 256) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

function taskOf(
  { row, problem }: { readonly row: UndoRow; readonly problem?: Failure | undefined },
  { of }: Undo,
  before: Replay | undefined,
  present: TaskOptions['present'],
): Task<UndoRow> | undefined {
  const state = before?.stateOf(row.number) ?? 'pending';
  if (state === 'done' || state === 'skipped') return undefined;
  const was = states[state];
  if (problem !== undefined) return { kind: 'invalid', row, was, failure: problem };
  if (state !== 'in-doubt') return { kind: 'send', row, was };
  // Deleting and restoring again is safe, creating again only with a key that is still known, and the same fields.
  const isCreate = of.header.action === 'delete';
  const how = { isCreate, inDoubt: isCreate ? undefined : ('retry' as const), present };
  return doubtTask(row, before?.doubtOf(row.number), { ...how, hash: payloadHash(undefined, row.fields ?? {}) });
}

/** JSONL, as for `items delete --from`. */
function rejectedRow({ number, id }: UndoRow, error: string): string {
  return `${printJson({ row: number, id, 'listctl:error': error })}\n`;
}

/** The same command line; the undo is a run as well, so that `last` is another one now. */
function resumeCommand(words: readonly string[], word: string, run: string): string {
  const at = words.lastIndexOf(word);
  return ['listctl', ...words.map((each, index) => (index === at ? run : shellWord(each)))].join(' ');
}

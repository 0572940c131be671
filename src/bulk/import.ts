/**
 * Runs an action over the rows of a file: `listctl items create --from tasks.csv`. Checks the whole file, decides what to do
 * about a previous run, and hands a plan to `sendRows`. Loaded late.
 */

import {
  keyColumnsOf,
  openEncoder,
  openKeyField,
  showMapping,
  type TypedFields,
  toSentFields,
} from '../cli/encode-fields.ts';
import { serviceWords } from '../cli/flags.ts';
import { checkMaxDelete } from '../cli/guards.ts';
import { confirm } from '../cli/prompts.ts';
import { describeList } from '../cli/run-settings.ts';
import type { Session } from '../cli/session.ts';
import { warnOfExpiry } from '../cli/token-lifetime.ts';
import { takeStdin } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { untilStopped } from '../core/host.ts';
import type { Fields, ListRef } from '../core/item.ts';
import { type JsonObject, parseJson, printJson } from '../core/json.ts';
import { countOf, countText } from '../core/text.ts';
import type { OutputFile } from '../core/write-file.ts';
import { type PlannedRequest, requestView } from '../output/item.ts';
import type { Check } from '../rows/check.ts';
import { type Input, nameOf, openIds } from '../rows/input.ts';
import { openRows, type RowsFile } from '../rows/read.ts';
import { openRejects } from '../rows/rejects.ts';
import { type BadRow, fromReading, type Row, type RowAction } from '../rows/types.ts';
import type { KeyColumn, ResolvedList } from '../services/service.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import type { EarlierFile } from './earlier-values.ts';
import { type BulkOptions, formatKeySource, withHalfRate } from './flags.ts';
import { type InputMatch, matchRows, type RunInput, sampled } from './input-match.ts';
import type { Replay } from './journal-read.ts';
import { IdSet, type KeyedRow, keyDeriver, ownKeys, refuseDuplicateKeys, refuseRepeated } from './keys.ts';
import {
  type FailureReport,
  noSummary,
  openFailureReport,
  openRejectsFile,
  openRejectsOutput,
  openSummary,
  refuseSummary,
  reportFiles,
  type Summary,
} from './outputs.ts';
import { checkAlone, checkFile, openShown } from './progress.ts';
import {
  checkJournalPath,
  identityOf,
  journalFiles,
  openRecord,
  type RunRecord,
  type RunRecording,
  readClocks,
  refuseSameFile,
  runOrigin,
} from './record.ts';
import {
  askToOverlap,
  findOverlappingRun,
  findRelatedRun,
  isSameTarget,
  nothingToResume,
  type RelatedRun,
  runIdentity,
} from './related-runs.ts';
import { findOvertaken, type RepeatedIds, repeatedNotice, watchRepeated } from './repeated-ids.ts';
import { again, decideResume, otherRows, type ResumeDecision } from './resume.ts';
import { findUndo, hasBegun, isUndone, resolveRunFile } from './runs.ts';
import { nextSteps, resumeCommand, sendRows } from './send.ts';
import { createKeepingSender, createRowSender, type RunPlan, toOperation } from './senders.ts';
import { newCounts, resumedCounts, skipRows, tasksOf } from './tasks.ts';

/** The most requests of a dry run in text; JSON has all. */
const shownMax = 10;

async function showDryRun(run: FileRun, session: Session): Promise<void> {
  const { check } = run;
  const isText = session.output.format(true) === 'pretty';
  const good = check.ofShard - check.badOfShard - repeatedOnce(run).size;
  let shown = 0;
  await session.output.printing(requestView, true, async (print) => {
    for await (const request of requestsOf(run, session)) {
      if (isText && shown === shownMax) return;
      shown += 1;
      await print(request);
    }
  });
  const more = good - shown;
  const hidden = more > 0 ? `; ${countText(more)} more are not shown (pass -o jsonl to see all)` : '';
  await session.messages.say(`dry run: ${countText(good)} of ${countOf(check.ofShard, 'row')} would be sent${hidden}`);
}

async function* requestsOf(run: FileRun, session: Session): AsyncGenerator<PlannedRequest> {
  const { file, keyOf, hasOwnKeys, list } = run;
  const items = (await keyedItems(run, undefined, session)) ?? (await session.service.items());
  const unknownKey = run.input.keyField === undefined || hasOwnKeys ? undefined : '<key>';
  const { action } = file.options;
  const given = new IdSet();
  for await (const block of file.blocks()) {
    for (const row of block) {
      if (row.problem !== undefined || repeatedOnce(run).has(row.number)) continue;
      const { request } = toOperation(items, row, action, list.ids, keyOf?.(row) ?? unknownKey, given);
      const { method, path, headers, body } = request;
      const shown = typeof body === 'string' ? { body: parseJson(body) } : {};
      yield { method, url: session.settings.address() + path, headers, ...shown };
    }
  }
}

/** The command of a bulk run; the flags of `--from` are in `BulkOptions`. */
export interface ImportCommand {
  readonly action: RowAction;
  /** As typed; `-` is stdin, and of typed ids. */
  readonly from: string;
  /** The ids that were typed, in the place of an input. */
  readonly ids?: readonly string[] | undefined;
  /** Fields that override those of every row. */
  readonly common: TypedFields;
  readonly ignoreMissing?: boolean | undefined;
  readonly isDryRun?: boolean | undefined;
  readonly needsConfirmation?: boolean | undefined;
}

const pastTense = { create: 'created', get: 'read', update: 'updated', delete: 'deleted' } as const;

interface FileRun {
  readonly list: ResolvedList;
  readonly command: ImportCommand;
  readonly summary: Summary;
  readonly options: BulkOptions;
  readonly file: RowsFile;
  readonly check: Check;
  readonly input: RunInput;
  readonly keyOf: ((row: KeyedRow) => string) | undefined;
  /** Whether the rows have their keys in the column of `--key-field` already. */
  readonly hasOwnKeys: boolean;
  readonly rejects: OutputFile | undefined;
  readonly report: FailureReport;
  /** Undefined if no id is repeated. */
  readonly repeated: RepeatedIds | undefined;
}

const none: ReadonlySet<number> = new Set();

/** The rows that are not sent, since an earlier row has the same item. */
function repeatedOnce({ command, repeated }: FileRun): ReadonlySet<number> {
  return command.action === 'update' ? none : (repeated?.rows ?? none);
}

/**
 * Runs a command over every row of a file.
 *
 * @throws {Failure} usage, for invalid rows, an incomplete previous run, or without confirmation; as `sendRows`
 * @throws {Stopped}
 */
export async function runImport(command: ImportCommand, options: BulkOptions, session: Session): Promise<void> {
  const { host } = session;
  const { action, from } = command;
  if (options.keyField !== undefined) await keyColumnsOf(session);
  refuseContradictions(command, options);
  if (options.keysFrom !== undefined) refuseKeys(options, session);
  const named = session.settings.list();
  session.settings.address();
  if (from === '-' && command.ids === undefined) takeStdin(host);
  if (options.journal !== undefined) checkJournalPath(options.journal, host);
  refuseSameFile(filesOf(from, options), host);
  const report = await openFailureReport(options.reports, { command: `items ${action}`, file: from }, session);
  const of = { action, service: runOrigin(session), list: named, shard: shardText(options) };
  const summary = command.isDryRun ? noSummary : await openSummary(options.summaryJson, of, session);
  const rejects = command.isDryRun ? undefined : await openRejectsOutput(options.rejects, action === 'get', session);
  try {
    await runInput(command, options, { summary, rejects, report }, session);
  } finally {
    await rejects?.close();
  }
}

async function runInput(
  command: ImportCommand,
  options: BulkOptions,
  outputs: Pick<FileRun, 'summary' | 'rejects' | 'report'>,
  session: Session,
): Promise<void> {
  const { action, common: typed, from } = command;
  const input = await (command.ids === undefined ? openShown(from, session) : openTyped(command.ids, session));
  try {
    // Items that are read back have fields that the service refuses to write.
    const { systemFields: readOnly } = await session.service.load();
    const plain = { ...options, action, common: typed.fields, readOnly };
    const checkFirst = async () =>
      checkAlone(await openRows(input, plain), options.skipInvalid, outputs.report, session);
    const list = await resolveAfter(checkFirst, session);
    outputs.summary.resolved(list.ids);
    const keyField = await keyFieldOf(options, list.ids, session);
    const form = await formOf(command, options, list.ids, session);
    const common = form === undefined ? typed.fields : await toSentFields(typed, form, false);
    const file = await openRows(input, { ...plain, common, form });
    const keyOf = keyOfRows(file, options, list.ids, session);
    const own = await ownKeysIn(distinctRows(file, keyOf, options), options, session);
    const watched = watchRepeated(own.file);
    const sample = sampled(watched.file);
    const check = await checkFile(sample.file, options.skipInvalid, outputs.report, session);
    const repeated = await watched.find();
    if (repeated !== undefined) await session.messages.say(`listctl: ${repeatedNotice(repeated, action)}`);
    const facts = inputOf(file, { ...check, sample: sample.rows() }, { command, options, list }, keyField, session);
    const hasOwnKeys = own.isFound();
    const run = { command, options, list, file, check, input: facts, keyOf, hasOwnKeys, repeated, ...outputs };
    // Reads are recorded only on request, since they can be repeated.
    const isAsked = options.journal !== undefined || options.resume !== false;
    const isRecorded = options.hasJournal && (isAsked || (action !== 'get' && check.rows > 0));
    if (!options.hasJournal && !command.isDryRun && action !== 'get') await session.messages.say(noRecordNotice);
    if (command.isDryRun) {
      checkMaxDelete(check.ofShard - repeatedOnce(run).size, options.maxDelete);
      if (form !== undefined) await showMapping(form, options, session);
      await showDryRun(run, session);
    } else if (isRecorded) await withRecord(run, session, (record) => runFile(run, record, session));
    else await runFile(run, undefined, session);
  } finally {
    input.close();
  }
}

/** Resolves the list; what the file alone shows is said before any request. */
async function resolveAfter(checkFirst: () => Promise<void>, { service, settings }: Session): Promise<ResolvedList> {
  if ((await service.load()).resolve !== undefined) await checkFirst();
  return service.resolve(settings.list());
}

function openTyped(ids: readonly string[], { host }: Session): Promise<Input> {
  return openIds(ids, { host, spoolDirectory: findRunsDirectory(host) });
}

/** Only the fields of a create or an update have to fit the columns. */
async function formOf({ action }: ImportCommand, options: BulkOptions, list: ListRef, session: Session) {
  const isWrite = action === 'create' || action === 'update';
  if (!isWrite) return undefined;
  const filled = options.keyField === undefined ? [] : [options.keyField];
  return openEncoder(list, { ...options, filled }, session);
}

function refuseContradictions({ isDryRun }: ImportCommand, { resume, restart, summaryJson }: BulkOptions): void {
  if (isDryRun) refuseSummary(summaryJson);
  if (!isDryRun || !(resume || restart)) return;
  throw new Failure('usage', `--dry-run cannot be used with --${resume ? 'resume' : 'restart'}`, {
    hint: 'run "listctl runs show last" to see the remaining rows; nothing was sent',
  });
}

function keyOfRows(file: RowsFile, { keysFrom }: BulkOptions, list: ListRef, session: Session): FileRun['keyOf'] {
  if (keysFrom === undefined) return undefined;
  return keyDeriver(keysFrom, file, { origin: runOrigin(session), ...list });
}

function refuseKeys({ keyField }: BulkOptions, { settings, service: { facts } }: Session): void {
  if (settings.sendsKeys || keyField !== undefined) return;
  const why = facts.takesKeys ? '--idempotency none' : `${facts.title}, except with --key-field`;
  throw new Failure('usage', `--idempotency-key-from cannot be used with ${why}`);
}

async function keyFieldOf({ keyField }: BulkOptions, list: ListRef, session: Session): Promise<KeyColumn | undefined> {
  return keyField === undefined ? undefined : openKeyField(keyField, list, session);
}

/** Looks for the keys in the rows themselves while they are checked. */
async function ownKeysIn(
  file: RowsFile,
  { keyField, keysFrom }: BulkOptions,
  session: Session,
): Promise<ReturnType<typeof ownKeys>> {
  if (keyField === undefined) return { file, isFound: () => false };
  const { problem } = await keyColumnsOf(session);
  const own = ownKeys(file, keyField, problem);
  const isFound = () => {
    if (!own.isFound() || keysFrom === undefined) return own.isFound();
    throw new Failure('usage', `--idempotency-key-from cannot be used with keys in "${keyField}"`, {
      hint: 'leave out one of the two; nothing was sent',
    });
  };
  return { ...own, isFound };
}

/** The operations that write a key; undefined for those of the service. */
async function keyedItems(
  { input: { keyField }, hasOwnKeys, list: { ids: list }, options: { keysFrom } }: FileRun,
  before: Replay | undefined,
  session: Session,
) {
  if (keyField === undefined) return undefined;
  const { schema: readSchema, keyColumns } = await session.service.load();
  if (keyColumns === undefined) return undefined;
  // A key that does not depend on all fields may belong to another row.
  const isForeign = hasOwnKeys || keysFrom?.kind === 'column';
  const schema = isForeign ? await readSchema?.(list, await session.service.client()) : undefined;
  const isProven = !isForeign && keysFrom === undefined;
  const author = isProven ? undefined : await authorOfRun(before, list, session);
  const proof = isProven ? undefined : { clock: session.host.clock, author };
  return keyColumns.operations(keyField, { mayExist: keysFrom !== undefined && !isForeign, schema, proof });
}

/** The account that created the items of a run, by which rows in doubt are judged. */
async function authorOfRun(
  before: Replay | undefined,
  list: ListRef,
  { service }: Session,
): Promise<string | undefined> {
  if (before?.createdId === undefined || before.counts.inDoubt === 0) return undefined;
  const { keyColumns } = await service.load();
  return keyColumns?.readAuthor({ ...list, id: before.createdId }, await service.client());
}

function distinctRows(file: RowsFile, keyOf: FileRun['keyOf'], { keysFrom, keepBefore }: BulkOptions): RowsFile {
  // The second write of an item would keep what the first one wrote.
  if (keepBefore && file.options.action === 'update') return refuseRepeated(file, ({ id }) => id, sameItem);
  return keyOf && keysFrom ? refuseDuplicateKeys(file, keysFrom, keyOf) : file;
}

function sameItem(earlier: KeyedRow, row: KeyedRow): Failure {
  const places = `rows ${earlier.number} and ${row.number} (lines ${earlier.line} and ${row.line})`;
  return new Failure('usage', `${places} have the same id: --keep-before takes each item once`, {
    hint: 'merge the rows, or leave out --keep-before; nothing was sent',
  });
}

const noRecordNotice =
  'warning: without a journal this run cannot be resumed or undone, and its results are not recorded';

function filesOf(from: string, { rejects, journal, summaryJson, reports }: BulkOptions) {
  return {
    inputs: { '--from': from === '-' ? undefined : from },
    records: { '--journal': journal === undefined ? undefined : journalFiles(journal) },
    outputs: { '--rejects': rejects, '--summary-json': summaryJson, ...reportFiles(reports) },
  };
}

function shardText({ shard }: Pick<BulkOptions, 'shard'>): string | null {
  return shard === undefined ? null : `${shard.index}/${shard.count}`;
}

function inputOf(
  file: RowsFile,
  check: Check & Pick<RunInput, 'sample'>,
  { command, options, list }: Pick<FileRun, 'command' | 'options' | 'list'>,
  keyField: KeyColumn | undefined,
  session: Session,
): RunInput {
  const { input } = file;
  const { host } = session;
  const { rows, sha256, sample } = check;
  const mapping = mappingOf(file, command.common.fields);
  const matches = new Map<string, InputMatch>();
  return {
    ...{ rows, sha256, sample, mapping },
    target: {
      action: file.options.action,
      origin: runOrigin(session),
      ...list.ids,
      shard: shardText(options),
      profile: session.settings.profile(),
    },
    name: nameOf(input.name),
    path: input.isSpooled ? undefined : absolutePath(input.name, host),
    keysFrom: options.keysFrom && formatKeySource(options.keysFrom),
    keyField,
    isUndone: async ({ header, counts }) => {
      const journal = options.journal === undefined ? undefined : resolveLinks(absolutePath(options.journal, host));
      const undo = await findUndo(header.run, journal, findRunsDirectory(host) ?? '');
      // Of an update or a delete, an undo restores each row once.
      if (undo === undefined) return false;
      return header.keepsBefore ? hasBegun(undo.counts) : isUndone(counts, undo.counts.done);
    },
    match: async (before) => {
      const { run, input: recorded, mapping: recordedMapping } = before.header;
      if (recorded.sha256 === sha256 && recordedMapping === mapping) return { kind: 'same' };
      // Compared again under the lock, where the journal is usually as it was.
      const known = `${run} ${before.lengthBytes}`;
      const match = matches.get(known) ?? (await untilStopped(matchRows(before, file, check), host.signal));
      matches.set(known, match);
      return match;
    },
  };
}

async function withRecord(run: FileRun, session: Session, work: (record: RunRecord) => Promise<void>): Promise<void> {
  const { host } = session;
  const { input, options } = run;
  const { resume, journal } = options;
  let changed: RelatedRun['changed'];
  const findOther = async (directory: string) => {
    if (typeof resume === 'string') return resolveRunFile(directory, resume, host.clock.now());
    const related = await findRelatedRun(directory, input);
    ({ changed } = related);
    return related.run;
  };
  const place = {
    identity: runIdentity(input.target, input.sha256),
    journal: journal === undefined ? undefined : resolveLinks(absolutePath(journal, host)),
    typedJournal: journal,
    findOther,
    isNamed: typeof resume === 'string',
  };
  const record = await openRecord(place, options, session);
  try {
    const { before } = record;
    if (before !== undefined && !isSameTarget(before.header, input.target)) throw otherRunFailure(options, before);
    if (before === undefined) await refuseLostRun(resume, changed, input, journal, session);
    await work(record);
  } finally {
    record.release();
  }
}

/** Refuses to resume without a run, and to create rows again that a run created before some of them were changed. */
async function refuseLostRun(
  resume: BulkOptions['resume'],
  changed: RelatedRun['changed'],
  input: RunInput,
  journal: string | undefined,
  { host }: Session,
): Promise<void> {
  const isRefused = resume !== false || input.target.action === 'create';
  if (changed !== undefined && isRefused) throw otherRows(changed.before, changed.row, input);
  if (resume !== false) throw await nothingToResume(findRunsDirectory(host), input, journal);
}

function otherRunFailure({ journal }: BulkOptions, { header, counts }: Replay): Failure {
  const { action, list, site, origin, shard } = header;
  const share = shard === null ? '' : ` (shard ${shard})`;
  const run = `${action} in list "${list}" of site "${site}" at ${origin}${share}`;
  if (journal === undefined) {
    return new Failure('usage', `cannot resume run ${header.run}: it is ${run}`, {
      hint: 'pass the list, service and shard of that run; nothing was sent',
    });
  }
  const known = counts.done === 0 ? '' : `, which forgets the ${countOf(counts.done, 'row')} that it did`;
  return new Failure('usage', `${journal} is the journal of another run: ${run}`, {
    hint: `pass the journal of this run with --journal, or --restart to replace that journal${known}; nothing was sent`,
  });
}

function readingOf({ options, format, delimiter }: RowsFile): JsonObject {
  const { action: _action, common: _common, form: _form, shard: _shard, blockBytes: _size, ...reading } = options;
  return fromReading({ ...reading, format, delimiter });
}

/** Of what was typed: a column that has changed since is found by the values of its rows. */
function mappingOf({ options, format, delimiter }: RowsFile, common: Fields): string {
  const { rename, only, types, empty, idColumn, rows, encoding, quotes, decimal, names = 'internal', split } = options;
  const reading = [format, delimiter, encoding, quotes !== false, decimal ?? '.'];
  const forms = names === 'internal' && split === undefined ? [] : [names, split];
  const facts = [...reading, [...rename], only, [...types], empty, idColumn, rows, printJson(common), ...forms];
  return identityOf(JSON.stringify(facts));
}

async function runFile(run: FileRun, record: RunRecord | undefined, session: Session): Promise<void> {
  const { command, check } = run;
  const found = await overlapOf(run, record, session);
  const decision = await confirmResume(found ?? (await decideResume(record?.before, run.options, run.input)), session);
  if (decision.kind === 'complete') {
    const { run: name, startedAt } = decision.before.header;
    const { skipped } = decision.before.counts;
    const rows =
      skipped === 0
        ? `all ${countOf(check.ofShard, 'row')}`
        : `${countOf(check.ofShard - skipped, 'row')}, ${skipped} skipped`;
    await session.messages.say(`nothing to do: run ${name} (started ${startedAt}) completed ${rows}`);
    return;
  }
  if (decision.kind === 'resume' && run.options.keepBefore && !decision.before.header.keepsBefore) {
    throw new Failure('usage', `run ${decision.before.header.run} does not keep earlier values`, {
      hint: `leave out --keep-before, or pass --restart to ${again(decision.before, run.input)}; nothing was sent`,
    });
  }
  const counts = decision.kind === 'resume' ? decision.before.counts : undefined;
  const settled = counts === undefined ? repeatedOnce(run).size : counts.done + counts.skipped;
  checkMaxDelete(check.ofShard - settled, run.options.maxDelete);
  await warnOfExpiry(session);
  // The items of an earlier run with the same keys may be reported as created.
  const isRepeat = decision.kind === 'new' && (run.options.restart || record?.before !== undefined);
  if (isRepeat && run.keyOf !== undefined) await session.messages.say(sameKeysWarning);
  if (command.needsConfirmation) await confirmDelete(run, session);
  if (command.action !== 'get') await session.service.confirmWrites(describeList(run.list));
  await sendRows(await planOf(run, decision, record, session), session);
}

const sameKeysWarning =
  'warning: keys are derived from the rows; a service that still knows them returns its existing items';

/** Finds another run that created these rows; undefined if no other run did, or if a previous run of this input decides. */
async function overlapOf({ command, options, input }: FileRun, record: RunRecord | undefined, session: Session) {
  const { restart, journal } = options;
  const mayOverlap = command.action === 'create' && record !== undefined && record.before === undefined && !restart;
  const other = mayOverlap ? await findOverlappingRun(findRunsDirectory(session.host), input, journal) : undefined;
  return other && askToOverlap(other, input, journal);
}

async function confirmResume(
  decision: ResumeDecision,
  session: Session,
): Promise<Exclude<ResumeDecision, { kind: 'choice' }>> {
  if (decision.kind !== 'choice') return decision;
  const { question, yes, refusal } = decision;
  if (session.prompts.mayPrompt() && (await confirm(question, session))) return yes;
  throw refusal;
}

async function confirmDelete(run: FileRun, session: Session): Promise<void> {
  const { check, command, file } = run;
  const place = describeList(run.list);
  const count = countOf(check.ofShard - repeatedOnce(run).size, 'item');
  const from = nameOf(file.input.name);
  const question = `Delete the ${count} in ${from} from ${place} on ${session.settings.target()}?`;
  if (await session.prompts.confirm(question)) return;
  throw new Failure('usage', `not confirmed: none of the ${count} in ${from} was ${pastTense[command.action]}`, {
    hint: session.prompts.skipHint(),
  });
}

function openRunRecord(
  { command, options, check, input, file }: FileRun,
  decision: ResumeDecision,
  record: RunRecord | undefined,
  session: Session,
): RunRecording | undefined {
  if (record === undefined) return undefined;
  const { concurrency, keepBefore } = options;
  const { rows, sha256, sample, mapping } = input;
  const facts = {
    file: command.from === '-' ? '-' : absolutePath(file.input.name, session.host),
    input: { bytes: check.sizeBytes, sha256, rows, sample },
    rows: check.ofShard,
    mapping,
    reading: readingOf(file),
  };
  if (decision.kind === 'resume') return record.reopen(concurrency, facts);
  return record.create(
    {
      ...input.target,
      ...facts,
      keysFrom: input.keysFrom,
      keyField: input.keyField,
      keepsBefore: keepBefore || undefined,
    },
    concurrency,
  );
}

/** The current time, if the age of keys decides about rows in doubt. */
async function presentFor({ command, options, list }: FileRun, before: Replay | undefined, session: Session) {
  const isByAge = command.action === 'create' && options.inDoubt === undefined && (before?.counts.inDoubt ?? 0) > 0;
  if (!isByAge || session.settings.idempotency !== 'honored') return undefined;
  return readClocks(list.ids, session);
}

/** Picks earlier values, where fields are read in another form than they are written in. */
async function earlierForm(list: ListRef, { service }: Session) {
  const schema = await (await service.load()).schema?.(list, await service.client());
  return schema && ((fields: Fields, names: readonly string[]) => schema.earlierValues(fields, names));
}

/** What a plan does about repeated ids. */
async function repeatsOf(run: FileRun, before: Replay | undefined) {
  const { repeated, file, command } = run;
  const skipped = repeatedOnce(run);
  if (repeated === undefined || command.action !== 'update') return { skipped };
  return {
    skipped,
    overtakenBy: before && (await findOvertaken(file, repeated, before)),
    itemOf: (row: Row | BadRow) => ('id' in row ? row.id : undefined),
  };
}

async function planOf(
  run: FileRun,
  decision: ResumeDecision,
  record: RunRecord | undefined,
  session: Session,
): Promise<RunPlan<Row | BadRow>> {
  const { command, options, file, check, summary, report, keyOf, rejects } = run;
  const { action, ignoreMissing = false } = command;
  const { inDoubt } = options;
  const { promise = 'none' } = run.input.keyField ?? {};
  const { idempotency, sendsKeys } = session.settings;
  const list = run.list.ids;
  const before = decision.kind === 'resume' ? decision.before : undefined;
  const items = await keyedItems(run, before, session);
  const given = (before && record?.given) ?? new IdSet();
  const counts = before === undefined ? newCounts(check.ofShard) : resumedCounts(before, check.ofShard);
  const present = await presentFor(run, before, session);
  // Of a stream there is no name by which its fixed rows could be found again.
  const isStream = command.from === '-' && options.journal === undefined;
  const resumeOf = (word: string) => resumeCommand(session.command.words, isStream ? word : undefined);
  // A resumed run keeps what it kept before.
  const keeps = before === undefined ? options.keepBefore : before.header.keepsBefore === true;
  const valuesOf = keeps && action === 'update' ? await earlierForm(list, session) : undefined;
  const repeats = await repeatsOf(run, before);
  let earlier: EarlierFile | undefined;
  return {
    ...{ action, done: pastTense[action], counts, summary, report },
    pace: keeps ? withHalfRate(options) : options,
    prints: action === 'get' ? 'items' : 'results',
    openRecord: () => {
      const recorded = openRunRecord(run, decision, record, session);
      const doubts = before !== undefined && recorded !== undefined && inDoubt === 'skip' ? before.doubts() : [];
      skipRows([...doubts, ...repeats.skipped], before, recorded?.journal, counts);
      earlier = recorded?.earlier;
      return recorded;
    },
    nextSeq: before?.nextSeq ?? 1,
    tasks: tasksOf(file, {
      before,
      inDoubt,
      present,
      isProvable: promise !== 'none',
      clock: session.host.clock,
      ...repeats,
    }),
    itemOf: repeats.itemOf,
    createSender: (client, ofService) =>
      earlier !== undefined && (action === 'update' || action === 'delete')
        ? createKeepingSender({ action, list, client, items: ofService, ignoreMissing, earlier, valuesOf })
        : createRowSender(action, list, client, {
            ...{ keyOf, ignoreMissing, given, items: items ?? ofService },
            sendsKeys: sendsKeys || (items !== undefined && !run.hasOwnKeys),
            looksUp: promise === 'indexed' && inDoubt !== 'retry',
          }),
    rejects: rejects && openRejectsFile(rejects, openRejects(file)),
    nextSteps: nextSteps({
      resumeOf,
      keepsDoubt: action === 'create' && idempotency !== 'honored' && promise !== 'unique',
      repair: (kinds, word) => {
        if (action === 'delete' && kinds.size === 1 && kinds.has('not-found'))
          return `count missing items as deleted with: ${resumeOf(word)} --ignore-missing`;
        return `fix these rows, then resume with: ${resumeOf(word)}`;
      },
      canLookUp: true,
      service: serviceWords(session.settings.sources.flags),
    }),
  };
}

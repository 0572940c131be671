/** A verb over the rows of a file: `listctl items create --from tasks.csv`. To be loaded late. */
import { createRequest, deleteRequest, getRequest, updateRequest } from '../api/requests.ts';
import type { ApiRequest } from '../api/transport.ts';
import { takeStdin } from '../cli/file-args.ts';
import { checkMaxDelete } from '../cli/guards.ts';
import { confirm } from '../cli/prompts.ts';
import type { Session } from '../cli/session.ts';
import { warnOfExpiry } from '../cli/token-expiry.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { untilStopped } from '../core/host.ts';
import type { Fields, ListRef } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import { countOf } from '../core/text.ts';
import type { OutputFile } from '../core/write-file.ts';
import { type PlannedRequest, requestView } from '../output/item.ts';
import type { SummarizedRun } from '../output/run-summary.ts';
import type { Check } from '../rows/check.ts';
import { nameOf } from '../rows/input.ts';
import { openRows, type RowsFile } from '../rows/read.ts';
import { openRejects } from '../rows/rejects.ts';
import type { BadRow, Row, RowAction } from '../rows/types.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { checkFile, openShown } from './check-input.ts';
import type { BulkOptions } from './flags.ts';
import type { Replay } from './journal-read.ts';
import {
  formatKeySource,
  IdSet,
  type KeyedRow,
  keyDeriver,
  type PresentMoment,
  payloadHash,
  refusingTwins,
} from './keys.ts';
import type { RunPlan } from './plan.ts';
import {
  type CommandFiles,
  checkJournalPath,
  identityOf,
  journalFiles,
  openRecord,
  presentMoment,
  type RunRecord,
  type RunRecording,
  refuseSameFile,
  runOrigin,
} from './record.ts';
import { openRejectsFile, openRejectsOutput, type RejectsFormat } from './rejects-file.ts';
import {
  decideResume,
  doubtPolicy,
  findChangedRow,
  findEditedRun,
  findOverlappingRun,
  isSameTarget,
  needsKeyAge,
  newCounts,
  nothingToResume,
  overlap,
  type ResumeDecision,
  type RunInput,
  runIdentity,
  skipDoubts,
  tasksOf,
} from './resume.ts';
import { nextSteps, resumeCommand, sendRows } from './send.ts';
import { createRowSender } from './senders.ts';
import { noSummary, openSummary, refuseSummary, type Summary } from './summary.ts';

/** A person is shown so many requests; a program all of them. */
const shownMax = 10;

/**
 * Shows the requests of the rows of a file, and sends none.
 *
 * @param keyOf derives the key of a row; undefined where one would be drawn
 */
async function showDryRun(
  file: RowsFile,
  check: Check,
  keyOf: ((row: Row) => string) | undefined,
  session: Session,
): Promise<void> {
  const isForPerson = session.format(true) === 'pretty';
  const good = check.ofShard - check.badOfShard;
  let shown = 0;
  await session.printing(requestView, true, async (print) => {
    for await (const request of requestsOf(file, keyOf, session)) {
      if (isForPerson && shown === shownMax) return;
      shown += 1;
      await print(request);
    }
  });
  const more = good - shown;
  const hidden = more > 0 ? `; ${more} more are not shown (-o jsonl shows all)` : '';
  await session.say(`dry run: ${good} of ${check.ofShard} rows would be sent, and none was${hidden}`);
}

async function* requestsOf(
  file: RowsFile,
  keyOf: ((row: Row) => string) | undefined,
  session: Session,
): AsyncGenerator<PlannedRequest> {
  const list = session.list();
  const { action } = file.options;
  for await (const block of file.blocks()) {
    for (const row of block) {
      if (row.problem !== undefined) continue;
      const { method, path, headers } = requestOf(row, action, list, keyOf?.(row));
      const body = action === 'create' || action === 'update' ? { body: { fields: row.fields } } : {};
      yield { method, url: session.address() + path, headers, ...body };
    }
  }
}

function requestOf(
  { id = '', fields }: Row,
  action: RowsFile['options']['action'],
  list: ListRef,
  key: string | undefined,
): ApiRequest {
  const ref = { ...list, id };
  switch (action) {
    case 'create':
      return createRequest(list, fields, key);
    case 'get':
      return getRequest(ref);
    case 'update':
      return updateRequest(ref, fields);
    case 'delete':
      return deleteRequest(ref);
  }
}

/** What is done with each row, beside what the flags of `--from` say. */
export interface ImportCommand {
  readonly action: RowAction;
  /** `created` */
  readonly done: string;
  /** As it was typed; `-` is stdin. */
  readonly from: string;
  /** Laid over the fields of every row. */
  readonly common: Fields;
  readonly ignoreMissing?: boolean | undefined;
  readonly isDryRun?: boolean | undefined;
  /** Whether it needs to be confirmed before anything is sent. */
  readonly needsConfirmation?: boolean | undefined;
}

/** A run over a file, before anything is sent. */
interface FileRun {
  readonly verb: ImportCommand;
  readonly summary: Summary;
  readonly many: BulkOptions;
  readonly file: RowsFile;
  readonly check: Check;
  /** A hash of what makes fields of the columns. */
  readonly mapping: string;
  /** Derives the key of a row; undefined for random keys. */
  readonly keyOf: ((row: KeyedRow) => string) | undefined;
  readonly rejects: OutputFile | undefined;
}

/**
 * Works on every row of a file, records what it does, and prints what came of it.
 *
 * @throws {Failure} usage, when rows cannot be sent, the run before is half done, or nobody confirmed it; what the run
 *   ended in, in the order of the rulings
 * @throws {Stopped} when it was told to stop
 */
export async function runImport(verb: ImportCommand, many: BulkOptions, session: Session): Promise<void> {
  const { host } = session;
  const { action, from } = verb;
  session.list();
  session.address();
  refuseContradictions(verb, many);
  if (from === '-') takeStdin(host);
  if (many.journal !== undefined) checkJournalPath(many.journal, host);
  refuseSameFile(filesOf(from, many), host);
  const of = summarized(verb, many, session);
  const summary = verb.isDryRun ? noSummary : await openSummary(many.summaryJson, of, session);
  const rejects = verb.isDryRun ? undefined : await openRejectsOutput(many.rejects, action === 'get', session);
  try {
    await runInput(verb, many, { summary, rejects }, session);
  } finally {
    await rejects?.close();
  }
}

async function runInput(
  verb: ImportCommand,
  many: BulkOptions,
  outputs: Pick<FileRun, 'summary' | 'rejects'>,
  session: Session,
): Promise<void> {
  const { action, common, from } = verb;
  const input = await openShown(from, session);
  try {
    const file = await openRows(input, { ...many, action, common });
    const keyOf = keyOfRows(file, many, session);
    const checked = keyOf && many.keysFrom ? refusingTwins(file, many.keysFrom, keyOf) : file;
    const check = await checkFile(checked, many.skipInvalid, session);
    const run = { verb, many, file, check, mapping: mappingOf(file), keyOf, ...outputs };
    // Reads leave nothing to be lost or doubled: they are recorded where that is asked for.
    const isRecorded = many.hasJournal && (action !== 'get' || many.journal !== undefined || many.resume);
    if (!many.hasJournal && !verb.isDryRun && action !== 'get') await session.say(noRecordNotice);
    if (verb.isDryRun) {
      checkMaxDelete(check.ofShard, many.maxDelete);
      await showDryRun(file, check, keyOf, session);
    } else if (isRecorded) await withRecord(run, session, (record) => runFile(run, record, session));
    else await runFile(run, undefined, session);
  } finally {
    input.close();
  }
}

/** @throws {Failure} usage */
function refuseContradictions({ isDryRun }: ImportCommand, { resume, restart, summaryJson }: BulkOptions): void {
  if (isDryRun) refuseSummary(summaryJson);
  if (!isDryRun || !(resume || restart)) return;
  throw new Failure('usage', `--dry-run and --${resume ? 'resume' : 'restart'}: a dry run knows of no run before`, {
    hint: 'listctl runs show last tells what is left of it; nothing was sent',
  });
}

/** @throws {Failure} usage, when there is no such column, or no key is sent at all */
function keyOfRows(file: RowsFile, { keysFrom }: BulkOptions, session: Session): FileRun['keyOf'] {
  if (keysFrom === undefined) return undefined;
  if (session.sendsKeys) return keyDeriver(keysFrom, file, { origin: runOrigin(session), ...session.list() });
  throw new Failure('usage', '--idempotency-key-from cannot be used with --idempotency none: no key is sent then');
}

const noRecordNotice = 'no record is kept: this run cannot be resumed or undone, and nothing tells which rows are done';

function filesOf(from: string, { rejects, journal, summaryJson }: BulkOptions): CommandFiles {
  return {
    inputs: { '--from': from === '-' ? undefined : from },
    records: { '--journal': journal === undefined ? undefined : journalFiles(journal) },
    outputs: { '--rejects': rejects, '--summary-json': summaryJson },
  };
}

function summarized({ action }: ImportCommand, many: BulkOptions, session: Session): SummarizedRun {
  return { action, service: runOrigin(session), ...session.list(), shard: shardText(many) };
}

function shardText({ shard }: BulkOptions): string | null {
  return shard === undefined ? null : `${shard.index}/${shard.count}`;
}

/** The input, as the runs before are compared with it. */
function inputOf({ verb, many, file, check }: FileRun, session: Session): RunInput {
  const { input } = file;
  return {
    target: { action: verb.action, origin: runOrigin(session), ...session.list(), shard: shardText(many) },
    name: nameOf(input.name),
    path: input.isSpooled ? undefined : absolutePath(input.name, session.host),
    rows: check.rows,
    sha256: check.sha256,
    changedRow: (before) => untilStopped(findChangedRow(before, file, hashOf), session.host.signal),
  };
}

async function withRecord(run: FileRun, session: Session, work: (record: RunRecord) => Promise<void>): Promise<void> {
  const { host, version: tool, say: warn } = session;
  const { lockWaitMs, breakLock, restart, resume } = run.many;
  const journal = run.many.journal === undefined ? undefined : resolveLinks(absolutePath(run.many.journal, host));
  const input = inputOf(run, session);
  let failure: Failure | undefined;
  const findOther = async (directory: string) => {
    const edited = await findEditedRun(directory, input);
    ({ failure } = edited);
    return edited.run;
  };
  const place = {
    identity: runIdentity(input.target, input.sha256),
    journal,
    typedJournal: run.many.journal,
    findOther,
  };
  const record = await openRecord(place, { lockWaitMs, breakLock, restart, tool, warn }, host);
  try {
    const { before } = record;
    if (before !== undefined && !isSameTarget(before.header, input.target)) throw otherRunFailure(run.many, before);
    if (before === undefined && resume) {
      throw failure ?? (await nothingToResume(findRunsDirectory(host), input, run.many.journal));
    }
    await work(record);
  } finally {
    record.release();
  }
}

function otherRunFailure({ journal }: BulkOptions, { header }: Replay): Failure {
  const { action, list, site, origin, shard } = header;
  const share = shard === null ? '' : ` (shard ${shard})`;
  const run = `${action} in list "${list}" of site "${site}" at ${origin}${share}`;
  return new Failure('usage', `${journal} records another run: ${run}`, {
    hint: 'nothing was sent; name another file with --journal, or pass --restart to begin it anew for this one',
  });
}

/** What makes fields of the columns, as far as flags say it. */
function mappingOf({ options, format, delimiter }: RowsFile): string {
  const { rename, only, types, empty, idColumn, rows, common, encoding } = options;
  const facts = [format, delimiter, encoding, [...rename], only, [...types], empty, idColumn, rows, printJson(common)];
  return identityOf(JSON.stringify(facts));
}

async function runFile(run: FileRun, record: RunRecord | undefined, session: Session): Promise<void> {
  const { verb, check } = run;
  const beginning = await confirmResume(
    (await overlapOf(run, record, session)) ?? (await decideResumeOf(run, record)),
    session,
  );
  if (beginning.kind === 'nothing') {
    const { run: name, startedAt } = beginning.before.header;
    const { skipped } = beginning.before.counts;
    const did = skipped === 0 ? 'did every one' : `did the others, and ${skipped} in doubt were skipped`;
    await session.say(`${countOf(check.ofShard, 'row')}: 0 to do; run ${name}, begun ${startedAt}, ${did}`);
    return;
  }
  const counts = beginning.kind === 'go-on' ? beginning.before.counts : undefined;
  checkMaxDelete(check.ofShard - (counts === undefined ? 0 : counts.done + counts.skipped), run.many.maxDelete);
  await warnOfExpiry(session);
  if (beginning.kind === 'new' && (run.many.restart || record?.before)) await warnOfSameKeys(run, session);
  if (verb.needsConfirmation) await confirmDelete(run, session);
  const { site, list } = session.list();
  if (verb.action !== 'get') await session.confirmWrites(`list "${list}" of site "${site}"`);
  const present = await presentFor(run, beginning, session);
  await sendRows(planOf(run, beginning, record, present, session), session);
}

/** Rows that are sent anew have the keys that they had: their items may be counted as created, and be the old ones. */
async function warnOfSameKeys({ keyOf }: FileRun, session: Session): Promise<void> {
  if (keyOf === undefined) return;
  await session.say(
    'the keys follow from the rows: a service that still knows them creates nothing, and returns its earlier items',
  );
}

/** The present, where the age of keys decides about rows in doubt. */
async function presentFor({ verb, many }: FileRun, beginning: ResumeDecision, session: Session) {
  const doubts = { inDoubt: many.inDoubt, isCreate: verb.action === 'create' };
  if (beginning.kind !== 'go-on' || session.idempotency !== 'honored') return undefined;
  if (!needsKeyAge(beginning.before, doubts)) return undefined;
  return presentMoment(session.list(), session);
}

/** The choice where another run created these rows; undefined where there is none, or a run of their own decides. */
async function overlapOf(run: FileRun, record: RunRecord | undefined, session: Session) {
  const { restart, journal } = run.many;
  const directory = findRunsDirectory(session.host);
  const isAsked = run.verb.action === 'create' && record !== undefined && record.before === undefined && !restart;
  if (!isAsked || directory === undefined) return undefined;
  const input = inputOf(run, session);
  const other = await findOverlappingRun(directory, input);
  return other && overlap(other, input, journal);
}

function decideResumeOf({ verb, many, check, mapping, file }: FileRun, record: RunRecord | undefined) {
  const keysFrom = many.keysFrom && formatKeySource(many.keysFrom);
  const changedRow = (before: Replay) => findChangedRow(before, file, hashOf);
  const facts = { action: verb.action, name: nameOf(file.input.name), check, mapping, keysFrom, changedRow };
  return decideResume(record?.before, many, facts);
}

/** Asks where there is a choice, and somebody to make it. */
async function confirmResume(
  beginning: ResumeDecision,
  session: Session,
): Promise<Exclude<ResumeDecision, { kind: 'choice' }>> {
  if (beginning.kind !== 'choice') return beginning;
  const { question, yes, refusal } = beginning;
  if (session.mayPrompt() && (await confirm(question, session))) return yes;
  throw refusal;
}

function rejectsFormat(file: RowsFile): RejectsFormat<Row | BadRow> {
  const { head, row, tail } = openRejects(file);
  return { head, tail, row: ({ source }, error) => row(source, error) };
}

function hashOf({ id, fields }: Row): string {
  return payloadHash(id, fields);
}

async function confirmDelete({ check, verb, file }: FileRun, session: Session): Promise<void> {
  const { site, list } = session.list();
  const count = check.ofShard === 1 ? '1 item' : `${check.ofShard} items`;
  const from = nameOf(file.input.name);
  const question = `Delete the ${count} of ${from} from list ${list} (site ${site}, ${session.address()})?`;
  if (session.mayPrompt() && (await confirm(question, session))) return;
  throw new Failure('usage', `not confirmed: none of the ${count} of ${from} was ${verb.done}`, {
    hint: 'pass --yes to skip the prompt',
  });
}

function beginRecord(
  { verb, many, check, mapping, file }: FileRun,
  beginning: ResumeDecision,
  record: RunRecord | undefined,
  session: Session,
): RunRecording | undefined {
  if (record === undefined) return undefined;
  const { concurrency } = many;
  if (beginning.kind === 'go-on') return record.reopen(concurrency);
  const { host } = session;
  return record.create(
    {
      tool: session.version,
      action: verb.action,
      origin: runOrigin(session),
      ...session.list(),
      file: verb.from === '-' ? '-' : absolutePath(file.input.name, host),
      input: { bytes: check.sizeBytes, sha256: check.sha256, rows: check.rows },
      rows: check.ofShard,
      mapping,
      shard: shardText(many),
      idempotency: session.idempotency,
      keysFrom: many.keysFrom && formatKeySource(many.keysFrom),
      startedAt: new Date(host.clock.now()).toISOString(),
    },
    concurrency,
  );
}

function planOf(
  run: FileRun,
  beginning: ResumeDecision,
  record: RunRecord | undefined,
  present: (() => PresentMoment) | undefined,
  session: Session,
): RunPlan<Row | BadRow> {
  const { verb, many, file, check, summary, keyOf } = run;
  const { action, done, ignoreMissing = false } = verb;
  const before = beginning.kind === 'go-on' ? beginning.before : undefined;
  const given = (before && record?.given) ?? new IdSet();
  const counts = before === undefined ? newCounts(check.ofShard) : { ...before.counts };
  const { idempotency, sendsKeys } = session;
  const isCreate = action === 'create';
  const policy =
    before === undefined ? () => undefined : doubtPolicy(before, { inDoubt: many.inDoubt, isCreate, present });
  const skip = many.inDoubt === 'skip';
  return {
    ...{ action, done, counts, isRead: action === 'get', pace: many, summary },
    prints: action === 'get' ? 'items' : 'results',
    openRecord: () => {
      const recorded = beginRecord(run, beginning, record, session);
      if (before !== undefined && recorded !== undefined && skip) skipDoubts(before, recorded.journal, counts);
      return recorded;
    },
    nextSeq: before?.nextSeq ?? 1,
    tasks: tasksOf(file, { before, skipDoubts: skip, policy, hashOf }),
    createSender: (client) =>
      createRowSender({ action, list: session.list(), client, sendsKeys, ignoreMissing, given, keyOf }),
    rejects: run.rejects && openRejectsFile(run.rejects, rejectsFormat(file)),
    nextSteps: nextSteps(resumeCommand(session.words), isCreate && idempotency !== 'honored'),
  };
}

/** Finds the recorded runs that have rows of an input: by its content, a sample of its rows, or its file. */

import { confirm } from '../cli/prompts.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { countOf } from '../core/text.ts';
import type { BadRow, Row } from '../rows/types.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { parseOrigin } from '../settings/setting.ts';
import type { BulkOptions } from './flags.ts';
import { countShared, type RunInput, type RunTarget, sharesSample } from './input-match.ts';
import type { InputFacts, JournalHeader } from './journal-format.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { bootId, identityOf, openRecord, originFlags, type RunRecord } from './record.ts';
import { again, choice, decideResume, otherRows, type ResumeDecision } from './resume.ts';
import { isComplete, type ReadRun, type RunFile, readRunFile, resolveRunFile, runsWith } from './runs.ts';

/** The run that has most rows of an input. */
interface RelatedRun {
  /** The one to resume; undefined if no run has them unchanged. */
  readonly run: RunFile | undefined;
  /** The newest one where some of them changed since. */
  readonly changed: { readonly before: Replay; readonly row: Row | BadRow | undefined } | undefined;
}

/**
 * Finds the run of an input that was edited, extended or renamed since. Reads the journals of those alone that have most
 * rows of a sample, or are incomplete and have one of these rows, as many rows, or the same file.
 *
 * @throws {Failure} local-file
 */
async function findRelatedRun(directory: string, input: RunInput): Promise<RelatedRun> {
  const found: { undone?: RunFile; unsent?: RunFile; changed?: NonNullable<RelatedRun['changed']> } = {};
  for await (const { run, before } of candidates(directory, input)) {
    const match = await input.match(before);
    const kind = match.kind === 'same' ? await stateOf(before, input) : match.kind;
    if (kind === 'sent') return { run, changed: undefined };
    if (kind === 'undone' || kind === 'unsent') found[kind] ??= run;
    else if (match.kind === 'changed' && found.unsent === undefined && !(await isWholeUndone(before, input)))
      found.changed ??= { before, row: match.row };
  }
  const { undone, unsent, changed } = found;
  return { run: changed === undefined ? (unsent ?? undone) : undefined, changed };
}

/** A run that sent nothing goes with any rows, which an older one may have sent. */
async function stateOf(before: Replay, input: RunInput): Promise<'undone' | 'unsent' | 'sent'> {
  if (await isWholeUndone(before, input)) return 'undone';
  return before.counts.done + before.counts.inDoubt === 0 ? 'unsent' : 'sent';
}

async function isWholeUndone(before: Replay, input: RunInput): Promise<boolean> {
  return isComplete(before.counts) && (await input.isUndone(before));
}

async function* candidates(
  directory: string,
  input: RunInput,
): AsyncGenerator<{ readonly run: RunFile; readonly before: Replay }> {
  const { target, path } = input;
  const boot = bootId();
  const isSameFile = (header: JournalHeader) => path !== undefined && header.file === path;
  const isCandidate = (header: JournalHeader, run: RunFile) =>
    isSameTarget(header, target) &&
    (isSameFile(header) || isLike(header, run, input) || mayHaveRows(header.input, input));
  for (const run of runsWith(directory, isCandidate)) {
    const listed = await readRunFile(run, { boot });
    if (listed === undefined) continue;
    const { header, counts } = listed;
    // Of the same file, or of as many rows, there may be a run for every day.
    const isBegun = isSameFile(header) || counts.done + counts.inDoubt > 0;
    if (!isLike(header, run, input) && (isComplete(counts) || !isBegun)) continue;
    const before = await readJournal(run.path, { boot });
    if (before !== undefined) yield { run, before };
  }
}

/** Whether a run may have rows of an input of which most were fixed since. */
function mayHaveRows({ sample, rows }: InputFacts, input: RunInput): boolean {
  return rows === input.rows || countShared(sample, input.sample) > 0;
}

/** Whether a run may have most rows of an input, by the first line of its journal. */
function isLike(
  { input: { sample, rows }, identity, file: name, isShrunk }: JournalHeader,
  file: RunFile,
  input: RunInput,
): boolean {
  // A resumed run has the name of its last input, while its first line is that of the first.
  if (!identity.startsWith(file.identityStart) || sharesSample(sample, input.sample)) return true;
  // An earlier version took no sample.
  return sample === undefined && name === input.path && rows <= input.rows && !isShrunk;
}

/** The identity of a run: 64 hex digits. */
function runIdentity({ action, origin, site, list, shard }: RunTarget, sha256: string): string {
  return identityOf(action, origin, site, list, shard, sha256);
}

function isSameTarget(one: RunTarget, other: RunTarget): boolean {
  return isSameList(one, other) && one.origin === other.origin && one.shard === other.shard;
}

function isSameList(one: RunTarget, other: RunTarget): boolean {
  return one.action === other.action && one.site === other.site && one.list === other.list;
}

/**
 * The failure of a `--resume` without a run; names incomplete runs of the same rows elsewhere.
 *
 * @throws {Failure} usage, for a create by the other kind of service
 */
async function nothingToResume(
  directory: string | undefined,
  input: RunInput,
  journal: string | undefined,
): Promise<Failure> {
  const { target, name } = input;
  const found: ReadRun[] = [];
  let done = 0;
  for await (const run of runsOfRows(directory, input)) {
    if (target.action === 'create') refuseOtherService(run, target);
    if (run.header.origin === target.origin) done += run.counts.done;
    if (!isComplete(run.counts) && found.length < elsewhereMax) found.push(run);
  }
  const where = journal === undefined ? '' : `${journal} does not exist, and `;
  const elsewhere = found.map(({ header }) => `; ${placeOf(header, target, journal)}`).join('');
  const [first] = found;
  const resume = first === undefined ? [] : [`${adviceFor(first.header, target, journal)}`];
  // Without --restart a run that shares rows with one of this list is refused as well.
  const isRepeat = found.some(
    ({ header }) => header.origin === target.origin && sharesRows(header.shard, target.shard),
  );
  const how = isRepeat ? 'pass --restart instead of --resume' : 'leave out --resume';
  const known = `${done === 0 ? 'none is' : countOf(done, 'is', 'are')} known here`;
  const start = `if no row was sent yet, ${how} to start a run; it ${target.action}s every row again, also those that are done: ${known}${first === undefined ? '' : ''}`;
  return new Failure('usage', `cannot resume: ${where}no run of ${name} is recorded here${elsewhere}`, {
    hint: [...resume, start].join('\n'),
  });
}

/**
 * Refuses rows that a run sent to the same list by the other kind of service: its items may be there.
 *
 * @throws {Failure} usage
 */
function refuseOtherService(other: ReadRun, target: RunTarget): void {
  const { header } = other;
  const { run, origin } = header;
  const { origin: here, shard } = target;
  const isOther = origin !== here && parseOrigin(origin).address === parseOrigin(here).address;
  if (!isOther || !sharesRows(header.shard, shard)) return;
  throw new Failure('usage', `run ${run} of the same rows used the service ${origin}, not ${here}`, {
    hint: `pass ${originFlags(origin, here)}, or --restart to ${again(other, { target })}`,
  });
}

/**
 * Finds another run that created rows of this input in the same list: of a shard that shares rows with this one, or
 * recorded in the state directory where this one has a --journal.
 *
 * @throws {Failure} usage, if a run of the other kind of service did
 */
async function findOverlappingRun(
  directory: string | undefined,
  input: RunInput,
  journal: string | undefined,
): Promise<ReadRun | undefined> {
  const { target } = input;
  let newest: ReadRun | undefined;
  for await (const run of runsOfRows(directory, input)) {
    refuseOtherService(run, target);
    const { header, counts } = run;
    // Those that could be resumed were compared before.
    const isResumable = journal === undefined && isSameTarget(header, target);
    const isOverlapping = !isResumable && header.origin === target.origin && sharesRows(header.shard, target.shard);
    if (isOverlapping && counts.done + counts.inDoubt > 0) newest ??= run;
  }
  return newest;
}

/**
 * Finds the readable runs of the same rows in a list of that name, newest first; none if the directory cannot be read,
 * since a run with a --journal does not need it.
 */
async function* runsOfRows(
  directory: string | undefined,
  { sha256, sample, target }: Pick<RunInput, 'sha256' | 'sample' | 'target'>,
): AsyncGenerator<ReadRun> {
  const isOfRows = (header: JournalHeader) =>
    isSameList(header, target) && (header.input.sha256 === sha256 || sharesSample(header.input.sample, sample));
  for (const file of directory === undefined ? [] : runsIn(directory, isOfRows)) {
    // A damaged one is reported when it is used.
    const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
    if (run !== undefined) yield run;
  }
}

function runsIn(directory: string, isWanted: (header: JournalHeader) => boolean): readonly RunFile[] {
  try {
    return [...runsWith(directory, isWanted)];
  } catch {
    return [];
  }
}

/** Whether two shards have rows in common: row n is of shard `I/N` where n - I is a multiple of N. */
function sharesRows(one: string | null, other: string | null): boolean {
  const [[index, count], [otherIndex, otherCount]] = [shardNumbers(one), shardNumbers(other)];
  return (index - otherIndex) % greatestDivisor(count, otherCount) === 0;
}

function shardNumbers(shard: string | null): readonly [index: number, count: number] {
  const [index = 1, count = 1] = (shard ?? '1/1').split('/').map(Number);
  return [index, count];
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}

function askToOverlap(other: ReadRun, { target, name }: RunInput, journal: string | undefined): ResumeDecision {
  const { header, counts } = other;
  const { run, startedAt, shard } = header;
  const where = shard === target.shard ? 'recorded in the state directory' : shardText(shard);
  const resuming = isComplete(counts) ? [] : [adviceFor(header, target, journal, ['pass --resume'])];
  return choice(
    { kind: 'new' },
    `run ${run} (started ${startedAt}, ${where}) already created ${countOf(counts.done, 'row')} of ${name} in this list`,
    'Create these rows again?',
    [`pass --restart to ${again(other, { target })}`, ...resuming],
  );
}

function shardText(shard: string | null): string {
  return shard === null ? 'without --shard' : `as shard ${shard}`;
}

const elsewhereMax = 3;

function placeOf({ run, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const parts = [
    ...(origin === here.origin ? [] : [`at ${origin}`]),
    ...(shard === here.shard ? [] : [shardText(shard)]),
  ];
  const only = journal === undefined ? 'with an input that was changed since' : 'in the state directory';
  const where = parts.length === 0 ? only : parts.join(', ');
  return `run ${run} of the same rows is incomplete, ${where}`;
}

function adviceFor(
  { file, origin, profile, shard }: JournalHeader,
  here: RunTarget,
  journal: string | undefined,
  more: readonly string[] = [],
): string {
  // A profile that has changed its service since does not lead there.
  const other = profile === undefined || profile === here.profile ? originFlags(origin, here.origin) : `-p ${profile}`;
  const flags = [
    ...(journal === undefined ? [] : ['leave out --journal']),
    ...(origin === here.origin ? [] : [`pass ${other}`]),
    ...(shard === here.shard ? [] : [shard === null ? 'leave out --shard' : `pass --shard ${shard}`]),
  ];
  const advice = [...(flags.length === 0 ? [`pass --from ${file}`] : flags), ...more];
  return `${advice.join(' and ')} to resume that run`;
}

/**
 * Works with the record of a run under its lock: that of a new run, of the earlier one of its input, or of the run that
 * `--resume` names.
 *
 * @throws {Failure} usage, if that is the run of another list or input, or no run can be resumed; locked; local-file
 */
export async function withRecord(
  input: RunInput,
  options: BulkOptions,
  session: Session,
  work: (record: RunRecord) => Promise<void>,
): Promise<void> {
  const { host } = session;
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
    if (before === undefined) await refuseLostRun(options, changed, input, session);
    await work(record);
  } finally {
    record.release();
  }
}

/** Refuses to resume without a run, and to create rows again that a run created before some of them were changed. */
async function refuseLostRun(
  { resume, journal }: Pick<BulkOptions, 'resume' | 'journal'>,
  changed: RelatedRun['changed'],
  input: RunInput,
  { host }: Session,
): Promise<void> {
  const isRefused = resume !== false || input.target.action === 'create';
  if (changed !== undefined && isRefused) throw otherRows(changed.before, changed.row, input);
  if (resume !== false) throw await nothingToResume(findRunsDirectory(host), input, journal);
}

function otherRunFailure({ journal }: Pick<BulkOptions, 'journal'>, { header, counts }: Replay): Failure {
  const { action, list, site, origin, shard } = header;
  const share = shard === null ? '' : ` (shard ${shard})`;
  const run = `${action} in list "${list}" of site "${site}" at ${origin}${share}`;
  if (journal === undefined) {
    return new Failure('usage', `cannot resume run ${header.run}: it is ${run}`, {
      hint: 'pass the list, service and shard of that run',
    });
  }
  const known = counts.done === 0 ? '' : `, which forgets the ${countOf(counts.done, 'row')} that it did`;
  return new Failure('usage', `${journal} is the journal of another run: ${run}`, {
    hint: `pass the journal of this run with --journal, or --restart to replace that journal${known}`,
  });
}

/**
 * Asks about another run that created these rows; undefined if no other run did, or if a previous run of this input
 * decides.
 */
async function decideOverlap(
  input: RunInput,
  { restart, journal }: Pick<BulkOptions, 'restart' | 'journal'>,
  record: RunRecord | undefined,
  { host }: Session,
): Promise<ResumeDecision | undefined> {
  const isCreate = input.target.action === 'create';
  if (!isCreate || record === undefined || record.before !== undefined || restart) return undefined;
  const other = await findOverlappingRun(findRunsDirectory(host), input, journal);
  return other && askToOverlap(other, input, journal);
}

/**
 * Decides what becomes of the rows of an input, and asks if that needs an answer.
 *
 * @param record undefined for a run without a journal
 * @throws {Failure} usage, as `decideResume`, or if the answer is not yes
 */
export async function decideRun(
  input: RunInput,
  options: BulkOptions,
  record: RunRecord | undefined,
  session: Session,
): Promise<Exclude<ResumeDecision, { readonly kind: 'choice' }>> {
  const overlap = await decideOverlap(input, options, record, session);
  const decision = await confirmed(overlap ?? (await decideResume(record?.before, options, input)), session);
  if (decision.kind === 'resume' && options.keepBefore && !decision.before.header.keepsBefore) {
    throw new Failure('usage', `run ${decision.before.header.run} does not keep earlier values`, {
      hint: `leave out --keep-before, or pass --restart to ${again(decision.before, input)}`,
    });
  }
  return decision;
}

async function confirmed(decision: ResumeDecision, session: Session): ReturnType<typeof decideRun> {
  if (decision.kind !== 'choice') return decision;
  const { question, yes, refusal } = decision;
  if (session.prompts.mayPrompt() && (await confirm(question, session))) return yes;
  throw refusal;
}

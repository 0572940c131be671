/** Decides what to do about a previous run of the same input: resume it, start over or refuse. */
import type { KeyField } from '../api/graph/key-field.ts';
import { Failure } from '../core/errors.ts';
import { countOf, countText } from '../core/text.ts';
import type { RowsFile } from '../rows/read.ts';
import type { BadRow, Row } from '../rows/types.ts';
import type { BulkOptions } from './flags.ts';
import type { JournalHeader } from './journal-format.ts';
import { type Replay, readJournal } from './journal-read.ts';
import { bootId, identityOf, originFlags, withoutKind } from './record.ts';
import { isComplete, type ReadRun, type RunFile, readRunFile, runsWith } from './runs.ts';
import { hashOf } from './tasks.ts';

/** What to do about the previous run. */
export type ResumeDecision =
  | { readonly kind: 'new' }
  | { readonly kind: 'resume'; readonly before: Replay }
  /** It completed every row of the same input. */
  | { readonly kind: 'complete'; readonly before: Replay }
  /** Needs confirmation: `yes` follows a yes, and `refusal` everything else. */
  | {
      readonly kind: 'choice';
      readonly question: string;
      readonly yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>;
      readonly refusal: Failure;
    };

/** The action and the place of a run; with the content of its input, its identity. */
export type RunTarget = Pick<JournalHeader, 'action' | 'origin' | 'profile' | 'site' | 'list' | 'shard'>;

/** The input of a run, to compare with that of others. */
export interface RunInput {
  readonly target: RunTarget;
  readonly name: string;
  readonly path: string | undefined;
  readonly rows: number;
  readonly sha256: string;
  /** A hash of the options that map columns to fields. */
  readonly mapping: string;
  /** The source of derived keys, as recorded in the journal. */
  readonly keysFrom: string | undefined;
  readonly keyField: KeyField | undefined;
  /** Whether a run was undone: of an update or a delete, in part. */
  readonly isUndone: (before: Replay) => Promise<boolean>;
  /** Finds the first row that is done or in doubt in a run, and has changed since. */
  readonly changedRow: (before: Replay) => Promise<Row | BadRow | undefined>;
}

/**
 * Decides what to do about the previous run.
 *
 * @throws {Failure} usage, if `--resume` or `--journal` names a run of another input
 */
export async function decideResume(
  before: Replay | undefined,
  { resume, restart, journal }: Pick<BulkOptions, 'resume' | 'restart' | 'journal'>,
  input: RunInput,
): Promise<ResumeDecision> {
  if (before === undefined || restart) return { kind: 'new' };
  const isWhole = isComplete(before.counts);
  const difference = await differenceOf(before, input);
  if (resume && difference !== undefined) throw difference;
  if (journal !== undefined && difference !== undefined) throw otherRecord(before, journal);
  if (isWhole || (before.header.keepsBefore && (await input.isUndone(before))))
    return decideRepeat(before, { resume, journal }, input);
  if (before.header.keysFrom !== input.keysFrom) throw otherKeys(before.header);
  refuseOtherKeyField(before.header, input.keyField);
  return resume ? { kind: 'resume', before } : askToResume(before, input);
}

async function decideRepeat(
  before: Replay,
  { resume, journal }: Pick<BulkOptions, 'resume' | 'journal'>,
  input: RunInput,
): Promise<ResumeDecision> {
  const isCreate = input.target.action === 'create';
  const isUndone = (isCreate || before.header.keepsBefore === true) && (await input.isUndone(before));
  if (resume && isUndone) throw undoneRun(before);
  if (resume) return { kind: 'complete', before };
  // Updates and deletes can be repeated; a second run in the same --journal would replace the first.
  const mayDouble = isCreate && !isUndone && before.header.rows > 0;
  return journal === undefined && !mayDouble ? { kind: 'new' } : askToRepeat(before, input, journal, isUndone);
}

async function differenceOf(before: Replay, input: RunInput): Promise<Failure | undefined> {
  const { header, counts } = before;
  if (header.input.sha256 === input.sha256 && header.mapping === input.mapping) return undefined;
  const changed = await input.changedRow(before);
  if (changed !== undefined && !isComplete(counts)) return rowChanged(before, changed);
  return changed === undefined && header.input.rows === input.rows ? undefined : otherInput(before, input);
}

function askToResume(before: Replay, { name }: RunInput): ResumeDecision {
  const { header, counts } = before;
  const states: readonly (readonly [number, string])[] = [
    [counts.left, 'remaining'],
    [counts.failed + counts.invalid, 'failed'],
    [counts.inDoubt, 'in doubt'],
  ];
  const rest = states.filter(([count]) => count > 0).map(([count, state]) => `${countText(count)} ${state}`);
  return choice(
    { kind: 'resume', before },
    `run ${header.run} of ${name} is incomplete: ${rest.join(', ')} of ${countOf(header.rows, 'row')}`,
    'Resume it?',
    ['pass --resume to send the remaining rows, or --restart to send every row again; nothing was sent'],
  );
}

function askToRepeat(
  before: Replay,
  { name, target }: RunInput,
  journal: string | undefined,
  isUndone: boolean,
): ResumeDecision {
  const { header, counts } = before;
  const rows = counts.skipped === 0 ? 'every row' : `all rows but ${countText(counts.skipped)} skipped`;
  const undone = isUndone ? ', and was undone' : '';
  const ended = isComplete(counts) ? `completed ${rows} of ${name}${undone}` : `of ${name} was undone`;
  const loss = journal === undefined ? '' : ` (replaces the run in ${journal})`;
  return choice(
    { kind: 'new' },
    `run ${header.run} (started ${header.startedAt}) ${ended}`,
    `${capitalized(target.action)} them again${loss}?`,
    [`pass --restart to ${target.action} every row again${loss}; nothing was sent`],
  );
}

function choice(
  yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>,
  what: string,
  question: string,
  hints: readonly string[],
): ResumeDecision {
  const refusal = new Failure('usage', what, { hint: hints.join('\n') });
  return { kind: 'choice', yes, question: `${capitalized(what)}. ${question}`, refusal };
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function otherInput({ header }: Replay, { name, rows }: RunInput): Failure {
  const what =
    header.input.rows === rows
      ? 'the rows or the input options changed since that run'
      : `its input had ${countOf(header.input.rows, 'row')}, but this one has ${countText(rows)}`;
  return new Failure('usage', `cannot resume run ${header.run} with ${name}: ${what}`, {
    hint: 'pass --restart to start over with this input; nothing was sent',
  });
}

function undoneRun({ header }: Replay): Failure {
  return new Failure('usage', `cannot resume run ${header.run}: it was undone`, {
    hint: `pass --restart instead of --resume to ${header.action} its rows again; nothing was sent`,
  });
}

/** Keys of two kinds would not protect against duplicates. */
function otherKeys({ run, keysFrom }: Replay['header']): Failure {
  const own = keysFrom === undefined ? 'uses random keys' : `derives its keys from ${keysFrom}`;
  const fix = keysFrom === undefined ? 'leave out' : 'pass';
  return new Failure('usage', `cannot resume run ${run} with different keys: it ${own}`, {
    hint: `${fix} --idempotency-key-from${keysFrom === undefined ? '' : ` ${keysFrom}`}, or pass --restart to send every row again; nothing was sent`,
  });
}

/**
 * Rows that may have been sent are found by the column of the run alone; without what it promised they could double.
 *
 * @throws {Failure} usage
 */
function refuseOtherKeyField({ run, keyField: own }: Replay['header'], here: KeyField | undefined): void {
  const refuse = (reason: string, fix: string) => {
    const hint = `${fix}, or pass --restart to send every row again; nothing was sent`;
    return new Failure('usage', `cannot resume run ${run}: ${reason}`, { hint });
  };
  if (own === undefined && here !== undefined) throw refuse('it has no key field', 'leave out --key-field');
  if (own !== undefined && own.column !== here?.column)
    throw refuse(`its key field is ${own.column}`, `pass --key-field ${own.column}`);
  if (own === undefined || here === undefined || promises.indexOf(here.promise) >= promises.indexOf(own.promise))
    return;
  const was = own.promise === 'unique' ? 'unique' : 'indexed';
  throw refuse(`${own.column} is no longer ${was}`, `make the column ${was} again`);
}

/** The weakest first. */
const promises: readonly KeyField['promise'][] = ['none', 'indexed', 'unique'];

function otherRecord({ header }: Replay, journal: string): Failure {
  return new Failure('usage', `${journal} is the journal of run ${header.run}, which has another input`, {
    hint: 'pass another file with --journal, or --restart to replace that journal; nothing was sent',
  });
}

/** As `RunInput.changedRow`, over a file. */
export async function findChangedRow(before: Replay, file: RowsFile): Promise<Row | BadRow | undefined> {
  for await (const block of file.blocks()) {
    for (const row of block) {
      const state = row.number > before.header.input.rows ? 'pending' : before.stateOf(row.number);
      if (state !== 'done' && state !== 'in-doubt') continue;
      if (row.problem !== undefined || hashOf(row) !== before.hashOf(row.number)) return row;
    }
  }
  return undefined;
}

function rowChanged({ header }: Pick<Replay, 'header'>, { number, line }: Row | BadRow): Failure {
  return new Failure('usage', `row ${number} (line ${line}) changed since run ${header.run} sent it`, {
    hint: 'restore its values, or pass --restart to send every row of this input; nothing was sent',
  });
}

/** The identity of a run: 64 hex digits. */
export function runIdentity({ action, origin, site, list, shard }: RunTarget, sha256: string): string {
  return identityOf(action, origin, site, list, shard, sha256);
}

export function isSameTarget(one: RunTarget, other: RunTarget): boolean {
  return isSameList(one, other) && one.origin === other.origin && one.shard === other.shard;
}

function isSameList(one: RunTarget, other: RunTarget): boolean {
  return one.action === other.action && one.site === other.site && one.list === other.list;
}

/**
 * Finds the run of an input that was edited since, or why the first candidate does not match.
 *
 * @throws {Failure} local-file
 */
export async function findEditedRun(
  directory: string,
  { target, path, rows, changedRow }: RunInput,
): Promise<{ readonly run: RunFile | undefined; readonly failure: Failure | undefined }> {
  const boot = bootId();
  const isAtPath = (header: JournalHeader) => header.file === path && isSameTarget(header, target);
  let failure: Failure | undefined;
  if (path === undefined) return { run: undefined, failure };
  for (const run of runsWith(directory, isAtPath)) {
    const { header, counts } = (await readRunFile(run, { boot })) ?? {};
    const isWhole = counts !== undefined && isComplete(counts);
    if (isWhole && (header?.isShrunk || header?.input.rows !== rows)) continue;
    const before = await readJournal(run.path, { boot });
    if (before === undefined) continue;
    const changed = await changedRow(before);
    if (changed === undefined) return { run, failure };
    if (!isWhole) failure ??= rowChanged(before, changed);
  }
  return { run: undefined, failure };
}

/**
 * The failure of a `--resume` without a run; names incomplete runs of the same rows elsewhere.
 *
 * @throws {Failure} usage, for a create by the other kind of service
 */
export async function nothingToResume(
  directory: string | undefined,
  { target, sha256, name }: RunInput,
  journal: string | undefined,
): Promise<Failure> {
  const found: ReadRun[] = [];
  for await (const run of runsOfRows(directory, sha256, target)) {
    if (target.action === 'create') refuseOtherService(run, target);
    if (!isComplete(run.counts) && found.length < elsewhereMax) found.push(run);
  }
  const where = journal === undefined ? '' : `${journal} does not exist, and `;
  const elsewhere = found.map(({ header }) => `; ${placeOf(header, target, journal)}`).join('');
  const [first] = found;
  const resume = first === undefined ? [] : [`${adviceFor(first.header, target, journal)}; nothing was sent`];
  // Without --restart a run that shares rows with one of this list is refused as well.
  const isRepeat = found.some(
    ({ header }) => header.origin === target.origin && sharesRows(header.shard, target.shard),
  );
  const how = isRepeat ? 'pass --restart instead of --resume' : 'leave out --resume';
  const start = `${how} to start a new run${first === undefined ? '; nothing was sent' : ''}`;
  return new Failure('usage', `cannot resume: ${where}no run of ${name} is recorded here${elsewhere}`, {
    hint: [...resume, start].join('\n'),
  });
}

/**
 * Refuses rows that a run sent to the same list by the other kind of service: its items may be there.
 *
 * @throws {Failure} usage
 */
function refuseOtherService({ header }: ReadRun, { origin: here, shard }: RunTarget): void {
  const { run, origin } = header;
  const isOther = origin !== here && withoutKind(origin) === withoutKind(here);
  if (!isOther || !sharesRows(header.shard, shard)) return;
  throw new Failure('usage', `run ${run} of the same rows used the service ${origin}, not ${here}`, {
    hint: `pass ${originFlags(origin, here)}, or --restart to create these rows again; nothing was sent`,
  });
}

/**
 * Finds another run that created rows of this input in the same list: of a shard that shares rows with this one, or
 * recorded in the state directory where this one has a --journal.
 *
 * @throws {Failure} usage, if a run of the other kind of service did
 */
export async function findOverlappingRun(
  directory: string | undefined,
  { target, sha256 }: RunInput,
): Promise<ReadRun | undefined> {
  let newest: ReadRun | undefined;
  for await (const run of runsOfRows(directory, sha256, target)) {
    refuseOtherService(run, target);
    const { header, counts } = run;
    const isOverlapping = header.origin === target.origin && sharesRows(header.shard, target.shard);
    if (isOverlapping && counts.done + counts.inDoubt > 0) newest ??= run;
  }
  return newest;
}

/**
 * Finds the readable runs of the same rows in a list of that name, newest first; none if the directory cannot be read,
 * since a run with a --journal does not need it.
 */
async function* runsOfRows(directory: string | undefined, sha256: string, target: RunTarget): AsyncGenerator<ReadRun> {
  const isOfRows = (header: JournalHeader) => header.input.sha256 === sha256 && isSameList(header, target);
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

export function askToOverlap(
  { header, counts }: ReadRun,
  { target, name }: RunInput,
  journal: string | undefined,
): ResumeDecision {
  const { run, startedAt, shard } = header;
  const where = shard === target.shard ? 'recorded in the state directory' : shardText(shard);
  const resuming = isComplete(counts) ? [] : [adviceFor(header, target, journal, ['pass --resume'])];
  return choice(
    { kind: 'new' },
    `run ${run} (started ${startedAt}, ${where}) already created ${countOf(counts.done, 'row')} of ${name} in this list`,
    'Create these rows again?',
    ['pass --restart to create these rows again; nothing was sent', ...resuming],
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

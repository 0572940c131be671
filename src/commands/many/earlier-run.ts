/**
 * Which run an input already has.
 *
 * A run is known by service, site, list, action, shard and the content of its input: these are its identity, and the
 * name of its journal begins with it. The name of the input's file is no part of it, nor whether it is packed.
 *
 * One case needs more. A row that was refused is fixed in the file, so that its content is another one. Where no run
 * has the identity, those of the same target are looked through whose input had the same path. The path only says where
 * to look; whether it is that run, its rows decide: none of those that were done, or may have been, differs. The input
 * of any other run at that path is another one. So a name makes no two runs one, and no row that was done is sent twice
 * without --restart. A run that is gone on with so has the new content's identity from then on.
 *
 * Without any run --resume sends nothing: a lost journal, another address or a slip in a flag must not begin at row 1.
 */

import type { JournalHeader } from '../../bulk/journal-records.ts';
import { type Replay, readJournal } from '../../bulk/journal-replay.ts';
import { type ReadRun, type RunFile, readRunFile, runsWith } from '../../bulk/run-files.ts';
import { Failure } from '../../errors.ts';
import { countOf } from '../../output/quantity-text.ts';
import { type Beginning, type ChangedRow, isWhollyDone, rowChanged } from './going-on.ts';
import { bootId, identityOf } from './run-record.ts';

/** What a run does, and where: with the content of its input, its identity. */
export type RunTarget = Pick<JournalHeader, 'action' | 'origin' | 'site' | 'list' | 'shard'>;

/** The input of a run that may be begun. */
export interface RunInput {
  readonly target: RunTarget;
  /** For messages. */
  readonly name: string;
  /** The absolute path; undefined for a stream, which has no path of its own. */
  readonly path: string | undefined;
  readonly rows: number;
  readonly sha256: string;
  /** As `findChangedRow` over the input. */
  readonly changedRow: (before: Replay) => Promise<ChangedRow | undefined>;
}

/** 64 hex digits that stand for a run. */
export function runIdentity({ action, origin, site, list, shard }: RunTarget, sha256: string): string {
  return identityOf(action, origin, site, list, shard, sha256);
}

/** Whether two runs do the same, in the same place. */
export function isSameTarget(one: RunTarget, other: RunTarget): boolean {
  return isSameList(one, other) && one.origin === other.origin && one.shard === other.shard;
}

function isSameList(one: RunTarget, other: RunTarget): boolean {
  return one.action === other.action && one.site === other.site && one.list === other.list;
}

/** The run of an input that was changed where it was not done; and the first one that turned out to be of other rows. */
export interface EditedRun {
  readonly run: RunFile | undefined;
  readonly notIt: Failure | undefined;
}

/**
 * Looks for the run of an input that has another content since.
 *
 * @throws {Failure} local-file, when the folder of runs can't be read, or the journal of a run at that path is damaged
 */
export async function findEditedRun(folder: string, { target, path, rows, changedRow }: RunInput): Promise<EditedRun> {
  const boot = bootId();
  const isAtPath = (header: JournalHeader) => header.file === path && isSameTarget(header, target);
  let notIt: Failure | undefined;
  if (path === undefined) return { run: undefined, notIt };
  for (const run of runsWith(folder, isAtPath)) {
    const { header, counts } = (await readRunFile(run, { boot })) ?? {};
    const isWhole = counts !== undefined && isWhollyDone(counts);
    if (isWhole && (header?.isShrunk || header?.input.rows !== rows)) continue;
    const before = await readJournal(run.path, { boot });
    if (before === undefined) continue;
    const changed = await changedRow(before);
    if (changed === undefined) return { run, notIt };
    if (!isWhole) notIt ??= rowChanged(before, changed);
  }
  return { run: undefined, notIt };
}

/**
 * The failure of a --resume without a run: it names the unfinished runs of the same rows elsewhere, and what to do.
 *
 * @param folder of runs; undefined where there is none
 * @param journal as it was named, where the run was looked for in that file
 */
export async function nothingToResume(
  folder: string | undefined,
  { target, sha256, name }: RunInput,
  journal: string | undefined,
): Promise<Failure> {
  const isOfRows = (header: JournalHeader) => header.input.sha256 === sha256 && isSameList(header, target);
  const found: ReadRun[] = [];
  if (folder !== undefined) {
    for (const file of runsElsewhere(folder, isOfRows)) {
      // A damaged one is told of by who names it.
      const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
      if (run !== undefined && !isWhollyDone(run.counts) && found.length < elsewhereMax) found.push(run);
    }
  }
  const where = journal === undefined ? '' : `${journal} is not there, and `;
  const elsewhere = found.map(({ header }) => `; ${placeOf(header, target, journal)}`).join('');
  const [first] = found;
  const resume = first === undefined ? [] : [`nothing was sent; ${adviceFor(first.header, target, journal)}`];
  // Without --restart a run that shares rows with one of this list is refused as well.
  const isRepeat = found.some(
    ({ header }) => header.origin === target.origin && sharesRows(header.shard, target.shard),
  );
  const how = isRepeat ? 'pass --restart instead of --resume' : 'leave out --resume';
  const start = `${first === undefined ? 'nothing was sent; t' : 't'}o start a new run, ${how}`;
  return new Failure('usage', `cannot resume: ${where}no run of ${name} is recorded here${elsewhere}`, {
    hint: [...resume, start].join('\n'),
  });
}

/**
 * Finds another run that created rows of this input in the same list: of a shard that shares rows with this one, or
 * recorded in the state directory where this one has a --journal.
 */
export async function findOverlappingRun(folder: string, { target, sha256 }: RunInput): Promise<ReadRun | undefined> {
  const isOfRows = (header: JournalHeader) =>
    header.input.sha256 === sha256 &&
    isSameList(header, target) &&
    header.origin === target.origin &&
    sharesRows(header.shard, target.shard);
  for (const file of runsElsewhere(folder, isOfRows)) {
    // A damaged one is reported where it is named.
    const run = await readRunFile(file, { boot: bootId() }).catch(() => undefined);
    if (run !== undefined && run.counts.done + run.counts.inDoubt > 0) return run;
  }
  return undefined;
}

/** As `runsWith`; none where the directory cannot be read, since a run with a --journal does not need it. */
function runsElsewhere(folder: string, isWanted: (header: JournalHeader) => boolean): readonly RunFile[] {
  try {
    return [...runsWith(folder, isWanted)];
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

/** The choice that such a run leaves. */
export function overlap(
  { header, counts }: ReadRun,
  { target, name }: RunInput,
  journal: string | undefined,
): Beginning {
  const { run, startedAt, shard } = header;
  const where = shard === target.shard ? 'recorded in the state directory' : shardText(shard);
  const created = `created ${countOf(counts.done, 'row')} of ${name} in this list already`;
  const what = `run ${run}, started ${startedAt}, ${where}, ${created}`;
  const resuming = isWhollyDone(counts) ? [] : [`${adviceFor(header, target, journal)} and pass --resume`];
  return {
    kind: 'choice',
    yes: { kind: 'new' },
    question: `${what.replace(/^r/, 'R')}. Create these rows again?`,
    refusal: new Failure('usage', what, {
      hint: ['nothing was sent; pass --restart to create these rows again', ...resuming].join('\n'),
    }),
  };
}

function shardText(shard: string | null): string {
  return shard === null ? 'without --shard' : `as shard ${shard}`;
}

/** A message is no list: the newest ones will do. */
const elsewhereMax = 3;

function placeOf({ run, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const parts = [
    ...(origin === here.origin ? [] : [`at ${origin}`]),
    ...(shard === here.shard ? [] : [shardText(shard)]),
  ];
  const only = journal === undefined ? 'with an input that was changed since' : 'in the state directory';
  const where = parts.length === 0 ? only : parts.join(', ');
  return `run ${run} of the same rows is unfinished, ${where}`;
}

function adviceFor({ file, origin, shard }: JournalHeader, here: RunTarget, journal: string | undefined): string {
  const flags = [
    ...(journal === undefined ? [] : ['leave out --journal']),
    ...(origin === here.origin ? [] : [`pass --base-url ${origin}`]),
    ...(shard === here.shard ? [] : [shard === null ? 'leave out --shard' : `pass --shard ${shard}`]),
  ];
  return `to resume that run, ${flags.length === 0 ? `pass --from ${file}` : flags.join(' and ')}`;
}

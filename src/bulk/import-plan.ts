/** The rows of a file as the plan of a run: how each is sent, and what is recorded. */

import { serviceWords } from '../cli/flags.ts';
import type { Session } from '../cli/session.ts';
import type { TypedFields } from '../core/field-encoder.ts';
import { absolutePath } from '../core/files.ts';
import type { Fields, ListRef } from '../core/item.ts';
import type { JsonObject } from '../core/json.ts';
import type { Check } from '../rows/check.ts';
import type { RowsFile } from '../rows/read.ts';
import { openRejects } from '../rows/rejects.ts';
import { type BadRow, pastTense, type Row, type RowAction } from '../rows/types.ts';
import type { ResolvedList } from '../services/service.ts';
import type { EarlierFile } from './earlier-values.ts';
import { type BulkOptions, withHalfRate } from './flags.ts';
import type { RunInput } from './input-match.ts';
import { toRecordedKey } from './journal-format.ts';
import type { Replay } from './journal-read.ts';
import type { RowKeys } from './key-checks.ts';
import { IdSet } from './keys.ts';
import { openRejectsFile, type RunOutputs } from './outputs.ts';
import { type RunRecord, type RunRecording, readClocks } from './record.ts';
import { findOvertaken, type RepeatedIds } from './repeated-ids.ts';
import type { ResumeDecision } from './resume.ts';
import { nextSteps, resumeCommand } from './send.ts';
import { createKeepingSender, createRowSender, type RunPlan } from './senders.ts';
import { newCounts, resumedCounts, skipRows, tasksOf } from './tasks.ts';

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

/** A file whose rows were checked. */
export interface FileRun {
  readonly list: ResolvedList;
  readonly command: ImportCommand;
  readonly outputs: RunOutputs;
  readonly options: BulkOptions;
  readonly file: RowsFile;
  readonly check: Check;
  readonly input: RunInput;
  readonly keyOf: RowKeys['keyOf'];
  /** Whether the rows have their keys in the column of `--key-field` already. */
  readonly hasOwnKeys: boolean;
  /** How the input is read, as the journal records it. */
  readonly reading: JsonObject;
  /** Undefined if no id is repeated. */
  readonly repeated: RepeatedIds | undefined;
}

const none: ReadonlySet<number> = new Set();

/** The rows that are not sent, since an earlier row has the same item. */
export function repeatedOnce({ command, repeated }: FileRun): ReadonlySet<number> {
  return command.action === 'update' ? none : (repeated?.rows ?? none);
}

/** The operations that write a key; undefined for those of the service. */
export async function keyedItems(
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

function openRunRecord(
  { command, options, check, input, file, reading }: FileRun,
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
    reading,
  };
  if (decision.kind === 'resume') return record.reopen(concurrency, facts);
  return record.create(
    {
      ...input.target,
      ...facts,
      keysFrom: input.keysFrom,
      keyField: input.keyField && toRecordedKey(input.keyField),
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

/** Makes the plan of a run; `record` is undefined for one without a journal. */
export async function planRows(
  run: FileRun,
  decision: ResumeDecision,
  record: RunRecord | undefined,
  session: Session,
): Promise<RunPlan<Row | BadRow>> {
  const { command, options, file, check, keyOf, outputs } = run;
  const { summary, report, rejects } = outputs;
  const { action, ignoreMissing = false } = command;
  const { inDoubt } = options;
  const { guarantee = 'none' } = run.input.keyField ?? {};
  const { idempotency, sendsKeys } = session.settings;
  const list = run.list.ids;
  const before = decision.kind === 'resume' ? decision.before : undefined;
  const items = await keyedItems(run, before, session);
  const seenIds = (before && record?.seenIds) ?? new IdSet();
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
      isProvable: guarantee !== 'none',
      clock: session.host.clock,
      ...repeats,
    }),
    itemOf: repeats.itemOf,
    createSender: (client, ofService) =>
      earlier !== undefined && (action === 'update' || action === 'delete')
        ? createKeepingSender({ action, list, client, items: ofService, ignoreMissing, earlier, valuesOf })
        : createRowSender(action, list, client, {
            ...{ keyOf, ignoreMissing, seenIds, items: items ?? ofService },
            sendsKeys: sendsKeys || (items !== undefined && !run.hasOwnKeys),
            looksUp: guarantee === 'indexed' && inDoubt !== 'retry',
          }),
    rejects: rejects && openRejectsFile(rejects, openRejects(file)),
    nextSteps: nextSteps({
      resumeOf,
      keepsDoubt: action === 'create' && idempotency !== 'honored' && guarantee !== 'unique',
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

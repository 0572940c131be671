/**
 * Runs an action over the rows of a file: `listctl items create --from tasks.csv`. Checks the whole file, decides what to do
 * about a previous run, and hands a plan to `sendRows`. Loaded late.
 */

import { keyColumnsOf, openEncoder, openKeyField, showMapping, toSentFields } from '../cli/encode-fields.ts';
import { checkMaxDelete } from '../cli/guards.ts';
import { describeList } from '../cli/run-settings.ts';
import type { Session } from '../cli/session.ts';
import { warnOfExpiry } from '../cli/token-lifetime.ts';
import { takeStdin } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import type { FieldEncoder } from '../core/field-encoder.ts';
import type { ListRef } from '../core/item.ts';
import { countOf } from '../core/text.ts';
import { type Input, nameOf } from '../rows/input.ts';
import { openRows } from '../rows/read.ts';
import { pastTense, type RowAction } from '../rows/types.ts';
import type { ResolvedList } from '../services/service.ts';
import { type BulkOptions, formatShard } from './flags.ts';
import { type FileRun, type ImportCommand, planRows, repeatedOnce } from './import-plan.ts';
import { readingOf, sampled, toRunInput } from './input-match.ts';
import { refuseKeys, watchKeys } from './key-checks.ts';
import { openOutputs, type RunOutputs, refuseSummary, reportFiles } from './outputs.ts';
import { checkAlone, checkFile, openShown, openTyped } from './progress.ts';
import { checkJournalPath, journalFiles, type RunRecord, refuseSameFile, runOrigin } from './record.ts';
import { decideRun, withRecord } from './related-runs.ts';
import { repeatedNotice, watchRepeated } from './repeated-ids.ts';
import { sendRows } from './send.ts';

/**
 * Runs a command over every row of a file.
 *
 * @throws {Failure} usage, for invalid rows, an incomplete previous run, or without confirmation; as `sendRows`
 * @throws {Stopped}
 */
export async function runImport(command: ImportCommand, options: BulkOptions, session: Session): Promise<void> {
  const { host } = session;
  const { from } = command;
  if (options.keyField !== undefined) await keyColumnsOf(session);
  refuseContradictions(command, options);
  refuseKeys(options, session);
  session.settings.list();
  session.settings.address();
  if (from === '-' && command.ids === undefined) takeStdin(host);
  if (options.journal !== undefined) checkJournalPath(options.journal, host);
  refuseSameFile(filesOf(from, options), host);
  const outputs = await openOutputs(options, outputsOf(command, options, session), session);
  try {
    await runInput(command, options, outputs, session);
  } finally {
    await outputs.close();
  }
}

function outputsOf({ action, from, isDryRun }: ImportCommand, options: BulkOptions, session: Session) {
  const run = { action, service: runOrigin(session), list: session.settings.list(), shard: formatShard(options) };
  return { ...run, file: from, printsItems: action === 'get', isOnlyShown: isDryRun };
}

async function runInput(
  command: ImportCommand,
  options: BulkOptions,
  outputs: RunOutputs,
  session: Session,
): Promise<void> {
  const input = await (command.ids === undefined ? openShown(command.from, session) : openTyped(command.ids, session));
  try {
    const { run, form } = await checkInput(input, { command, options, outputs }, session);
    const { action, isDryRun } = command;
    // Reads are recorded only on request, since they can be repeated.
    const isWanted = options.journal !== undefined || options.resume !== false;
    const isRecorded = options.hasJournal && (isWanted || (action !== 'get' && run.check.rows > 0));
    if (!options.hasJournal && !isDryRun && action !== 'get') await session.messages.say(noRecordNotice);
    if (isDryRun) {
      checkMaxDelete(run.check.ofShard - repeatedOnce(run).size, options.maxDelete);
      if (form !== undefined) await showMapping(form, options, session);
      await (await import('./dry-run.ts')).showDryRun(run, session);
    } else if (isRecorded) await withRecord(run.input, options, session, (record) => runFile(run, record, session));
    else await runFile(run, undefined, session);
  } finally {
    input.close();
  }
}

/** Resolves the list, and checks every row of the input. */
async function checkInput(
  input: Input,
  { command, options, outputs }: Pick<FileRun, 'command' | 'options' | 'outputs'>,
  session: Session,
): Promise<{ readonly run: FileRun; readonly form: FieldEncoder | undefined }> {
  const { action, common: typed } = command;
  // Items that are read back have fields that the service refuses to write.
  const { systemFields: readOnly } = await session.service.load();
  const plain = { ...options, action, common: typed.fields, readOnly };
  const checkFirst = async () => checkAlone(await openRows(input, plain), options.skipInvalid, outputs.report, session);
  const list = await resolveAfter(checkFirst, session);
  outputs.summary.resolved(list.ids);
  const named = options.keyField;
  const keyField = named === undefined ? undefined : await openKeyField(named, list.ids, session);
  const form = await openFileEncoder(action, options, list.ids, session);
  const common = form === undefined ? typed.fields : await toSentFields(typed, form, false);
  const file = await openRows(input, { ...plain, common, form });
  const keys = await watchKeys(file, options, list.ids, session);
  const ids = watchRepeated(keys.file);
  const sample = sampled(ids.file);
  const check = await checkFile(sample.file, options.skipInvalid, outputs.report, session);
  const repeated = await ids.find();
  if (repeated !== undefined) await session.messages.say(`listctl: ${repeatedNotice(repeated, action)}`);
  const checked = { file, check: { ...check, sample: sample.rows() }, common: typed.fields, options };
  const runInput = toRunInput({ ...checked, list: list.ids, keyField }, session);
  const read = { file, check, input: runInput, reading: readingOf(file), repeated };
  return { run: { command, options, list, outputs, ...read, keyOf: keys.keyOf, hasOwnKeys: keys.isOwn() }, form };
}

/** Resolves the list; what the file alone shows is said before any request. */
async function resolveAfter(checkFirst: () => Promise<void>, { service, settings }: Session): Promise<ResolvedList> {
  if ((await service.load()).resolve !== undefined) await checkFirst();
  return service.resolve(settings.list());
}

/** Only the fields of a create or an update have to fit the columns. */
async function openFileEncoder(action: RowAction, options: BulkOptions, list: ListRef, session: Session) {
  if (action !== 'create' && action !== 'update') return undefined;
  const filled = options.keyField === undefined ? [] : [options.keyField];
  return openEncoder(list, { ...options, filled }, session);
}

function refuseContradictions({ isDryRun }: ImportCommand, { resume, restart, summaryJson }: BulkOptions): void {
  if (isDryRun) refuseSummary(summaryJson);
  if (!isDryRun || !(resume || restart)) return;
  throw new Failure('usage', `--dry-run cannot be used with --${resume ? 'resume' : 'restart'}`, {
    hint: 'run "listctl runs show last" to see the remaining rows',
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

async function runFile(run: FileRun, record: RunRecord | undefined, session: Session): Promise<void> {
  const { command, check } = run;
  const decision = await decideRun(run.input, run.options, record, session);
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
  const counts = decision.kind === 'resume' ? decision.before.counts : undefined;
  const settled = counts === undefined ? repeatedOnce(run).size : counts.done + counts.skipped;
  checkMaxDelete(check.ofShard - settled, run.options.maxDelete);
  await warnOfExpiry(session);
  // The items of an earlier run with the same keys may be reported as created.
  const isRepeat = decision.kind === 'new' && (run.options.restart || record?.before !== undefined);
  if (isRepeat && run.keyOf !== undefined) await session.messages.say(sameKeysWarning);
  if (command.needsConfirmation) await confirmDelete(run, session);
  if (command.action !== 'get') await session.service.confirmWrites(describeList(run.list));
  await sendRows(await planRows(run, decision, record, session), session);
}

const sameKeysWarning =
  'warning: keys are derived from the rows; a service that still knows them returns its existing items';

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

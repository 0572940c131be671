/** The steps of a plan, through the same runner as the rows of a file. */
import type { Client, Operation } from '../api/client.ts';
import { createOperation, updateOperation } from '../api/items.ts';
import type { RunLimits } from '../bulk/flags.ts';
import { createJournal } from '../bulk/journal.ts';
import { derivedKey, IdSet, keyAgeMs, type PresentMoment } from '../bulk/keys.ts';
import type { Sender, Task } from '../bulk/outcome.ts';
import { openRejectsFile, type Summary } from '../bulk/outputs.ts';
import { deleteById, doneIfMissing, type KnownResults, type RunPlan, type SentResult } from '../bulk/plan.ts';
import { type RunRecording, startSession } from '../bulk/record.ts';
import { newCounts } from '../bulk/resume.ts';
import { newRunId } from '../bulk/runs.ts';
import { sendRows } from '../bulk/send.ts';
import { checkMaxDelete } from '../cli/guards.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, type ListRef, strongTag } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import { countOf, countText } from '../core/text.ts';
import type { OutputFile } from '../core/write-file.ts';
import { jsonText } from '../output/layout.ts';
import { shellWord } from '../output/request.ts';
import { type OpenManifest, recordRun } from './open.ts';
import type { Conflict, Plan } from './plan.ts';
import { beginRun, journalIdentity, journalPath, withLearned } from './recover.ts';
import { type CreateStep, type State, type Step, stepHash } from './state.ts';
import { writeState } from './state-file.ts';

/**
 * The key with which an item is created. It follows from the service, the list, the key field with its value, the fields
 * that are sent, and what had that key in this list before (the id of an item that is gone, was deleted or forgotten).
 *
 * - It needs no memory: where the state is lost, the same manifest leads to the same keys, and a service that honors keys
 *   gives back the items of the first run for as long as it remembers them.
 * - Another body has another key, since a service refuses one key with two bodies: an item whose create was refused may be
 *   fixed and sent at once.
 * - An item that was there and is no more has to be made once more, where the service would repeat its old response: so
 *   what it follows is part of the key. A lost state does not know that, and is given the old id; the next apply finds
 *   that item gone and follows it, and so on to the one that is there: never a second one.
 *
 * Two manifests that say the same item of the same list mean one item.
 */
export function createKey(state: State, { key, fields }: Pick<CreateStep, 'key' | 'fields'>): string {
  const follows = state.items.get(key)?.id ?? state.retired?.get(key)?.follows ?? '';
  return derivedKey(state, 'apply', state.key, key, printJson(fields), follows);
}

/** The failure of one key: the id, what stands in the key field, and what was expected. */
function conflictFailure(conflict: Conflict, named: OpenManifest): Failure {
  const message = `${conflictText(conflict, named)}: nothing was sent for it`;
  return new Failure('conflict', message, { outcome: 'not-sent', hint: hintFor(conflict, named) });
}

/** What a run ends in that did all else. */
function conflictEnding(first: Conflict, count: number, named: OpenManifest): Failure {
  const more = count === 1 ? '' : `, and ${count - 1} more`;
  const message = `cannot ${first.action} "${first.key}"${more}: ${conflictText(first, named)}`;
  return new Failure('conflict', message, { outcome: 'not-sent', hint: hintFor(first, named) });
}

/** The sentence: `item "1" is now a different item: its Title is "payroll", not "A"`. */
function conflictText({ key, id, found }: Conflict, { manifest }: Pick<OpenManifest, 'manifest'>): string {
  const other = found === undefined || found === null ? 'no value' : jsonText(found);
  return `item "${id}" is now a different item: its ${manifest.key} is ${other}, not ${jsonText(key)}`;
}

function hintFor({ key, id }: Conflict, { words }: OpenManifest): string {
  // What begins with a dash would be read as a flag.
  const args = key.startsWith('-') ? `${words} --` : words;
  const importing = `listctl state import ${args} ${shellWord(`${key}=${id}`)}`;
  return `stop managing it: listctl state forget ${args} ${shellWord(key)}\nor, if it is the same item: ${importing}`;
}

/** What is to be carried out, and where that is recorded. */
export interface ExecuteOptions {
  readonly named: OpenManifest;
  /** As it is on disk; of serial 0 where it never was. */
  readonly state: State;
  readonly plan: Pick<Plan, 'steps' | 'conflicts' | 'inDoubt' | 'learned'>;
  /** The present, by which the keys of steps in doubt are old or not. */
  readonly present: (() => PresentMoment) | undefined;
  readonly pace: RunLimits;
  readonly summary: Summary;
  /** For what was not done. */
  readonly rejects: OutputFile | undefined;
}

interface StepRow {
  readonly number: number;
  /** The key. */
  readonly name: string;
  readonly action: Step['action'];
  readonly id: string | undefined;
  readonly fields: Fields;
}

/**
 * Does every step of a plan, and takes what was done into the state however that ends. What the plan sends nothing for,
 * keys in doubt and items that are others by now, is reported beside the steps.
 *
 * @throws {Failure} what the steps ended in, as `sendRows`: in-doubt, where any key is; local-file, when the state cannot
 *   be written
 * @throws {Stopped} when it was told to stop
 */
export async function executePlan(work: ExecuteOptions, session: Session): Promise<void> {
  let begun: State | undefined;
  const openRecord = (): RunRecording | undefined => {
    const { host } = session;
    const { state, plan } = work;
    const nowMs = host.clock.now();
    if (plan.steps.length === 0) {
      if (state.serial === 0 || plan.learned.size > 0)
        writeState(work.named.statePath, withLearned(state, plan, nowMs));
      return undefined;
    }
    const run = newRunId(nowMs, () => host.random());
    const { statePath } = work.named;
    const begins = beginRun(state, plan, { run, nowMs });
    // The journal first: so a state with a run in it has one, and where that was lost it is known to be.
    const journal = beginJournal(run, { ...begins, serial: begins.serial + 1 }, work, session);
    // Where this fails the journal stays: the state may be there all the same, and the next command knows which is so.
    begun = writeState(statePath, begins);
    return { run, word: run, journal };
  };
  try {
    await sendRows(rowsPlan(work, openRecord, session), session);
  } finally {
    if (begun !== undefined) await recordRun(work.named.statePath, begun);
  }
}

function beginJournal(run: string, begun: State, { named, plan, pace }: ExecuteOptions, session: Session) {
  const { idempotency } = session.settings;
  const { manifest, target, statePath, name: file } = named;
  const { sha256, sizeBytes: bytes } = manifest;
  const start = startSession(pace.concurrency, session);
  return createJournal(
    journalPath(statePath),
    {
      ...({ run, tool: start.tool, action: 'apply', ...target, file, mapping: '', shard: null, idempotency } as const),
      identity: journalIdentity(begun),
      input: { bytes, sha256, rows: plan.steps.length },
      rows: plan.steps.length,
      startedAt: new Date(start.at).toISOString(),
    },
    start,
  );
}

function rowsPlan(
  { named, state, plan, present, pace, rejects, summary }: ExecuteOptions,
  openRecord: () => RunRecording | undefined,
  session: Session,
): RunPlan<StepRow> {
  const { steps } = plan;
  const {
    settings: { sendsKeys },
  } = session;
  // There is a state now.
  const words = session.command.words.filter((word) => word !== '--init');
  const again = ['listctl', ...words.map(shellWord)].join(' ');
  const resolving = `listctl state resolve ${named.words}`;
  return {
    ...({ action: 'apply', done: 'applied', isRead: false, prints: 'steps', openRecord, pace, nextSeq: 1 } as const),
    known: knownBefore(plan, named),
    summary,
    counts: newCounts(steps.length),
    tasks: tasksOf(steps, present),
    createSender: (client) => stepSender(state, steps, client, sendsKeys),
    rejects: openRejectsFile(rejects, { row: rejectedStep }),
    nextSteps: (_, { inDoubt, failed, left }) => [
      ...(inDoubt > 0 ? [`check whether the item exists, then run: ${resolving} KEY=ID, or KEY=none`] : []),
      ...(inDoubt === 0 || failed + left > 0 ? [`run again: ${again}`] : []),
    ],
  };
}

/** What the plan sends nothing for. */
function knownBefore({ conflicts, inDoubt }: ExecuteOptions['plan'], named: OpenManifest): KnownResults<StepRow> {
  const row = { number: 0, fields: {} };
  const [first] = conflicts;
  return {
    results: [
      ...inDoubt.map((name) => {
        const failure = new Failure('in-doubt', 'in doubt since an earlier run: nothing was sent for it', {
          outcome: 'unknown',
        });
        return { status: 'in-doubt', row: { ...row, name, action: 'create', id: undefined }, failure } as const;
      }),
      ...conflicts.map((conflict) => {
        const { key: name, id, action } = conflict;
        return {
          status: 'failed',
          row: { ...row, name, action, id },
          failure: conflictFailure(conflict, named),
        } as const;
      }),
    ],
    failure: first && conflictEnding(first, conflicts.length, named),
  };
}

async function* tasksOf(
  steps: readonly Step[],
  present: ExecuteOptions['present'],
): AsyncGenerator<readonly Task<StepRow>[]> {
  for (let at = 0; at < steps.length; at += 1000) {
    yield steps.slice(at, at + 1000).map((step): Task<StepRow> => {
      const { number, key: name, action, id, fields, inDoubt } = step;
      const row = { number, name, action, id, fields };
      if (inDoubt === undefined) return { kind: 'send', row, was: 'left' };
      const msAgo = () => (present && keyAgeMs(inDoubt, present())) ?? Number.POSITIVE_INFINITY;
      return { kind: 'send', row, was: 'left', sent: { key: inDoubt.idempotencyKey, msAgo } };
    });
  }
}

function stepSender(
  state: State,
  steps: readonly Step[],
  client: Client,
  sendsKeys: boolean,
): Sender<StepRow, SentResult> {
  const given = new IdSet();
  return {
    isRead: false,
    newKey: ({ name: key, action, fields }) =>
      sendsKeys && action === 'create' ? createKey(state, { key, fields }) : null,
    hashOf: stepHash,
    begin: ({ number }, rowKey, sentMsAgo) => {
      const step = steps[number - 1];
      if (step === undefined) throw new Error(`the plan has no step ${number}`);
      const question = questionOf(step, state, rowKey ?? undefined, given);
      const exchange = client.startAttempts(sentMsAgo === undefined ? question : { ...question, sentMsAgo });
      if (step.action !== 'delete') return exchange;
      return { attempt: async () => doneIfMissing(await exchange.attempt(), { id: step.id }) };
    },
    toRecord: (_, value) => ({ id: value.id, etag: 'etag' in value ? strongTag(value.etag) : undefined }),
  };
}

function questionOf(step: Step, { site, list }: ListRef, key: string | undefined, given: IdSet): Operation<SentResult> {
  switch (step.action) {
    case 'create':
      return createOperation({ site, list }, step.fields, key, given);
    case 'update':
      return updateOperation({ site, list, id: step.id }, step.fields, step.etag);
    case 'delete':
      return deleteById({ site, list, id: step.id }, step.etag);
  }
}

/** A step that was not done, as JSONL: the next `apply` has it again by itself. */
function rejectedStep({ action, name: key, id, fields }: StepRow, error: string): string {
  const known = { action, key, ...(id === undefined ? {} : { id }), fields, 'listctl:error': error };
  return `${printJson(known)}\n`;
}

/** How many items a plan deletes, and how many the state knows. */
export interface Deletes {
  readonly count: number;
  readonly managed: number;
}

/** A few items may go, and so may fewer than half of a list. */
const unguardedMax = 10;

/**
 * Checks the deletes of a plan.
 *
 * @param max what `--max-delete` allows
 * @returns whether somebody must confirm them by typing how many they are: more than 10, more than half of those
 *   managed, and no `--max-delete`
 * @throws {Failure} usage, when they are more than `max`
 */
export function needsTypedConfirmation({ count, managed }: Deletes, max: number | undefined): boolean {
  checkMaxDelete(count, max);
  return max === undefined && count > unguardedMax && count * 2 > managed;
}

/** What is deleted of how many: `12 of 20 managed items`. */
export function deletesText({ count, managed }: Deletes): string {
  return `${countText(count)} of ${countOf(managed, 'managed item')}`;
}

/** The failure for deletes that nobody confirmed. */
export function unconfirmedDeletes(deletes: Deletes): Failure {
  return new Failure('usage', `cannot delete ${deletesText(deletes)}: --max-delete is required`, {
    hint: `check that the manifest is complete, then pass --max-delete ${deletes.count}; nothing was sent`,
  });
}

/** Executes a plan as a run, with the runner of bulk commands. */
import { basename } from 'node:path';
import type { Client } from '../api/client.ts';
import type { RunLimits } from '../bulk/flags.ts';
import { createJournal } from '../bulk/journal.ts';
import { type ClockReading, derivedKey, IdSet, keyAgeMs } from '../bulk/keys.ts';
import { type FailureReport, openRejectsFile, type RunOutputs } from '../bulk/outputs.ts';
import { type RunRecording, startSession } from '../bulk/record.ts';
import { newRunId } from '../bulk/runs.ts';
import { sendRows } from '../bulk/send.ts';
import { doneIfMissing, type KnownResults, type RunPlan, type SentResult, toOperation } from '../bulk/senders.ts';
import type { Sender, Task } from '../bulk/task.ts';
import { newCounts } from '../bulk/tasks.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { type Fields, strongTag } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import { shellWord } from '../core/text.ts';
import { jsonText } from '../output/layout.ts';
import type { ItemOperations } from '../services/service.ts';
import type { ManifestSchema } from './manifest-schema.ts';
import { type OpenManifest, recordRun } from './open.ts';
import type { Conflict, Plan } from './plan.ts';
import { beginRun, journalIdentity, journalPath, withLearned } from './recover.ts';
import { type CreateStep, type State, type Step, stepHash } from './state.ts';
import { writeState } from './state-file.ts';

/**
 * The idempotency key of a create, derived from the service, the list, the name of the manifest, the key field and its
 * value, the fields, and the item that had the key before.
 *
 * - If the state is lost, the same manifest leads to the same keys, so that a service that honors keys returns the items
 *   of the first run. Another manifest gets its own items, and never prunes those of this one. The directory is no
 *   part of the name, since a checkout may be anywhere.
 * - Other fields have another key, since a service refuses a key with two bodies: a refused item can be fixed and sent.
 * - An item that was deleted must be created again, where the service would replay its old response: so its id is part
 *   of the key. After a lost state, an apply gets back the first item of such a chain, and finds it deleted; further
 *   ones follow the chain, and never create a second item.
 */
function createKey(manifest: string, state: State, { key, fields }: Pick<CreateStep, 'key' | 'fields'>): string {
  const follows = state.items.get(key)?.id ?? state.retired?.get(key)?.follows ?? '';
  return derivedKey(state, 'apply', manifest, state.key, key, printJson(fields), follows);
}

/** The failure of one conflict; with a count, that of all of them. */
function conflictFailure(conflict: Conflict, { manifest, words }: OpenManifest, count?: number): Failure {
  const { key, id, action, found } = conflict;
  const more = count === undefined || count === 1 ? '' : `, and ${count - 1} more`;
  const args = key.startsWith('-') ? `${words} --` : words;
  const importing = `listctl state import ${args} ${shellWord(`${key}=${id}`)}`;
  const toFailure = (message: string, hint: string) => new Failure('conflict', message, { outcome: 'not-sent', hint });
  if (action === 'create') {
    return toFailure(
      `cannot create "${key}"${more}: the list has it as item ${id}, which the state does not have`,
      `to manage it: ${importing}\nto manage all items that have keys of the manifest: listctl state import ${words} --all`,
    );
  }
  const other = found === undefined || found === null ? 'no value' : jsonText(found);
  const text = `item "${id}" is now a different item: its ${manifest.key} is ${other}, not ${jsonText(key)}`;
  return toFailure(
    count === undefined ? text : `cannot ${action} "${key}"${more}: ${text}`,
    `stop managing it: listctl state forget ${args} ${shellWord(key)}\nor, if it is the same item: ${importing}`,
  );
}

interface ExecuteOptions {
  readonly opened: OpenManifest;
  /** As on disk, or of serial 0. */
  readonly state: State;
  readonly plan: Pick<Plan, 'steps' | 'conflicts' | 'counts' | 'inDoubt' | 'learned'>;
  /** The present time, for the age of keys in doubt. */
  readonly present: (() => ClockReading) | undefined;
  readonly pace: RunLimits;
  readonly outputs: RunOutputs;
}

/** A step as a row of the run. */
interface StepRow {
  readonly number: number;
  readonly name: string;
  readonly action: Step['action'];
  readonly id: string | undefined;
  readonly fields: Fields;
}

/**
 * Executes the steps of a plan, and takes the results into the state however the run ends. Keys in doubt and conflicts
 * are reported with the steps.
 *
 * @throws {Failure} as `sendRows`; local-file, if the state cannot be written
 * @throws {Stopped}
 */
export async function executePlan(work: ExecuteOptions, session: Session): Promise<void> {
  let begun: State | undefined;
  const { statePath } = work.opened;
  const openRecord = (): RunRecording | undefined => {
    const { host } = session;
    const { state, plan } = work;
    const nowMs = host.clock.now();
    if (plan.steps.length === 0) {
      if (state.serial === 0 || plan.learned.size > 0) writeState(statePath, withLearned(state, plan, nowMs));
      return undefined;
    }
    const run = newRunId(nowMs, () => host.random());
    const begins = beginRun(state, plan, run, nowMs);
    // The journal first, so that a state with a run always has one, and a lost journal is noticed.
    const journal = beginJournal(run, { ...begins, serial: begins.serial + 1 }, work, session);
    // If this fails the journal stays: the state may have been written, and the next command finds out.
    begun = writeState(statePath, begins);
    return { run, word: run, journal };
  };
  const { schema, manifest } = work.opened;
  // The key of the manifest can find a create of unknown outcome (docs/decisions.md, keys-6).
  const keyField = schema?.list.keyColumn(manifest.key);
  const items = keyField && (await session.service.load()).keyColumns?.operations(keyField);
  try {
    await sendRows(rowsPlan(work, { openRecord, items }, session), session);
  } finally {
    if (begun !== undefined) await recordRun(statePath, begun);
  }
}

function beginJournal(run: string, begun: State, { opened, plan, pace }: ExecuteOptions, session: Session) {
  const { idempotency, profile } = session.settings;
  const { manifest, target, statePath, name: file } = opened;
  const { sha256, sizeBytes: bytes } = manifest;
  const start = startSession(pace.concurrency, session);
  return createJournal(
    journalPath(statePath),
    {
      ...({ run, tool: start.tool, action: 'apply', ...target, file, mapping: '', shard: null, idempotency } as const),
      identity: journalIdentity(begun),
      profile: profile(),
      input: { bytes, sha256, rows: plan.steps.length },
      rows: plan.steps.length,
      startedAt: new Date(start.at).toISOString(),
    },
    start,
  );
}

function rowsPlan(
  { opened, state, plan, present, pace, outputs: { rejects, summary, report } }: ExecuteOptions,
  { openRecord, items }: Pick<RunPlan<StepRow>, 'openRecord'> & { readonly items: ItemOperations | undefined },
  session: Session,
): RunPlan<StepRow> {
  const { steps } = plan;
  const { name: manifest = basename(opened.name) } = opened.manifest;
  const { sendsKeys } = session.settings;
  const keyOf = (create: Pick<CreateStep, 'key' | 'fields'>) => (sendsKeys ? createKey(manifest, state, create) : null);
  // The state exists now.
  const words = session.command.words.filter((word) => !/^--init(=|$)/.test(word));
  const again = ['listctl', ...words.map(shellWord)].join(' ');
  return {
    ...({ action: 'apply', done: 'applied', prints: 'steps', openRecord, pace, nextSeq: 1 } as const),
    known: knownResults(plan, opened),
    unchanged: plan.counts.unchanged,
    summary,
    report: withLines(report, opened),
    counts: newCounts(steps.length),
    tasks: tasksOf(steps, present),
    createSender: (client, ofService) =>
      stepSender(state, steps, client, { keyOf, items: items ?? ofService, toSent: opened.schema?.toSent }),
    rejects: openRejectsFile(rejects, { row: rejectedStep }),
    nextSteps: (_, { inDoubt, failed, left }) => [
      ...(inDoubt > 0 ? [resolveHint(opened)] : []),
      ...(inDoubt === 0 || failed + left > 0 ? [`run again: ${again}`] : []),
    ],
  };
}

/** Adds the line of the manifest to failures of steps. */
function withLines(report: FailureReport, { manifest }: OpenManifest): FailureReport {
  const lines = new Map(manifest.items.map(({ key, line }) => [key, line]));
  return {
    add: (failure) => report.add(failure.about({ line: lines.get(failure.details.about?.key ?? '') })),
    result: (shown) => report.result(shown),
    ended: (counts) => report.ended(counts),
  };
}

export function resolveHint({ words }: Pick<OpenManifest, 'words'>): string {
  return `check whether the item exists, then run: listctl state resolve ${words} KEY=ID, or KEY=none`;
}

/** The results of keys that the plan sends nothing for. */
function knownResults({ conflicts, inDoubt }: ExecuteOptions['plan'], opened: OpenManifest): KnownResults<StepRow> {
  const row = { number: 0, fields: {} };
  const [first] = conflicts;
  const doubt = 'in doubt since an earlier run; not sent again';
  return {
    results: [
      ...inDoubt.map((name) => {
        const failure = new Failure('in-doubt', doubt, { outcome: 'unknown' });
        return { status: 'in-doubt', row: { ...row, name, action: 'create', id: undefined }, failure } as const;
      }),
      ...conflicts.map((conflict) => {
        const { key: name, id, action } = conflict;
        const failure = conflictFailure(conflict, opened);
        return { status: 'failed', row: { ...row, name, action, id }, failure } as const;
      }),
    ],
    failure: first && conflictFailure(first, opened, conflicts.length),
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
  how: {
    readonly keyOf: (create: Pick<CreateStep, 'key' | 'fields'>) => string | null;
    readonly items: ItemOperations;
    readonly toSent: ManifestSchema['toSent'] | undefined;
  },
): Sender<StepRow, SentResult> {
  const { keyOf, items, toSent = (fields) => fields } = how;
  // The id of another managed item in the response to a create is another request's.
  const seenIds = new IdSet();
  const replaced = new Set(steps.filter(({ action }) => action !== 'update').map(({ key }) => key));
  for (const [key, { id }] of state.items) if (id !== undefined && !replaced.has(key)) seenIds.add(id);
  return {
    isRead: false,
    newKey: ({ name: key, action, fields }) => (action === 'create' ? keyOf({ key, fields }) : null),
    hashOf: stepHash,
    begin: ({ number }, rowKey, sentMsAgo) => {
      const step = steps[number - 1];
      if (step === undefined) throw new Error(`the plan has no step ${number}`);
      const row = { ...step, fields: toSent(step.fields) };
      const operation = toOperation(
        items,
        row,
        { action: step.action, list: state },
        { key: rowKey ?? undefined, seenIds },
      );
      const attempts = client.startAttempts(sentMsAgo === undefined ? operation : { ...operation, sentMsAgo });
      if (step.action !== 'delete') return attempts;
      return { attempt: async () => doneIfMissing(await attempts.attempt(), { id: step.id }) };
    },
    toRecord: (_, value) => ({ id: value.id, etag: 'etag' in value ? strongTag(value.etag) : undefined }),
  };
}

/** A step that failed, as JSONL; the next apply plans it again. */
function rejectedStep({ action, name: key, id, fields }: StepRow, error: string): string {
  const known = { action, key, ...(id === undefined ? {} : { id }), fields, 'listctl:error': error };
  return `${printJson(known)}\n`;
}

/** The steps of a plan, through the same runner as the rows of a file. */

import { createQuestion, updateQuestion } from '../../api/items.ts';
import type { Question, Wire } from '../../api/wire.ts';
import { IdSet } from '../../bulk/id-set.ts';
import { createJournal } from '../../bulk/journal.ts';
import { keyAgeMs, type PresentMoment } from '../../bulk/key-age.ts';
import { newRunId } from '../../bulk/run-files.ts';
import type { Sender, Task } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import { type Fields, type ListRef, strongTag } from '../../item.ts';
import { printJson } from '../../json.ts';
import { shellWord } from '../../output/curl-line.ts';
import type { OutputFile } from '../../output-file.ts';
import { createKey } from '../../seed/create-key.ts';
import { beginRun, journalIdentity, journalOf, withLearned } from '../../seed/fold.ts';
import type { Plan } from '../../seed/plan.ts';
import type { State } from '../../seed/state.ts';
import { writeState } from '../../seed/state-file.ts';
import { type Step, stepHash } from '../../seed/step.ts';
import { deletionOf, doneIfMissing } from '../many/deletion.ts';
import type { PaceFlags } from '../many/flags.ts';
import { newCounts } from '../many/going-on.ts';
import { openRejectsFile } from '../many/rejects-file.ts';
import type { SentResult } from '../many/row-sender.ts';
import type { KnownBefore, RowsPlan } from '../many/rows-plan.ts';
import { bootId, type Recorded } from '../many/run-record.ts';
import { sendRows } from '../many/send-rows.ts';
import type { Summary } from '../many/summary.ts';
import type { Session } from '../session.ts';
import { conflictEnding, conflictFailure } from './conflicts.ts';
import { foldRun } from './held-state.ts';
import type { NamedSeed } from './seed-file.ts';

/** What is to be carried out, and where that is recorded. */
export interface CarriedOut {
  readonly named: NamedSeed;
  /** As it is on disk; of serial 0 where it never was. */
  readonly state: State;
  readonly plan: Pick<Plan, 'steps' | 'conflicts' | 'inDoubt' | 'learned'>;
  /** The present, by which the keys of steps in doubt are old or not. */
  readonly present: (() => PresentMoment) | undefined;
  readonly pace: PaceFlags;
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
 * @throws {Failure} what the steps ended in, as `sendRows`: in-doubt, where any key is; local-file, when the state can't
 *   be written
 * @throws {Stopped} when it was told to stop
 */
export async function carryOut(work: CarriedOut, session: Session): Promise<void> {
  let begun: State | undefined;
  const begin = (): Recorded | undefined => {
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
    await sendRows(rowsPlan(work, begin, session), session);
  } finally {
    if (begun !== undefined) await foldRun(work.named.statePath, begun);
  }
}

function beginJournal(run: string, begun: State, { named, plan, pace }: CarriedOut, session: Session) {
  const { host, version: tool, idempotency } = session;
  const { seed, target, statePath, name: file } = named;
  const { sha256, sizeBytes: bytes } = seed;
  const at = host.clock.now();
  return createJournal(
    journalOf(statePath),
    {
      ...({ run, tool, action: 'apply', ...target, file, mapping: '', shard: null, idempotency } as const),
      identity: journalIdentity(begun),
      input: { bytes, sha256, rows: plan.steps.length },
      rows: plan.steps.length,
      startedAt: new Date(at).toISOString(),
    },
    { boot: bootId(), limit: pace.concurrency, tool, at, monotonicMs: host.clock.monotonicMs() },
  );
}

function rowsPlan(
  { named, state, plan, present, pace, rejects, summary }: CarriedOut,
  begin: () => Recorded | undefined,
  session: Session,
): RowsPlan<StepRow> {
  const { steps } = plan;
  const { sendsKeys } = session;
  // There is a state now.
  const words = session.words.filter((word) => word !== '--init');
  const again = ['listctl', ...words.map(shellWord)].join(' ');
  const resolving = `listctl state resolve ${named.words}`;
  return {
    ...({ action: 'apply', done: 'applied', isRead: false, prints: 'steps', begin, pace, nextSeq: 1 } as const),
    known: knownBefore(plan, named),
    summary,
    counts: newCounts(steps.length),
    tasks: tasksOf(steps, present),
    senderOver: (wire) => stepSender(state, steps, wire, sendsKeys),
    rejects: openRejectsFile(rejects, { row: rejectedStep }),
    nextSteps: (_, { inDoubt, failed, left }) => [
      ...(inDoubt > 0 ? [`look whether it is there, then: ${resolving} KEY=ID, or KEY=none`] : []),
      ...(inDoubt === 0 || failed + left > 0 ? [`run it again: ${again}`] : []),
    ],
  };
}

/** What the plan sends nothing for. */
function knownBefore({ conflicts, inDoubt }: CarriedOut['plan'], named: NamedSeed): KnownBefore<StepRow> {
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
  present: CarriedOut['present'],
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

function stepSender(state: State, steps: readonly Step[], wire: Wire, sendsKeys: boolean): Sender<StepRow, SentResult> {
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
      const exchange = wire.begin(sentMsAgo === undefined ? question : { ...question, sentMsAgo });
      if (step.action !== 'delete') return exchange;
      return { attempt: async () => doneIfMissing(await exchange.attempt(), { id: step.id }) };
    },
    keptOf: (_, value) => ({ id: value.id, etag: 'etag' in value ? strongTag(value.etag) : undefined }),
  };
}

function questionOf(step: Step, { site, list }: ListRef, key: string | undefined, given: IdSet): Question<SentResult> {
  switch (step.action) {
    case 'create':
      return createQuestion({ site, list }, step.fields, key, given);
    case 'update':
      return updateQuestion({ site, list, id: step.id }, step.fields, step.etag);
    case 'delete':
      return deletionOf({ site, list, id: step.id }, step.etag);
  }
}

/** A step that was not done, as JSONL: the next `apply` has it again by itself. */
function rejectedStep({ action, name: key, id, fields }: StepRow, error: string): string {
  const known = { action, key, ...(id === undefined ? {} : { id }), fields, 'listctl:error': error };
  return `${printJson(known)}\n`;
}

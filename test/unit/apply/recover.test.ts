import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ManifestItem } from '../../../src/apply/manifest.ts';
import { createPlan } from '../../../src/apply/plan.ts';
import {
  beginRun,
  checkJournal,
  journalIdentity,
  type RunJournal,
  readRunJournal,
  recoverRun,
} from '../../../src/apply/recover.ts';
import type { KnownItem, State, StateItem } from '../../../src/apply/state.ts';
import { type Step, stepHash } from '../../../src/apply/state.ts';
import { createJournal, type NewHeader } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { failureOf } from '../../support/failure-of.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { sampleHeader, sampleSession, startedAt } from '../bulk/journal-samples.ts';
import { anyFields, anyItems, fieldsOf, sampleDoubt, sampleRun, sampleState } from './samples.ts';

const path = '/manifest.yaml.state.json.journal';

const create = (key: string, more: Partial<Step> = {}): Step =>
  ({ action: 'create', key, fields: fieldsOf(`{"Title":"${key}","N":1}`), ...more }) as Step;
const update = (key: string, id: string): Step => ({
  ...{ number: 0, action: 'update', key, id, etag: '"v1"' },
  ...{ fields: { N: 2 }, before: { N: 1 }, after: { Title: key, N: 2 } },
});
const remove = (key: string, id: string): Step => ({
  ...{ number: 0, action: 'delete', key, id },
  ...{ fields: {}, before: {}, after: {} },
});
const known = (key: string, id: string): KnownItem => ({ id, fields: { Title: key, N: 1 }, etag: '"v1"' });

function running(items: Readonly<Record<string, StateItem>>, steps: readonly Step[]): State {
  const numbered = steps.map((step, at): Step => {
    const after = step.action === 'create' ? step.fields : step.after;
    return { ...step, number: at + 1, after } as Step;
  });
  return { ...sampleState(items, { serial: 4 }), run: { id: sampleRun, steps: numbered } };
}

const stepsOf = (state: State) => state.run?.steps ?? [];
const intents = (state: State): JournalRecord[] =>
  stepsOf(state).map((step) => {
    const key = step.action === 'create' ? (step.inDoubt?.idempotencyKey ?? `key-${step.number}`) : null;
    return ['I', step.number, step.number, 1, key, stepHash(step)];
  });

/** The journal of a state's run, with these records behind the intents of all steps. */
async function journalOf(
  state: State,
  records: readonly JournalRecord[],
  more: Partial<NewHeader> = {},
  begun: readonly JournalRecord[] = intents(state),
): Promise<RunJournal> {
  const disk = powerLossDisk(4096);
  const { origin, site, list } = state;
  const steps = stepsOf(state).length;
  const own = { run: sampleRun, action: 'apply', identity: journalIdentity(state), origin, site, list } as const;
  const journal = createJournal(path, sampleHeader(steps, { ...own, ...more }), sampleSession({ limit: 20 }), disk.io);
  for (const group of [begun, records]) if (group.length > 0) journal.write(group, 1);
  await journal.close();
  const applied = await readRunJournal(path, { boot: 'here', io: disk.io });
  if (applied === undefined) throw new Error('it was begun');
  return applied;
}

test('what is done is in the state: ids and tags of creates, the tags of updates, nothing of deletes', async () => {
  const state = running({ b: known('b', '2'), c: known('c', '3'), d: known('d', '4') }, [
    create('a'),
    update('b', '2'),
    remove('c', '3'),
  ]);
  const journal = await journalOf(state, [
    ['D', 1, '17', '"v9"', 5],
    ['D', 2, '2', null, 5],
    ['D', 3, '3', null, 5],
  ]);

  const folded = recoverRun(state, journal);

  expect(folded).toMatchObject({ done: 3, inDoubt: 0 });
  expect(folded.state.run).toBeUndefined();
  expect(folded.state.serial).toBe(4);
  expect([...folded.state.items]).toEqual([
    ['b', { id: '2', fields: { Title: 'b', N: 2 } }],
    ['d', known('d', '4')],
    ['a', { id: '17', fields: { Title: 'a', N: 1 }, etag: '"v9"' }],
  ]);
});

test('C5: a create whose outcome is unknown is in doubt; updates and deletes are as they were', async () => {
  const items = { b: known('b', '2'), c: known('c', '3'), d: known('d', '4') };
  const state = running(items, [create('a'), update('b', '2'), remove('c', '3'), create('d', { why: 'gone' })]);
  const journal = await journalOf(state, [
    ['U', 1, 'lost', 5],
    ['U', 2, 'lost', 5],
    ['U', 3, 'lost', 5],
  ]);

  const folded = recoverRun(state, journal);

  expect(folded).toMatchObject({ done: 0, inDoubt: 4 });
  expect(folded.state.items.get('a')).toEqual({
    fields: { Title: 'a', N: 1 },
    inDoubt: { idempotencyKey: 'key-1', hash: stepHash(stepsOf(state)[0] ?? create('x')), sentAt: startedAt + 1 },
  });
  expect(folded.state.items.get('b')).toEqual(items.b);
  expect(folded.state.items.get('c')).toEqual(items.c);
  // Without any outcome at all: the process was killed.
  expect(folded.state.items.get('d')).toMatchObject({ inDoubt: { idempotencyKey: 'key-4' } });
});

test('what was refused or not sent is as it was', async () => {
  const items = { b: known('b', '2') };
  const state = running(items, [create('a'), update('b', '2'), create('c')]);
  const journal = await journalOf(state, [
    ['F', 1, 'refused', 400, null, 5],
    ['F', 2, 'conflict', 412, null, 5],
    ['N', 3],
  ]);

  expect(recoverRun(state, journal)).toMatchObject({ done: 0, inDoubt: 0 });
  expect(recoverRun(state, journal).state.items).toEqual(new Map(Object.entries(items)));
});

test('a create that was sent again stays in doubt until it is done, and keeps the time of its first try', async () => {
  const step = create('a', { why: 'in-doubt', inDoubt: sampleDoubt });
  const doubtful = { fields: fieldsOf('{"Title":"a","N":1}'), inDoubt: sampleDoubt };
  const state = running({ a: doubtful }, [step]);
  const after = async (record: JournalRecord) =>
    recoverRun(state, await journalOf(state, [record])).state.items.get('a');

  expect(await after(['N', 1])).toEqual(doubtful);
  expect(await after(['F', 1, 'refused', 400, null, 1])).toEqual(doubtful);
  expect(await after(['U', 1, 'lost', 1])).toMatchObject({ inDoubt: { sentAt: sampleDoubt.sentAt } });
  expect(await after(['D', 1, '17', null, 1])).toEqual({ id: '17', fields: { Title: 'a', N: 1 } });
});

test('a manual resolution of a row counts; a row that was given up may exist all the same', async () => {
  const state = running({}, [create('a'), create('b'), create('c')]);
  const journal = await journalOf(state, [
    ['R', 1, 'applied', '17'],
    ['R', 2, 'not-applied'],
    ['R', 3, 'skipped'],
  ]);

  expect(recoverRun(state, journal)).toMatchObject({ done: 1, inDoubt: 1 });
  expect([...recoverRun(state, journal).state.items]).toMatchObject([
    ['a', { id: '17' }],
    ['c', { inDoubt: { idempotencyKey: null } }],
  ]);
});

test('an item whose id is invalid in a path, or belongs to another key, is in doubt and is not created again', async () => {
  const state = running({ z: known('z', '9') }, [create('a'), create('b'), create('c'), create('d')]);
  const journal = await journalOf(state, [
    ['D', 1, '..', null, 5],
    ['D', 2, '9', null, 5],
    ['D', 3, '10', null, 5],
    ['D', 4, '10', null, 5],
  ]);

  expect(recoverRun(state, journal)).toMatchObject({ done: 1, inDoubt: 3 });
  expect([...recoverRun(state, journal).state.items].map(([key, { id }]) => [key, id])).toEqual([
    ['z', '9'],
    ['a', undefined],
    ['b', undefined],
    ['c', '10'],
    ['d', undefined],
  ]);
});

test('a service may reuse the id of an item that was given up', async () => {
  const steps = [create('a'), create('g', { why: 'gone' }), remove('z', '9')];
  const state = running({ z: known('z', '9'), g: known('g', '8') }, steps);
  const journal = await journalOf(state, [
    ['D', 1, '9', null, 5],
    ['D', 2, '8', null, 5],
    ['D', 3, '9', null, 5],
  ]);

  expect(recoverRun(state, journal)).toMatchObject({ done: 3, inDoubt: 0 });
  expect([...recoverRun(state, journal).state.items].map(([key, { id }]) => [key, id])).toEqual([
    ['g', '8'],
    ['a', '9'],
  ]);
});

test('without a journal no step was sent', () => {
  const state = running({ b: known('b', '2') }, [create('a'), update('b', '2')]);

  expect(recoverRun(state, undefined)).toMatchObject({ done: 0, inDoubt: 0 });
  expect(recoverRun(state, undefined).state).toEqual(sampleState({ b: known('b', '2') }, { ...state, run: undefined }));
});

test('P16: steps that are not what was sent are refused', async () => {
  const state = running({}, [create('a'), create('b')]);
  const journal = await journalOf(state, [['D', 1, '17', null, 5]]);
  const changed = running({}, [create('a', { fields: { Title: 'a', N: 2 } }), create('b')]);
  const forged = await journalOf(state, [['D', 1, '17', null, 5]], {}, []);

  expect(failureOf(() => recoverRun({ ...changed, lineage: state.lineage }, journal)).kind).toBe('local-file');
  expect(failureOf(() => recoverRun(state, forged)).kind).toBe('local-file');
});

test('P17: a journal is that of this run, an old one, or refused', async () => {
  const state = running({}, [create('a')]);
  const own = await journalOf(state, []);
  const { run: _, ...settled } = state;
  const refusal = (of: State, journal: RunJournal) => failureOf(() => checkJournal(of, journal));

  expect(checkJournal(state, own)).toBe('own');
  expect(checkJournal({ ...settled, serial: 5 }, own)).toBe('old');
  expect(checkJournal({ ...state, serial: 6 }, own)).toBe('old');
  expect(refusal({ ...settled, serial: 3 }, own)).toMatchObject({
    kind: 'local-file',
    message: expect.stringContaining('this state is older: version 3'),
  });
  expect(checkJournal({ ...settled, serial: 3 }, await journalOf(state, [], {}, []))).toBe('old');
  expect(refusal({ ...state, lineage: '0'.repeat(32) }, own).kind).toBe('local-file');
  for (const more of [{ origin: 'https://else' }, { site: 'else' }, { list: 'else' }, { action: 'create' as const }]) {
    expect(refusal(state, await journalOf(state, [], more)).kind).toBe('local-file');
  }
  expect(refusal(state, await journalOf(state, [], { run: '20261120-101530-zzzz' })).kind).toBe('local-file');
  expect(refusal(settled, own).kind).toBe('local-file');
});

const manifests = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', '__proto__', '1'), anyFields), {
    selector: ([key]) => key,
    maxLength: 5,
  })
  .map((items) => items.map(([key, fields], at): ManifestItem => ({ key, fields, line: at + 1 })));

test('a plan that was carried out leaves nothing to do; it names no key twice, and deletes nothing that the state does not own', async () => {
  await fc.assert(
    fc.asyncProperty(manifests, anyItems, fc.boolean(), async (items, known, prune) => {
      const state = sampleState({}, { items: known });
      const input = { manifest: { items }, current: new Map(), prune };
      const plan = createPlan({ ...input, state });
      const begun = { ...beginRun(state, plan, sampleRun, 0), serial: 2 };
      const done = plan.steps.map(({ number, id }): JournalRecord => ['D', number, id ?? `new-${number}`, null, 1]);

      const folded = recoverRun(begun, await journalOf(begun, done));

      expect(new Set(plan.steps.map(({ key }) => key)).size).toBe(plan.steps.length);
      for (const { action, key, id } of plan.steps) if (action !== 'create') expect(known.get(key)?.id).toBe(id);
      expect(folded).toMatchObject({ done: plan.steps.length });
      expect(createPlan({ ...input, state: folded.state }).steps).toEqual([]);
      expect(recoverRun(folded.state, await journalOf(begun, done)).state).toBe(folded.state);
    }),
    { numRuns: 100 },
  );
});

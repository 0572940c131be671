import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkPlanIsCurrent, looksLikePlan, type PlanFile, printPlan, readPlan } from '../../../src/apply/plan-file.ts';
import type { Step } from '../../../src/apply/state.ts';
import { failureOf } from '../../support/failure-of.ts';
import { anySteps, fieldsOf, sampleRun, sampleState, target } from './samples.ts';

const none = { unchanged: 0, inDoubt: 0, conflict: 0, orphaned: 0, drifted: 0, gone: 0, forgotten: 0 };

function planWith(steps: readonly Step[], more: Partial<PlanFile> = {}): PlanFile {
  const counts = { create: 0, update: 0, delete: 0, ...none };
  for (const { action } of steps) counts[action] += 1;
  return {
    ...{ target, state: { lineage: 'ab'.repeat(16), serial: 3 }, key: 'Title' },
    ...{ manifest: { file: 'manifest.yaml', sha256: '0f'.repeat(32) }, prune: false, refresh: true },
    ...{ counts, steps, conflicts: [], inDoubt: [], orphaned: [] },
    ...more,
  };
}

const textOf = (plan: PlanFile) => [...printPlan(plan)].join('');

const create: Step = {
  ...{ number: 1, action: 'create', key: 'a' },
  ...{ fields: fieldsOf('{"Title":"a","N":1.10}'), after: fieldsOf('{"Title":"a","N":1.10}') },
};
const update: Step = {
  ...{ number: 2, action: 'update', key: 'b', id: '17', etag: '"v1"' },
  ...{ fields: { N: 2 }, before: { N: 1 }, after: { Title: 'b', N: 2 }, drift: true },
};
const remove: Step = {
  ...{ number: 3, action: 'delete', key: 'c', id: '18' },
  ...{ fields: {}, before: { Title: 'c' }, after: {} },
};
const plan = planWith([create, update, remove], { inDoubt: ['d'], orphaned: ['e'] });

test('a plan is printed as it is documented', () => {
  expect(textOf(plan).split('\n')).toEqual([
    `{"listctl":"plan","version":2,"target":{"origin":"https://lists.example","site":"demo","list":"tasks"},"state":{"lineage":"${'ab'.repeat(16)}","serial":3},"key":"Title","manifest":{"file":"manifest.yaml","sha256":"${'0f'.repeat(32)}"},"prune":false,"refresh":true,"counts":{"create":1,"update":1,"delete":1,"unchanged":0,"inDoubt":0,"conflict":0,"orphaned":0,"drifted":0,"gone":0,"forgotten":0},"conflicts":[],"inDoubt":["d"],"orphaned":["e"],"steps":[`,
    '{"number":1,"action":"create","key":"a","fields":{"Title":"a","N":1.10},"after":{"Title":"a","N":1.10}},',
    '{"number":2,"action":"update","key":"b","id":"17","etag":"\\"v1\\"","drift":true,"fields":{"N":2},"before":{"N":1},"after":{"Title":"b","N":2}},',
    '{"number":3,"action":"delete","key":"c","id":"18","fields":{},"before":{"Title":"c"},"after":{}}',
    ']}',
    '',
  ]);
  expect(textOf(planWith([]))).toMatch(/"steps":\[\]\}\n$/);
});

test('what is printed is read back, digits, hostile keys and half characters too', () => {
  const keys = fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 });
  fc.assert(
    fc.property(anySteps, keys, fc.boolean(), (steps, others, is) => {
      const written = planWith(steps, {
        inDoubt: others,
        orphaned: others,
        prune: is,
        refresh: !is,
        ...(is && { targets: others }),
      });

      const text = textOf(written);

      expect(readPlan(text, 'plan.json')).toEqual(written);
      expect(textOf(readPlan(text, 'plan.json'))).toBe(text);
      expect(JSON.parse(text)).toMatchObject({ listctl: 'plan', version: 2 });
    }),
    { numRuns: 100 },
  );
});

test('a plan is distinguished from a manifest by its first member', () => {
  expect(looksLikePlan(textOf(plan))).toBe(true);
  expect(looksLikePlan(' {\n  "listctl": "plan",')).toBe(true);
  for (const other of ['{"items":[]}', '[{"listctl":"plan"}]', '{"listctl":"journal"}', '']) {
    expect(looksLikePlan(other)).toBe(false);
  }
});

test.each([
  ['"id":"17"', '"id":".."', 'id is not a valid id: the item id is ".."'],
  ['"id":"17"', '"id":"a\\u0000"', 'id is not a valid id'],
  ['"id":"17",', '', 'id is missing'],
  ['"site":"demo"', '"site":".."', 'site is not a valid id'],
  ['"number":2', '"number":3', 'expected step 2'],
  ['"key":"b"', '"key":"a"', 'the key is already used by another step'],
  ['"delete":1', '"delete":0', 'counts do not match the number of deletes'],
  ['"action":"delete"', '"action":"drop"', 'action is not create or update or delete'],
  ['"action":"create"', '"action":"create","id":"5"', 'a create has no id'],
  ['"key":"c","id":"18","fields":{}', '"key":"c","id":"18","fields":{"x":1}', 'the fields do not fit a delete'],
  ['"fields":{"N":2}', '"fields":{}', 'the fields do not fit a update'],
  ['"action":"create"', '"action":"create","why":"in-doubt"', 'inDoubt requires "why"'],
  ['"prune":false', '"prune":0', 'prune is not true or false'],
  ['"version":2', '"version":0', 'version is not 2'],
  ['"listctl":"plan"', '"listctl":"run"', 'listctl is not plan'],
  ['"orphaned":["e"]', '"orphaned":[1]', 'a key is not a string'],
  ['"steps":[', '"token":1,"steps":[', 'unexpected member "token"'],
])('D: a plan in which %s has become %s is refused: %s', (from, to, reason) => {
  const text = textOf(plan);
  expect(text).toContain(from);

  const failure = failureOf(() => readPlan(text.replace(from, to), 'plan.json'));

  expect(failure.kind).toBe('local-file');
  expect(failure.message).toContain(reason);
});

test('a plan that is cut anywhere is refused, and a newer one with its number', () => {
  const text = textOf(plan);
  for (let length = 0; length < text.length - 1; length += 1) {
    expect(failureOf(() => readPlan(text.slice(0, length), 'plan.json')).kind).toBe('local-file');
  }
  expect(failureOf(() => readPlan('{"listctl":"plan","version":3,"x":1}', 'plan.json')).message).toBe(
    'plan.json was written by a newer listctl (its version is 3)',
  );
});

test('a saved plan is done as it is, or refused where anything has moved', () => {
  const state = { ...sampleState(), ...plan.state };
  const kindOf = (...args: [PlanFile['steps']?, Partial<PlanFile>?, Partial<typeof state>?]) => {
    const [steps = plan.steps, more = {}, changed = {}] = args;
    return failureOf(() => checkPlanIsCurrent(plan, { ...state, ...changed }, { ...plan, steps, ...more })).kind;
  };

  expect(() => checkPlanIsCurrent(plan, state, plan)).not.toThrow();
  expect(kindOf([create, update])).toBe('conflict');
  expect(kindOf([create, update, remove, { ...create, number: 4, key: 'x' }])).toBe('conflict');
  expect(kindOf([create, { ...update, etag: '"v2"' }, remove])).toBe('conflict');
  expect(kindOf([create, { ...update, before: { N: 5 } }, remove])).toBe('conflict');
  expect(kindOf([create, update, { ...remove, id: '19' }])).toBe('conflict');
  expect(kindOf(plan.steps, { manifest: { file: 'manifest.yaml', sha256: '00'.repeat(32) } })).toBe('conflict');
  expect(kindOf(plan.steps, { key: 'Code' })).toBe('conflict');
  expect(kindOf(plan.steps, {}, { serial: 4 })).toBe('conflict');
  expect(kindOf(plan.steps, {}, { run: { id: sampleRun, steps: [] } })).toBe('conflict');
  expect(kindOf(plan.steps, {}, { lineage: 'cd'.repeat(16) })).toBe('usage');
  expect(kindOf(plan.steps, {}, { list: 'else' })).toBe('usage');
});

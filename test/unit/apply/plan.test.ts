import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CurrentItem, createPlan, limitTo, type PlanInput } from '../../../src/apply/plan.ts';
import { withLearned } from '../../../src/apply/recover.ts';
import type { KnownItem, StateItem } from '../../../src/apply/state.ts';
import { payloadHash } from '../../../src/bulk/keys.ts';
import { isSameValue } from '../../../src/core/item.ts';
import { parseJson } from '../../../src/core/json.ts';
import { anyFields, fieldsOf, manifestOf, sampleDoubt, sampleState } from './samples.ts';

const known = (id: string, json: string, etag?: string): StateItem => ({
  id,
  fields: fieldsOf(json),
  ...(etag === undefined ? {} : { etag }),
});
const there = (json: string, etag?: string): CurrentItem => ({ kind: 'there', fields: fieldsOf(json), etag });
const gone: CurrentItem = { kind: 'gone' };

interface Given extends Partial<Pick<PlanInput, 'prune' | 'canResend' | 'isSame'>> {
  readonly manifest?: readonly string[];
  readonly items?: Readonly<Record<string, StateItem>>;
  readonly current?: Readonly<Record<string, CurrentItem>>;
  readonly others?: Readonly<Record<string, readonly KnownItem[]>>;
}

function planned({ manifest = [], items = {}, current = {}, others, prune = false, ...more }: Given) {
  const input = {
    manifest: manifestOf(...manifest),
    state: sampleState(items),
    current: new Map(Object.entries(current)),
    others: others && new Map(Object.entries(others)),
  };
  return createPlan({ ...input, prune, ...more });
}

const nothing = {
  ...{ create: 0, update: 0, delete: 0, unchanged: 0, inDoubt: 0 },
  ...{ conflict: 0, orphaned: 0, drifted: 0, gone: 0, forgotten: 0 },
};

test('what is new is created as the manifest says it, null too', () => {
  const { steps, counts } = planned({ manifest: ['{"Title":"a","Note":null}'] });

  expect(steps).toEqual([
    { number: 1, action: 'create', key: 'a', fields: { Title: 'a', Note: null }, after: { Title: 'a', Note: null } },
  ]);
  expect(counts).toEqual({ ...nothing, create: 1 });
});

test('of what changed only the fields are sent that differ from what the service has', () => {
  const { steps, counts } = planned({
    manifest: ['{"Title":"a","N":2,"Done":true,"Note":null,"New":"x"}'],
    items: { a: known('17', '{"Title":"a","N":1,"Done":true,"Note":"n"}', '"v1"') },
    current: { a: there('{"Title":"a","N":1,"Done":true,"Note":"n","Other":5}', '"v2"') },
  });

  expect(steps).toEqual([
    {
      ...{ number: 1, action: 'update', key: 'a', id: '17', etag: '"v2"' },
      fields: { N: 2, Note: null, New: 'x' },
      before: { N: 1, Note: 'n' },
      after: { Title: 'a', N: 2, Done: true, Note: null, New: 'x' },
    },
  ]);
  expect(steps.flatMap((step) => (step.action === 'update' ? Object.keys(step.before) : []))).toEqual(['N', 'Note']);
  expect(counts).toEqual({ ...nothing, update: 1 });
});

test('a change made outside apply is drift, and is reset; fields that the manifest does not name are ignored', () => {
  const items = { a: known('17', '{"Title":"a","N":1,"Was":1}') };
  const manifest = ['{"Title":"a","N":1}'];

  expect(planned({ manifest, items, current: { a: there('{"Title":"a","N":3}') } })).toMatchObject({
    steps: [{ fields: { N: 1 }, before: { N: 3 }, drift: true }],
    counts: { ...nothing, update: 1, drifted: 1 },
  });
  expect(planned({ manifest, items, current: { a: there('{"Title":"a","N":1,"Was":2,"Other":1}') } })).toMatchObject({
    steps: [],
    counts: { ...nothing, unchanged: 1 },
  });
});

test('a field that is to be cleared and is not there is as it should be', () => {
  const manifest = ['{"Title":"a","Note":null}'];

  for (const has of ['{"Title":"a"}', '{"Title":"a","Note":null}']) {
    expect(
      planned({ manifest, items: { a: known('17', manifest[0] ?? '') }, current: { a: there(has) } }).steps,
    ).toEqual([]);
  }
});

test('without a look at the service the state is trusted', () => {
  const items = { a: known('17', '{"Title":"a","N":1}', '"v1"'), b: known('18', '{"Title":"b"}') };

  expect(planned({ manifest: ['{"Title":"a","N":2}', '{"Title":"b"}'], items })).toMatchObject({
    steps: [{ action: 'update', id: '17', etag: '"v1"', fields: { N: 2 }, before: { N: 1 } }],
    counts: { ...nothing, update: 1, unchanged: 1 },
  });
});

test('a step about an item without an ETag has none to insist on', () => {
  const items = { a: known('17', '{"Title":"a","N":1}'), b: known('18', '{"Title":"b"}') };
  const { steps } = planned({ manifest: ['{"Title":"a","N":2}'], items, prune: true });

  expect(steps.map((step) => [step.action, 'etag' in step])).toEqual([
    ['update', false],
    ['delete', false],
  ]);
});

test('a missing item is recreated, or forgotten if the manifest no longer names it', () => {
  const items = { a: known('17', '{"Title":"a"}'), b: known('18', '{"Title":"b"}') };
  const plan = planned({ manifest: ['{"Title":"a"}'], items, current: { a: gone, b: gone }, prune: true });

  expect(plan.steps).toMatchObject([{ action: 'create', key: 'a', why: 'gone' }]);
  expect(plan.counts).toEqual({ ...nothing, create: 1, gone: 1, forgotten: 1 });
  expect([...withLearned(sampleState(items), plan, 0).items.keys()]).toEqual(['a']);
});

test('I15: a key that was removed from the manifest is reported, and deleted only with --prune, last', () => {
  const items = { b: known('18', '{"Title":"b"}', '"v1"'), a: known('17', '{"Title":"a","N":1}', '"v1"') };
  const given = { manifest: ['{"Title":"c"}'], items, current: { a: there('{"Title":"a","N":2,"O":3}', '"v2"') } };

  expect(planned(given)).toMatchObject({
    steps: [{ action: 'create' }],
    orphaned: ['b', 'a'],
    counts: { ...nothing, create: 1, orphaned: 2 },
  });
  expect(planned({ ...given, prune: true })).toMatchObject({
    steps: [
      { number: 1, action: 'create' },
      { number: 2, action: 'delete', id: '18', etag: '"v1"', fields: {}, after: {} },
      { number: 3, action: 'delete', id: '17', etag: '"v2"', before: { Title: 'a', N: 2, O: 3 }, drift: true },
    ],
    orphaned: [],
    counts: { ...nothing, create: 1, delete: 2, drifted: 1 },
  });
});

test('a create in doubt is held, whether the manifest names it or not', () => {
  const doubtful = { fields: fieldsOf('{"Title":"a"}'), inDoubt: sampleDoubt };
  const plan = planned({ manifest: ['{"Title":"a"}'], items: { a: doubtful, b: doubtful }, prune: true });

  expect(plan).toMatchObject({ steps: [], inDoubt: ['a', 'b'], counts: { ...nothing, inDoubt: 2 } });
});

test('it is sent again, with its key, where that is safe and the manifest still says what was sent', () => {
  const fields = fieldsOf('{"Title":"a"}');
  const inDoubt = { ...sampleDoubt, hash: payloadHash(undefined, fields) };
  const items = { a: { fields, inDoubt } };
  const given = { manifest: ['{"Title":"a"}'], items, canResend: () => true };

  expect(planned(given).steps).toMatchObject([{ action: 'create', why: 'in-doubt', inDoubt }]);
  expect(planned({ ...given, canResend: () => false }).steps).toEqual([]);
  expect(planned({ ...given, canResend: undefined })).toMatchObject({ steps: [], inDoubt: ['a'] });
  expect(planned({ ...given, manifest: ['{"Title":"a","N":1}'] })).toMatchObject({ steps: [], inDoubt: ['a'] });
  const twice = ['3', '4'].map((id) => known(id, '{"Title":"a"}') as KnownItem);
  expect(planned({ ...given, others: { a: twice } })).toMatchObject({ steps: [], inDoubt: ['a'] });
  const keyless = { fields, inDoubt: { ...inDoubt, idempotencyKey: null } };
  const hasKey = (doubt: { readonly idempotencyKey: string | null }) => doubt.idempotencyKey !== null;
  const withoutKey = { ...given, items: { a: keyless }, canResend: hasKey };
  expect(planned(withoutKey)).toMatchObject({ steps: [], inDoubt: ['a'] });
});

test('what the state says of an unchanged item is brought up to date without a request', () => {
  const manifest = ['{"Title":"a","N":1}'];
  const learned = (item: StateItem, current: CurrentItem) =>
    planned({ manifest, items: { a: item }, current: { a: current } }).learned.get('a');
  const now = { id: '17', fields: { Title: 'a', N: 1 }, etag: '"v2"' };

  expect(learned(known('17', manifest[0] ?? '', '"v1"'), there(manifest[0] ?? '', '"v2"'))).toEqual(now);
  expect(learned(known('17', '{"Title":"a","N":5}', '"v2"'), there(manifest[0] ?? '', '"v2"'))).toEqual(now);
  expect(learned(known('17', '{"Title":"a","N":1,"X":1}', '"v2"'), there(manifest[0] ?? '', '"v2"'))).toEqual(now);
  expect(learned(known('17', manifest[0] ?? '', '"v2"'), there(manifest[0] ?? '', '"v2"'))).toBeUndefined();
});

test.each([
  ['another key', '{"Title":"x"}', 'x'],
  ['none', '{"N":1}', undefined],
  ['a value that is no key', '{"Title":["a"]}', ['a']],
])('an item whose key field has %s is another item: it is neither changed nor deleted', (_what, json, found) => {
  const given = { items: { a: known('17', '{"Title":"a","N":1}') }, current: { a: there(json) }, prune: true };

  for (const [action, manifest] of [
    ['update', ['{"Title":"a","N":2}']],
    ['delete', []],
  ] as const) {
    expect(planned({ ...given, manifest })).toMatchObject({
      steps: [],
      conflicts: [{ key: 'a', id: '17', action, found }],
      counts: { ...nothing, conflict: 1 },
    });
  }
});

test('an item is the one that is known if its key field is as applied, or has become the key', () => {
  const manifest = ['{"Title":"a","N":2}'];

  for (const [applied, found] of [
    ['"b"', '"b"'],
    ['"b"', '"a"'],
    ['1.0', '1'],
  ]) {
    const items = { a: known('17', `{"Title":${applied},"N":1}`) };
    const { steps, conflicts } = planned({ manifest, items, current: { a: there(`{"Title":${found},"N":1}`) } });
    expect([steps.map(({ action }) => action), conflicts]).toEqual([['update'], []]);
  }
});

test('no second item with a key is created: who has it is told, each of them', () => {
  const others = { a: [known('3', '{"Title":"a"}'), known('4', '{"Title":"a"}')] as KnownItem[] };
  const gone17 = { items: { a: known('17', '{"Title":"a"}') }, current: { a: gone } };

  for (const more of [{}, gone17]) {
    expect(planned({ manifest: ['{"Title":"a"}'], others, ...more })).toMatchObject({
      steps: [],
      conflicts: ['3', '4'].map((id) => ({ key: 'a', id, action: 'create', found: 'a' })),
      counts: { ...nothing, conflict: 2 },
    });
  }
});

test('a create in doubt was applied if the list has one item with its key, and what was sent', () => {
  const sent = fieldsOf('{"Title":"a","N":1}');
  const items = { a: { fields: sent, inDoubt: sampleDoubt } };
  const one = known('3', '{"Title":"a","N":1,"O":5}', '"v1"') as KnownItem;
  const given = { manifest: ['{"Title":"a","N":2}'], items };

  const settled = planned({ ...given, others: { a: [one] } });
  expect(settled.steps).toMatchObject([
    { action: 'update', id: '3', etag: '"v1"', fields: { N: 2 }, before: { N: 1 } },
  ]);
  expect(settled.learned.get('a')).toEqual({ ...one, fields: sent });
  expect(planned({ ...given, manifest: [], others: { a: [one] }, prune: true }).steps).toMatchObject([
    { action: 'delete', id: '3', before: { Title: 'a', N: 1, O: 5 } },
  ]);
  const other = known('3', '{"Title":"a","N":7}') as KnownItem;
  for (const others of [{ a: [one, one] }, { a: [other] }, {}, { b: [one] }]) {
    expect(planned({ ...given, others })).toMatchObject({ steps: [], inDoubt: ['a'] });
  }
});

test('another item with the key of one that is known is left alone, whatever is in it', () => {
  const items = { a: known('17', '{"Title":"a"}') };
  const others = { a: [known('3', '{"Title":"a"}') as KnownItem] };
  const given = { items, others, current: { a: there('{"Title":"a"}') } };

  expect(planned({ ...given, manifest: ['{"Title":"a","N":1}'] }).steps).toMatchObject([
    { action: 'update', id: '17' },
  ]);
  expect(planned({ ...given, prune: true }).steps).toMatchObject([{ action: 'delete', id: '17' }]);
  expect(planned({ others, manifest: ['{"Title":"a"}'] })).toMatchObject({ steps: [], conflicts: [{ id: '3' }] });
});

test('values are the same if the columns say so', () => {
  const items = { a: known('17', '{"Title":"a","N":"x"}') };
  const given = { manifest: ['{"Title":"a","N":"X"}'], items, current: { a: there('{"Title":"A","N":"x"}') } };
  const isSame: PlanInput['isSame'] = (_, one, other) => String(one).toLowerCase() === String(other).toLowerCase();

  expect(planned({ ...given, isSame }).counts).toEqual({ ...nothing, unchanged: 1 });
  expect(planned(given).counts).toEqual({ ...nothing, conflict: 1 });
});

test('a plan for some keys has only those; a key in neither manifest nor state is a typo', () => {
  const manifest = manifestOf('{"Title":"a"}', '{"Title":"bread"}');
  const state = sampleState({ a: known('1', '{"Title":"a"}'), milk: known('2', '{"Title":"milk"}') }, { serial: 7 });
  const limited = (...keys: string[]) => {
    const { manifest: left, state: kept } = limitTo(keys, manifest, state);
    return [left.items.map(({ key }) => key), [...kept.items.keys()], kept.serial];
  };

  expect(limited('a')).toEqual([['a'], ['a'], 7]);
  expect(limited('bread', 'milk')).toEqual([['bread'], ['milk'], 7]);
  for (const [key, hint] of [
    ['braed', 'did you mean "bread"?'],
    ['mlik', 'did you mean "milk"?'],
    ['zzzzz', undefined],
  ] as const) {
    const message = `--target "${key}" is in neither the manifest nor the state`;
    expect(() => limited('a', key)).toThrow(expect.objectContaining({ kind: 'usage', message, details: { hint } }));
  }
});

test('no plan is made over a run that was killed', () => {
  const state = sampleState({}, { run: { id: 'r', steps: [] } });

  expect(() => createPlan({ manifest: manifestOf(), state, current: new Map(), prune: false })).toThrow(/recovered/);
});

test.each([
  ['1.0', '1', true],
  ['1.10', '1.1', true],
  ['1e3', '1000', true],
  ['-0', '0', true],
  ['0.00', '-0e5', true],
  ['12345678901234567890', '12345678901234567000', false],
  ['12345678901234567890', '12345678901234567890.0', true],
  ['1e400', '1e401', false],
  ['1e400', '10e399', true],
  ['1e99999999999999999999', '1e99999999999999999998', false],
  ['0.1', '0.10000000000000001', false],
  ['0.012345678901234567890', '12345678901234567890e-21', true],
  ['0.00012345678901234567890', '1.234567890123456789E-4', true],
  ['12345678901234567890', '-12345678901234567890', false],
  ['1e400', '1e+400', true],
  ['0.1e99999999999999999999', '10e99999999999999999999', false],
  ['1', '"1"', false],
  ['-1.0', '1.0', false],
  ['null', '0', false],
  ['null', '{}', false],
  ['[]', '{}', false],
  ['[1,2]', '[1,2.0]', true],
  ['[1,2]', '[1]', false],
  ['[1,2]', '[1,3]', false],
  ['[]', '[]', true],
  ['{"a":1}', '{"a":1,"b":2}', false],
  ['{"a":1,"b":[null]}', '{"b":[null],"a":1}', true],
  ['{"a":null}', '{"b":null}', false],
  ['{"toString":1}', '{"a":1}', false],
  ['{"__proto__":1}', '{"__proto__":1.0}', true],
])('N37: %s and %s are the same: %s', (one, other, isSame) => {
  expect(isSameValue(parseJson(one), parseJson(other))).toBe(isSame);
  expect(isSameValue(parseJson(other), parseJson(one))).toBe(isSame);
});

test('fields whose service gives them back as they came are never a change', () => {
  fc.assert(
    fc.property(anyFields, (fields) => {
      const item = { key: 'a', fields, line: 1 };
      const state = sampleState({ a: { id: '17', fields } });
      const current = new Map([['a', { kind: 'there', fields } as const]]);

      const plan = createPlan({ manifest: { items: [item] }, state, current, prune: true });

      expect([plan.steps, [...plan.learned]]).toEqual([[], []]);
    }),
    { numRuns: 300 },
  );
});

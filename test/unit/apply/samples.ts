/** States, steps and values to test with. */
import fc from 'fast-check';
import type { ManifestItem } from '../../../src/apply/manifest.ts';
import type { CreateInDoubt, Step } from '../../../src/apply/state.ts';
import { newState, type State, type StateItem } from '../../../src/apply/state.ts';
import type { Fields } from '../../../src/core/item.ts';
import { type JsonValue, objectFrom, parseJson } from '../../../src/core/json.ts';

export const target = { origin: 'https://lists.example', site: 'demo', list: 'tasks' };

export const sampleRun = '20261120-101530-k3f9';

export function sampleState(items: Readonly<Record<string, StateItem>> = {}, more: Partial<State> = {}): State {
  return { ...newState(target, 'Title'), serial: 1, items: new Map(Object.entries(items)), ...more };
}

export function fieldsOf(json: string): Fields {
  return parseJson(json) as Fields;
}

/** Items of a manifest, each of its fields in JSON; the key is its Title. */
export function manifestOf(...items: readonly string[]): { readonly items: readonly ManifestItem[] } {
  return {
    items: items.map((json, at) => {
      const fields = fieldsOf(json);
      return { key: String(fields['Title']), fields, line: at + 1 };
    }),
  };
}

export const sampleDoubt: CreateInDoubt = {
  idempotencyKey: 'abcdefghijklmnopqrstuvwxyz',
  hash: '0123456789abcdef',
  sentAt: 1_795_000_000_000,
};

const hostile = ['__proto__', 'constructor', 'new\nline', '\ud800', '\u2028', '"\\', 'toString', '\u0000', '1'];
const names = fc.oneof(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom(...hostile));
const numbers = ['12345678901234567890', '1.10', '1e400', '-0', '0', '1.5'].map((digits) => parseJson(digits));

const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, false, '', ...hostile, ...numbers),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 3 }).map(objectFrom),
  ),
}));

export const anyFields = fc.array(fc.tuple(names, anyValue), { maxLength: 4 }).map(objectFrom);

const someFields = fc.array(fc.tuple(names, anyValue), { minLength: 1, maxLength: 4 }).map(objectFrom);
const etags = fc.option(fc.string(), { nil: undefined });
const doubts: fc.Arbitrary<CreateInDoubt> = fc.record({
  idempotencyKey: fc.option(fc.string()),
  hash: fc.constant('0123456789abcdef'),
  sentAt: fc.nat(),
});

export const anyItems = fc
  .uniqueArray(fc.tuple(names, anyFields, etags, fc.option(doubts)), { selector: ([key]) => key, maxLength: 8 })
  .map((items) => {
    const map = new Map<string, StateItem>();
    for (const [at, [key, fields, etag, inDoubt]] of items.entries()) {
      const known: StateItem = etag === undefined ? { id: `i${at}`, fields } : { id: `i${at}`, fields, etag };
      map.set(key, inDoubt === null ? known : { fields, inDoubt });
    }
    return map;
  });

export const anySteps = fc
  .uniqueArray(fc.tuple(names, someFields, anyFields, etags, fc.nat(4), doubts), {
    selector: ([key]) => key,
    maxLength: 8,
  })
  .map((steps) =>
    steps.map(([key, fields, before, etag, kind, inDoubt], at): Step => {
      const said = { number: at + 1, key };
      const found = { id: `i${at}`, ...(etag === undefined ? {} : { etag }), before };
      const create = { ...said, action: 'create', fields, after: fields } as const;
      if (kind === 0) return create;
      if (kind === 1) return { ...create, why: 'gone' };
      if (kind === 2) return { ...create, why: 'in-doubt', inDoubt };
      if (kind === 3) return { ...said, action: 'update', ...found, fields, after: fields, drift: true };
      return { ...said, action: 'delete', ...found, fields: {}, after: {} };
    }),
  );

/** What has the shape of a journal's line, member by member. */
import { describe, expect, test } from 'vitest';
import { isAnyHeader, isGroup, isHeader } from '../../../src/bulk/journal-format.ts';
import { hashFor, sampleHeader, sampleSession, sampleTotals } from './journal-samples.ts';

const hash = hashFor(1);
const anyText = ['', 'any text'];
const noText = [7, null, ['text'], {}];
const noCount = [-1, 0.5, '1', null, [1], 2 ** 53];
/** A session or a group that began then would be of no date. */
const noTime = 2 ** 52;
const noNumberFromOne = [0, ...noCount];
const noHeaderValue = [7, {}, 'a\r\nb', '\0', '\u0100'];
const noMs = [-1, '1', [1], {}];
const noHash = ['', hash.slice(1), `${hash}0`, `g${hash}`, `${hash}g`, hash.toUpperCase(), 1234567890123456, null];

/** Each letter with what may follow it, and for each part of that the values that are invalid there. */
const shapes: readonly (readonly [good: readonly unknown[], wrong: readonly (readonly unknown[])[]])[] = [
  [
    ['I', 1, 1, 1, 'key', hash],
    [noNumberFromOne, noNumberFromOne, noNumberFromOne, noHeaderValue, noHash],
  ],
  [
    ['I', 2 ** 40, 2, 3, null, hash, '"v1"'],
    [noNumberFromOne, noNumberFromOne, noNumberFromOne, noHeaderValue, noHash, noText],
  ],
  [['N', 1], [noNumberFromOne]],
  [
    ['D', 1, '', null, 0],
    [noNumberFromOne, noText, noHeaderValue, [...noMs, null]],
  ],
  [
    ['F', 1, 'refused', null, null, null],
    [noNumberFromOne, ['no kind', 'toString', ['refused'], null], [-1, 0.5, '400'], [7], noMs],
  ],
  [
    ['F', 1, 'conflict', 0, 'code', 0.5],
    [noNumberFromOne, ['', 7], [-1, 0.5, '400'], [7], noMs],
  ],
  [['X', 1], [noNumberFromOne]],
  [
    ['U', 1, '', 0],
    [noNumberFromOne, noText, noMs],
  ],
  [
    ['U', 1, 'cause', null],
    [noNumberFromOne, noText, noMs],
  ],
  [
    ['R', 1, 'applied', 'id'],
    [noNumberFromOne, ['not-applied', 'skipped', '', ['applied']], noText],
  ],
  [
    ['R', 1, 'not-applied'],
    [noNumberFromOne, ['applied', 'perhaps', null]],
  ],
  [
    ['R', 1, 'skipped'],
    [noNumberFromOne, ['applied', 'perhaps', null]],
  ],
  [['T', 0], [[...noMs, null]]],
  [['S', -4e15], [[0.5, '1', null, 4e15 + 1, -4e15 - 1]]],
  [['B', sampleSession()], [[null, 7, [], {}]]],
  [['B', sampleSession({ monotonicMs: 0.5 })], [[null, 7, [], {}]]],
  [['E', sampleTotals(1)], [[null, 7, [], {}]]],
];

describe.each(shapes)('the record %j', (good, wrong) => {
  test('is one, and one of several', () => {
    expect(isGroup([0, good])).toBe(true);
    expect(isGroup([7, ['N', 1], good, ['N', 1]])).toBe(true);
  });

  test('is invalid with anything else in one of its places', () => {
    const changed = wrong.flatMap((values, at) => values.map((value) => good.with(at + 1, value)));

    expect(changed.filter((record) => isGroup([0, record]))).toEqual([]);
    expect(changed.filter((record) => isGroup([0, good, record]))).toEqual([]);
  });

  test('is invalid with less in it, or more, or another letter', () => {
    expect(isGroup([0, [...good, 'more', 'still more']])).toBe(false);
    for (const letter of ['Z', 'toString', '', 7, null, [good[0]]])
      expect(isGroup([0, good.with(0, letter)])).toBe(false);
    expect(isGroup([0, good.slice(0, 1)])).toBe(false);
  });
});

test('a group is a time and at least one record', () => {
  const record = ['N', 1];

  for (const value of [null, 7, 'text', {}, [], [0], [record], [0, 'N'], [0, null], [0, { 0: 'N', 1: 1, length: 2 }]]) {
    expect(isGroup(value), JSON.stringify(value)).toBe(false);
  }
  expect(isGroup([4e15, record])).toBe(true);
  for (const time of [...noCount, noTime]) expect(isGroup([time, record])).toBe(false);
});

test.each([
  ['a session', 'B', sampleSession(), { boot: 7, limit: -1, tool: null, at: 0.5 }],
  ['a session of no date', 'B', sampleSession(), { at: noTime }],
  [
    'totals',
    'E',
    sampleTotals(1, { reason: 'stopped' }),
    {
      ...{ done: -1, failed: '0', invalid: null, inDoubt: 0.5, skipped: [], left: {}, ms: -1, sent: -1, retries: -1 },
      ...{ throttledMs: '1', reason: 7 },
    },
  ],
] as const)(
  '%s has all of its members, each of its kind; one that came later is let through',
  (_what, letter, good, bad) => {
    expect(isGroup([0, [letter, good]])).toBe(true);
    expect(isGroup([0, [letter, { ...good, color: 'red' }]])).toBe(true);
    for (const [name, value] of Object.entries(bad))
      expect(isGroup([0, [letter, { ...good, [name]: value }]]), name).toBe(false);
    const { [Object.keys(good)[0] as never]: _, ...rest } = good;
    expect(isGroup([0, [letter, rest]])).toBe(false);
  },
);

describe('a header', () => {
  const header = { listctl: 'journal', version: 2, ...sampleHeader(3) };

  test.each([
    { identity: 'f'.repeat(16) },
    { identity: 'f'.repeat(128) },
    { file: null },
    { of: '20261120-101530-k3f9' },
    { shard: '1/3' },
    { isShrunk: true },
    { keepsBefore: true },
    ...['update', 'delete'].map((undoes) => ({ undoes })),
    { reading: { rename: [], types: [] } },
    {
      reading: {
        rename: [['a', 'b']],
        types: [
          ['a', 'number'],
          ['b', 'string'],
        ],
        separator: ';',
      },
    },
    ...['create', 'update', 'delete', 'get', 'undo', 'apply'].map((action) => ({ action })),
    ...['unknown', 'honored', 'none'].map((idempotency) => ({ idempotency })),
    ...anyText.map((list) => ({ list })),
    { input: { ...header.input, bytes: 0, rows: 0 }, rows: 0 },
    ...['undo', 'apply'].map((action) => ({ input: { ...header.input, bytes: 0, rows: 1e9 }, action })),
    { rows: 2 },
    ...['unique', 'indexed', 'none'].map((promise) => ({ keyField: { column: 'Key', promise } })),
  ])('may have %j', (more) => {
    expect(isHeader({ ...header, ...more })).toBe(true);
  });

  test.each([
    ...['f'.repeat(15), 'f'.repeat(129), `g${'f'.repeat(20)}`, `${'f'.repeat(20)}g`, 1234567890123456].map(
      (identity) => ({
        identity,
      }),
    ),
    ...[7, null].map((of) => ({ of })),
    ...[false, null, 1].map((isShrunk) => ({ isShrunk })),
    ...['', 'read', ['create']].map((action) => ({ action })),
    ...['', 'maybe'].map((idempotency) => ({ idempotency })),
    ...['', 'yesterday', 5].map((startedAt) => ({ startedAt })),
    ...[7, {}].map((file) => ({ file })),
    ...[false, null, 1].map((keepsBefore) => ({ keepsBefore })),
    ...['', 'create', null].map((undoes) => ({ undoes })),
    ...[7, null, {}, { rename: [] }, { types: [] }, { rename: {}, types: [] }].map((reading) => ({ reading })),
    ...[7, ['a'], ['a', 'b', 'c'], ['a', 7], { length: 2, every: 1 }]
      .flatMap((entry) => [[entry], [['a', 'b'], entry]])
      .flatMap((rename) => [
        { rename, types: [] },
        { rename: [], types: rename },
      ])
      .map((reading) => ({ reading })),
    { profile: 7 },
    ...['Key', {}, { column: 'Key', promise: '' }, { column: 7, promise: 'none' }].map((keyField) => ({ keyField })),
    ...[{ bytes: -1 }, { sha256: 'short' }, { rows: -1 }].map((more) => ({ input: { ...header.input, ...more } })),
    ...[2, 1e9 + 1].map((rows) => ({ input: { ...header.input, bytes: 1e9, rows } })),
    { input: { ...header.input, bytes: 4_000, rows: 5_000_000 } },
    { input: { ...header.input, bytes: 0, rows: 1e9 + 1 }, action: 'undo' },
  ])('may not have %j', (more) => {
    expect(isHeader({ ...header, ...more })).toBe(false);
  });

  test('of whatever version says that it is one, and which', () => {
    expect(isAnyHeader({ listctl: 'journal', version: 9 })).toBe(true);
    for (const value of [null, 7, 'journal', [], {}, { version: 1 }, { listctl: 'diary', version: 1 }]) {
      expect(isAnyHeader(value), JSON.stringify(value)).toBe(false);
    }
    for (const version of noCount) expect(isAnyHeader({ listctl: 'journal', version })).toBe(false);
    expect(isAnyHeader(Object.assign([], { listctl: 'journal', version: 1 }))).toBe(false);
    expect(isHeader({ ...header, listctl: 'diary' })).toBe(false);
  });
});

import { expect, test } from 'vitest';
import {
  checkImport,
  forgetItem,
  idOwners,
  type KnownItem,
  moveItem,
  resolveItem,
  type State,
  withItems,
} from '../../../src/apply/state.ts';
import type { Fields } from '../../../src/core/item.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fieldsOf, sampleDoubt, sampleState } from './samples.ts';

const fields = fieldsOf('{"Title":"a"}');
const state = sampleState({
  a: { id: '1', fields, etag: '"v1"' },
  b: { fields: fieldsOf('{"Title":"b"}'), inDoubt: sampleDoubt },
});

function messageOf(work: () => unknown): string {
  const { kind, message } = failureOf(work);
  expect(kind).toBe('usage');
  return message;
}

function importItem(into: State, key: string, item: Pick<KnownItem, 'id' | 'etag'>, of: Fields, nowMs: number): State {
  checkImport(into, idOwners(into), key, item.id);
  return withItems(into, new Map([[key, { ...item, fields: of }]]), nowMs);
}

test.each([
  ['c', '1', 'item "1" already belongs to "a"'],
  ['a', '2', '"a" is already item "1"'],
  ['b', '2', 'the create of "b" is in doubt'],
  ['c', '..', 'the item id is "..", which is not a path segment'],
])('%s=%s is not taken over: %s', (key, id, message) => {
  expect(messageOf(() => importItem(state, key, { id }, {}, 0))).toBe(message);
});

test('forgets an item, but not one in doubt', () => {
  expect([...forgetItem(state, 'a', 0).items.keys()]).toEqual(['b']);
  expect(messageOf(() => forgetItem(state, 'b', 0))).toBe('the create of "b" is in doubt');
  expect(messageOf(() => forgetItem(state, 'c', 0))).toBe('the state has no item with the key "c"');
});

test('a key is renamed, and its old name retired: a create with it must not return the same item', () => {
  const moved = moveItem(state, 'a', 'z', 0);

  expect([...moved.items.keys()]).toEqual(['b', 'z']);
  expect(moved.items.get('z')).toEqual(state.items.get('a'));
  expect([...(moved.retired ?? [])]).toEqual([['a', { follows: '1', at: 0 }]]);
});

test.each([
  ['c', 'd', 'the state has no item with the key "c"'],
  ['b', 'd', 'the create of "b" is in doubt'],
  ['a', 'b', 'the create of "b" is in doubt'],
  ['a', 'a', '"a" is already item "1"'],
])('%s cannot be renamed to %s: %s', (from, to, message) => {
  expect(messageOf(() => moveItem(state, from, to, 0))).toBe(message);
});

test('a create in doubt is settled, by the item that it made or by none', () => {
  expect(resolveItem(state, 'b', { id: '2' }, 0).items.get('b')).toEqual({ id: '2', fields: { Title: 'b' } });
  expect(resolveItem(state, 'b', null, 0).items.has('b')).toBe(false);
  expect(messageOf(() => resolveItem(state, 'b', { id: '1' }, 0))).toBe('item "1" already belongs to "a"');
  expect(messageOf(() => resolveItem(state, 'a', null, 0))).toBe('"a" is not in doubt: it is item "1"');
  expect(messageOf(() => resolveItem(state, 'c', null, 0))).toBe('the state has no item with the key "c"');
});

test('nothing is edited while a run is not folded in', () => {
  const running = { ...state, run: { id: 'r', steps: [] } };

  for (const edit of [
    () => importItem(running, 'c', { id: '3' }, fields, 0),
    () => forgetItem(running, 'a', 0),
    () => resolveItem(running, 'b', null, 0),
    () => moveItem(running, 'a', 'z', 0),
  ]) {
    expect(edit).toThrow(/recovered/);
  }
});

test('a key that loses its item is retired, for 30 days, until it has one again', () => {
  const days = (count: number) => count * 86_400_000;
  const forgotten = forgetItem(state, 'a', days(1));
  const settled = resolveItem(forgotten, 'b', null, days(30));
  const later = importItem(settled, 'c', { id: '3' }, fields, days(31));

  expect([...(settled.retired ?? [])]).toEqual([
    ['a', { follows: '1', at: days(1) }],
    ['b', { follows: sampleDoubt.idempotencyKey, at: days(30) }],
  ]);
  expect([...(later.retired ?? []).keys()]).toEqual(['b']);
  expect(importItem(later, 'b', { id: '2' }, fields, days(31)).retired).toBe(undefined);
});

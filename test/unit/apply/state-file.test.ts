import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkTarget, newState, type State } from '../../../src/apply/state.ts';
import { backupPath, parseState, printState, readState, writeState } from '../../../src/apply/state-file.ts';
import type { Failure } from '../../../src/core/errors.ts';
import { failureOf } from '../../support/failure-of.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { anyItems, anySteps, fieldsOf, sampleDoubt, sampleRun, sampleState, target } from './samples.ts';

const textOf = (state: State) => [...printState(state)].join('');

/** What is said of a state with this text; nothing is changed by it. */
async function refusalOf(text: string | Uint8Array): Promise<Failure> {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  writeFileSync(path, text);
  const failure = failureOf(() => readState(path));
  expect(readFileSync(path)).toEqual(Buffer.from(text));
  expect(failure.kind).toBe('local-file');
  expect(failure.message).toContain(path);
  return failure;
}

const known = { id: '17', fields: fieldsOf('{"Title":"a","N":1.10}'), etag: '"v1"' };
const doubtful = { fields: fieldsOf('{"Title":"b"}'), inDoubt: sampleDoubt };

test('what is written is read back, digits, hostile keys, half characters and steps too', () => {
  fc.assert(
    fc.property(anyItems, fc.option(anySteps), anyItems, (items, steps, others) => {
      const run = steps === null ? {} : { run: { id: sampleRun, steps } };
      const names = [...others.keys()].filter((key) => !items.has(key));
      const entries = names.map((key, at) => [key, { follows: key, at }] as const);
      const retired = names.length === 0 ? {} : { retired: new Map(entries) };
      const state = { ...sampleState({}, { items }), ...retired, ...run };
      const text = textOf(state);

      const read = parseState(text, 'the state');

      expect(read).toEqual(state);
      expect([...read.items.keys()]).toEqual([...items.keys()]);
      expect(textOf(read)).toBe(text);
      expect(Buffer.from(text).toString()).toBe(text);
    }),
    { numRuns: 100 },
  );
});

test('a state is a line for each item, so that versions can be compared', () => {
  const lines = textOf(sampleState({ a: known, b: doubtful }, { lineage: '0'.repeat(32) })).split('\n');

  expect(lines).toEqual([
    `{"version":1,"lineage":"${'0'.repeat(32)}","serial":1,"origin":"https://lists.example","site":"demo","list":"tasks","key":"Title","items":{`,
    '"a":{"id":"17","fields":{"Title":"a","N":1.10},"etag":"\\"v1\\""},',
    '"b":{"inDoubt":{"idempotencyKey":"abcdefghijklmnopqrstuvwxyz","hash":"0123456789abcdef","sentAt":1795000000000},"fields":{"Title":"b"}}',
    '}}',
    '',
  ]);
});

test('each write is one serial on, for its owner alone, and keeps the version before', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  expect(readState(path)).toBeUndefined();

  const first = writeState(path, newState(target, 'Title'));
  chmodSync(path, 0o644);
  const second = writeState(path, { ...first, items: new Map([['a', known]]) });

  expect([first.serial, second.serial]).toEqual([1, 2]);
  expect(readState(path)).toEqual(second);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(backupPath(path)).mode & 0o777).toBe(0o600);
  expect(parseState(readFileSync(backupPath(path), 'utf8'), 'the copy')).toEqual(first);
});

test('the version that a run works on is not a backup: the copy stays the one before the run', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  const first = writeState(path, newState(target, 'Title'));

  const running = writeState(path, { ...first, run: { id: sampleRun, steps: [] } });
  const { run: _, ...settled } = running;
  writeState(path, { ...settled, items: new Map([['a', known]]) });

  expect(parseState(readFileSync(backupPath(path), 'utf8'), 'the copy')).toEqual(first);
});

test('P17: an older serial than what was written here is refused', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  let state = writeState(path, newState(target, 'Title'));
  const old = readFileSync(path);
  for (let writes = 0; writes < 3; writes += 1) state = writeState(path, state);
  writeFileSync(path, old);

  const failure = failureOf(() => readState(path));

  expect(failure).toMatchObject({ kind: 'local-file' });
  expect(failure.message).toBe(`${path} is outdated: its serial is 1, but ${path}.bak has 3`);
  expect(readFileSync(path)).toEqual(old);
  // The copy of another state says nothing of this one.
  writeFileSync(path, textOf(sampleState()));
  expect(readState(path)?.serial).toBe(1);
});

test('P17: a version is not written over one that it does not follow', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  const first = writeState(path, newState(target, 'Title'));
  writeState(path, first);
  const there = readFileSync(path);

  for (const other of [first, { ...first, serial: 3 }, { ...sampleState(), serial: 2 }, newState(target, 'Title')]) {
    expect(failureOf(() => writeState(path, other))).toMatchObject({ kind: 'local-file' });
  }
  expect(readFileSync(path)).toEqual(there);
  expect(failureOf(() => writeState(join(directory.path, 'gone.json'), first))).toMatchObject({ kind: 'local-file' });
  expect(existsSync(join(directory.path, 'gone.json'))).toBe(false);
});

test('a file that is not a state is never overwritten', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'notes.txt');
  writeFileSync(path, 'mine');

  expect(failureOf(() => writeState(path, newState(target, 'Title')))).toMatchObject({ kind: 'local-file' });
  expect(readFileSync(path, 'utf8')).toBe('mine');
});

test('a state file that was reformatted or sorted by hand is read and updated', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  const first = writeState(path, sampleState({ a: known }, { serial: 0 }));
  const parsed = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const sorted = Object.fromEntries(Object.entries(parsed).sort());
  writeFileSync(path, JSON.stringify(sorted, null, 2));

  expect(readState(path)).toMatchObject({ serial: 1, lineage: first.lineage });
  expect(writeState(path, first).serial).toBe(2);
});

test('P12: a state that is cut anywhere is refused, and its copy is named', async () => {
  const text = textOf(sampleState({ a: known, b: doubtful }, { run: { id: sampleRun, steps: [] } }));
  for (let length = 1; length < text.length - 1; length += 1) {
    expect(() => parseState(text.slice(0, length), 'x')).toThrow(SyntaxError);
  }
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'manifest.yaml.state.json');
  const first = writeState(path, newState(target, 'Title'));
  writeState(path, first);
  writeFileSync(path, text.slice(0, 100));

  expect(failureOf(() => readState(path)).details.hint).toContain(`${path}.bak`);
});

const good = textOf(sampleState({ a: known }, { lineage: 'ab'.repeat(16) }));
const doubted = textOf(sampleState({ b: doubtful }));

test.each([
  ['', 'it is empty'],
  ['[]', 'line 1, column 1: invalid JSON at "[]"'],
  ['{}', 'line 1, column 1: version is missing'],
  [good.replace('"version":1', '"version":0'), 'version is not 1'],
  [good.replace('"serial":1', '"serial":0'), 'serial is 0'],
  [good.replace('"serial":1', '"serial":1.5'), 'serial is not a whole number'],
  [good.replace('"serial":1', '"serial":1,"serial":2'), 'duplicate member "serial"'],
  [good.replace('abab', 'xyxy'), 'lineage is not 32 hex digits'],
  [good.replace('"17"', '".."'), 'id is not a valid id: the item id is ".."'],
  [good.replace('"17"', '"a\\nb"'), 'id is not a valid id'],
  [good.replace('"17"', '17'), 'line 2, column 11: id is not a string'],
  [good.replace('"demo"', '".."'), 'site is not a valid id'],
  [good.replace('"id":"17",', ''), 'id is missing'],
  [good.replace('{"Title":"a","N":1.10}', '[]'), 'fields is not an object'],
  [good.replace('"a":{', '"":{'), 'a key is empty'],
  [good.replace('"a":{', '"b":{"id":"17","fields":{}},"a":{'), 'two keys have the same id'],
  [good.replace('"a":{', '"a":{"id":"18","fields":{}},"a":{'), 'duplicate member "a"'],
  [good.replace('"v1', '"v1\\r\\nX: y'), 'line 2, column 55: etag is not a valid header value'],
  [doubted.replace('"abcd', '"ab\\r\\ncd'), 'idempotencyKey is not a valid header value'],
  [good.replace('"etag"', '"tag"'), 'unexpected member "tag"'],
  [good.replace('"items"', '"steps":[],"items"'), 'run and steps must appear together'],
  [`${good}x`, 'invalid JSON at "x"'],
])('P12: a state like %j is refused: %s', async (text, reason) => {
  expect((await refusalOf(text)).message).toContain(`is damaged: `);
  expect((await refusalOf(text)).message).toContain(reason);
});

test('P12: bytes that are not UTF-8 are refused, and a newer version with its number', async () => {
  expect((await refusalOf(Buffer.from(good.replace('Title', '\xff'), 'latin1'))).message).toMatch(/is not UTF-8$/);
  expect((await refusalOf('{"version":2,"anything":[]}')).message).toMatch(/by a newer listctl \(its version is 2\)$/);
});

test('P17: a state of another list is refused, and one that knows its items by another field', () => {
  const state = sampleState();

  expect(() => checkTarget(state, 's.json', target, 'Title')).not.toThrow();
  for (const other of [{ origin: 'https://else' }, { site: 'else' }, { list: 'else' }]) {
    expect(failureOf(() => checkTarget(state, 's.json', { ...target, ...other }, 'Title')).kind).toBe('local-file');
  }
  expect(failureOf(() => checkTarget(state, 's.json', target, 'Code')).kind).toBe('usage');
});

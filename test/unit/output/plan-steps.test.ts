import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { type JsonValue, NumberToken, parseJson, printJson } from '../../../src/core/json.ts';
import {
  changeLines,
  exactText,
  type FieldChange,
  idText,
  looksSame,
  nameText,
  stepLines,
  valueText,
} from '../../../src/output/plan.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';
import { step } from './plan-samples.ts';
import { forbidden, hostileTexts } from './printed.ts';

const wide = { columns: 80, style: plainStyle };
const letter = 'Dear mum, the train was late again, so that I missed the boat, and then it rained. '.repeat(3);

const changed = (before: JsonValue | undefined, after: JsonValue | undefined, width = 80) =>
  changeLines('update', [{ field: 'f', before, after }], { columns: width, style: plainStyle });

test('what is created has its fields below, their values in one column', () => {
  const changes: FieldChange[] = [
    { field: 'Title', after: 'Buy milk' },
    { field: 'Count', after: new NumberToken('1.10') },
    { field: '名前', after: null },
    { field: 'Note', after: '' },
  ];

  expect(stepLines(step({ action: 'create', changes }), wide)).toEqual([
    '+ key "Buy milk"',
    '    Title: Buy milk',
    '    Count: 1.10',
    '    名前:  null',
    '    Note:  ""',
  ]);
});

test('what is updated has old → new for each field, with its id', () => {
  const changes: FieldChange[] = [
    { field: 'Status', before: 'Open', after: 'Done' },
    { field: 'Due', after: '2026-01-01' },
    { field: 'Note', before: 'x', after: null },
    { field: 'Count', before: '1', after: 1 },
  ];

  expect(stepLines(step({ id: '17', changes }), wide)).toEqual([
    '~ key "Buy milk", id 17',
    '    Status: Open → Done',
    '    Due:    none → 2026-01-01',
    '    Note:   x → cleared',
    '    Count:  "1" → 1',
  ]);
});

test('what is deleted has its id, and what is lost', () => {
  const changes: FieldChange[] = [{ field: 'Title', before: 'Buy milk' }];

  expect(stepLines(step({ action: 'delete', id: '17', changes }), wide)).toEqual([
    '- key "Buy milk", id 17',
    '    Title: Buy milk',
  ]);
});

test.each([
  [step({ id: '17', drift: true }), '~ key "Buy milk", id 17, changed outside apply: will be reset'],
  [step({ action: 'create', why: 'gone' }), '+ key "Buy milk", missing: will be recreated'],
  [step({ action: 'create', id: '17', why: 'gone' }), '+ key "Buy milk", was id 17, missing: will be recreated'],
  [
    step({ action: 'delete', id: '17', drift: true }),
    '- key "Buy milk", id 17, changed outside apply: will be deleted',
  ],
  [step({ action: 'create', why: 'in-doubt' }), '+ key "Buy milk", in doubt: will be retried with its key'],
])('what is special about a step is said in words: %#', (shown, line) => {
  expect(stepLines(shown, wide)).toEqual([line]);
});

test('what does not fit beside the key is printed below it', () => {
  const id = '3f2504e0-4f89-11d3-9a0c-0305e82c3301';

  expect(stepLines(step({ id, drift: true }), { ...wide, columns: 40 })).toEqual([
    '~ key "Buy milk",',
    '    id 3f2504e0-4f89-1 … c-0305e82c3301,',
    '    changed outside apply: will be reset',
  ]);
});

test.each([40, 80, 200])('values that do not fit beside each other are below each other, at %i columns', (width) => {
  const [before = '', after = '', ...more] = changed(`${letter}.`, `${letter.replace('boat', 'bus')}.`, width);

  expect(more).toEqual([]);
  expect(before).toMatch(/^ {4}f: Dear m.*boat.* … .*\.$/);
  expect(after).toMatch(/^ {5}→ Dear m.*bus.* … .*\.$/);
  expect(before.indexOf('boat')).toBe(after.indexOf('bus'));
  expect(before).toHaveLength(width);
});

test('at 200 columns more is beside each other', () => {
  expect(changed('a'.repeat(60), 'b'.repeat(60), 80)).toHaveLength(2);
  expect(changed('a'.repeat(60), 'b'.repeat(60), 200)).toEqual([`    f: ${'a'.repeat(60)} → ${'b'.repeat(60)}`]);
});

test('quotes are round both strings or none: they must not be the first difference', () => {
  expect(changed('Open', '')).toEqual(['    f: "Open" → ""']);
  expect(changed(`${letter}.`, letter)).toEqual([
    expect.stringMatching(/^ {4}f: "Dear .* … .*rained\. \."$/),
    expect.stringMatching(/^ {5}→ "Dear .* … .*rained\. "$/),
  ]);
});

test('values that look the same are shown with escapes', () => {
  expect(changed('caf\u00e9', 'cafe\u0301')).toEqual(['    f: "caf\\u00e9" → "cafe\\u0301"']);
  expect(changed('a b', 'a\u00a0b')).toEqual(['    f: "a b" → "a\\u00a0b"']);
});

test('a difference in a character that is wider than the screen is shown with escapes, too', () => {
  const [before = '', after = ''] = changed(`e${'\u0301'.repeat(400)}`, `e${'\u0301'.repeat(400)}\u0302`);

  expect(before).toMatch(/^ {4}f: "e\\u0301.* … .*\\u0301"$/);
  expect(after).toMatch(/^ {5}→ "e\\u0301.* … .*\\u0301\\u0302"$/);
});

test('a long name is cut in the middle, and leaves two thirds for the values', () => {
  const changes = [{ field: 'A very long name of a field that somebody made up', before: 1, after: 2 }];

  expect(stepLines(step({ changes }), { ...wide, columns: 40 })[1]).toBe('    A ver…de up: 1 → 2');
});

test('in color the sign, the key and both values have one', async () => {
  const inColor = { columns: 80, style: await loadStyle(1) };
  const changes = [{ field: 'f', before: 'a', after: 'b' }];

  expect(stepLines(step({ id: '17', drift: true, changes }), inColor)).toEqual([
    '\x1b[33m~ key "Buy milk"\x1b[39m, \x1b[2mid 17\x1b[22m, \x1b[33mchanged outside apply: will be reset\x1b[39m',
    '    f: \x1b[31ma\x1b[39m → \x1b[32mb\x1b[39m',
  ]);
  expect(stepLines(step({ action: 'create' }), inColor)).toEqual(['\x1b[32m+ key "Buy milk"\x1b[39m']);
  expect(stepLines(step({ action: 'delete' }), inColor)).toEqual(['\x1b[31m- key "Buy milk"\x1b[39m']);
});

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.integer({ min: 0xd700, max: 0xe010 }).map((unit) => String.fromCharCode(unit)), maxLength: 9 }),
  fc.constantFrom(...hostileTexts.map(([, text]) => text), letter, `${letter}!`, 'e'.padEnd(400, '\u0301')),
);
const anyValue = fc.oneof(anyText, fc.jsonValue() as fc.Arbitrary<JsonValue>);

test('no line is wider than the screen, and nothing steers it, whatever the plan holds', () => {
  const change = fc.record({ field: anyText, before: anyValue, after: anyValue }, { requiredKeys: ['field'] });
  const anyStep = fc.record(
    {
      action: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
      key: anyText,
      id: anyText,
      drift: fc.constant(true as const),
      why: fc.constantFrom('gone' as const, 'in-doubt' as const),
      changes: fc.array(change, { maxLength: 4 }),
    },
    { requiredKeys: ['action', 'key', 'changes'] },
  );

  fc.assert(
    fc.property(anyStep, fc.integer({ min: 20, max: 200 }), (shown, width) => {
      for (const line of stepLines(step(shown), { columns: width, style: plainStyle })) {
        expect(stringWidth(line)).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(forbidden);
        expect(line).not.toMatch(/\p{Cs}/u);
      }
    }),
    { numRuns: 150 },
  );
});

test('an old value and a new one that differ never look the same', () => {
  const text = fc.tuple(anyText, anyText, anyText);

  fc.assert(
    fc.property(text, text, fc.boolean(), fc.integer({ min: 20, max: 120 }), (one, other, isCommon, width) => {
      // Mostly the same, so that the difference is somewhere within.
      const before = one.join('');
      const after = isCommon ? [one[0], other[1], one[2]].join('') : other.join('');
      fc.pre(printJson(before) !== printJson(after));
      const [first = '', second] = changed(before, after, width);
      const shown = first.slice(7);
      const half = (shown.length - 3) / 2;
      const [old, fresh] =
        second === undefined ? [shown.slice(0, half), shown.slice(half + 3)] : [shown, second.slice(7)];

      expect(old.normalize()).not.toBe(fresh.normalize());
    }),
    { numRuns: 150 },
  );
});

test.each(['Buy milk', '2026-01-01', '1.2.3', 'a: b', 'it is true', '007a', 'Grüße', '日本語', 'x="1"', '-'])(
  '%s is text without quotes',
  (text) => {
    expect(valueText(text)).toBe(text);
  },
);

test.each([
  ...'true·Null·5·-1.50·007·+1·.5·1e9·"a"·[1·{·none·cleared·a → b'.split('·'),
  ...['', ' ', ' a', 'a ', 'a\u00a0'],
])('"%s" could be mistaken, so that it is in quotes', (text) => {
  expect(valueText(text)).toBe(JSON.stringify(text));
});

test.each(['null', 'true', '12345678901234567890', '1.10', '1e400', '-0', '["a",{"b":1.0}]'])(
  '%s is JSON with the digits that it came with',
  (json) => {
    expect(valueText(parseJson(json))).toBe(json);
  },
);

test('a newline and the sign for one do not look the same', () => {
  expect(valueText('a\nb')).toBe('"a\\nb"');
  expect(valueText('a⏎b')).toBe('a⏎b');
});

test('different values are different texts', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.jsonValue().map((json) => printJson(json as JsonValue)),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom('⏎', '\n', '\\n', '"\\n"'),
  ) as fc.Arbitrary<JsonValue>;

  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(valueText(one) === valueText(other)).toBe(printJson(one) === printJson(other));
      expect(exactText(one)).toMatch(/^[ -~]*$/);
      expect(parseJson(exactText(one))).toEqual(parseJson(printJson(one)));
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['accents put together in another way', 'caf\u00e9', 'cafe\u0301', true],
  ['a blank that does not break', 'a b', 'a\u00a0b', true],
  ['the same', 'a', 'a', true],
  ['another letter', 'a', 'b', false],
])('looks the same: %s', (_name, one, other, isSame) => {
  expect(looksSame(one, other)).toBe(isSame);
});

test.each([
  ['Title', 'Title'],
  ['7', '7'],
  ['Due date', 'Due date'],
  ['__proto__', '__proto__'],
  ['', '""'],
  ['a: b', '"a: b"'],
  [' a', '" a"'],
])('a field called "%s" is %s', (name, shown) => {
  expect(nameText(name)).toBe(shown);
});

test.each([
  ['17', '17'],
  ['3f2504e0-4f89-11d3', '3f2504e0-4f89-11d3'],
  ['17, missing: will be recreated', '"17, missing: will be recreated"'],
])('an item with the id "%s" is %s', (id, shown) => {
  expect(idText(id)).toBe(shown);
});

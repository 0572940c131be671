import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { StepShown } from '../../../src/output/plan.ts';
import {
  applyQuestion,
  type PlanCountsShown,
  type PlanShown,
  planLines,
  planSummary,
} from '../../../src/output/plan.ts';
import { loadStyle, plainStyle } from '../../../src/output/style.ts';
import type { Screen } from '../../../src/output/view.ts';
import { forbidden, hostileTexts } from './hostile-text.ts';
import { pipe, terminal } from './printed.ts';

const nothing: PlanCountsShown = {
  ...{ create: 0, update: 0, delete: 0, unchanged: 0 },
  ...{ drifted: 0, gone: 0, inDoubt: 0, orphaned: 0 },
};
const some = { ...nothing, create: 3, update: 2, drifted: 1, delete: 1, unchanged: 94, inDoubt: 1 };
const empty: PlanShown = { place: 'list "tasks" of site "home"', steps: [], counts: nothing, notes: [] };
const milk: StepShown = { action: 'create', key: 'Buy milk', changes: [{ field: 'Title', after: 'Buy milk' }] };

const screenOf = (columns: number): Screen => ({ columns, style: plainStyle });
const lines = (plan: Partial<PlanShown>, screen: Screen = terminal) => [...planLines({ ...empty, ...plan }, screen)];
const summary = (counts: Partial<PlanCountsShown>, screen: Screen = pipe) =>
  planSummary({ ...nothing, ...counts }, screen);

describe('planLines', () => {
  test('the place, what is to be said, each step, what is left alone, and the counts', () => {
    expect(
      lines({
        notes: ['No state file at manifest.yaml.state.json.'],
        steps: [milk, { action: 'delete', key: 'Old', id: '17', changes: [] }],
        untouched: [{ why: 'in-doubt', key: 'Paint' }],
        counts: { ...nothing, create: 1, delete: 1, inDoubt: 1 },
      }),
    ).toEqual([
      'list "tasks" of site "home"',
      'No state file at manifest.yaml.state.json.',
      '',
      '+ key "Buy milk"',
      '    Title: Buy milk',
      '- key "Old", id 17',
      '? key "Paint", in doubt: skipped',
      '',
      'Plan: 1 to create, 1 to delete, 1 in doubt',
    ]);
  });

  test('where nothing changes, nothing but the counts', () => {
    expect(lines({ counts: { ...nothing, unchanged: 100 } })).toEqual([
      'list "tasks" of site "home"',
      '',
      'No changes: 100 items match the manifest.',
    ]);
  });

  test('steps are taken when their lines are asked for, not before', () => {
    let taken = 0;
    function* steps() {
      for (; taken < 1e6; ) {
        taken += 1;
        yield milk;
      }
    }
    const shown = planLines({ ...empty, steps: steps() }, terminal);
    const first = Array.from({ length: 5 }, () => shown.next().value);

    expect(first.slice(2)).toEqual(['+ key "Buy milk"', '    Title: Buy milk', '+ key "Buy milk"']);
    expect(taken).toBe(2);
  });

  test.each([
    ['a terminal of 40', screenOf(40), 40],
    ['one of 200', screenOf(200), 200],
    ['one that does not say', screenOf(0), 80],
    ['none', pipe, 80],
    ['one that is too narrow for a plan', screenOf(3), 20],
  ])('the width is that of the terminal: %s', (_name, screen, width) => {
    const steps: StepShown[] = [{ ...milk, changes: [{ field: 'Body', after: 'ab'.repeat(400) }] }];
    const shown = lines({ place: 'place '.repeat(80), notes: ['note '.repeat(80)], steps, counts: some }, screen);

    expect(Math.max(...shown.map((line) => line.length))).toBe(width);
  });

  test('a sentence goes on below, and loses no word', () => {
    expect(
      lines({ notes: ['No state file at manifest.yaml.state.json: all is new.'] }, screenOf(40)).slice(1, 3),
    ).toEqual(['No state file at', '  manifest.yaml.state.json: all is new.']);
  });

  test.each(hostileTexts)('O01, O02, O04: %s in a place, a note or a step is visible', (_name, text) => {
    const steps: StepShown[] = [
      { action: 'update', key: text, id: text, changes: [{ field: text, before: text, after: 1 }] },
    ];

    for (const screen of [pipe, terminal, screenOf(40)]) {
      for (const line of lines({ place: text, notes: [text], steps }, screen)) expect(line).not.toMatch(forbidden);
    }
  });

  test('no line is wider than the terminal', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    const counts = fc.record({
      ...{ create: fc.nat(), update: fc.nat(), delete: fc.nat(), unchanged: fc.nat() },
      ...{ drifted: fc.nat(), gone: fc.nat(), inDoubt: fc.nat(), orphaned: fc.nat() },
    });

    fc.assert(
      fc.property(
        text,
        fc.array(text, { maxLength: 3 }),
        counts,
        fc.integer({ min: 20, max: 200 }),
        (place, notes, counted, width) => {
          for (const line of lines({ place, notes, counts: counted }, screenOf(width))) {
            expect(stringWidth(line)).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });
});

describe('planSummary', () => {
  test('every count is told, and what is zero is not worth a word', () => {
    expect(summary(some)).toBe(
      'Plan: 3 to create, 2 to update (1 changed outside apply), 1 to delete, 94 unchanged, 1 in doubt',
    );
    expect(summary({ create: 12_000, gone: 1, orphaned: 2 })).toBe(
      'Plan: 12,000 to create (1 missing), 2 no longer in the manifest',
    );
    expect(summary({ delete: 1 })).toBe('Plan: 1 to delete');
  });

  test.each([
    [
      { update: 2, delete: 1, drifted: 2, driftedDeletes: 1 },
      '2 to update (1 changed outside apply), 1 to delete (1 changed outside apply)',
    ],
    [{ delete: 2, drifted: 1 }, '2 to delete (1 changed outside apply)'],
    [{ update: 1, delete: 1, drifted: 1 }, '1 to update (1 changed outside apply), 1 to delete'],
  ])('what somebody changed is told where it is: %#', (counts, said) => {
    expect(summary(counts)).toBe(`Plan: ${said}`);
  });

  test.each([
    [{ unchanged: 100 }, 'No changes: 100 items match the manifest.'],
    [{ unchanged: 1 }, 'No changes: 1 item matches the manifest.'],
    [{}, 'No changes: the manifest has no items.'],
    [
      { unchanged: 9, inDoubt: 1, orphaned: 2 },
      'No changes: 9 items match the manifest; 1 in doubt, 2 no longer in the manifest.',
    ],
    [{ inDoubt: 1 }, 'No changes: 1 in doubt.'],
  ])('where nothing changes, that is said: %#', (counts, said) => {
    expect(summary(counts)).toBe(said);
  });

  test('on a narrow terminal it goes on below, with each count whole', () => {
    expect(summary(some, screenOf(40)).split('\n')).toEqual([
      'Plan: 3 to create, 2 to update',
      '  (1 changed outside apply),',
      '  1 to delete, 94 unchanged, 1 in doubt',
    ]);
  });

  test('in color each count has that of its sign', async () => {
    expect(planSummary(some, { columns: 200, style: await loadStyle(1) })).toBe(
      'Plan: \x1b[32m3 to create\x1b[39m, \x1b[33m2 to update\x1b[39m (1 changed outside apply), \x1b[31m1 to delete\x1b[39m, 94 unchanged, \x1b[33m1 in doubt\x1b[39m',
    );
  });
});

describe('applyQuestion', () => {
  const place = 'list tasks (site home, https://lists.example)';

  test.each([
    [some, 'Create 3, update 2 and DELETE 1'],
    [{ ...nothing, create: 12_000 }, 'Create 12,000 and delete 0'],
    [{ ...nothing, update: 1, delete: 4 }, 'Update 1 and DELETE 4'],
    [{ ...nothing, delete: 4 }, 'DELETE 4'],
  ])('the number of deletes is always told: %#', (counts, said) => {
    expect(applyQuestion(counts, place)).toBe(`${said} in ${place}?`);
  });

  test.each(hostileTexts)('O01, O02, O04: %s in a place stays visible on the one line', (_name, text) => {
    expect(applyQuestion(some, text)).not.toMatch(forbidden);
  });
});

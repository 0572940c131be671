import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { PlanCounts } from '../../../src/apply/plan.ts';
import type { PlanFile } from '../../../src/apply/plan-file.ts';
import type { State } from '../../../src/apply/state.ts';
import { planLines, planMarkdown, stepsText } from '../../../src/output/plan.ts';
import { loadStyle, plainStyle, type Screen } from '../../../src/output/view.ts';
import { step } from './plan-samples.ts';
import { forbidden, hostileTexts, pipe, terminal } from './printed.ts';

const nothing: PlanCounts = {
  ...{ create: 0, update: 0, delete: 0, unchanged: 0, forgotten: 0 },
  ...{ drifted: 0, gone: 0, inDoubt: 0, conflict: 0, orphaned: 0 },
};
const some = { ...nothing, create: 3, update: 2, drifted: 1, delete: 1, unchanged: 94, inDoubt: 1 };
const empty = { steps: [], conflicts: [], inDoubt: [], orphaned: [], counts: nothing };
const milk = step({ action: 'create', changes: [{ field: 'Title', after: 'Buy milk' }] });
const items: State['items'] = new Map([['Ring', { id: '8', fields: {} }]]);

const screenOf = (columns: number): Screen => ({ columns, style: plainStyle });

type Wish = Partial<Pick<PlanFile, keyof typeof empty>> & { readonly place?: string; readonly notes?: string[] };

function lines({ place = 'list "tasks" of site "home"', notes = [], ...plan }: Wish, screen: Screen = terminal) {
  return [...planLines({ ...empty, ...plan }, items, { place, notes }, screen)];
}

function summary(counts: Partial<PlanCounts>, screen: Screen = screenOf(200), steps: PlanFile['steps'] = []) {
  const shown = lines({ counts: { ...nothing, ...counts }, steps }, screen);
  return shown.slice(shown.lastIndexOf('') + 1).join('\n');
}

describe('planLines', () => {
  test('the place, what is to be said, each step, what is left alone, and the counts', () => {
    expect(
      lines({
        notes: ['No state file at manifest.yaml.state.json.'],
        steps: [milk, step({ action: 'delete', key: 'Old', id: '17' })],
        conflicts: [{ key: 'Wall', id: '9', action: 'update', found: 'payroll' }],
        inDoubt: ['Paint'],
        orphaned: ['Ring'],
        counts: { ...nothing, create: 1, delete: 1, inDoubt: 1, conflict: 1, orphaned: 1 },
      }),
    ).toEqual([
      'list "tasks" of site "home"',
      'No state file at manifest.yaml.state.json.',
      '',
      '+ key "Buy milk"',
      '    Title: Buy milk',
      '- key "Old", id 17',
      '! key "Wall", id 9 now belongs to another item: key "payroll"',
      '? key "Paint", in doubt: skipped',
      '= key "Ring", id 8, no longer in the manifest: unchanged',
      '',
      'Plan: 1 to create, 1 to delete, 1 in doubt, 1 in conflict,',
      '  1 no longer in the manifest',
    ]);
  });

  test('where nothing changes, nothing but the counts', () => {
    expect(lines({ counts: { ...nothing, unchanged: 100 } })).toEqual([
      'list "tasks" of site "home"',
      '',
      'No changes: 100 items match the manifest.',
    ]);
  });

  test.each([
    ['a terminal of 40', screenOf(40), 40],
    ['one of 200', screenOf(200), 200],
    ['one that does not say', screenOf(0), 80],
    ['none', pipe, 80],
    ['one that is too narrow for a plan', screenOf(3), 20],
  ])('the width is that of the terminal: %s', (_name, screen, width) => {
    const steps = [step({ action: 'create', changes: [{ field: 'Body', after: 'ab'.repeat(400) }] })];
    const shown = lines({ place: 'place '.repeat(80), notes: ['note '.repeat(80)], steps, counts: some }, screen);

    expect(Math.max(...shown.map((line) => line.length))).toBe(width);
  });

  test('a long sentence wraps, and loses no word', () => {
    expect(
      lines({ notes: ['No state file at manifest.yaml.state.json: all is new.'] }, screenOf(40)).slice(1, 3),
    ).toEqual(['No state file at', '  manifest.yaml.state.json: all is new.']);
  });

  test.each(hostileTexts)('O01, O02, O04: %s in a place, a note or a step is visible', (_name, text) => {
    const steps = [step({ key: text, id: text, changes: [{ field: text, before: text, after: 1 }] })];
    const others = { conflicts: [{ key: text, id: text, action: 'update' as const, found: text }], orphaned: [text] };

    for (const screen of [pipe, terminal, screenOf(40)]) {
      for (const line of lines({ place: text, notes: [text], steps, ...others }, screen))
        expect(line).not.toMatch(forbidden);
    }
  });

  test('no line is wider than the terminal', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    const counts = fc.record({
      ...{ create: fc.nat(), update: fc.nat(), delete: fc.nat(), unchanged: fc.nat(), forgotten: fc.nat() },
      ...{ drifted: fc.nat(), gone: fc.nat(), inDoubt: fc.nat(), conflict: fc.nat(), orphaned: fc.nat() },
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

describe('the summary', () => {
  test('shows every count, except those that are zero', () => {
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
      { update: 2, delete: 1, drifted: 2 },
      [step({ action: 'delete', drift: true })],
      '2 to update (1 changed outside apply), 1 to delete (1 changed outside apply)',
    ],
    [{ delete: 2, drifted: 1 }, [step({ action: 'delete', drift: true })], '2 to delete (1 changed outside apply)'],
    [{ update: 1, delete: 1, drifted: 1 }, [], '1 to update (1 changed outside apply), 1 to delete'],
  ])('what changed outside apply is counted where it is: %#', (counts, steps, said) => {
    expect(summary(counts, screenOf(200), steps)).toBe(`Plan: ${said}`);
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

  test('wraps on a narrow terminal, without splitting a count', () => {
    expect(summary(some, screenOf(40)).split('\n')).toEqual([
      'Plan: 3 to create, 2 to update',
      '  (1 changed outside apply),',
      '  1 to delete, 94 unchanged, 1 in doubt',
    ]);
  });

  test('in color each count has that of its sign', async () => {
    expect(summary(some, { columns: 200, style: await loadStyle(1) })).toBe(
      'Plan: \x1b[32m3 to create\x1b[39m, \x1b[33m2 to update\x1b[39m (1 changed outside apply), \x1b[31m1 to delete\x1b[39m, 94 unchanged, \x1b[33m1 in doubt\x1b[39m',
    );
  });
});

describe('planMarkdown', () => {
  const head = { place: 'list "tasks" of site "home"', notes: ['Only these keys are planned: "a"'] };
  const counts = { ...nothing, create: 1, update: 1, delete: 1, inDoubt: 1, conflict: 1, orphaned: 1 };

  test('is a summary, and a diff whose signs GitHub colors', () => {
    const plan = {
      steps: [
        milk,
        step({ action: 'update', key: 'Tea', id: '3', changes: [{ field: 'Count', before: 1, after: 2 }] }),
        step({ action: 'delete', key: 'Old', id: '17', changes: [{ field: 'Title', before: 'Old' }] }),
      ],
      conflicts: [{ key: 'Wall', id: '9', action: 'update', found: 'payroll' } as const],
      ...{ inDoubt: ['Paint'], orphaned: ['Ring'], counts },
    };

    expect(
      planMarkdown(plan, items, head),
    ).toBe(`**Plan: 1 to create, 1 to update, 1 to delete, 1 in doubt, 1 in conflict, 1 no longer in the manifest**

\`\`\`diff
# list "tasks" of site "home"
# Only these keys are planned: "a"
+ key "Buy milk"
+   Title: Buy milk
! key "Tea", id 3
!   Count: 1 → 2
- key "Old", id 17
-   Title: Old
! key "Wall", id 9 now belongs to another item: key "payroll"
! key "Paint", in doubt: skipped
# key "Ring", id 8, no longer in the manifest: unchanged
\`\`\`
`);
    expect(planMarkdown({ ...empty, counts: { ...nothing, unchanged: 2 } }, items, { ...head, notes: [] })).toBe(
      '**No changes: 2 items match the manifest.**\n\n```diff\n# list "tasks" of site "home"\n```\n',
    );
  });

  test.each<readonly [string, string]>([
    ...hostileTexts,
    ['a fence', '\n```\n**x**'],
    ['a long one', '`'.repeat(70_000)],
  ])('%s does not leave the diff, nor begin a line of it', (_name, text) => {
    const change = { field: text, before: text, after: `${text}!` };
    const steps = [step({ action: 'update', key: text, id: '3', changes: [change] })];
    const plan = { ...empty, steps, conflicts: [{ key: text, id: text, action: 'delete' as const, found: text }] };
    const [summaryLine, blank, open, ...rest] = planMarkdown({ ...plan, inDoubt: [text], orphaned: [text] }, items, {
      place: text,
      notes: [text],
    }).split('\n');

    expect([summaryLine, blank, open, rest.slice(-2)]).toEqual([expect.any(String), '', '```diff', ['```', '']]);
    expect(rest.slice(0, -2).filter((line) => !/^[-+!#] /.test(line))).toEqual([]);
    expect(rest.join('').replaceAll('⏎', '')).not.toMatch(forbidden);
  });

  test.each([1, 100_000])(
    'fits a comment of GitHub, and says how much is left out: values of %i characters',
    (length) => {
      const Note = '"x'.repeat(length);
      const steps = Array.from({ length: 5000 }, (_, at) =>
        step({ action: 'create', key: `k${at}`, changes: [{ field: 'Note', after: Note }] }),
      );

      const text = planMarkdown({ ...empty, steps, counts: { ...nothing, create: 5000 } }, items, head);
      const shown = text.match(/^\+ key/gm)?.length ?? 0;

      expect(text.length).toBeLessThanOrEqual(64_000);
      expect(shown).toBeGreaterThan(50);
      expect(text).toMatch(new RegExp(`^# ${(5000 - shown).toLocaleString('en')} more changes not shown: `, 'm'));
    },
  );
});

describe('stepsText', () => {
  const place = 'list tasks (site home, https://lists.example)';

  test.each([
    [some, 'create 3, update 2 and DELETE 1'],
    [{ ...nothing, create: 12_000 }, 'create 12,000'],
    [{ ...nothing, create: 2, update: 1 }, 'create 2 and update 1'],
    [{ ...nothing, update: 1, delete: 4 }, 'update 1 and DELETE 4'],
    [{ ...nothing, delete: 4 }, 'DELETE 4'],
  ])('shows what is not zero: %#', (counts, said) => {
    expect(stepsText(counts, place)).toBe(`${said} in ${place}`);
  });

  test.each(hostileTexts)('O01, O02, O04: %s in a place stays visible on the one line', (_name, text) => {
    expect(stepsText(some, text)).not.toMatch(forbidden);
  });
});

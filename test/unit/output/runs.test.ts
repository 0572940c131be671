import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JournalHeader } from '../../../src/bulk/journal-format.ts';
import { type RunDetailShown, type RunShown, runDetailView, runView, sparkline } from '../../../src/output/runs.ts';
import { type PrintFormat, plainStyle } from '../../../src/output/view.ts';
import { sampleHeader } from '../bulk/journal-samples.ts';
import { forbidden, hostileTexts, pipe, printed } from './printed.ts';

const header: JournalHeader = {
  ...{ listctl: 'journal', version: 1 },
  ...sampleHeader(1000, { site: 'home', file: '/data/tasks.csv', profile: 'prod' }),
};
const nowMs = Date.parse('2026-11-20T10:17:40Z');
const counts = { done: 990, failed: 5, invalid: 3, inDoubt: 0, skipped: 0, left: 2 };
const run: RunShown = { run: header.run, status: 'incomplete', header, counts };
const damaged: RunShown = { run: '20261119-090000-aaaa', status: 'damaged', header: undefined, counts: undefined };
const detail: RunDetailShown = {
  ...run,
  ...{ sessions: 2, seconds: 12.3, sent: 1003, retries: 3, throttledMs: 2000 },
  answerTimes: { p50Ms: 12, p95Ms: 80.5, p99Ms: 210 },
  ratePerSecond: [40, 80, 10, 10, 80],
  throttled: [false, false, true, true, false],
};

const show = (format: PrintFormat, ...runs: RunShown[]) => printed(runView(nowMs), runs, { format });
const showDetail = (format: PrintFormat, columns?: number) =>
  printed(runDetailView, [detail], { format, isSeveral: false, screen: { columns, style: plainStyle } });

test('as CSV every run has the same columns, a damaged one first, too', async () => {
  expect(await show('csv', damaged, run)).toBe(
    [
      'run,action,service,profile,site,list,file,startedAt,status,rows,done,failed,inDoubt,left,undone,skipped',
      '20261119-090000-aaaa,,,,,,,,damaged,,,,,,,',
      '20261120-101530-k3f9,create,https://lists.example,prod,home,tasks,/data/tasks.csv,2026-11-20T10:15:30.000Z,incomplete,1000,990,8,0,2,,',
      '',
    ].join('\n'),
  );
});

test('runs are a table: when, which file, and only counts and names that some run has', async () => {
  expect((await show('pretty', run, damaged)).split('\n')).toEqual([
    'run                   status      file       list   profile  rows   done  failed  action  started                   remaining  service        site',
    '20261120-101530-k3f9  incomplete  tasks.csv  tasks  prod     1,000  990   8       create  2026-11-20T10:15:30.000Z  2          lists.example  home',
    '20261119-090000-aaaa  damaged',
    '',
  ]);
});

test.each([
  [10, '10 s ago'],
  [130, '2 min ago'],
  [7300, '2 h ago'],
  [3 * 86_400, '3 d ago'],
  [59 * 86_400, '59 d ago'],
  [61 * 86_400, /^2026-11-\d\d$/],
  [-5, /^2026-11-\d\d$/],
])('on 120 columns a run of %i seconds ago says when', async (seconds, when) => {
  const complete = { ...counts, done: 1000, failed: 0, invalid: 0, left: 0 };
  const shown = { ...run, status: 'done', counts: complete };
  const screen = { columns: 120, style: plainStyle };
  const view = runView(Date.parse(header.startedAt) + seconds * 1000);
  const [head, line = ''] = (await printed(view, [shown], { format: 'pretty', screen })).split('\n');

  const names = head?.split(/ {2,}/) ?? [];
  expect(line.split(/ {2,}/)[names.indexOf('started')]).toMatch(when);
});

test('80 columns show what distinguishes runs: file, list, profile, and what is in doubt', async () => {
  const text = await printed(
    runView(nowMs),
    [
      { ...run, status: 'in-doubt', counts: { ...counts, inDoubt: 3 } },
      { ...run, header: { ...header, profile: 'test' } },
    ],
    { format: 'pretty', screen: { columns: 80, style: plainStyle } },
  );

  expect(text.split('\n').slice(0, 3)).toEqual([
    'run                   status      file     list   profile  in doubt  rows   done',
    '20261120-101530-k3f9  in-doubt    tasks.…  tasks  prod     3         1,000  990',
    '20261120-101530-k3f9  incomplete  tasks.…  tasks  test               1,000  990',
  ]);
});

test.each([40, 80, 200])('the table fits %i columns, and cuts no count', async (columns) => {
  const large = {
    ...run,
    header: { ...header, rows: 1_000_000, file: `/data/${'long/'.repeat(50)}tasks.csv` },
    counts: { ...counts, done: 999_990 },
  };
  const text = await printed(runView(nowMs), [large, run], {
    format: 'pretty',
    screen: { columns, style: plainStyle },
  });

  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  expect(text).not.toMatch(/\d…/);
  expect(text).toContain('20261120-101530-k3f9');
});

test('one run is names and values, the rate as bars with the throttled stretch marked', async () => {
  expect((await showDetail('pretty')).split('\n')).toEqual([
    'run           20261120-101530-k3f9',
    'status        incomplete',
    'action        create',
    'file          /data/tasks.csv',
    'started       2026-11-20T10:15:30.000Z',
    'service       https://lists.example',
    'profile       prod',
    'list          tasks',
    'site          home',
    'rows          1,000',
    'done          990',
    'failed        8',
    'in doubt      0',
    'remaining     2',
    'sessions      2',
    'time          12.3 s',
    'requests      1,003',
    'retries       3',
    'throttled     2.0 s',
    'latency       p50 12 ms, p95 80.5 ms, p99 210 ms',
    'rows/s        ▄█▁▁█ up to 80',
    'throttled at    xx',
    '',
  ]);
});

test('a run of which a part was undone says how much', async () => {
  expect((await show('pretty', { ...run, undone: 380 })).split('\n')[1]).toMatch(/ 990 +8 .* 2 +380 /);
});

test('a run that sent nothing has neither answer times nor a rate', async () => {
  const idle = { ...detail, answerTimes: undefined, ratePerSecond: [], throttled: [] };

  expect(await printed(runDetailView, [idle], { format: 'pretty' })).not.toMatch(/latency|rows\/s|▁/);
  expect(JSON.parse(await printed(runDetailView, [idle], { format: 'jsonl' }))).not.toHaveProperty('answerTimes');
});

test.each([40, 80, 200])('on %i columns the bars of a long run are whole', async (columns) => {
  const ratePerSecond = Array.from({ length: 5000 }, (_, at) => 1 + (at % 97));
  const long = { ...detail, ratePerSecond, throttled: ratePerSecond.map(() => true) };
  const screen = { columns, style: plainStyle };
  const text = await printed(runDetailView, [long], { format: 'pretty', isSeveral: false, screen });
  const [, bars = '', scale] = /^rows\/s {8}([▁-█]+)(.*)$/m.exec(text) ?? [];

  expect(scale).toMatch(/^ up to \d+(\.\d+)?$/);
  expect(/^throttled at {2}(x+)$/m.exec(text)?.[1]).toHaveLength(bars.length);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
});

test('several runs have a blank line between them', async () => {
  expect(
    (await printed(runDetailView, [detail, detail], { format: 'pretty', screen: pipe })).split('\n\n'),
  ).toHaveLength(2);
});

test.each(hostileTexts)('O01, O02, O04: %s in a name of the user stays on its line', async (_name, text) => {
  const named = { header: { ...header, site: text, list: text, file: text } };
  const table = await show('pretty', { ...run, ...named }, run);
  const list = await printed(runDetailView, [{ ...detail, ...named }], { format: 'pretty' });

  expect(table.split('\n')).toHaveLength(4);
  expect(list.split('\n')).toHaveLength(23);
  for (const line of `${table}${list}`.split('\n')) expect(line).not.toMatch(forbidden);
});

const levels = '▁▂▃▄▅▆▇█';

test.each([
  ['no number', [], '', 0],
  ['one', [7], '█', 7],
  ['each level', [1, 2, 3, 4, 5, 6, 7, 8], levels, 8],
  ['nothing but zeros', [0, 0, 0], '▁▁▁', 0],
  ['little beside much', [1, 1000, 0], '▁█▁', 1000],
  ['what is below zero', [-5, 8], '▁█', 8],
])('%s', (_name, numbers, bars, largest) => {
  expect(sparkline(numbers, [], 80)).toEqual({ bars, marks: '', largest });
});

test('marks are below the bars that they belong to', () => {
  expect(sparkline([8, 1, 1, 8, 4], [false, true, true], 80)).toEqual({ bars: '█▁▁█▄', marks: ' xx', largest: 8 });
});

test('what does not fit is drawn as means, and a stretch is marked where any of it is', () => {
  expect(sparkline([8, 8, 0, 0, 4, 4, 2, 6], [false, false, false, true], 4)).toEqual({
    ...{ bars: '█▁▄▄', marks: ' x', largest: 8 },
  });
});

test('there is a bar for every number that fits, in eight heights, the largest full', () => {
  const number = fc.double({ min: 0, max: 1e6, noNaN: true });

  fc.assert(
    fc.property(
      fc.array(fc.tuple(number, fc.boolean()), { maxLength: 300 }),
      fc.integer({ min: -3, max: 200 }),
      (pairs, width) => {
        const marked = pairs.map(([, mark]) => mark);
        const numbers = pairs.map(([value]) => value);
        const { bars, marks, largest } = sparkline(numbers, marked, width);

        expect(bars).toHaveLength(Math.min(pairs.length, Math.max(1, width)));
        expect([...bars].every((bar) => levels.includes(bar))).toBe(true);
        expect(bars.includes('█')).toBe(largest > 0);
        expect(largest).toBeLessThanOrEqual(Math.max(0, ...numbers) * (1 + 1e-9));
        expect(marks).toMatch(/^( *x)*$/);
        expect(marks.length).toBeLessThanOrEqual(bars.length);
        expect(marks !== '').toBe(marked.includes(true));
      },
    ),
  );
});

test('if everything fits a higher number has no lower bar, and each mark is below its bar', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(1000), fc.boolean()), { minLength: 2, maxLength: 60 }), (pairs) => {
      const { bars, marks } = sparkline(
        pairs.map(([value]) => value),
        pairs.map(([, mark]) => mark),
        60,
      );
      const sorted = [...pairs.keys()].sort((one, two) => (pairs[one]?.[0] ?? 0) - (pairs[two]?.[0] ?? 0));
      const heights = sorted.map((at) => levels.indexOf(bars.charAt(at)));

      expect(heights).toEqual(heights.toSorted((one, two) => one - two));
      expect(pairs.map((_, at) => marks[at] === 'x')).toEqual(pairs.map(([, mark]) => mark));
    }),
  );
});

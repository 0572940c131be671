import { expect, test } from 'vitest';
import type { JournalHeader } from '../../../src/bulk/journal-format.ts';
import { type RunDetailShown, type RunShown, runDetailView, runView } from '../../../src/output/runs.ts';
import type { PrintFormat } from '../../../src/output/view.ts';
import { plainStyle } from '../../../src/output/view.ts';
import { sampleHeader } from '../bulk/journal-samples.ts';
import { forbidden, hostileTexts } from './hostile-text.ts';
import { pipe, printed } from './printed.ts';

const header: JournalHeader = {
  ...{ listctl: 'journal', version: 1 },
  ...sampleHeader(1000, { site: 'home', file: '/data/tasks.csv' }),
};
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

const show = (format: PrintFormat, ...runs: RunShown[]) => printed(runView, runs, { format });
const showDetail = (format: PrintFormat, columns?: number) =>
  printed(runDetailView, [detail], { format, isSeveral: false, screen: { columns, style: plainStyle } });

test('as CSV every run has the same columns, a damaged one first, too', async () => {
  expect(await show('csv', damaged, run)).toBe(
    [
      'run,action,site,list,file,startedAt,status,rows,done,failed,inDoubt,left',
      '20261119-090000-aaaa,,,,,,damaged,,,,,',
      '20261120-101530-k3f9,create,home,tasks,/data/tasks.csv,2026-11-20T10:15:30.000Z,incomplete,1000,990,8,0,2',
      '',
    ].join('\n'),
  );
});

test('runs are a table with the counts first', async () => {
  expect((await show('pretty', run, damaged)).split('\n')).toEqual([
    'run                   action  status      rows  done  failed  inDoubt  left  file             list   site  startedAt',
    '20261120-101530-k3f9  create  incomplete  1000  990   8       0        2     /data/tasks.csv  tasks  home  2026-11-20T10:15:30.000Z',
    '20261119-090000-aaaa          damaged',
    '',
  ]);
});

test.each([40, 80, 200])('the table fits %i columns, and cuts no count', async (columns) => {
  const large = {
    ...run,
    header: { ...header, rows: 1_000_000, file: `/data/${'long/'.repeat(50)}tasks.csv` },
    counts: { ...counts, done: 999_990 },
  };
  const text = await printed(runView, [large, run], { format: 'pretty', screen: { columns, style: plainStyle } });

  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  expect(text).not.toMatch(/\d…/);
  expect(text).toContain('20261120-101530-k3f9');
});

test('one run is names and values, the rate as bars with the throttled stretch marked', async () => {
  expect((await showDetail('pretty')).split('\n')).toEqual([
    'run            20261120-101530-k3f9',
    'action         create',
    'site           home',
    'list           tasks',
    'file           /data/tasks.csv',
    'startedAt      2026-11-20T10:15:30.000Z',
    'status         incomplete',
    'rows           1000',
    'done           990',
    'failed         8',
    'inDoubt        0',
    'left           2',
    'sessions       2',
    'seconds        12.3',
    'sent           1003',
    'retries        3',
    'throttledMs    2000',
    'answerTimes    p50 12 ms, p95 80.5 ms, p99 210 ms',
    'ratePerSecond  ▄█▁▁█ up to 80',
    'throttled        xx',
    '',
  ]);
});

test('a run that sent nothing has neither answer times nor a rate', async () => {
  const idle = { ...detail, answerTimes: undefined, ratePerSecond: [], throttled: [] };

  expect(await printed(runDetailView, [idle], { format: 'pretty' })).not.toMatch(/answerTimes|ratePerSecond|▁/);
  expect(JSON.parse(await printed(runDetailView, [idle], { format: 'jsonl' }))).not.toHaveProperty('answerTimes');
});

test.each([40, 80, 200])('on %i columns the bars of a long run are whole', async (columns) => {
  const ratePerSecond = Array.from({ length: 5000 }, (_, at) => 1 + (at % 97));
  const long = { ...detail, ratePerSecond, throttled: ratePerSecond.map(() => true) };
  const screen = { columns, style: plainStyle };
  const text = await printed(runDetailView, [long], { format: 'pretty', isSeveral: false, screen });
  const [, bars = '', scale] = /^ratePerSecond {2}([▁-█]+)(.*)$/m.exec(text) ?? [];

  expect(scale).toMatch(/^ up to \d+(\.\d+)?$/);
  expect(/^throttled {6}(x+)$/m.exec(text)?.[1]).toHaveLength(bars.length);
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
  expect(list.split('\n')).toHaveLength(21);
  for (const line of `${table}${list}`.split('\n')) expect(line).not.toMatch(forbidden);
});

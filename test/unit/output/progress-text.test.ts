import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  plainProgressLine,
  progressBarLine,
  type RunProgressShown,
  readingLine,
} from '../../../src/output/progress-text.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';
import { forbidden, hostileTexts } from './hostile-text.ts';

const midway: RunProgressShown = {
  ...{ rows: 100_000, settled: 12_000, failed: 3, inDoubt: 0 },
  ...{ ratePerSecond: 812, leftMs: 108_000, reason: undefined },
};
const throttled = { ...midway, inDoubt: 2, ratePerSecond: undefined, leftMs: undefined, reason: 'throttled for 12 s' };

test('a plain line shows the count, the failures, the rate and the time left', () => {
  expect(plainProgressLine(midway)).toBe('  12,000 of 100,000 rows, 3 failed, 812 rows/s, about 1 min 48 s left');
});

test('a plain line says why it is slow, and omits what is unknown', () => {
  expect(plainProgressLine(throttled)).toBe('  12,000 of 100,000 rows, 3 failed, 2 in doubt, throttled for 12 s');
});

test('a plain line of a run without failures does not mention them', () => {
  expect(plainProgressLine({ ...midway, failed: 0, leftMs: Number.POSITIVE_INFINITY })).toBe(
    '  12,000 of 100,000 rows, 812 rows/s',
  );
});

test.each([
  [20, '12,000 of 100,000'],
  [40, '[=--------] 12,000 of 100,000, 3 failed'],
  [80, `[${'='.repeat(2)}${'-'.repeat(18)}] 12,000 of 100,000, 3 failed, 812 rows/s, 1 min 48 s left`],
  [200, `[${'='.repeat(4)}${'-'.repeat(36)}] 12,000 of 100,000, 3 failed, 812 rows/s, 1 min 48 s left`],
])('on %i columns the bar gives way first, then the last parts', (columns, line) => {
  expect(progressBarLine(midway, columns, plainStyle)).toBe(line);
});

test.each([
  [40, '[=--------] 12,000 of 100,000, 3 failed'],
  [60, '[==---------------] 12,000 of 100,000, 3 failed, 2 in doubt'],
  [80, '[==---------------] 12,000 of 100,000, 3 failed, 2 in doubt, throttled for 12 s'],
  [200, '[====------------------------------------] 12,000 of 100,000, 3 failed, 2 in doubt, throttled for 12 s'],
])('on %i columns a throttled run says so before it says how fast it is', (columns, line) => {
  expect(progressBarLine(throttled, columns, plainStyle)).toBe(line);
});

test('color changes nothing but color', async () => {
  const style = await loadStyle(1);

  expect(progressBarLine(throttled, 80, style)).toContain('\x1b[31m3 failed\x1b[39m, \x1b[33m2 in doubt\x1b[39m');
  expect(stripVTControlCharacters(progressBarLine(throttled, 80, style))).toBe(
    progressBarLine(throttled, 80, plainStyle),
  );
});

test.each(hostileTexts)('O01, O02, O04: %s in a reason stays on its line', (_name, reason) => {
  expect(plainProgressLine({ ...midway, reason })).not.toMatch(forbidden);
  expect(progressBarLine({ ...midway, reason }, 200, plainStyle)).not.toMatch(forbidden);
});

test('the bar is full when everything is settled, and not before', () => {
  const barAt = (settled: number, rows = 100_000) =>
    progressBarLine({ ...midway, rows, settled }, 200, plainStyle).slice(0, 42);

  expect(barAt(99_999)).toBe(`[${'='.repeat(39)}-]`);
  expect(barAt(100_000)).toBe(`[${'='.repeat(40)}]`);
  expect(barAt(100_001)).toBe(`[${'='.repeat(40)}]`);
  expect(barAt(0, 0)).toBe(`[${'='.repeat(40)}]`);
});

test('the line is always narrower than the terminal', () => {
  const progress = fc.record({
    ...{ rows: fc.maxSafeNat(), settled: fc.maxSafeNat(), failed: fc.nat(), inDoubt: fc.nat() },
    ratePerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
    leftMs: fc.option(fc.double({ min: 0, noNaN: true }), { nil: undefined }),
    reason: fc.option(fc.constantFrom('throttled for 12 s', 'the service is gone: next try in 8 s'), {
      nil: undefined,
    }),
  });

  fc.assert(
    fc.property(progress, fc.integer({ min: 1, max: 250 }), (shown, columns) => {
      const line = progressBarLine(shown, columns, plainStyle);

      expect(line.length).toBeLessThan(columns);
      expect(line).not.toMatch(/\n|, $/);
    }),
  );
});

test.each([
  [{ doing: 'reading rows.fifo' }, 'reading rows.fifo'],
  [{ doing: 'reading standard input', bytes: 12_345_678 }, 'reading standard input: 12.3 MB'],
  [{ doing: 'checking a.csv', rows: 1, bytes: 99, sizeBytes: 100 }, 'checking a.csv: 1 row, 99 %'],
  [{ doing: 'checking a.csv', rows: 430_000, bytes: 999, sizeBytes: 1000 }, 'checking a.csv: 430,000 rows, 99 %'],
  [{ doing: 'checking a.csv', rows: 0, bytes: 0, sizeBytes: 0 }, 'checking a.csv: 0 rows'],
])('the reading of %o is shown as %j', (reading, line) => {
  expect(readingLine(reading, 80)).toBe(line);
});

test('of a reading the name is cut first, and how far it is last', () => {
  const reading = { doing: `checking ${'long/'.repeat(30)}rows.csv`, rows: 430_000, bytes: 43, sizeBytes: 100 };

  expect(readingLine(reading, 40)).toBe('checking long/long…: 430,000 rows, 43 %');
  for (let width = 0; width < 60; width += 1) {
    expect(readingLine(reading, width).length).toBeLessThanOrEqual(Math.max(1, width - 1));
  }
});

test.each(hostileTexts)('the name of a file moves no cursor: %s', (_name, name) => {
  expect(readingLine({ doing: `checking ${name}`, rows: 3 }, 200)).not.toMatch(forbidden);
});

import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Output } from '../../../src/core/host.ts';
import {
  canRedraw,
  openProgressBar,
  plainProgressLine,
  progressBarLine,
  type RunProgressShown,
  readingLine,
} from '../../../src/output/progress.ts';
import { loadStyle, plainStyle } from '../../../src/output/view.ts';
import { forbidden, hostileTexts } from './printed.ts';

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

const begun: RunProgressShown = {
  ...{ rows: 1000, settled: 0, failed: 0, inDoubt: 0 },
  ...{ ratePerSecond: 0, leftMs: undefined, reason: undefined },
};
const halfway = { ...begun, settled: 500, ratePerSecond: 100 };

/** A bar on a terminal that remembers what it was sent. */
async function barOn(columns = 80, style = plainStyle) {
  const writes: string[] = [];
  const output = {
    ...{ isTTY: true, columns, isClosed: false, stream: new PassThrough() },
    write: async (text: string | Uint8Array) => {
      writes.push(text.toString());
    },
  } satisfies Output;
  return { bar: await openProgressBar(output, { columns, style }), output, writes };
}

/** Escape sequences, and the text between them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const tokens = /\x1b(?:\[[\d;?]*[A-Za-z]|.)|[^\x1b]/g;

/** The visible lines after these writes. Fails on any sequence that a bar does not need. */
function seen(writes: readonly string[]): string[] {
  const lines = [''];
  let at = 0;
  for (const [token] of writes.join('').matchAll(tokens)) {
    const line = lines.at(-1) ?? '';
    if (token === '\x1b[1G') at = 0;
    else if (token === '\x1b[J') lines[lines.length - 1] = line.slice(0, at);
    else if (token === '\n') {
      lines.push('');
      at = 0;
    } else if (token.length === 1) {
      lines[lines.length - 1] = line.slice(0, at).padEnd(at) + token + line.slice(at + 1);
      at += 1;
    } else throw new Error(`the bar sent ${JSON.stringify(token)}`);
  }
  return lines;
}

describe('the bar', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('nothing is drawn before there is something to show', async () => {
    const { bar, writes } = await barOn();
    bar.clear();
    bar.end();

    expect(writes).toEqual([]);
  });

  test('what is shown first is drawn at once, and what comes later over it', async () => {
    const { bar, writes } = await barOn();

    bar.show(begun);
    expect(seen(writes)).toEqual([`[${'-'.repeat(40)}] 0 of 1,000, 0 rows/s`]);

    bar.show(halfway);
    vi.advanceTimersByTime(1000);
    expect(seen(writes)).toEqual([`[${'='.repeat(20)}${'-'.repeat(20)}] 500 of 1,000, 100 rows/s`]);
    bar.end();
  });

  test('reading before there are rows to send is shown on a separate line', async () => {
    const { bar, writes } = await barOn();

    bar.show({ doing: 'checking tasks.csv', rows: 1000, bytes: 10, sizeBytes: 100 });
    expect(seen(writes)).toEqual(['checking tasks.csv: 1,000 rows, 10 %']);

    bar.show({ doing: 'checking tasks.csv', rows: 9000, bytes: 90, sizeBytes: 100 });
    vi.advanceTimersByTime(1000);
    expect(seen(writes)).toEqual(['checking tasks.csv: 9,000 rows, 90 %']);
    bar.end();
    expect(seen(writes)).toEqual(['']);
  });

  test('is drawn a few times a second however often it is updated, each time in one write', async () => {
    const { bar, writes } = await barOn();

    for (let settled = 0; settled < 1000; settled += 1) {
      bar.show({ ...halfway, settled });
      vi.advanceTimersByTime(1);
    }
    expect(writes.length).toBeGreaterThan(2);
    expect(writes.length).toBeLessThan(8);
    for (const text of writes) {
      expect(text.startsWith('\x1b[1G[')).toBe(true);
      // There ^C is shown over the bar, and a line that wraps in a narrower window is cleared from there.
      expect(text.endsWith(' rows/s\x1b[J\x1b[1G')).toBe(true);
    }
    bar.end();
  });

  test('it gives way to other text and comes back below it', async () => {
    const { bar, writes } = await barOn();

    bar.show(halfway);
    bar.clear();
    expect(seen(writes)).toEqual(['']);
    bar.clear();
    writes.push('row 3 failed\n');
    bar.show(halfway);
    expect(seen(writes)).toEqual(['row 3 failed', expect.stringContaining('500 of 1,000')]);
    bar.end();
    expect(seen(writes)).toEqual(['row 3 failed', '']);
  });

  test('after its end nothing is drawn any more', async () => {
    const { bar, writes } = await barOn();

    bar.show(halfway);
    bar.end();
    const count = writes.length;
    bar.show({ ...halfway, settled: 600 });
    bar.end();
    vi.advanceTimersByTime(5000);

    expect(writes).toHaveLength(count);
    expect(seen(writes)).toEqual(['']);
  });

  test.each([
    [40, 40],
    [80, 80],
    [200, 200],
    [0, 80],
  ])('on a terminal of %i columns no line has %i of them', async (columns, width) => {
    const { bar, writes } = await barOn(columns);

    bar.show({ ...halfway, failed: 7, inDoubt: 2, leftMs: 5000, reason: 'the service is gone: next try in 8 s' });

    expect(seen(writes)[0]?.length).toBeLessThan(width);
    bar.end();
  });

  test('a window that gets narrower is drawn to its new width', async () => {
    const { bar, output, writes } = await barOn(200);

    bar.show({ ...halfway, leftMs: 5000 });
    output.columns = 40;
    bar.show({ ...halfway, leftMs: 4000 });
    vi.advanceTimersByTime(1000);

    expect(seen(writes)[0]?.length).toBeLessThan(40);
    bar.end();
  });

  test('colors reach the terminal whole, however narrow it is', async () => {
    const { bar, writes } = await barOn(40, await loadStyle(1));

    bar.show({ ...halfway, failed: 3 });

    expect(writes.join('')).toContain('\x1b[31m3 failed\x1b[39m');
    bar.end();
  });

  test('without color the only sequences are those that redraw a line', async () => {
    const { bar, writes } = await barOn();

    bar.show({ ...halfway, failed: 3, inDoubt: 1, reason: 'throttled for 12 s' });
    bar.end();

    const sequences = (writes.join('').match(tokens) ?? []).filter((token) => token.startsWith('\x1b'));
    expect(new Set(sequences)).toEqual(new Set(['\x1b[1G', '\x1b[J']));
  });

  test('a failing terminal does not fail the run', async () => {
    const { output } = await barOn();
    let count = 0;
    // Not vi.fn: it would mark the rejection as handled. vitest fails on an unhandled one.
    const write = () => {
      count += 1;
      return Promise.reject(new Error('EIO'));
    };
    const bar = await openProgressBar({ ...output, write }, { columns: 80, style: plainStyle });

    bar.show(halfway);
    bar.end();
    await vi.advanceTimersByTimeAsync(1000);

    expect(count).toBeGreaterThan(0);
  });
});

test.each([
  ['a terminal', true, { TERM: 'xterm-256color' }, true],
  ['a terminal of Windows', true, {}, true],
  ['a terminal that cannot move its cursor', true, { TERM: 'dumb' }, false],
  ['a terminal without color', true, { TERM: 'xterm', NO_COLOR: '1' }, true],
  ['a pipe', false, { TERM: 'xterm' }, false],
])('a line can be drawn over on %s: %s, %o, %s', (_name, isTTY, env, can) => {
  expect(canRedraw({ isTTY }, env)).toBe(can);
});

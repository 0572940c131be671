import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Output } from '../../../src/core/host.ts';
import { openProgressBar } from '../../../src/output/progress-bar.ts';
import { canRedraw, type RunProgressShown } from '../../../src/output/progress-text.ts';
import { loadStyle } from '../../../src/output/view.ts';
import { terminal } from './printed.ts';

const begun: RunProgressShown = {
  ...{ rows: 1000, settled: 0, failed: 0, inDoubt: 0 },
  ...{ ratePerSecond: 0, leftMs: undefined, reason: undefined },
};
const midway = { ...begun, settled: 500, ratePerSecond: 100 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A terminal that remembers what it was sent. */
function terminalOf(columns: number) {
  const writes: string[] = [];
  const output = {
    ...{ isTTY: true, columns, isClosed: false, stream: new PassThrough() },
    write: async (text: string | Uint8Array) => {
      writes.push(text.toString());
    },
  } satisfies Output;
  return { output, writes };
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

test('nothing is drawn before there is something to show', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);
  bar.clear();
  bar.end();

  expect(writes).toEqual([]);
});

test('what is shown first is drawn at once, and what comes later over it', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  bar.show(begun);
  expect(seen(writes)).toEqual([`[${'-'.repeat(40)}] 0 of 1,000, 0 rows/s`]);

  bar.show(midway);
  vi.advanceTimersByTime(1000);
  expect(seen(writes)).toEqual([`[${'='.repeat(20)}${'-'.repeat(20)}] 500 of 1,000, 100 rows/s`]);
  bar.end();
});

test('reading before there are rows to send is shown on a separate line', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  bar.show({ doing: 'checking tasks.csv', rows: 1000, bytes: 10, sizeBytes: 100 });
  expect(seen(writes)).toEqual(['checking tasks.csv: 1,000 rows, 10 %']);

  bar.show({ doing: 'checking tasks.csv', rows: 9000, bytes: 90, sizeBytes: 100 });
  vi.advanceTimersByTime(1000);
  expect(seen(writes)).toEqual(['checking tasks.csv: 9,000 rows, 90 %']);
  bar.end();
  expect(seen(writes)).toEqual(['']);
});

test('is drawn a few times a second however often it is updated, each time in one write', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  for (let settled = 0; settled < 1000; settled += 1) {
    bar.show({ ...midway, settled });
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

test('it gives way to other text and comes back below it', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  bar.show(midway);
  bar.clear();
  expect(seen(writes)).toEqual(['']);
  bar.clear();
  writes.push('row 3 failed\n');
  bar.show(midway);
  expect(seen(writes)).toEqual(['row 3 failed', expect.stringContaining('500 of 1,000')]);
  bar.end();
  expect(seen(writes)).toEqual(['row 3 failed', '']);
});

test('after its end nothing is drawn any more', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  bar.show(midway);
  bar.end();
  const count = writes.length;
  bar.show({ ...midway, settled: 600 });
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
])('on a terminal of %i columns no line has %i of them', (columns, width) => {
  const { output, writes } = terminalOf(columns);
  const bar = openProgressBar(output, { ...terminal, columns });

  bar.show({ ...midway, failed: 7, inDoubt: 2, leftMs: 5000, reason: 'the service is gone: next try in 8 s' });

  expect(seen(writes)[0]?.length).toBeLessThan(width);
  bar.end();
});

test('a window that gets narrower is drawn to its new width', () => {
  const { output, writes } = terminalOf(200);
  const bar = openProgressBar(output, { ...terminal, columns: 200 });

  bar.show({ ...midway, leftMs: 5000 });
  output.columns = 40;
  bar.show({ ...midway, leftMs: 4000 });
  vi.advanceTimersByTime(1000);

  expect(seen(writes)[0]?.length).toBeLessThan(40);
  bar.end();
});

test('colors reach the terminal whole, however narrow it is', async () => {
  const { output, writes } = terminalOf(40);
  const bar = openProgressBar(output, { columns: 40, style: await loadStyle(1) });

  bar.show({ ...midway, failed: 3 });

  expect(writes.join('')).toContain('\x1b[31m3 failed\x1b[39m');
  bar.end();
});

test('without color the only sequences are those that redraw a line', () => {
  const { output, writes } = terminalOf(80);
  const bar = openProgressBar(output, terminal);

  bar.show({ ...midway, failed: 3, inDoubt: 1, reason: 'throttled for 12 s' });
  bar.end();

  const sequences = (writes.join('').match(tokens) ?? []).filter((token) => token.startsWith('\x1b'));
  expect(new Set(sequences)).toEqual(new Set(['\x1b[1G', '\x1b[J']));
});

test('a failing terminal does not fail the run', async () => {
  const { output } = terminalOf(80);
  let count = 0;
  // Not vi.fn: it would mark the rejection as handled. vitest fails on an unhandled one.
  const write = () => {
    count += 1;
    return Promise.reject(new Error('EIO'));
  };
  const bar = openProgressBar({ ...output, write }, terminal);

  bar.show(midway);
  bar.end();
  await vi.advanceTimersByTimeAsync(1000);

  expect(count).toBeGreaterThan(0);
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

/** What a run ends in: a signal before 10, before 8, before 6 or 7, before 3, before 9. */
import { describe, expect, test } from 'vitest';
import type { RunTotals } from '../../../src/bulk/journal-format.ts';
import { findRunFailure, nextSteps } from '../../../src/bulk/send.ts';
import { exitCodes, Failure, type FailureKind, Stopped } from '../../../src/core/errors.ts';

const none: RunTotals = {
  ...{ done: 5, failed: 0, invalid: 0, inDoubt: 0, skipped: 0, left: 0 },
  ...{ ms: 1, sent: 5, retries: 0, throttledMs: 0 },
};

const stops = {
  nothing: undefined,
  signal: new Stopped('SIGINT'),
  'local-file': new Failure('local-file', 'full'),
  unreachable: new Failure('unreachable', 'gone'),
  unavailable: new Failure('unavailable', 'busy'),
  credentials: new Failure('credentials', 'expired'),
  refused: new Failure('refused', 'moved'),
  limit: new Failure('incomplete', 'stopped after 3 failed rows'),
} as const;

describe('the exit code', () => {
  test.each<[keyof typeof stops, Partial<RunTotals>, FailureKind | 'signal' | 'done']>([
    ['nothing', {}, 'done'],
    ['nothing', { skipped: 2 }, 'done'],
    ['nothing', { failed: 1 }, 'incomplete'],
    ['nothing', { invalid: 1 }, 'incomplete'],
    ['nothing', { inDoubt: 1 }, 'in-doubt'],
    ['nothing', { inDoubt: 1, failed: 3 }, 'in-doubt'],
    ['signal', { inDoubt: 1, left: 3 }, 'signal'],
    ['local-file', { inDoubt: 1, failed: 1, left: 1 }, 'local-file'],
    ['unreachable', { inDoubt: 1, left: 1 }, 'in-doubt'],
    ['unreachable', { failed: 1, left: 1 }, 'unreachable'],
    ['unavailable', { failed: 1, left: 1 }, 'unavailable'],
    ['credentials', { inDoubt: 1, left: 1 }, 'in-doubt'],
    ['credentials', { failed: 1, left: 1 }, 'credentials'],
    ['refused', { failed: 1, left: 1 }, 'refused'],
    ['limit', { failed: 3, left: 1 }, 'incomplete'],
    ['limit', { failed: 3, inDoubt: 1 }, 'in-doubt'],
    ['limit', { failed: 1 }, 'incomplete'],
  ])('stopped by %s, with %o: %s', (by, totals, expected) => {
    const failure = findRunFailure({ ...none, ...totals }, stops[by], { done: 'created', next: [] });

    if (expected === 'done') expect(failure).toBeUndefined();
    else if (expected === 'signal') expect(failure).toBe(stops.signal);
    else expect(failure).toMatchObject({ kind: expected });
    if (failure instanceof Failure) expect(exitCodes[failure.kind]).toBeGreaterThan(0);
  });
});

test('a bug is reported unchanged', () => {
  const bug = new TypeError('a bug');

  expect(findRunFailure({ ...none, inDoubt: 3 }, bug, { done: 'created', next: [] })).toBe(bug);
});

test('the message has the count, and why it stopped', () => {
  const failed = findRunFailure({ ...none, failed: 2, left: 3 }, stops.limit, { done: 'created', next: [] });
  const doubt = findRunFailure({ ...none, inDoubt: 1 }, stops.credentials, { done: 'created', next: [] });

  expect(failed).toMatchObject({ message: '5 rows were not created; stopped after 3 failed rows' });
  expect(doubt).toMatchObject({ message: expect.stringMatching(/^1 row in doubt: .*; the run stopped: expired$/) });
});

test('says what stopped it and what to fix, with how to resume below', () => {
  const by = new Failure('credentials', 'expired', { hint: 'log in' });

  expect(findRunFailure({ ...none, left: 1 }, by, { done: 'created', next: ['go on with: x'] })).toMatchObject({
    details: { hint: 'log in\ngo on with: x' },
  });
});

test('suggests to resume, and to check what is in doubt', () => {
  const next = nextSteps({ resumeOf: () => 'listctl … --resume', keepsDoubt: true });

  expect(next('r1', { ...none, left: 1 }, [])).toEqual(['resume with: listctl … --resume']);
  expect(next('r1', { ...none, left: 1, inDoubt: 2 }, [])).toEqual([
    'resume with: listctl … --resume',
    'list rows in doubt with: listctl runs show r1 --in-doubt',
  ]);
});

test('does not suggest to resume if only rows in doubt with --in-doubt hold are left', () => {
  const doubts = { ...none, done: 5, inDoubt: 2 };

  expect(nextSteps({ resumeOf: () => 'listctl … --resume', keepsDoubt: true })('r1', doubts, [])).toEqual([
    'list rows in doubt with: listctl runs show r1 --in-doubt',
    'resolve each row with: listctl runs resolve r1 --row N --applied ID, or --not-applied',
  ]);
  expect(nextSteps({ resumeOf: () => 'listctl … --resume', keepsDoubt: false })('r1', doubts, [])[0]).toBe(
    'resume with: listctl … --resume',
  );
});

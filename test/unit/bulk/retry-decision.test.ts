/** What becomes of a row, and of the run, after an attempt that was no success: every row of C2 and C3. */
import { describe, expect, test } from 'vitest';
import { decideRetry, type RunContext } from '../../../src/bulk/retry.ts';
import { Failure, Stopped } from '../../../src/core/errors.ts';
import { notDone } from './runner-world.ts';

/** In the middle of a run that goes well. */
const middle: RunContext = {
  hasDone: true,
  hasResponded: true,
  isStopping: false,
  isOutage: false,
  tries: 0,
  triesMax: 4,
};
const start: RunContext = { ...middle, hasDone: false, hasResponded: false };

const wait = { waitMs: 500 } as const;
const steps = {
  refusal: notDone({}),
  notSent: notDone({ ...wait, kind: 'unreachable', outcome: 'not-sent', service: 'unreachable' }),
  throttled: notDone({ ...wait, kind: 'unavailable', service: 'throttled' }),
  '408': notDone({ ...wait, kind: 'unavailable' }),
  'read, 500': notDone({ ...wait, kind: 'unavailable', outcome: 'unknown', service: 'unreachable' }),
  'read, no answer': notDone({ ...wait, kind: 'unreachable', outcome: 'unknown', service: 'unreachable' }),
  'read, unusable': notDone({ kind: 'refused', outcome: 'unknown' }),
  'PATCH, 500': notDone({ ...wait, kind: 'in-doubt', outcome: 'unknown', service: 'unreachable' }),
  'POST, 500': notDone({ kind: 'in-doubt', outcome: 'unknown', service: 'unreachable' }),
  'POST, unusable': notDone({ kind: 'in-doubt', outcome: 'unknown' }),
  'keyed POST, 500': notDone({ ...wait, kind: 'in-doubt', outcome: 'unknown', service: 'unreachable' }),
  '401': notDone({ kind: 'credentials', scope: 'run' }),
  '403': notDone({ kind: 'credentials', scope: 'run-until-first-success' }),
  'POST, page': notDone({ kind: 'in-doubt', outcome: 'unknown', scope: 'run' }),
  'too long a wait': notDone({ kind: 'unavailable', service: 'throttled', scope: 'run' }),
  'TLS fault': notDone({ kind: 'unreachable', outcome: 'not-sent', service: 'unreachable', scope: 'run' }),
  stopped: notDone({ outcome: 'not-sent', service: 'unreachable', failure: () => new Stopped('SIGINT') }),
} as const;

type Name = keyof typeof steps;
type Row = readonly [name: Name, run: Partial<RunContext>, row: string, counts: boolean, stops: boolean];

describe.each<readonly [string, RunContext, readonly Row[]]>([
  [
    'in the middle of a run',
    middle,
    [
      ['refusal', {}, 'failed', true, false],
      ['notSent', {}, 'retry', false, false],
      ['notSent', { tries: 99 }, 'retry', false, false],
      ['throttled', {}, 'retry', false, false],
      ['throttled', { tries: 4 }, 'retry', false, false],
      ['throttled', { triesMax: 0 }, 'retry', false, false],
      ['408', {}, 'retry', true, false],
      ['408', { tries: 3 }, 'retry', true, false],
      ['408', { tries: 4 }, 'failed', true, false],
      ['408', { triesMax: 0 }, 'failed', true, false],
      ['read, 500', {}, 'retry', true, false],
      ['read, 500', { tries: 4 }, 'failed', true, false],
      ['read, no answer', { tries: 4 }, 'failed', true, false],
      ['read, unusable', {}, 'failed', true, false],
      ['PATCH, 500', {}, 'retry', true, false],
      ['PATCH, 500', { tries: 4 }, 'in-doubt', true, false],
      ['POST, 500', {}, 'in-doubt', true, false],
      ['POST, unusable', {}, 'in-doubt', true, false],
      ['keyed POST, 500', {}, 'retry', true, false],
      ['keyed POST, 500', { tries: 4 }, 'in-doubt', true, false],
      ['401', {}, 'left', true, true],
      ['403', {}, 'failed', true, false],
      ['403', { hasDone: false }, 'left', true, true],
      ['POST, page', {}, 'in-doubt', true, true],
      ['too long a wait', {}, 'left', true, true],
      ['TLS fault', {}, 'left', true, true],
    ],
  ],
  [
    'in an outage nothing that has no answer counts',
    { ...middle, isOutage: true },
    [
      ['notSent', { tries: 4 }, 'retry', false, false],
      ['read, 500', { tries: 4 }, 'retry', false, false],
      ['PATCH, 500', { tries: 4 }, 'retry', false, false],
      ['keyed POST, 500', { tries: 4 }, 'retry', false, false],
      ['POST, 500', {}, 'in-doubt', true, false],
      ['refusal', {}, 'failed', true, false],
    ],
  ],
  [
    'before the first answer it is as for one item',
    start,
    [
      ['notSent', { tries: 3 }, 'retry', true, false],
      ['notSent', { tries: 4 }, 'left', true, true],
      ['notSent', { triesMax: 0 }, 'left', true, true],
      ['read, 500', { tries: 4 }, 'left', true, true],
      ['PATCH, 500', { tries: 4 }, 'in-doubt', true, true],
      ['throttled', { tries: 4 }, 'retry', false, false],
      ['refusal', {}, 'failed', true, false],
    ],
  ],
  [
    'when the run is to end nothing is sent again',
    { ...middle, isStopping: true },
    [
      ['notSent', {}, 'left', true, false],
      ['throttled', {}, 'left', true, false],
      ['read, no answer', {}, 'left', true, false],
      ['PATCH, 500', {}, 'in-doubt', true, false],
      ['POST, 500', {}, 'in-doubt', true, false],
      ['refusal', {}, 'failed', true, false],
      ['stopped', {}, 'left', true, false],
    ],
  ],
])('%s', (_, context, rows) => {
  test.each<Row>(rows)('%s %o: %s', (name, run, row, counts, stops) => {
    const verdict = decideRetry(steps[name], { ...context, ...run });

    expect({ row: verdict.row, stops: verdict.stopReason !== undefined }).toEqual({ row, stops });
    // Of a row that has come to its end it no longer matters.
    if (verdict.row === 'retry') expect(verdict.counts).toBe(counts);
  });
});

test('what stops the run is the failure itself', () => {
  const { stopReason } = decideRetry(steps['401'], middle);

  expect(stopReason).toBeInstanceOf(Failure);
  expect(stopReason).toMatchObject({ kind: 'credentials' });
});

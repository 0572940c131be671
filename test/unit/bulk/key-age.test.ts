/** How old a key is, whichever clock is wrong. */
import { expect, test } from 'vitest';
import { type ClockReading, keyAgeMs, type SentAt } from '../../../src/bulk/keys.ts';

const hour = 3_600_000;
const at = Date.UTC(2026, 10, 20);
const session = { boot: 'here', at: at - hour, monotonicMs: 5 * hour };
const sent: SentAt = { sentAt: at, serviceAt: at, session };
const rightAfter = (hours: number): ClockReading => {
  return { nowMs: at + hours * hour, serviceMs: at + hours * hour, monotonicMs: (6 + hours) * hour, boot: 'here' };
};

test.each<[string, SentAt, Partial<ClockReading>, number | undefined]>([
  ['every clock is right', sent, {}, 26],
  ['the wall clock stood still', sent, { nowMs: at, monotonicMs: 0, boot: 'there' }, 26],
  ['the wall clock was set back', sent, { nowMs: 0, monotonicMs: 0, boot: 'there' }, 26],
  ['the machine slept', sent, { monotonicMs: 6 * hour }, 26],
  ['the clock of the service stood still', sent, { serviceMs: at }, 26],
  ['both stood still on one boot', sent, { serviceMs: at, nowMs: at }, 26],
  ['the wall clock was ahead when it was sent', { ...sent, sentAt: at + 240 * hour, session: undefined }, {}, 26],
  ['it is ahead now', sent, { nowMs: at + 240 * hour }, 240],
  ['another boot has another monotonic clock', sent, { monotonicMs: 900 * hour, boot: 'there' }, 26],
  [
    'a system without a name for its boot',
    { ...sent, session: { ...session, boot: '' } },
    { monotonicMs: 900 * hour, boot: '' },
    26,
  ],
  ['an older journal, with the wall clock alone', { sentAt: at }, {}, 26],
  ['an older journal, and the wall clock was ahead', { sentAt: at + 240 * hour }, {}, undefined],
  ['the service has not said its time', sent, { serviceMs: undefined }, undefined],
])('where %s', (_, moment, more, hours) => {
  expect(keyAgeMs(moment, { ...rightAfter(26), ...more })).toBe(hours === undefined ? undefined : hours * hour);
});

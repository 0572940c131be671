import { expect, test } from 'vitest';
import { isLoopback } from '../../../src/core/loopback.ts';
import { durationParser, InvalidValue, parseAddress } from '../../../src/settings/setting.ts';

test.each(['127.0.0.1', '127.1.2.3:80', '0x7f.1', '[::1]:7070', 'localhost', 'a.localhost', 'LOCALHOST.'])(
  'http://%s stays on this machine',
  (host) => {
    expect(isLoopback(new URL(`http://${host}`))).toBe(true);
  },
);

test.each(['128.0.0.1', '127.0.0.1.example', 'notlocalhost', 'localhost.example', '[::2]'])(
  'http://%s is another machine',
  (host) => {
    expect(isLoopback(new URL(`http://${host}`))).toBe(false);
  },
);

test('the built-in service is local:, with an optional directory', () => {
  expect(parseAddress('local:')).toEqual({ kind: 'local', directory: undefined });
  expect(parseAddress('local:/tmp/a b')).toEqual({ kind: 'local', directory: '/tmp/a b' });
});

const parse = durationParser({ max: '24h' });

test.each([
  ['250ms', 250],
  ['10s', 10_000],
  ['5m', 300_000],
  ['1.5h', 5_400_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['120', 120_000],
  ['1.5', 1500],
  ['0.0001', 1],
])('%s is %d milliseconds', (text, ms) => {
  expect(parse(text)).toBe(ms);
});

test.each(['', '0', '-1', 's', '10 s', '10S', '1h30', '1e3', '1.s', '86401', '25h'])('%j is not a time', (text) => {
  expect(() => parse(text)).toThrow(InvalidValue);
});

test('a bare number has the unit of the flag, and zero is up to it', () => {
  const latency = durationParser({ unit: 'ms', max: '1h', allowZero: true });
  expect([latency('250'), latency('0'), latency('0s'), latency('3600000')]).toEqual([250, 0, 0, 3_600_000]);
  expect(() => latency('3600001')).toThrow('at most 1h');
});

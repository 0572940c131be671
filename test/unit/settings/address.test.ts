import { expect, test } from 'vitest';
import { isLoopback } from '../../../src/core/loopback.ts';
import { parseAddress } from '../../../src/settings/setting.ts';

test.each([
  { text: 'http://127.0.0.1', is: true },
  { text: 'http://127.1.2.3:80', is: true },
  { text: 'http://0x7f.1', is: true },
  { text: 'http://[::1]:7070', is: true },
  { text: 'http://localhost', is: true },
  { text: 'http://a.localhost', is: true },
  { text: 'http://LOCALHOST.', is: true },
  { text: 'http://128.0.0.1', is: false },
  { text: 'http://127.0.0.1.example', is: false },
  { text: 'http://notlocalhost', is: false },
  { text: 'http://localhost.example', is: false },
  { text: 'http://[::2]', is: false },
])('$text stays on this machine: $is', ({ text, is }) => {
  expect(isLoopback(new URL(text))).toBe(is);
});

test('the built-in service is local:, with an optional directory', () => {
  expect(parseAddress('local:')).toEqual({ kind: 'local', directory: undefined });
  expect(parseAddress('local:/tmp/a b')).toEqual({ kind: 'local', directory: '/tmp/a b' });
});

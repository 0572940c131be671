import { expect, test } from 'vitest';
import { isLoopback, parseAddress } from '../../../src/settings/address.ts';
import { dataFolder } from '../../../src/settings/folders.ts';

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

test('the embedded service is local:, with a folder of its own where one is named', () => {
  expect(parseAddress('local:')).toEqual({ kind: 'local', folder: undefined });
  expect(parseAddress('local:/tmp/a b')).toEqual({ kind: 'local', folder: '/tmp/a b' });
});

test.each([
  { env: { LISTCTL_DATA_DIR: '/d', XDG_DATA_HOME: '/x' }, platform: 'linux', folder: '/d' },
  { env: { XDG_DATA_HOME: '/x', HOME: '/h' }, platform: 'linux', folder: '/x/listctl' },
  { env: { HOME: '/h', XDG_DATA_HOME: '' }, platform: 'linux', folder: '/h/.local/share/listctl' },
  { env: { HOME: '/h' }, platform: 'darwin', folder: '/h/Library/Application Support/listctl' },
  { env: { LOCALAPPDATA: '/l' }, platform: 'win32', folder: '/l/listctl/Data' },
] as const)('data is kept in $folder', ({ env, platform, folder }) => {
  expect(dataFolder(env, platform)).toBe(folder);
});

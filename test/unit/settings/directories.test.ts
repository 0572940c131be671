import { expect, test } from 'vitest';
import { findDirectory, findRunsDirectory, runsDirectory, storeDirectory } from '../../../src/settings/directories.ts';
import { failureOf } from '../../support/failure-of.ts';

type Env = Readonly<Record<string, string>>;

function hostWith(env: Env, platform: NodeJS.Platform = 'linux', passwdHome?: string) {
  return { env, platform, passwdHome, cwd: '/here' };
}

test.each([
  { platform: 'linux', env: { HOME: '/home/me' }, directory: '/home/me/.config/listctl' },
  { platform: 'linux', env: { HOME: '/home/me', XDG_CONFIG_HOME: '/etc/me' }, directory: '/etc/me/listctl' },
  { platform: 'darwin', env: { HOME: '/Users/me' }, directory: '/Users/me/Library/Preferences/listctl' },
  { platform: 'win32', env: { HOME: '/Users/me', APPDATA: '/Roaming' }, directory: '/Roaming/listctl/Config' },
  { platform: 'linux', env: { HOME: '/home/me', LISTCTL_CONFIG_DIR: '/mine' }, directory: '/mine' },
  { platform: 'darwin', env: { HOME: '/Users/me', LISTCTL_CONFIG_DIR: '/mine' }, directory: '/mine' },
] as const)('the settings of $platform with $env are in $directory', ({ platform, env, directory }) => {
  expect(findDirectory('config', hostWith(env, platform))).toBe(directory);
});

test.each([
  { env: { LISTCTL_DATA_DIR: '/d', XDG_DATA_HOME: '/x' }, platform: 'linux', directory: '/d' },
  { env: { XDG_DATA_HOME: '/x', HOME: '/h' }, platform: 'linux', directory: '/x/listctl' },
  { env: { HOME: '/h' }, platform: 'darwin', directory: '/h/Library/Application Support/listctl' },
  { env: { LOCALAPPDATA: '/l' }, platform: 'win32', directory: '/l/listctl/Data' },
] as const)('data is kept in $directory', ({ env, platform, directory }) => {
  expect(storeDirectory(undefined, hostWith(env, platform))).toBe(`${directory}/local`);
});

test.each<Env>([
  { HOME: '', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' },
  { HOME: 'h', XDG_CONFIG_HOME: 'x', XDG_DATA_HOME: 'x', XDG_STATE_HOME: './x' },
])('of %j is ignored: the passwd entry is used, and without one there is no home', (env) => {
  const listed = hostWith(env, 'linux', '/home/me');
  expect(findDirectory('config', listed)).toBe('/home/me/.config/listctl');
  expect(storeDirectory(undefined, listed)).toBe('/home/me/.local/share/listctl/local');
  expect(runsDirectory(listed)).toBe('/home/me/.local/state/listctl/runs');
  for (const host of [hostWith(env), hostWith(env, 'linux', ''), hostWith(env, 'win32'), hostWith(env, 'darwin')]) {
    expect(findDirectory('config', host)).toBeUndefined();
    expect(findRunsDirectory(host)).toBeUndefined();
    expect(failureOf(() => runsDirectory(host))).toMatchObject({
      kind: 'local-file',
      message: 'cannot find the home directory: HOME is not an absolute path, and the user has no passwd entry',
      details: { hint: 'set HOME, or LISTCTL_STATE_DIR to a directory' },
    });
    expect(failureOf(() => storeDirectory(undefined, host)).details.hint).toContain('LISTCTL_DATA_DIR');
    expect(storeDirectory('items', host)).toBe('/here/items');
  }
});

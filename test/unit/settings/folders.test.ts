import { expect, test } from 'vitest';
import { configFolder } from '../../../src/settings/folders.ts';

test.each([
  { platform: 'linux', env: { HOME: '/home/me' }, folder: '/home/me/.config/listctl' },
  { platform: 'linux', env: { HOME: '/home/me', XDG_CONFIG_HOME: '/etc/me' }, folder: '/etc/me/listctl' },
  { platform: 'linux', env: { HOME: '/home/me', XDG_CONFIG_HOME: 'relative' }, folder: '/home/me/.config/listctl' },
  { platform: 'linux', env: { HOME: '/home/me', XDG_CONFIG_HOME: '' }, folder: '/home/me/.config/listctl' },
  { platform: 'darwin', env: { HOME: '/Users/me' }, folder: '/Users/me/Library/Preferences/listctl' },
  { platform: 'win32', env: { HOME: '/Users/me', APPDATA: '/Roaming' }, folder: '/Roaming/listctl/Config' },
  { platform: 'linux', env: { HOME: '/home/me', LISTCTL_CONFIG_DIR: '/mine' }, folder: '/mine' },
  { platform: 'darwin', env: { HOME: '/Users/me', LISTCTL_CONFIG_DIR: '/mine' }, folder: '/mine' },
] as const)('the settings of $platform with $env are in $folder', ({ platform, env, folder }) => {
  expect(configFolder(env, platform)).toBe(folder);
});

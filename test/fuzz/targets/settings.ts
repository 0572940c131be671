import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { UserSettings } from '../../../src/settings/read-settings.ts';
import { findProjectFile } from '../../../src/settings/sources.ts';
import { type FuzzTarget, failureWords } from '../target.ts';
import { jsonWords } from './words.ts';

const words = [
  ...'"version":1,·"version":2·"current":"·"profiles":{·"tokens":{·"origin":"http://a"·"token":"t"'.split('·'),
  ...'"site":"·"list":·"baseUrl":"·"tokenCommand":"·"protected":true·"allowHttp":·"timeout":5'.split('·'),
  '"output":"json"',
];

/** The same bytes as each file that settings are kept in: profiles, tokens, and what a project sets. */
export const settingsTarget: FuzzTarget = {
  name: 'settings',
  words: [...jsonWords, ...words],
  testRuns: 600,
  open: (directory) => {
    const host = {
      env: { LISTCTL_CONFIG_DIR: directory },
      platform: 'linux' as const,
      passwdHome: undefined,
      uid: process.geteuid?.(),
      cwd: directory,
    };
    return {
      run: (bytes) => {
        for (const name of ['config.json', 'credentials.json', '.listctl.json']) {
          writeFileSync(join(directory, name), bytes, { mode: 0o600 });
        }
        const user = new UserSettings(host);
        return [
          ended(() => `${user.profiles().byName.size} profiles`),
          ended(() => `${user.credentials().size} tokens`),
          ended(() => `${Object.keys(findProjectFile(host)?.values ?? {}).join(' ')}`),
        ].join('; ');
      },
    };
  },
};

function ended(work: () => string): string {
  try {
    return work();
  } catch (error) {
    return failureWords(error, ['local-file', 'usage']).replace(/\/\S+\//g, '');
  }
}

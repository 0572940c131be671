/** Settings that are written: each file is the old one or the new one, whole (docs/faults.md, P09). */
import { existsSync, readFileSync } from 'node:fs';
import type { Place } from './place.ts';
import { brokenEnd, brokenIf, expectDone, type Scenario } from './scenario.ts';

/** Three pages of memory: on a disk that is nearly full a part of it is written. */
const large = 9000;

export const settingsScenarios: readonly Scenario[] = [
  settingsScenario('profile set, for the first time', {
    words: ['profile', 'set', 'new', '--token-command', `echo ${'n'.repeat(large)}`],
  }),
  settingsScenario('profile set, over settings that are there', {
    before: [['profile', 'set', 'old', '--token-command', `echo ${'o'.repeat(large)}`]],
    words: ['profile', 'set', 'new', '--site', 'n'.repeat(300)],
  }),
  settingsScenario('auth login --with-token, over a token that is there', {
    before: [['auth', 'login', '-p', 'old', '--base-url', 'https://a.example', '--with-token', '--no-check']],
    words: ['auth', 'login', '-p', 'new', '--base-url', 'https://b.example', '--with-token', '--no-check'],
    input: 't'.repeat(large),
  }),
  settingsScenario('profile remove', {
    before: [['profile', 'set', 'old', '--site', 'x']],
    words: ['profile', 'remove', 'old'],
  }),
];

interface SettingsWork {
  /** What makes the settings that are there; none are there without. */
  readonly before?: readonly (readonly string[])[];
  readonly words: readonly string[];
  readonly input?: string;
}

function settingsScenario(name: string, { before = [], words, input }: SettingsWork): Scenario {
  let wanted: readonly (string | undefined)[] = [];
  const isNew = (place: Place) => textsOf(place).every((text, at) => text === wanted[at]);
  return {
    name,
    ...(input === undefined ? {} : { input }),
    words: () => words,
    prepare: async (place) => {
      for (const each of before) expectDone(await place.run(each, { input: input ?? '' }));
      // What the command makes of them is known from a run without a fault.
      const putBack = place.keep();
      expectDone(await place.run(words, { input: input ?? '' }));
      wanted = textsOf(place);
      putBack();
    },
    judge: (place) => {
      const old = textsOf(place);
      const oldBackup = textOf(place.path('config', 'config.json.bak'));
      return ({ exitCode, stderr }) => {
        const now = textsOf(place);
        const mixed = now.filter((text, at) => text !== old[at] && text !== wanted[at]);
        const isTold = stderr.includes('was written, but');
        const backup = textOf(place.path('config', 'config.json.bak'));
        return [
          ...mixed.map((text) => `a file is neither the old one nor the new one: ${text?.slice(0, 100)}`),
          ...brokenIf(exitCode === 0 && !isNew(place), 'it ended with 0, and the settings are not what was asked for'),
          ...brokenIf(exitCode === 10 && isNew(place) && !isTold, 'it ended with 10, and everything was done'),
          ...brokenIf(![old[0], oldBackup, undefined].includes(backup), 'the .bak is no earlier version'),
          ...brokenIf(existsSync(secondCopy(place)) && !isTold, 'there is a second copy of the token'),
        ];
      };
    },
    goOn: async (place) => {
      const isDone = isNew(place);
      const again = await place.run(words, { input: input ?? '' });
      // What is removed already cannot be removed.
      const isGone = isDone && again.exitCode === 2;
      return [
        ...(isGone ? [] : brokenEnd('the same command, without the fault', again)),
        ...brokenIf(!isNew(place), 'the same command did not make the settings'),
        ...brokenIf(!isDone && existsSync(secondCopy(place)), 'there is still a second copy of the token'),
      ];
    },
  };
}

/** The texts of the settings; undefined for a file that is not there. */
function textsOf(place: Place): readonly (string | undefined)[] {
  return ['config.json', 'credentials.json'].map((name) => textOf(place.path('config', name)));
}

function secondCopy(place: Place): string {
  return place.path('config', 'credentials.json.bak');
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

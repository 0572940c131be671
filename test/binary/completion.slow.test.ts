/** What TAB really yields, in real shells. .ci/run installs those that are missing here. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { type CompletingShell, completingShell, isInstalled, typedShells } from '../support/typed-shell.ts';

describe.each(typedShells)('TAB in %s', (shell) => {
  const isMissing = !isInstalled(shell);
  const because = isMissing ? ` (skipped: ${shell} is not installed)` : '';
  let home: TemporaryDirectory;
  let session: CompletingShell;

  beforeAll(async () => {
    if (isMissing) return;
    home = await temporaryDirectory();
    keepSettings(home.path);
    session = await completingShell(shell, home.path);
  }, 60_000);

  afterAll(async () => {
    if (isMissing) return;
    await session[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  test.skipIf(isMissing).each([
    { keys: 'listctl ite\tcre\t', words: ['items', 'create'], what: 'commands' },
    { keys: 'listctl items create --fro\tx', words: ['items', 'create', '--from', 'x'], what: 'flags of a command' },
    { keys: 'listctl --prof\tx items get', words: ['--profile', 'x', 'items', 'get'], what: 'flags before a command' },
    { keys: 'listctl items get -o js\tl\t', words: ['items', 'get', '-o', 'jsonl'], what: 'formats' },
    { keys: 'listctl items get --output=y\t', words: ['items', 'get', '--output=yaml'], what: 'formats behind =' },
    { keys: 'listctl items get -p pro\t', words: ['items', 'get', '-p', 'prod@eu'], what: 'profiles' },
    {
      keys: 'listctl items get -p prod@\t',
      words: ['items', 'get', '-p', 'prod@eu'],
      what: 'profiles, from the middle',
    },
    { keys: 'listctl items get --profile=zo\t', words: ['items', 'get', '--profile=zoë'], what: 'names beyond ASCII' },
    { keys: 'listctl profile use st\t', words: ['profile', 'use', 'staging'], what: 'profiles as arguments' },
    { keys: 'listctl runs show 2026\t', words: ['runs', 'show', '20261120-101530-k3f9'], what: 'runs' },
    { keys: 'listctl runs show la\t', words: ['runs', 'show', 'last'], what: 'the last run' },
    { keys: 'listctl runs show ci/t\t', words: ['runs', 'show', 'ci/tasks.journal'], what: 'a journal by its path' },
    { keys: 'listctl help ex\t', words: ['help', 'exit-codes'], what: 'topics' },
    { keys: 'listctl help items cr\t', words: ['help', 'items', 'create'], what: 'commands behind help' },
    { keys: 'listctl completion po\tx', words: ['completion', 'powershell', 'x'], what: 'shells' },
    { keys: 'listctl items create --from buy\t', words: ['items', 'create', '--from', 'buy me.csv'], what: 'files' },
    {
      keys: 'listctl items create --from=tas\t',
      words: ['items', 'create', '--from=tasks.csv'],
      what: 'files behind =',
    },
    {
      keys: 'listctl items create -f Body@=tas\t',
      words: ['items', 'create', '-f', 'Body@=tasks.csv'],
      what: 'files of fields',
    },
    { keys: 'listctl apply tas\t', words: ['apply', 'tasks.csv'], what: 'manifests' },
    { keys: 'listctl items get ta\t', words: ['items', 'get', 'ta'], what: 'nothing where an id is wanted' },
    { keys: 'listctl items get -- --fro\t', words: ['items', 'get', '--', '--fro'], what: 'no flags behind --' },
    {
      keys: 'listctl items get -p hos\t',
      words: ['items', 'get', '-p', 'hos'],
      what: 'no name that a shell would run',
    },
  ])(`$what: $keys${because}`, async ({ keys, words }) => {
    expect(await session.enter(keys)).toEqual(words);
  });

  test.skipIf(isMissing)(`what there is to choose from is shown${because}`, async () => {
    const shown = await session.show('listctl items \t\t', 'update');

    for (const verb of ['create', 'get', 'update', 'delete']) expect(shown).toContain(verb);
    expect(shown).not.toContain('query');
  });
});

test('what a completion compiles is not kept for the commands: it is too little of them', async () => {
  await using home = await temporaryDirectory();

  const { exitCode, stdout } = await listctl(['__complete', 'current=it'], { HOME: home.path });

  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^items\t/) });
  expect(readdirSync(home.path)).toEqual([]);
});

/** Profiles, a run and files, as a user has them; one profile has a name that no shell may be given. */
function keepSettings(home: string): void {
  const directory = join(home, '.config/listctl');
  const runs = join(home, '.local/state/listctl/runs');
  for (const each of [directory, runs, join(home, 'ci')]) mkdirSync(each, { recursive: true, mode: 0o700 });
  const hostile = 'host$(touch ran)\u001b[2J';
  const profiles = { 'prod@eu': { baseUrl: 'https://lists.example:8443/v1.0' }, staging: {}, zoë: {}, [hostile]: {} };
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ version: 1, profiles }), { mode: 0o600 });
  writeFileSync(join(runs, `20261120-101530-k3f9.${'0'.repeat(16)}.journal`), '');
  for (const file of ['tasks.csv', 'buy me.csv', 'ci/tasks.journal']) writeFileSync(join(home, file), '');
}

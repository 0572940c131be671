/** TAB in bash; completion.slow.test.ts has more of it, in every shell. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { completingShell, isInstalled } from '../support/typed-shell.ts';

test.skipIf(!isInstalled('bash'))('TAB in bash completes commands, values and files', async () => {
  await using home = await temporaryDirectory();
  writeFileSync(join(home.path, 'tasks.csv'), '');
  await using bash = await completingShell('bash', home.path);

  expect(await bash.enter('listctl ite\tcre\t--from tas\t-o js\tl\t')).toEqual([
    'items',
    'create',
    '--from',
    'tasks.csv',
    '-o',
    'jsonl',
  ]);
});

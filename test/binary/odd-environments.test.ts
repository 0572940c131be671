/** Runs of a program whose Node lacks something, whose files go away while it runs, or whose user has no home. */
import { rmSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { listctl, listctlFile, shell, testNode } from '../support/listctl.ts';
import { environmentFor, type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = dirname(dirname(listctlFile));

/** A file of rows, and the environment of a run over it. */
async function rowsFor(service: { readonly url: string }, count: number) {
  const directory = await temporaryDirectory();
  const file = join(directory.path, 'rows.csv');
  await writeFile(file, `Title\n${Array.from({ length: count }, (_, index) => `t${index}\n`).join('')}`);
  const environment = { ...environmentFor(service), HOME: directory.path, LISTCTL_STATE_DIR: directory.path };
  return { directory, environment, words: ['items', 'create', '--from', file, '-o', 'none'] };
}

/** A service that gives each create an id of its own. */
function creating(...first: readonly ScriptedAnswer[]) {
  let id = 0;
  const body = () => {
    id += 1;
    return { id: String(id), fields: {} };
  };
  return scriptedService(...first, { status: 201, body });
}

test.each(['--jitless', 'little address space'])('E6: a run goes over node:http with %s', async (how) => {
  await using service = await creating();
  const { directory, environment, words } = await rowsFor(service, 5);
  await using _ = directory;

  const { exitCode, stderr } = await (how === '--jitless'
    ? listctl(words, { ...environment, NODE_OPTIONS: '--jitless' })
    : shell(`ulimit -v 6000000; listctl ${words.join(' ')}`, environment));

  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('5 rows: 5 created') });
});

test('C7: a program that is removed while it runs reads what comes compressed, and what is refused', async () => {
  const directory = await temporaryDirectory();
  await using _ = directory;
  const program = join(directory.path, 'program');
  for (const part of ['bin', 'dist', 'package.json']) {
    await cp(join(root, part), join(program, part), { recursive: true });
  }
  const coded = gzipSync('{"id":"first","fields":{}}');
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const removeProgram = () => {
    rmSync(program, { recursive: true });
    return coded;
  };
  const refused = { status: 422, body: { error: 'no' } };
  await using service = await creating({ status: 201, headers, body: removeProgram }, refused, { status: 500 });
  const { directory: rows, environment, words } = await rowsFor(service, 4);
  await using __ = rows;

  const run = execa(testNode, [join(program, 'bin', 'listctl.js'), ...words, '--concurrency', '1'], {
    ...{ reject: false, extendEnv: false, stdin: 'ignore' },
    env: environment,
  });
  const { exitCode, stderr } = await run;

  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 8,
    stderr: expect.stringContaining('4 rows: 2 created, 1 failed, 1 in doubt'),
  });
});

test('settings are written to LISTCTL_CONFIG_DIR for a user without a home', async () => {
  await using directory = await temporaryDirectory();
  const noHome = join(directory.path, 'no-home.cjs');
  // As os.homedir() behaves where HOME is unset and the user has no passwd entry.
  await writeFile(noHome, "require('node:os').homedir = () => { throw new Error('uv_os_homedir returned ENOENT'); };");

  const { exitCode, stderr } = await listctl(['profile', 'set', 'ci', '--base-url', 'https://lists.example/v1.0'], {
    LISTCTL_CONFIG_DIR: join(directory.path, 'settings'),
    NODE_OPTIONS: `--require ${noHome}`,
  });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});

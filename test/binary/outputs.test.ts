/** Outputs that are streams of the process, or of the shell that started it. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { listctl, listctlFile, testNode } from '../support/listctl.ts';
import { environmentFor, type ScriptedService, scriptedService } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const isPosix = process.platform !== 'win32';
const create = ['items', 'create', '--from', 'rows.csv', '--journal', 'none', '-o', 'none'];

/** A directory with a row in it, and a service that refuses it. */
async function world() {
  const service = await scriptedService({ status: 400, body: { error: 'no' } });
  const directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'rows.csv'), 'Title\na\n');
  return {
    ...{ service, path: directory.path },
    bash: (line: string) => bash(line, service, directory),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function bash(line: string, service: ScriptedService, { path }: TemporaryDirectory) {
  const program = `listctl() { '${testNode}' '${listctlFile}' "$@"; }`;
  return execa('bash', ['-c', `${program}\n${line}`], {
    ...{ reject: false, extendEnv: false, stdin: 'ignore', cwd: path },
    env: { PATH: env['PATH'], HOME: path, ...environmentFor(service) },
  });
}

const rejected = /^before\nTitle,listctl:error\na,.*\n$/;

test.runIf(isPosix).each([
  { what: 'stdout of a file', line: `echo before > f; listctl ${create.join(' ')} --rejects /dev/stdout >> f` },
  {
    what: 'stderr of a file',
    line: `echo before > f; listctl ${create.join(' ')} --quiet --rejects /dev/stderr 2>> f`,
  },
  { what: 'stdout of a pipe', line: `(echo before; listctl ${create.join(' ')} --rejects - | cat) > f` },
  {
    what: 'a process',
    line: `echo before > f; listctl ${create.join(' ')} --rejects >(cat >> f; echo > done)
    while [ ! -e done ]; do sleep 0.05; done`,
  },
])('--rejects writes through $what', async ({ line }) => {
  await using at = await world();

  await at.bash(line);

  const text = readFileSync(join(at.path, 'f'), 'utf8');
  expect(text.replace(/^listctl: .*\n(?: .*\n)*/m, '')).toMatch(rejected);
});

test.runIf(isPosix)('--rejects is not the file that standard input or standard output is', async () => {
  await using at = await world();

  const read = await at.bash('listctl items create --from - --input-format csv --rejects rows.csv < rows.csv');
  const written = await at.bash(`listctl ${create.join(' ')} --rejects out > out`);

  expect(read).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('standard input and --rejects are the same'),
  });
  expect(written).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('standard output and --rejects') });
  expect(readFileSync(join(at.path, 'rows.csv'), 'utf8')).toBe('Title\na\n');
  expect(at.service.requests).toEqual([]);
});

test.runIf(isPosix)('a named pipe is waited for before anything is sent, and a signal ends the wait', async () => {
  await using at = await world();
  const pipe = join(at.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const options = { cwd: at.path };
  const start = () =>
    listctl([...create, '--rejects', 'pipe'], { HOME: at.path, ...environmentFor(at.service) }, options);

  const waiting = start();
  setTimeout(() => waiting.kill('SIGTERM'), 1000);
  const ended = await waiting;
  expect([ended.exitCode ?? ended.signal, at.service.requests]).toEqual(['SIGTERM', []]);

  const [text, { exitCode }] = await Promise.all([readFile(pipe, 'utf8'), start()]);
  expect([exitCode, text]).toEqual([9, expect.stringMatching(/^Title,listctl:error\na,/)]);
  expect(statSync(pipe).isFIFO()).toBe(true);
});

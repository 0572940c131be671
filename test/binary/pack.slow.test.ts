/** The tarball as a user installs it, into a directory where there is nothing else. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testNode } from '../support/listctl.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');
const installing = { timeout: 120_000 };

let packed: TemporaryDirectory;
let tarball: string;

beforeAll(async () => {
  packed = await temporaryDirectory();
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', packed.path], { cwd: root });
  tarball = join(packed.path, JSON.parse(stdout)[0].filename);
}, installing.timeout);

afterAll(() => packed[Symbol.asyncDispose]());

describe('installed without the store', () => {
  let directory: TemporaryDirectory;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    await install(directory.path, ['--omit=optional']);
  }, installing.timeout);

  afterAll(() => directory[Symbol.asyncDispose]());

  test('it is one package of at most 2 MB', async () => {
    const modules = join(directory.path, 'node_modules');
    const packages = (await readdir(modules)).filter((name) => !name.startsWith('.'));
    expect(packages).toEqual(['listctl']);

    expect(await sizeBytes(join(modules, 'listctl'))).toBeLessThanOrEqual(2_000_000);
  });

  test('it holds what runs, and nothing that only builds or tests it', async () => {
    const files = await readdir(join(directory.path, 'node_modules/listctl'));

    expect(files).toEqual(expect.arrayContaining(['bin', 'dist', 'package.json', 'schema']));
    expect(files).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(src|test|node_modules|\..*)$/)]));
  });

  test('it starts by its name', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

    expect(await run(directory.path, ['--version'])).toMatchObject({ exitCode: 0, stdout: version, stderr: '' });
  });

  test('--local says how to add the store that is missing', async () => {
    const result = await run(directory.path, [
      'items',
      'create',
      '--local',
      '-s',
      'home',
      '-l',
      'tasks',
      '-f',
      'Title=Hello',
    ]);

    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toMatch(/^listctl: .*\n.*npm (i|install) .*lmdb/);
  });
});

test('installed with the store, --local keeps items between two runs', installing, async () => {
  await using directory = await temporaryDirectory();
  await install(directory.path, []);
  const list = ['--local', '-s', 'home', '-l', 'tasks'];

  const created = await run(directory.path, ['items', 'create', ...list, '-f', 'Title=Hello']);
  expect(created).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(created.stdout)).toMatchObject({ id: '1', fields: { Title: 'Hello' } });

  const got = await run(directory.path, ['items', 'get', ...list, '1']);
  expect(got).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(got.stdout)).toEqual(JSON.parse(created.stdout));
});

test('npm puts the man pages where man looks for them', installing, async () => {
  await using directory = await temporaryDirectory();
  await install(directory.path, ['--global', '--omit=optional']);

  for (const page of ['man1/listctl.1', 'man1/listctl-items-create.1', 'man7/listctl-fields.7']) {
    expect(await readFile(join(directory.path, 'share/man', page), 'utf8')).toMatch(/^\.TH "LISTCTL/);
  }
});

async function install(directory: string, options: readonly string[]): Promise<void> {
  // The directory is named, since npm takes the nearest directory above that has packages, if there is one.
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', directory];
  await execa('npm', ['install', ...quietly, ...options, tarball], { cwd: directory });
}

/** Runs what npm put in place, with the Node that is under test first in the path. */
function run(directory: string, args: readonly string[]) {
  return execa(join(directory, 'node_modules/.bin/listctl'), args, {
    env: { PATH: `${dirname(testNode)}:${env['PATH']}`, HOME: directory, LISTCTL_DATA_DIR: join(directory, 'data') },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
}

async function sizeBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

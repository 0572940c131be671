/** The tarball as a user installs it, into a folder where there is nothing else. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testNode } from '../support/listctl.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const installing = { timeout: 120_000 };

let packed: TemporaryFolder;
let tarball: string;

beforeAll(async () => {
  packed = await temporaryFolder();
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', packed.path], { cwd: root });
  tarball = join(packed.path, JSON.parse(stdout)[0].filename);
}, installing.timeout);

afterAll(() => packed[Symbol.asyncDispose]());

describe('installed without the store', () => {
  let folder: TemporaryFolder;

  beforeAll(async () => {
    folder = await temporaryFolder();
    await install(folder.path, ['--omit=optional']);
  }, installing.timeout);

  afterAll(() => folder[Symbol.asyncDispose]());

  test('it is one package of at most 2 MB', async () => {
    const modules = join(folder.path, 'node_modules');
    const packages = (await readdir(modules)).filter((name) => !name.startsWith('.'));
    expect(packages).toEqual(['listctl']);

    expect(await sizeBytes(join(modules, 'listctl'))).toBeLessThanOrEqual(2_000_000);
  });

  test('it holds what runs, and nothing that only builds or tests it', async () => {
    const files = await readdir(join(folder.path, 'node_modules/listctl'));

    expect(files).toEqual(expect.arrayContaining(['bin', 'dist', 'package.json', 'schema']));
    expect(files).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(src|test|node_modules|\..*)$/)]));
  });

  test('it starts by its name', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

    expect(await run(folder.path, ['--version'])).toMatchObject({ exitCode: 0, stdout: version, stderr: '' });
  });

  test('--local says how to add the store that is missing', async () => {
    const result = await run(folder.path, [
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
  await using folder = await temporaryFolder();
  await install(folder.path, []);
  const list = ['--local', '-s', 'home', '-l', 'tasks'];

  const created = await run(folder.path, ['items', 'create', ...list, '-f', 'Title=Hello']);
  expect(created).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(created.stdout)).toMatchObject({ id: '1', fields: { Title: 'Hello' } });

  const got = await run(folder.path, ['items', 'get', ...list, '1']);
  expect(got).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(got.stdout)).toEqual(JSON.parse(created.stdout));
});

async function install(folder: string, options: readonly string[]): Promise<void> {
  // The folder is named, since npm takes the nearest folder above that has packages, if there is one.
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', folder];
  await execa('npm', ['install', ...quietly, ...options, tarball], { cwd: folder });
}

/** Runs what npm put in place, with the Node that is under test first in the path. */
function run(folder: string, args: readonly string[]) {
  return execa(join(folder, 'node_modules/.bin/listctl'), args, {
    env: { PATH: `${dirname(testNode)}:${env['PATH']}`, HOME: folder, LISTCTL_DATA_DIR: join(folder, 'data') },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
}

async function sizeBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

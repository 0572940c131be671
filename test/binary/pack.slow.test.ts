/** listctl as a user installs it: by the block of the README on fresh sources, and from the tarball that it makes. */
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testNode } from '../support/listctl.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');
const installing = { timeout: 600_000 };

let user: TemporaryDirectory;
let sources: string;
let tarball: string;
let prefix: string;
/** What npm said to the sources before they were built, and to the block of the README. */
let tooEarly: Awaited<ReturnType<typeof asUser>>[];
let installed: Awaited<ReturnType<typeof asUser>>;

beforeAll(async () => {
  user = await temporaryDirectory();
  sources = join(user.path, 'listctl');
  prefix = join(user.path, 'prefix');
  await mkdir(join(user.path, 'home'));
  await copySources();
  tooEarly = [];
  for (const command of ['pack', 'pack --pack-destination ..', 'publish --dry-run']) {
    tooEarly.push(await asUser(`npm ${command}`));
  }
  installed = await asUser(await installationBlock());
  tarball = join(sources, (await readdir(sources)).find((name) => name.endsWith('.tgz')) ?? 'no tarball');
}, installing.timeout);

afterAll(() => user[Symbol.asyncDispose]());

test('sources that were not built cannot be packed', async () => {
  expect(tooEarly.map(({ exitCode }) => exitCode)).not.toContain(0);
});

describe('installed with the block of the README', () => {
  test('npm ends well, and runs no script of a package nor warns of one', () => {
    expect(installed.exitCode, installed.all).toBe(0);
    expect(installed.all).not.toMatch(/install-scripts|allow-?scripts/i);
  });

  test('it starts by its name, and has the built-in service', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

    expect(await asUser('listctl --version')).toMatchObject({ exitCode: 0, all: version });
    expect(await asUser('listctl --local items create -s home -l tasks -f Title=Hello -o id')).toMatchObject({
      exitCode: 0,
      all: '1',
    });
  });

  test('its man pages are where man looks for them', async () => {
    for (const page of ['man1/listctl.1', 'man1/listctl-items-create.1', 'man7/listctl-fields.7']) {
      expect(await readFile(join(prefix, 'share/man', page), 'utf8')).toMatch(/^\.TH "LISTCTL/);
    }
  });

  test('bash completes its commands', async () => {
    const script = `eval "$(listctl completion bash)"
      COMP_LINE='listctl items cre' COMP_POINT=17 COMP_WORDS=(listctl items cre) COMP_CWORD=2
      _listctl 2>&1 && echo "\${COMPREPLY[@]}"`;

    expect(await asUser(script, 'bash')).toMatchObject({ exitCode: 0, all: 'create' });
  });
});

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

    expect(files).toEqual(expect.arrayContaining(['bin', 'dist', 'docs', 'package.json', 'schema']));
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

/** Without what git does not keep: packages, builds and tarballs. */
async function copySources(): Promise<void> {
  const others = ['.git', 'node_modules', 'dist', 'coverage', 'fuzz-findings'];
  const names = (await readdir(root)).filter((name) => !others.includes(name) && !name.endsWith('.tgz'));
  for (const name of names) {
    await cp(join(root, name), join(sources, name), { recursive: true, verbatimSymlinks: true });
  }
}

/** The commands below the heading Installation of the README. */
async function installationBlock(): Promise<string> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const block = /^## Installation\n[^#]*?^```sh\n(?<commands>[\s\S]*?)^```$/m.exec(readme)?.groups?.['commands'];
  if (block === undefined) throw new Error('the README has no installation block');
  return block;
}

/**
 * Runs commands in the sources as a user with an empty home. Of the machine there is what reaches its registry: npm's cache
 * and its global settings, which npm would else look for below the prefix.
 */
async function asUser(commands: string, shell = 'sh') {
  const ofMachine = Object.fromEntries(Object.entries(env).filter(([name]) => !/^(npm|listctl|node_env)/i.test(name)));
  const { stdout } = await execa('npm', ['config', 'list', '--json'], { cwd: root });
  const { cache, globalconfig } = JSON.parse(stdout);
  return execa(shell, ['-e', '-c', commands], {
    cwd: sources,
    env: {
      ...{
        ...ofMachine,
        HOME: join(user.path, 'home'),
        PATH: [join(prefix, 'bin'), dirname(testNode), env['PATH']].join(':'),
      },
      ...{ npm_config_prefix: prefix, npm_config_cache: cache, npm_config_globalconfig: globalconfig },
    },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    all: true,
  });
}

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

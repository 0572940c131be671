/** Starting from compiled code (src/start.ts): a second run finds it, and nobody else's is ever run. */
import { chmod, chown, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { listctl, testNode } from '../support/listctl.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const program = join(import.meta.dirname, '../../dist/listctl.cjs');
const dryRun = [
  'items',
  'get',
  '17',
  '-s',
  'a',
  '-l',
  'b',
  '--base-url',
  'https://host.example',
  '--dry-run',
  '-o',
  'jsonl',
];
const printed = '{"method":"GET","url":"https://host.example/sites/a/lists/b/items/17"}';

test('a command leaves its compiled code in the cache folder of its user, for nobody else to write', async () => {
  await using cache = await temporaryFolder();
  const env = { XDG_CACHE_HOME: join(cache.path, 'cache') };

  const first = await listctl(dryRun, env);
  const second = await listctl(dryRun, env);

  expect([first, second]).toMatchObject(Array(2).fill({ exitCode: 0, stdout: printed, stderr: '' }));
  const folder = join(env.XDG_CACHE_HOME, 'listctl');
  const files = await readdir(folder);
  expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{32}-v\d+\.\d+\.\d+-\w+\.code$/)]);
  expect([await modeOf(folder), await modeOf(join(folder, files[0] ?? ''))]).toEqual([0o700, 0o600]);
});

test('a run that finds compiled code leaves it as it is', async () => {
  await using cache = await temporaryFolder();
  const file = await keptCode(cache.path);
  await utimes(file, 1, 1);

  await listctl(dryRun, { XDG_CACHE_HOME: cache.path });

  expect((await stat(file)).mtimeMs).toBe(1000);
});

test.each([
  { mode: 0o600, runs: true, because: 'it is the user’s own' },
  { mode: 0o620, runs: false, because: 'its group may write it' },
  { mode: 0o602, runs: false, because: 'everybody may write it' },
])('code of mode $mode runs: $runs, because $because', async ({ mode, runs }) => {
  await using cache = await temporaryFolder();
  const file = await keptCode(cache.path);
  await writeFile(file, await strangeCode(cache.path));
  await chmod(file, mode);

  const { stdout } = await listctl(dryRun, { XDG_CACHE_HOME: cache.path });

  expect(stdout === 'strange').toBe(runs);
});

// Only root may give a file away.
test.skipIf(process.geteuid?.() !== 0)('code that belongs to somebody else does not run', async () => {
  await using cache = await temporaryFolder();
  const file = await keptCode(cache.path);
  await writeFile(file, await strangeCode(cache.path));
  await chown(file, 65534, 65534);

  expect(await listctl(dryRun, { XDG_CACHE_HOME: cache.path })).toMatchObject({ exitCode: 0, stdout: printed });
});

test.each([
  { damage: 'is empty', code: Buffer.alloc(0) },
  { damage: 'is cut short', code: Buffer.from('c0de') },
  { damage: 'is something else', code: Buffer.alloc(200_000, 'x') },
])('code that $damage is compiled and kept anew', async ({ code }) => {
  await using cache = await temporaryFolder();
  const file = await keptCode(cache.path);
  const good = await readFile(file);
  await writeFile(file, code);

  const { exitCode, stdout } = await listctl(dryRun, { XDG_CACHE_HOME: cache.path });

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: printed });
  expect((await readFile(file)).length).toBeGreaterThan(good.length / 2);
});

test.each([
  { because: 'the folder cannot be made', env: { XDG_CACHE_HOME: '/dev/null' } },
  { because: 'there is no home', env: { HOME: '' } },
  { because: 'Node is told not to', env: { NODE_DISABLE_COMPILE_CACHE: '1' } },
])('without a cache everything works: $because', async ({ env }) => {
  expect(await listctl(dryRun, env)).toMatchObject({ exitCode: 0, stdout: printed, stderr: '' });
});

test('pages of help and errors keep nothing', async () => {
  await using cache = await temporaryFolder();
  const env = { XDG_CACHE_HOME: cache.path };

  await listctl(['--version'], env);
  await listctl(['items', 'get', '--help'], env);
  await listctl(['items', 'crate'], env);

  expect(await readdir(cache.path)).toEqual([]);
});

test('no chunk needs the ESM loader, which a script from compiled code does not have', async () => {
  const folder = join(program, '..');
  const chunks = (await readdir(folder)).filter((name) => name.endsWith('.cjs'));

  const texts = await Promise.all(chunks.map((name) => readFile(join(folder, name), 'utf8')));

  expect(chunks).toContain('listctl.cjs');
  expect(texts.filter((text) => /\bimport\(/.test(text))).toEqual([]);
});

/** Runs a command, and gives the file in which its compiled code is kept. */
async function keptCode(cacheFolder: string): Promise<string> {
  await mkdir(cacheFolder, { recursive: true });
  await listctl(dryRun, { XDG_CACHE_HOME: cacheFolder });
  const folder = join(cacheFolder, 'listctl');
  const [name = ''] = await readdir(folder);
  return join(folder, name);
}

/** Compiled code of a program that prints `strange`: of the same length, which is all that V8 compares. */
async function strangeCode(folder: string): Promise<Buffer> {
  const source = await readFile(program, 'utf8');
  const strange = "exports.run = async () => { require('node:fs').writeSync(1, 'strange\\n'); };";
  const make = `
    const { Script } = require('node:vm');
    const { Module } = require('node:module');
    const source = ${JSON.stringify(strange)}.padEnd(${source.length});
    const script = new Script(Module.wrap(source), { filename: ${JSON.stringify(program)} });
    // Only functions that have run are in the compiled code.
    const exports = {};
    script.runInThisContext()(exports, require);
    exports.run();
    require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'strange'))}, script.createCachedData());
  `;
  await execa(testNode, ['-e', make]);
  return readFile(join(folder, 'strange'));
}

async function modeOf(file: string): Promise<number> {
  return (await stat(file)).mode & 0o777;
}

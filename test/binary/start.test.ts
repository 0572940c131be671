/** What a start does beside the command: nothing is loaded that others may have written. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const dryRun = ['items', 'get', '17', '-s', 'a', '-l', 'b', '--base-url', 'https://host.example', '--dry-run'];

test('a command stores no compiled code, which anyone with write access to the cache directory could replace', async () => {
  await using cache = await temporaryDirectory();

  const { exitCode } = await listctl(dryRun, { XDG_CACHE_HOME: cache.path });

  expect(exitCode).toBe(0);
  expect(await readdir(cache.path)).toEqual([]);
});

test('no chunk loads another with the ESM loader, which costs a start 6 ms', async () => {
  const dist = join(import.meta.dirname, '../../dist');
  const chunks = (await readdir(dist)).filter((name) => name.endsWith('.cjs'));

  const texts = await Promise.all(chunks.map((name) => readFile(join(dist, name), 'utf8')));

  expect(chunks).toContain('listctl.cjs');
  expect(texts.filter((text) => /\bimport\((?!["'`]node:)/.test(text))).toEqual([]);
});

test.each([
  ['a page of help', ['items', 'create', '--help'], ['child_process', 'crypto', 'http', 'net', 'os']],
  ['a command that sends nothing', dryRun, ['child_process', 'crypto', 'http', 'net', 'os']],
])('%s loads no module of Node that it does not need: each costs 1 to 6 ms', async (_, args, unneeded) => {
  await using directory = await temporaryDirectory();
  const hook = join(directory.path, 'loaded.cjs');
  const list = "process.on('exit', () => require('fs').writeSync(2, process.moduleLoadList.join()))";
  await writeFile(hook, list);

  const { stderr } = await listctl(args, { NODE_OPTIONS: `--require ${hook}` });

  const loaded = stderr.split(',').map((name) => name.replace('NativeModule ', ''));
  expect(loaded).toContain('fs');
  expect(loaded.filter((name) => unneeded.includes(name))).toEqual([]);
});

test('no start has a pattern with a class of Unicode to check, for which V8 reads its tables: 1 ms', async () => {
  const dist = join(import.meta.dirname, '../../dist');
  const texts = await Promise.all(
    ['listctl', 'items', 'http'].map((name) => readFile(join(dist, `${name}.cjs`), 'utf8')),
  );

  // In a string it is `\\p{`: that pattern is made when it is needed.
  expect(texts.join('').match(/[^\\]\\p\{/g)).toBeNull();
});

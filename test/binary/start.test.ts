/** What a start does beside the command: nothing is loaded that others may have written. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const dryRun = ['items', 'get', '17', '-s', 'a', '-l', 'b', '--base-url', 'https://host.example', '--dry-run'];

test('a command keeps no compiled code, which whoever can write the cache directory could replace', async () => {
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

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makePictures } from './pictures.ts';

const root = join(import.meta.dirname, '../..');
const directory = join(root, 'docs/pictures');

test('docs/pictures matches the output of the program: npm run pictures updates it', { timeout: 120_000 }, async () => {
  const shown = readdirSync(directory).map((file) => [file, readFileSync(join(directory, file), 'utf8')]);

  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(await makePictures()));
});

test('every picture is in the README, with alternative text', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');

  const images = [...readme.matchAll(/^!\[(?<words>[^\]]*)\]\(docs\/pictures\/(?<file>[^)]+)\)$/gm)];

  expect(images.map(({ groups }) => groups?.['file']).toSorted()).toEqual(readdirSync(directory).toSorted());
  for (const { groups } of images) expect(groups?.['words']).toMatch(/\w+ \w+ \w+/);
});

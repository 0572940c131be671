import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { consoleBlocks, newcomer, typeAll } from '../support/console-blocks.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);
const blocks = pages.flatMap((page) =>
  consoleBlocks(readFileSync(join(root, page), 'utf8')).map((block, index) => ({ page, number: index + 1, ...block })),
);

test.each(blocks)('$page, "$heading": block $number prints what it says', async ({ steps }) => {
  await using home = await temporaryFolder();

  const printed = await typeAll(
    steps.map(({ command }) => command),
    home.path,
    newcomer(home.path),
  );

  expect(steps.map(({ command }, at) => ({ command, output: printed[at] }))).toEqual(steps);
});

test('the README has the blocks that these tests are about', () => {
  const headings = blocks.filter(({ page }) => page === 'README.md').map(({ heading }) => heading);

  expect(headings).toContain('Quick start');
});

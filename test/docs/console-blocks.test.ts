import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { booksService } from './books-service.ts';
import { consoleBlocks, newcomer, typeAll } from './console-blocks.ts';

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);
const blocks = pages.flatMap((page) =>
  consoleBlocks(readFileSync(join(root, page), 'utf8')).map((block, index) => ({ page, number: index + 1, ...block })),
);

test.each(blocks)('$page, "$heading": block $number prints what it says', async ({ page, steps }) => {
  await using home = await temporaryDirectory();
  await using service = page === 'docs/graph.md' ? await booksService(home.path) : undefined;
  symlinkSync(join(root, 'docs'), join(home.path, 'docs'));

  const printed = await typeAll(
    steps.map(({ command }) => command),
    home.path,
    { ...newcomer(home.path), ...service?.env },
  );

  const seen = steps.map(({ command, output }, at) => ({ command, output: asWritten(printed[at] ?? '', output) }));
  expect(seen).toEqual(steps);
});

/** The output, with the text of the page if it matches: `…` on the page matches anything within a line. */
function asWritten(printed: string, written: string): string {
  const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = written.split('…').map(literal).join('.*');
  return new RegExp(`^${pattern}$`).test(printed) ? written : printed;
}

test('`…` on a page matches anything within a line, and nothing else does', () => {
  expect(asWritten('12 rows; 0.3 s', '12 rows; … s')).toBe('12 rows; … s');
  expect(asWritten('12 rows\n0.3 s', '12 rows… s')).toBe('12 rows\n0.3 s');
  expect(asWritten('12 rows.', '13 rows.')).toBe('12 rows.');
});

test('the README has the blocks that these tests are about', () => {
  const headings = blocks.filter(({ page }) => page === 'README.md').map(({ heading }) => heading);

  expect(headings).toContain('Quick start');
});

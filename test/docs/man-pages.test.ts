import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProgramNode } from '../../src/commands/help/help.ts';
import { listctl } from '../support/listctl.ts';
import { manPages } from './man-pages.ts';

const directory = join(import.meta.dirname, '../../dist/man');
const isMissing = spawnSync('mandoc', ['-T', 'lint', '/dev/null']).error !== undefined;
const because = isMissing ? ' (skipped: mandoc is not installed)' : '';

test('the build makes a page for each command and each topic', async () => {
  const { stdout } = await listctl(['help', '--json']);
  const pages = manPages(JSON.parse(stdout));

  expect(pages.map(({ file }) => file)).toEqual(
    expect.arrayContaining(['listctl.1', 'listctl-items-create.1', 'listctl-apply.1', 'listctl-apply.7']),
  );
  expect(readdirSync(directory)).toEqual(pages.map(({ file }) => file).sort());
  for (const { file, text } of pages) expect(readFileSync(join(directory, file), 'utf8')).toBe(text);
});

describe('as a reader sees them', () => {
  test.skipIf(isMissing)(`no page has a fault but for its date, which builds would differ in${because}`, () => {
    const said = readdirSync(directory).flatMap((file) => {
      const { stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', file], {
        cwd: directory,
        encoding: 'utf8',
      });
      return stdout.split('\n').filter((line) => line !== '' && !line.endsWith('missing date, using "": TH'));
    });

    expect(said).toEqual([]);
  });

  test.skipIf(isMissing)(`what would steer roff is shown as it is${because}`, () => {
    const hostile = ['.de x', "'br", '\\fBx\\e', '"quoted" \'too\'', '-f a=-1 --b', '^~`', 'Zoë → …', '  .SH no', '\\'];
    const program: ProgramNode = {
      ...{ name: 'listctl', version: '1', path: '', aliases: [], usage: hostile[1] ?? '', summary: hostile[0] ?? '' },
      ...{ arguments: [], exitCodes: {}, commands: [], examples: hostile },
      topics: [{ name: 'x', summary: hostile[2] ?? '', page: `${hostile.join('\n')}\n` }],
      options: hostile.map((text) => ({ flags: text, long: text, description: text, group: text })),
    };

    for (const { file, text } of manPages(program)) {
      const shown = rendered(text);
      for (const line of hostile) expect(shown, file).toContain(line.trim());
    }
  });

  test.skipIf(isMissing)(`every line of a topic is on its page${because}`, async () => {
    const { stdout } = await listctl(['help', '--json']);
    const program: ProgramNode = JSON.parse(stdout);

    for (const { name, page } of program.topics) {
      const shown = rendered(readFileSync(join(directory, `listctl-${name}.7`), 'utf8'));
      for (const line of page.split('\n')) expect(shown).toContain(line.trim());
    }
  });
});

/** A page as text, without what makes letters bold. */
function rendered(text: string): string {
  const { stdout } = spawnSync('mandoc', ['-T', 'utf8', '-O', 'width=200'], { input: text, encoding: 'utf8' });
  return stdout.replace(/.[\b]/gu, '');
}

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProgramNode } from '../../src/commands/help/help.ts';
import { listctl } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
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

  test.skipIf(isMissing)(`every word of a topic but for its title is on its page${because}`, async () => {
    const { stdout } = await listctl(['help', '--json']);
    const program: ProgramNode = JSON.parse(stdout);

    for (const { name, page } of program.topics) {
      const roff = readFileSync(join(directory, `listctl-${name}.7`), 'utf8');
      expect(roff).not.toContain(`.SH "DESCRIPTION"\n${page.split('\n', 1)[0]}\n`);
      const shown = wordsOf(rendered(roff));
      const text = page.replace(/^.+\n/, '').split(/\s+/);
      expect(text.filter((word) => !shown.has(word))).toEqual([]);
    }
  });

  test.skipIf(isMissing)(`no line is wider than a terminal of 80 columns${because}`, () => {
    const wide = readdirSync(directory).flatMap((file) =>
      rendered(readFileSync(join(directory, file), 'utf8'), 80)
        .split('\n')
        .filter((line) => line.length > 80)
        .map((line) => `${file}: ${line}`),
    );

    expect(wide).toEqual([]);
  });
});

test('FILES of listctl(1) and listctl-environment(7), and docs/settings.md, name what a run leaves in the home', async () => {
  await using home = await temporaryDirectory();
  const environment = { HOME: home.path, LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };
  for (const args of [
    ['profile', 'set', 'work', '--base-url', 'https://lists.example/v1.0'],
    ['auth', 'login', '--profile', 'work', '--with-token', '--no-check'],
    ['items', 'create', '--local', '--from', '-', '--input-format', 'jsonl'],
  ]) {
    const input = args[0] === 'auth' ? 'token-of-a-test' : '{"Title":"Hello"}\n';
    expect(await listctl(args, environment, { input })).toMatchObject({ exitCode: 0 });
  }
  const left = ['.config/listctl/config.json', '.config/listctl/credentials.json', '.local/state/listctl/runs'];
  left.push('.local/share/listctl/local');

  const settings = readFileSync(join(import.meta.dirname, '../../docs/settings.md'), 'utf8');
  for (const path of left) {
    expect(existsSync(join(home.path, path)), path).toBe(true);
    expect(settings).toContain(`\`~/${path}\``);
    for (const file of ['listctl.1', 'listctl-environment.7']) {
      const [, files = ''] = readFileSync(join(directory, file), 'utf8').split('.SH "FILES"');
      expect(files, file).toContain(`.B \\(ti/${path}\n`);
    }
  }
});

function wordsOf(text: string): ReadonlySet<string> {
  // The columns before the last one are joined with commas, and a heading has no colon.
  return new Set(text.split(/\s+/).flatMap((word) => [word, word.replace(/,$/, ''), `${word}:`]));
}

/** A page as text, without what makes letters bold. */
function rendered(text: string, width = 200): string {
  const { stdout } = spawnSync('mandoc', ['-T', 'utf8', '-O', `width=${width}`], { input: text, encoding: 'utf8' });
  return stdout.replace(/.[\b]/gu, '');
}

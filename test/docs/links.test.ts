/** The pages that are installed with the program: each link leads to a page, and a heading, that is installed too. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every link of a packed page leads to a packed file, and to a heading that it has', async () => {
  const { stdout } = await execa('npm', ['pack', '--dry-run', '--json'], { cwd: root });
  const files: readonly string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
  const pages = files.filter((file) => file.endsWith('.md'));
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/reference.md', 'docs/release.md']));

  const links = pages.flatMap((page) => linksOf(read(page)).map((link) => ({ page, link })));
  const broken = links.filter(({ page, link }) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : posix.join(posix.dirname(page), path);
    const isPacked = files.some((each) => each === file || each.startsWith(`${file}/`));
    return !isPacked || (anchor !== undefined && !anchorsOf(read(file)).has(anchor));
  });

  expect(links.length).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** The targets of links and pictures within the package; those in code are examples. */
function linksOf(markdown: string): readonly string[] {
  const text = markdown.replace(/^ *```[\s\S]*?^ *```$/gm, '').replace(/`[^`\n]+`/g, '');
  return Array.from(text.matchAll(/\]\((?!https?:)(?<target>[^)\s]+)\)/g), ({ groups }) => groups?.['target'] ?? '');
}

/** As GitHub names headings, and those that a page names itself. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = Array.from(markdown.matchAll(/^#+ (?<title>.+)$/gm), ({ groups }) =>
    (groups?.['title'] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const named = Array.from(markdown.matchAll(/<a id="(?<id>[^"]+)">/g), ({ groups }) => groups?.['id'] ?? '');
  return new Set([...headings, ...named]);
}

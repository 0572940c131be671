import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { referencePage } from './reference-page.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/reference.md'), 'utf8');

test('docs/reference.md matches help --json: npm run reference updates it', async () => {
  const { stdout } = await listctl(['help', '--json']);

  expect(page).toBe(referencePage(JSON.parse(stdout), page));
});

test('making the reference keeps what was written by hand', async () => {
  const { stdout } = await listctl(['help', '--json']);
  const program = JSON.parse(stdout);

  const made = referencePage({ ...program, commands: [] }, page);

  expect(made).not.toContain('## listctl items create');
  expect(page).toContain('## Flags that were added later');
  expect(made.slice(made.indexOf('## Flags that were added later'))).toBe(
    page.slice(page.indexOf('## Flags that were added later')),
  );
});

test('package.json names every man page that the build makes: npm run reference does so', () => {
  const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

  expect(man.toSorted()).toEqual(readdirSync(join(root, 'dist/man')).map((file) => `dist/man/${file}`));
});

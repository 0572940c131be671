/** `npm run reference`: makes docs/reference.md anew, but for what was written by hand, and the list of man pages. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { setup } from '../support/build.ts';
import { listctlFile } from '../support/listctl.ts';
import { manPages } from './man-pages.ts';
import { referencePage } from './reference-page.ts';

const root = join(import.meta.dirname, '../..');
await setup();
const program = JSON.parse(execFileSync(execPath, [listctlFile, 'help', '--json'], { encoding: 'utf8', env: {} }));

const page = join(root, 'docs/reference.md');
writeFileSync(page, referencePage(program, readFileSync(page, 'utf8')));

// npm puts in place the pages that are named there, one by one.
const packageFile = join(root, 'package.json');
const packageJson = JSON.parse(readFileSync(packageFile, 'utf8'));
const man = manPages(program).map(({ file }) => `dist/man/${file}`);
writeFileSync(packageFile, `${JSON.stringify({ ...packageJson, man }, undefined, 2)}\n`);

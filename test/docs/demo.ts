/** `npm run demo`: types the quick start of the README into a shell, for everybody to see. */
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setup } from '../support/build.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { consoleBlocks, newcomer } from './console-blocks.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const steps = consoleBlocks(readme).find(({ heading }) => heading === 'Quick start')?.steps ?? [];
if (steps.length === 0) throw new Error('the README has no quick start to show');

await setup();
await using home = await temporaryDirectory();
symlinkSync(join(root, 'docs'), join(home.path, 'docs'));
// Showing a command must not change the `$?` that it may ask for.
const shown = (command: string) => `status=$?; echo ${quoted(`$ ${command}`)}; (exit $status)`;
const script = steps.map(({ command }) => `${shown(command)}\n${command}\n`).join('');
const { status } = spawnSync('sh', ['-c', `exec 2>&1\n${script}`], {
  cwd: home.path,
  env: { ...newcomer(home.path), TERM: process.env['TERM'] ?? '' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

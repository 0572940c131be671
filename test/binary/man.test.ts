/** The man pages as a user gets them with `npm install --global`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');

test('npm puts the pages where man looks for them', { timeout: 120_000 }, async () => {
  await using folder = await temporaryFolder();
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', folder.path], { cwd: root });
  const tarball = join(folder.path, JSON.parse(stdout)[0].filename);
  const quietly = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await execa('npm', ['install', '--global', '--prefix', folder.path, ...quietly, tarball], { cwd: folder.path });

  for (const page of ['man1/listctl.1', 'man1/listctl-items-create.1', 'man7/listctl-fields.7']) {
    expect(readFileSync(join(folder.path, 'share/man', page), 'utf8')).toMatch(/^\.TH "LISTCTL/);
  }
});

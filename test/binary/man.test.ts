/** The man pages as a user gets them with `npm install --global`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');

test('npm puts the pages where man looks for them', { timeout: 120_000 }, async () => {
  await using directory = await temporaryDirectory();
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', directory.path], { cwd: root });
  const tarball = join(directory.path, JSON.parse(stdout)[0].filename);
  const quietly = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await execa('npm', ['install', '--global', '--prefix', directory.path, ...quietly, tarball], { cwd: directory.path });

  for (const page of ['man1/listctl.1', 'man1/listctl-items-create.1', 'man7/listctl-fields.7']) {
    expect(readFileSync(join(directory.path, 'share/man', page), 'utf8')).toMatch(/^\.TH "LISTCTL/);
  }
});

/** `.listctl.json`: what it may say, and whose it must be. */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findProjectFile } from '../../../src/settings/sources.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const uid = process.geteuid?.();

test('the nearest one upwards is taken, and it alone', async () => {
  await using directory = await temporaryDirectory();
  const deep = join(directory.path, 'a/b/c');
  mkdirSync(deep, { recursive: true });
  write(directory.path, { site: 'outer', list: 'outer' });
  write(join(directory.path, 'a'), { site: 'inner' });

  const found = findProjectFile({ cwd: deep, uid });

  expect(found).toEqual({ file: join(directory.path, 'a/.listctl.json'), values: { site: 'inner' } });
});

test('there need be none', async () => {
  await using directory = await temporaryDirectory();

  expect(findProjectFile({ cwd: directory.path, uid })).toBeUndefined();
  expect(findProjectFile({ cwd: '', uid })).toBeUndefined();
});

test.each([
  { content: { baseUrl: 'https://evil.example' }, says: '"baseUrl" is not allowed in a project file', kind: 'usage' },
  { content: { site: 'home', token: 'x' }, says: '"token" is not allowed in a project file', kind: 'usage' },
  {
    content: { tokenCommand: 'touch /tmp/owned' },
    says: '"tokenCommand" is not allowed in a project file',
    kind: 'usage',
  },
  { content: { profile: 'prod' }, says: '"profile" is not allowed in a project file', kind: 'usage' },
  { content: JSON.parse('{"__proto__": "x"}'), says: '"__proto__" is not allowed in a project file', kind: 'usage' },
  { content: { site: 17 }, says: 'site must be a string', kind: 'usage' },
  { content: { list: '' }, says: 'list must be a string', kind: 'usage' },
  { content: [], says: 'is damaged: expected a JSON object', kind: 'local-file' },
])('$content is refused, and the file is named', async ({ content, says, kind }) => {
  await using directory = await temporaryDirectory();
  write(directory.path, content);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    expect.objectContaining({ kind, message: expect.stringContaining(says) }),
  );
  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(join(directory.path, '.listctl.json'));
});

test.skipIf(uid !== 0)('a file of another user is refused', async () => {
  await using directory = await temporaryDirectory();
  write(directory.path, { site: 'theirs' });
  chownSync(join(directory.path, '.listctl.json'), 12_345, 12_345);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    'belongs to another user (its uid is 12345)',
  );
});

test.each([0o666, 0o646])('one that everybody may write is refused: mode %o', async (mode) => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, '.listctl.json');
  write(directory.path, { site: 'home' });
  chmodSync(file, mode);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    expect.objectContaining({
      kind: 'local-file',
      message: expect.stringContaining(`${file} is writable by others`),
      details: expect.objectContaining({ hint: expect.stringContaining(`chmod go-w ${file}`) }),
    }),
  );
  // Where users have no numbers files have no such modes.
  expect(findProjectFile({ cwd: directory.path, uid: undefined })).toMatchObject({ values: { site: 'home' } });
});

test('one that its group may write is read: a umask of 002 makes every file so', async () => {
  await using directory = await temporaryDirectory();
  write(directory.path, { site: 'home' });
  chmodSync(join(directory.path, '.listctl.json'), 0o664);

  expect(findProjectFile({ cwd: directory.path, uid })).toMatchObject({ values: { site: 'home' } });
});

function write(directory: string, content: unknown): void {
  writeFileSync(join(directory, '.listctl.json'), JSON.stringify(content));
}

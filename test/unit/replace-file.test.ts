/** A file is replaced whole, or is what it was (reliability, C7). */
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkReplaceable, type FileIo, fileIo, replaceFile } from '../../src/core/write-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('a file', () => {
  test('is made of its pieces, its owner’s alone, with nothing left beside it', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');

    replaceFile(path, ['a', Buffer.from('b'), '', 'ü']);
    replaceFile(path, ['new']);

    expect([readFileSync(path, 'utf8'), readdirSync(folder.path)]).toEqual(['new', ['r.csv']]);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('of no pieces is empty', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');

    replaceFile(path, []);

    expect(readFileSync(path, 'utf8')).toBe('');
  });

  test.skipIf(process.platform === 'win32')('that is a link stays one; its target is replaced', async () => {
    await using folder = await temporaryFolder();
    const [target, link] = [join(folder.path, 'target'), join(folder.path, 'link')];
    writeFileSync(target, 'old');
    symlinkSync(target, link);

    replaceFile(link, ['new']);

    expect([readlinkSync(link), readFileSync(target, 'utf8')]).toEqual([target, 'new']);
  });

  test('takes away what a killed process left beside it', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    writeFileSync(`${path}.tmp-listctl-0123456789ab`, 'half');

    replaceFile(path, ['whole']);

    expect([readFileSync(path, 'utf8'), readdirSync(folder.path)]).toEqual(['whole', ['r.csv']]);
  });

  test.skipIf(process.platform === 'win32')('is written beside no name that can be known before', async () => {
    await using folder = await temporaryFolder();
    const [path, precious] = [join(folder.path, 'r.csv'), join(folder.path, 'precious')];
    writeFileSync(precious, 'x');
    symlinkSync(precious, `${path}.tmp-listctl`);
    symlinkSync(precious, `${path}.tmp-listctl-0123456789ab`);
    linkSync(precious, `${path}.tmp-listctl-0123456789cd`);

    checkReplaceable(path);
    replaceFile(path, ['whole']);

    expect(readFileSync(precious, 'utf8')).toBe('x');
    expect(readdirSync(folder.path).sort()).toEqual(['precious', 'r.csv', 'r.csv.tmp-listctl']);
  });

  test.skipIf(process.platform === 'win32')('behind links is replaced where it is, or will be', async () => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, 'real'));
    symlinkSync('real', join(folder.path, 'linked'));
    symlinkSync('linked/later', join(folder.path, 'link'));

    replaceFile(join(folder.path, 'link'), ['new']);

    expect(readFileSync(join(folder.path, 'real', 'later'), 'utf8')).toBe('new');
    expect(readlinkSync(join(folder.path, 'link'))).toBe('linked/later');
  });

  test('a disk that takes a byte at a time gets all of them', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    const write: FileIo['write'] = (descriptor, bytes, offset, position) =>
      writeSync(descriptor, bytes, offset, 1, position);

    replaceFile(path, ['whole', ' text'], { ...fileIo, write });

    expect(readFileSync(path, 'utf8')).toBe('whole text');
  });
});

describe('P09: what goes wrong at any step leaves the file as it was, and nothing beside it', () => {
  test.each([
    ['open', 'EACCES', 'permission denied'],
    ['open', 'EROFS', 'read-only'],
    ['write', 'ENOSPC', 'no space left'],
    ['sync', 'EIO', 'input/output error'],
    ['rename', 'EISDIR', 'it is a directory'],
  ] as const)('%s: %s', async (step, code, says) => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    writeFileSync(path, 'old');
    const fails = () => {
      throw Object.assign(new Error(code), { code });
    };

    expect(() => replaceFile(path, ['new'], { ...fileIo, [step]: fails })).toThrow(says);

    expect([readFileSync(path, 'utf8'), readdirSync(folder.path)]).toEqual(['old', ['r.csv']]);
  });

  test('pieces that end in a failure tell that one', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    function* pieces() {
      yield 'a';
      throw new Error('no more');
    }

    expect(() => replaceFile(path, pieces())).toThrow('no more');

    expect(readdirSync(folder.path)).toEqual([]);
  });

  test('a folder that is not there, and a folder in its place', async () => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, 'r'));

    expect(() => replaceFile(join(folder.path, 'nowhere', 'r'), ['x'])).toThrow('no such file or directory');
    expect(() => replaceFile(join(folder.path, 'r'), ['x'])).toThrow('it is a directory');
  });
});

test('its bytes are on disk before it has its name, and the name after', async () => {
  await using folder = await temporaryFolder();
  const steps: string[] = [];
  const noting = <K extends keyof FileIo>(step: K): FileIo[K] =>
    ((...values: never[]) => {
      steps.push(step);
      return (fileIo[step] as (...all: never[]) => unknown)(...values);
    }) as FileIo[K];

  replaceFile(join(folder.path, 'r'), ['x'], {
    ...{ open: noting('open'), write: noting('write'), sync: noting('sync'), close: noting('close') },
    ...{ rename: noting('rename'), remove: noting('remove'), list: noting('list'), syncFolder: noting('syncFolder') },
  });

  expect(steps).toEqual(['list', 'open', 'write', 'sync', 'close', 'rename', 'syncFolder']);
});

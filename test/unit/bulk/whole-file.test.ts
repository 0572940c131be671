/** A file is replaced whole, or is what it was (reliability, C7). */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { replaceFile, type WholeFileIo } from '../../../src/bulk/whole-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const realIo: WholeFileIo = {
  open: openSync,
  write: writeSync,
  sync: fsyncSync,
  close: closeSync,
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
};

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

  test('takes the place of what a killed process left', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    writeFileSync(`${path}.tmp-listctl`, 'half');

    replaceFile(path, ['whole']);

    expect([readFileSync(path, 'utf8'), readdirSync(folder.path)]).toEqual(['whole', ['r.csv']]);
  });

  test('a disk that takes a byte at a time gets all of them', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'r.csv');
    const write: WholeFileIo['write'] = (descriptor, bytes, offset) => writeSync(descriptor, bytes, offset, 1);

    replaceFile(path, ['whole', ' text'], { ...realIo, write });

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

    expect(() => replaceFile(path, ['new'], { ...realIo, [step]: fails })).toThrow(says);

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
  const noting = <K extends keyof WholeFileIo>(step: K): WholeFileIo[K] =>
    ((...values: never[]) => {
      steps.push(step);
      return (realIo[step] as (...all: never[]) => unknown)(...values);
    }) as WholeFileIo[K];

  replaceFile(join(folder.path, 'r'), ['x'], {
    ...{ open: noting('open'), write: noting('write'), sync: noting('sync'), close: noting('close') },
    ...{ rename: noting('rename'), remove: noting('remove') },
  });

  expect(steps).toEqual(['remove', 'open', 'write', 'sync', 'close', 'rename', 'open', 'sync', 'close']);
});

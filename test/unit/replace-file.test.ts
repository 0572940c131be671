/** A file is replaced whole, or is what it was (files-1). */
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
import { describe, expect } from 'vitest';
import { checkReplaceable, type FileIo, fileIo, replaceFile } from '../../src/core/write-file.ts';
import { test as base } from '../support/test-in-directory.ts';

/** A test with a directory, and the path of a file in it. */
const test = base.extend<{ path: string }>({
  path: ({ directory }, use) => use(join(directory.path, 'r.csv')),
});

describe('a file', () => {
  test("is made of its pieces, its owner's alone, with nothing left beside it", async ({ directory, path }) => {
    replaceFile(path, ['a', Buffer.from('b'), '', 'ü']);
    replaceFile(path, ['new']);

    expect([readFileSync(path, 'utf8'), readdirSync(directory.path)]).toEqual(['new', ['r.csv']]);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('of no pieces is empty', async ({ path }) => {
    replaceFile(path, []);

    expect(readFileSync(path, 'utf8')).toBe('');
  });

  test.skipIf(process.platform === 'win32')(
    'that is a link stays one; its target is replaced',
    async ({ directory }) => {
      const [target, link] = [join(directory.path, 'target'), join(directory.path, 'link')];
      writeFileSync(target, 'old');
      symlinkSync(target, link);

      replaceFile(link, ['new']);

      expect([readlinkSync(link), readFileSync(target, 'utf8')]).toEqual([target, 'new']);
    },
  );

  test('takes away what a killed process left beside it', async ({ directory, path }) => {
    writeFileSync(`${path}.tmp-listctl-0123456789ab`, 'half');

    replaceFile(path, ['whole']);

    expect([readFileSync(path, 'utf8'), readdirSync(directory.path)]).toEqual(['whole', ['r.csv']]);
  });

  test.skipIf(process.platform === 'win32')(
    'is written beside no name that can be known before',
    async ({ directory }) => {
      const [path, precious] = [join(directory.path, 'r.csv'), join(directory.path, 'precious')];
      writeFileSync(precious, 'x');
      symlinkSync(precious, `${path}.tmp-listctl`);
      symlinkSync(precious, `${path}.tmp-listctl-0123456789ab`);
      linkSync(precious, `${path}.tmp-listctl-0123456789cd`);

      checkReplaceable(path);
      replaceFile(path, ['whole']);

      expect(readFileSync(precious, 'utf8')).toBe('x');
      expect(readdirSync(directory.path).sort()).toEqual(['precious', 'r.csv', 'r.csv.tmp-listctl']);
    },
  );

  test.skipIf(process.platform === 'win32')(
    'behind links is replaced where it is, or will be',
    async ({ directory }) => {
      mkdirSync(join(directory.path, 'real'));
      symlinkSync('real', join(directory.path, 'linked'));
      symlinkSync('linked/later', join(directory.path, 'link'));

      replaceFile(join(directory.path, 'link'), ['new']);

      expect(readFileSync(join(directory.path, 'real', 'later'), 'utf8')).toBe('new');
      expect(readlinkSync(join(directory.path, 'link'))).toBe('linked/later');
    },
  );

  test('a disk that takes a byte at a time gets all of them', async ({ path }) => {
    const write: FileIo['write'] = (descriptor, bytes, offset, position) =>
      writeSync(descriptor, bytes, offset, 1, position);

    replaceFile(path, ['whole', ' text'], { ...fileIo, write });

    expect(readFileSync(path, 'utf8')).toBe('whole text');
  });
});

describe('P09: a failure at any step leaves the file unchanged, and nothing beside it', () => {
  test.for([
    ['open', 'EACCES', 'permission denied'],
    ['open', 'EROFS', 'read-only'],
    ['write', 'ENOSPC', 'no space left'],
    ['sync', 'EIO', 'input/output error'],
    ['rename', 'EISDIR', 'it is a directory'],
  ] as const)('%s: %s', async ([step, code, says], { directory, path }) => {
    writeFileSync(path, 'old');
    const fails = () => {
      throw Object.assign(new Error(code), { code });
    };

    expect(() => replaceFile(path, ['new'], { ...fileIo, [step]: fails })).toThrow(says);

    expect([readFileSync(path, 'utf8'), readdirSync(directory.path)]).toEqual(['old', ['r.csv']]);
  });

  test('throws the failure of its input', async ({ directory, path }) => {
    function* pieces() {
      yield 'a';
      throw new Error('no more');
    }

    expect(() => replaceFile(path, pieces())).toThrow('no more');

    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('a directory that is not there, and a directory in its place', async ({ directory }) => {
    mkdirSync(join(directory.path, 'r'));

    expect(() => replaceFile(join(directory.path, 'nowhere', 'r'), ['x'])).toThrow('no such file or directory');
    expect(() => replaceFile(join(directory.path, 'r'), ['x'])).toThrow('it is a directory');
  });
});

test('its bytes are on disk before it has its name, and the name after', async ({ directory }) => {
  const steps: string[] = [];
  const noting = <K extends keyof FileIo>(step: K): FileIo[K] =>
    ((...values: never[]) => {
      steps.push(step);
      return (fileIo[step] as (...all: never[]) => unknown)(...values);
    }) as FileIo[K];

  replaceFile(join(directory.path, 'r'), ['x'], {
    ...{ open: noting('open'), write: noting('write'), sync: noting('sync'), close: noting('close') },
    ...{
      rename: noting('rename'),
      remove: noting('remove'),
      list: noting('list'),
      syncDirectory: noting('syncDirectory'),
    },
  });

  expect(steps).toEqual(['list', 'open', 'write', 'sync', 'close', 'rename', 'syncDirectory']);
});

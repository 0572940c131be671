import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { errnoReason, isWrongPath } from '../../src/core/errors.ts';

describe('errnoReason', () => {
  test.each([
    ['EACCES', 'permission denied'],
    ['EDQUOT', 'disk quota exceeded'],
    ['EISDIR', 'it is a directory'],
    ['ENAMETOOLONG', 'name too long'],
    ['ENOENT', 'no such file or directory'],
    ['ENOSPC', 'no space left on the device'],
    ['EROFS', 'read-only file system'],
    ['EUNHEARDOF', 'EUNHEARDOF'],
  ])('%s is %s', (code, words) => {
    expect(errnoReason(Object.assign(new Error('x'), { code }))).toBe(words);
  });

  test('an error without a code is reported by its message', () => {
    expect(errnoReason(new Error('it changed'))).toBe('it changed');
    expect(errnoReason('odd')).toBe('odd');
  });
});

test.each([
  ['/nowhere/at/all', true],
  [`${import.meta.filename}/below`, true],
  ['/', true],
  ['x'.repeat(300), true],
  ['/proc/self/mem', false],
])('%s is a wrong path: %s', (path, isWrong) => {
  let thrown: unknown;
  try {
    readFileSync(path);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Error);
  expect(isWrongPath(thrown)).toBe(isWrong);
});

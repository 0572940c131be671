/** Whether two statuses are of one file, on systems that report its device in different ways. */
import { closeSync, fstatSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isSameFile } from '../../src/core/files.ts';
import { test } from '../support/test-in-directory.ts';

const ino = 0x2_0000_0003_1c5bn;
const [longDev, shortDev] = [0xa1b2_c3d4_5678_9abcn, 0x5678_9abcn];

test.each([
  ['a file', { ino, dev: shortDev }, { ino, dev: shortDev }, true],
  ['a path and its descriptor on Windows', { ino, dev: longDev }, { ino, dev: shortDev }, true],
  ['a path and its descriptor on Windows, without a device', { ino, dev: longDev }, { ino, dev: 0n }, true],
  ['another file', { ino, dev: shortDev }, { ino: ino + 1n, dev: shortDev }, false],
  ['another file, without a device', { ino, dev: 0n }, { ino: ino + 1n, dev: 0n }, false],
  ['a file with the same number on another device', { ino, dev: longDev }, { ino, dev: shortDev + 1n }, false],
])('%s', (_what, one, other, is) => {
  expect([isSameFile(one, other), isSameFile(other, one)]).toEqual([is, is]);
});

test('files of this system', ({ directory }) => {
  const [path, another] = [join(directory.path, 'a'), join(directory.path, 'b')];
  for (const each of [path, another]) writeFileSync(each, '');
  const descriptor = openSync(path, 'r');
  try {
    const own = fstatSync(descriptor, { bigint: true });
    expect([path, another].map((each) => isSameFile(own, statSync(each, { bigint: true })))).toEqual([true, false]);
  } finally {
    closeSync(descriptor);
  }
});

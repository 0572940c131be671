import { readdirSync, readlinkSync, statSync, writeSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { linesInMemoryMax, openSpool } from '../../src/core/spool.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { jsonView, printed } from './output/printed.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What this process holds open in a directory, and with which mode. */
function openFilesIn(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      if (!readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(directory)) return [];
      return [(statSync(`/proc/self/fd/${descriptor}`).mode & 0o777).toString(8)];
    } catch {
      // The descriptor of the listing itself.
      return [];
    }
  });
}

function linesUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${at} "a\nb\r\u2028\ud800 ä${'x'.repeat(at % 200)}`);
}

test('lines come out as they went in, few or many, in chunks and across them', () => {
  for (const count of [0, 1, linesInMemoryMax, linesInMemoryMax + 1, 5 * linesInMemoryMax + 7]) {
    const spool = openSpool();
    for (const line of linesUpTo(count)) spool.add(line);

    expect([...spool.lines()]).toEqual(linesUpTo(count));
  }
});

test('a line that is longer than any chunk comes out whole', () => {
  const spool = openSpool();
  const lines = [...linesUpTo(linesInMemoryMax), 'ä'.repeat(300_000), 'last'];
  for (const line of lines) spool.add(line);

  expect([...spool.lines()]).toEqual(lines);
});

test('few lines need no file', async () => {
  vi.stubEnv('TMPDIR', '/no/such/directory');
  const spool = openSpool();
  for (const line of linesUpTo(linesInMemoryMax)) spool.add(line);

  expect([...spool.lines()].length).toBe(linesInMemoryMax);
});

test.runIf(process.platform === 'linux')(
  'many lines wait in a file without a name that only its owner can read',
  async () => {
    await using directory = await temporaryDirectory();
    vi.stubEnv('TMPDIR', directory.path);
    const spool = openSpool();

    for (const line of linesUpTo(linesInMemoryMax + 1)) spool.add(line);

    expect(readdirSync(directory.path)).toEqual([]);
    expect(openFilesIn(directory.path)).toEqual(['600']);
    spool.lines().return(undefined);
    expect([...spool.lines()].length).toBe(linesInMemoryMax + 1);
    expect(openFilesIn(directory.path)).toEqual([]);
  },
);

test.runIf(process.platform === 'linux')('stopping early leaves no open file', async () => {
  await using directory = await temporaryDirectory();
  vi.stubEnv('TMPDIR', directory.path);
  const spool = openSpool();
  for (const line of linesUpTo(2 * linesInMemoryMax)) spool.add(line);

  for (const line of spool.lines()) if (line !== '') break;

  expect(openFilesIn(directory.path)).toEqual([]);
});

test('a directory that is not there is a failure that says what to do', () => {
  vi.stubEnv('TMPDIR', '/no/such/directory');
  const spool = openSpool();

  expect(() => {
    for (const line of linesUpTo(linesInMemoryMax + 1)) spool.add(line);
  }).toThrow(
    expect.objectContaining({
      kind: 'local-file',
      message: 'cannot create a temporary file in /no/such/directory: no such file or directory',
    }),
  );
});

test('a disk that is full is a failure, even where it takes a part first', () => {
  let room = 5_000;
  const spool = openSpool({
    write: (descriptor, bytes, offset, position) => {
      const part = Math.min(room, bytes.length - offset);
      room -= part;
      return writeSync(descriptor, bytes, offset, part, position);
    },
  });

  expect(() => {
    for (const line of linesUpTo(linesInMemoryMax + 1)) spool.add(line);
  }).toThrow(expect.objectContaining({ kind: 'local-file', message: expect.stringMatching(/no space left/) }));
});

test('a write that takes a part at a time loses nothing', () => {
  const spool = openSpool({
    write: (descriptor, bytes, offset, position) =>
      writeSync(descriptor, bytes, offset, Math.min(777, bytes.length - offset), position),
  });
  for (const line of linesUpTo(3 * linesInMemoryMax)) spool.add(line);

  expect([...spool.lines()]).toEqual(linesUpTo(3 * linesInMemoryMax));
});

test('a column that is first seen in the last of many rows is a column of every row', async () => {
  const count = 3 * linesInMemoryMax;
  function* rows() {
    for (let at = 0; at < count; at += 1) yield { id: String(at), Note: at % 2 === 0 ? 'a\nb' : '' };
    yield { late: true, id: 'last' };
  }

  const text = await printed(jsonView, rows(), { format: 'csv' });

  expect(text.startsWith('id,Note,late\n0,"a\nb",\n1,"",\n')).toBe(true);
  expect(text.endsWith(`${count - 1},"",\nlast,,true\n`)).toBe(true);
});

/** The file that --from names. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, fstatSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { chmod, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { Stopped } from '../../../src/core/errors.ts';
import { spoolBytes } from '../../../src/core/spool.ts';
import { checkRows } from '../../../src/rows/check.ts';
import { openInput } from '../../../src/rows/input.ts';
import { openRows } from '../../../src/rows/read.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost, type World } from '../../support/test-host.ts';
import { usual } from './rows-from.ts';

const text = 'A\n1\n2\n';
const sha256 = createHash('sha256').update(text).digest('hex');

/** Opens an input that is not copied, unless a directory for that is given. */
const open = (path: string, world: World = {}, spoolDirectory = '/nonexistent') =>
  openInput(path, { host: testHost(world), spoolDirectory });

describe('I14: what cannot be an input', () => {
  const usage = (message: string) => ({ kind: 'usage', message });

  test('a directory and a file that does not exist are usage errors', async () => {
    await using directory = await temporaryDirectory();
    const missing = join(directory.path, 'no.csv');

    const isDirectory = `cannot read ${directory.path}: it is a directory`;
    await expect(open(directory.path)).rejects.toMatchObject(usage(isDirectory));
    await expect(open(missing)).rejects.toMatchObject(usage(`cannot read ${missing}: no such file or directory`));
  });

  test.skipIf(process.geteuid?.() === 0)('a file without read permission (not for root)', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'a.csv');
    await writeFile(path, text);
    await chmod(path, 0);

    const message = `cannot read ${path}: permission denied`;
    await expect(open(path)).rejects.toMatchObject({ kind: 'local-file', message });
  });

  test.each<[name: string, World, message: string]>([
    ['a directory', { stdinKind: 'directory' }, 'cannot read standard input: it is a directory'],
    ['closed', { stdinKind: 'closed' }, 'cannot read standard input: it is closed'],
    ['a terminal', { terminal: 80 }, 'standard input is a terminal'],
    ['zeros', { stdin: '\0'.repeat(100) }, 'cannot read standard input: it begins with NUL bytes, not with text'],
  ])('stdin that is %s', async (_, world, message) => {
    await expect(open('-', world)).rejects.toMatchObject(usage(message));
  });

  test.runIf(process.platform === 'linux')('a device without an end; one that is empty is an input', async () => {
    const message = 'cannot read /dev/zero: it is a device, which may have no end';
    await expect(open('/dev/zero')).rejects.toMatchObject(usage(message));
    const nothing = await open('/dev/null');
    expect(nothing.sizeBytes).toBe(0);
    nothing.close();
  });

  test.each([
    ['book.xlsx', 'PK\u0003\u0004', 'it is an Excel workbook', 'save the sheet as CSV UTF-8'],
    ['book.XLS', '\u00d0\u00cf\u0011\u00e0', 'it is an Excel workbook', 'save the sheet as CSV UTF-8'],
    ['rows.csv', `PK\u0003\u0004${'.'.repeat(26)}[Content_Types].xml`, 'it is an Excel workbook', 'save the sheet'],
    ['rows.ods', 'PK\u0003\u0004', 'it is a LibreOffice workbook', 'save the sheet as CSV UTF-8'],
    ['rows.zip', 'PK\u0003\u0004', 'it is a ZIP archive', 'pass a file that is in it'],
  ])('%s', async (name, content, reason, hint) => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, name);
    await writeFile(path, Buffer.from(content, 'latin1'));

    await expect(open(path)).rejects.toMatchObject({
      ...usage(`cannot read ${path}: ${reason}`),
      details: { hint: expect.stringContaining(hint) },
    });
  });
});

describe('I14: a file that changes while a run reads it', () => {
  test('is read to its end, when another takes its name', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'a.csv');
    await writeFile(path, text);
    const input = await open(path, {}, directory.path);
    const file = await openRows(input, usual);
    await writeFile(join(directory.path, 'b.csv'), 'B\nx\n');
    await rename(join(directory.path, 'b.csv'), path);

    expect(await checkRows(file)).toMatchObject({ rows: 2, sha256 });
    input.close();
  });

  const changes: Readonly<Record<string, (path: string) => unknown>> = {
    'something is appended': (path) => appendFileSync(path, '3\n'),
    'it is cut': (path) => truncateSync(path, 4),
    'it is overwritten in place': (path) => writeFileSync(path, text.replace('2', '9'), { flag: 'r+' }),
    'it is overwritten, and given back its time': (path) => {
      const { mtimeNs } = statSync(path, { bigint: true });
      writeFileSync(path, text.replace('2', '9'), { flag: 'r+' });
      execFileSync('touch', ['-d', `@${mtimeNs / 10n ** 9n}.${String(mtimeNs % 10n ** 9n).padStart(9, '0')}`, path]);
      expect(statSync(path, { bigint: true })).toMatchObject({ mtimeNs });
    },
  };

  test.each(Object.keys(changes))('is refused when %s', async (change) => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'a.csv');
    await writeFile(path, text);
    const input = await open(path, {}, directory.path);
    const file = await openRows(input, { ...usual, blockBytes: 4 });
    expect(await checkRows(file)).toMatchObject({ rows: 2, sha256 });
    const blocks = file.blocks();
    expect(await blocks.next()).toMatchObject({ value: [{ fields: { A: '1' } }] });
    changes[change]?.(path);

    await expect(blocks.next()).rejects.toMatchObject({
      kind: 'local-file',
      message: `${path} changed while it was being read`,
    });
    input.close();
  });
});

describe('I14: what can be read only once is copied first', () => {
  test('stdin, into a file that has no name and is for its owner alone; it can be read again', async () => {
    await using directory = await temporaryDirectory();
    const spoolDirectory = join(directory.path, 'state', 'spools');
    const input = await open('-', { stdin: text }, spoolDirectory);

    expect(readdirSync(spoolDirectory)).toEqual([]);
    expect(fstatSync(input.descriptor)).toMatchObject({ nlink: 0, size: text.length });
    expect(fstatSync(input.descriptor).mode & 0o777).toBe(0o600);
    expect(statSync(spoolDirectory).mode & 0o777).toBe(0o700);
    expect(input).toMatchObject({ name: '-', isSpooled: true, sizeBytes: text.length });
    const file = await openRows(input, { ...usual, format: 'csv' });
    expect(await checkRows(file)).toMatchObject({ rows: 2, sha256 });
    expect(await checkRows(file)).toMatchObject({ rows: 2, sha256 });
    input.close();
  });

  test('a FIFO, with the format of its name', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'rows.csv');
    execFileSync('mkfifo', [path]);
    const [input] = await Promise.all([open(path, {}, directory.path), writeFile(path, text)]);

    expect(input.isSpooled).toBe(true);
    expect(await checkRows(await openRows(input, usual))).toMatchObject({ rows: 2, sha256 });
    input.close();
  });

  test('stops reading a FIFO without a writer, and an open stdin, when its signal aborts', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'rows.csv');
    execFileSync('mkfifo', [path]);
    const controller = new AbortController();
    const host = testHost({ signal: controller.signal });
    const waiting = [
      openInput(path, { host, spoolDirectory: directory.path }),
      openInput('-', {
        host: { ...host, stdin: { isTTY: false, stream: new PassThrough() } },
        spoolDirectory: directory.path,
      }),
    ];
    setTimeout(() => controller.abort(new Stopped('SIGINT')), 20);

    await Promise.all(waiting.map((one) => expect(one).rejects.toBeInstanceOf(Stopped)));
    // Lets the open of the FIFO end, which nothing can call back.
    await writeFile(path, '');
    expect(readdirSync(directory.path)).toEqual(['rows.csv']);
  });

  test.runIf(process.platform === 'linux')('a regular file of no size, as /proc has them, is copied too', async () => {
    await using directory = await temporaryDirectory();
    const input = await open('/proc/self/status', {}, directory.path);

    expect(input.isSpooled).toBe(true);
    expect(input.sizeBytes).toBeGreaterThan(100);
    input.close();
  });

  test('on Windows the copy has its name until it is closed', async () => {
    await using directory = await temporaryDirectory();
    const host = { ...testHost({ stdin: text }), platform: 'win32' as const };
    const input = await openInput('-', { host, spoolDirectory: directory.path });

    expect(readdirSync(directory.path)).toEqual([expect.stringMatching(/^spool-/)]);
    input.close();
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('a stream that breaks is a failure, and leaves nothing', async () => {
    await using directory = await temporaryDirectory();
    const stream = new Readable({
      read() {
        this.destroy(Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' }));
      },
    });
    const host = { ...testHost(), platform: 'win32' as const, stdin: { isTTY: false, stream } };

    await expect(openInput('-', { host, spoolDirectory: directory.path })).rejects.toMatchObject({
      kind: 'local-file',
      message: 'cannot read standard input: input/output error',
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('a disk that takes a part at a time gets all of it; a full one is a failure', async () => {
    await using directory = await temporaryDirectory();
    const place = { directory: directory.path, platform: 'linux' } as const;
    const { writeSync } = await import('node:fs');
    const copy = await spoolBytes(chunks(), place, {
      write: (descriptor, bytes, offset, position) => writeSync(descriptor, bytes, offset, 1, position),
    });
    const full = () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    };

    expect(copy.sizeBytes).toBe(2 * text.length);
    expect(fstatSync(copy.descriptor).size).toBe(2 * text.length);
    copy.close();
    await expect(spoolBytes(chunks(), place, { write: full })).rejects.toMatchObject({
      kind: 'local-file',
      message: `cannot copy the rows into ${directory.path}: no space left on the device`,
    });
    expect((await stat(directory.path)).isDirectory()).toBe(true);
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test.each([
    undefined,
    // Below it no directory can be made, though the system says that it is there: asked for once.
    '/proc/listctl/spools',
  ])(
    'without a directory that takes it (%s) the copy is in the temporary one, and else that is named',
    async (directory) => {
      await using temporary = await temporaryDirectory();
      const place = { directory, platform: 'linux' } as const;
      let seen: Partial<Awaited<ReturnType<typeof spoolBytes>>> = {};
      try {
        vi.stubEnv('TMPDIR', temporary.path);
        const copy = await spoolBytes(chunks(), { directory, platform: 'win32' });
        const [own = ''] = readdirSync(temporary.path);
        expect(statSync(join(temporary.path, own)).mode & 0o777).toBe(0o700);
        copy.close();
        seen = await spoolBytes(chunks(), place);
        expect(readdirSync(temporary.path)).toEqual([]);
        expect(seen.sizeBytes).toBe(2 * text.length);

        vi.stubEnv('TMPDIR', '/proc/listctl');
        await expect(spoolBytes(chunks(), place)).rejects.toMatchObject({
          kind: 'local-file',
          message: 'cannot copy the rows into /proc/listctl: no such file or directory',
        });
      } finally {
        vi.unstubAllEnvs();
        seen.close?.();
      }
    },
  );

  async function* chunks() {
    yield Buffer.from(text);
    yield Buffer.from(text);
  }
});

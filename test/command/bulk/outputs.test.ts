/** The files that a run writes: which paths are allowed, and which are refused. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeLock } from '../../../src/core/lock.ts';
import { testHost } from '../../support/test-host.ts';
import { create, jsonLines, type ManyWorld, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

const isPosix = process.platform !== 'win32';

/** Refuses row 2. */
const refusing = () => listWorld(({ title }) => (title === 't2' ? { status: 400, body: { error: 'no' } } : undefined));

function fifo(world: ManyWorld, name: string): string {
  execFileSync('mkfifo', [join(world.path, name)]);
  return join(world.path, name);
}

/** A device like `/dev/null`; only root may make one. */
function nullDevice(world: ManyWorld): string {
  execFileSync('mknod', ['-m', '666', join(world.path, 'null'), 'c', '1', '3']);
  return join(world.path, 'null');
}

test.runIf(isPosix)('--journal takes a regular file alone, or none: 2, and nothing is touched', async () => {
  const { service, world } = await refusing();
  const file = world.file('a.csv', titles(2));
  const device = process.geteuid?.() === 0 ? [nullDevice(world)] : [];
  symlinkSync('pipe', join(world.path, 'link'));
  const odd = [fifo(world, 'pipe'), join(world.path, 'link'), world.path, '', '-', ...device];

  for (const path of odd) {
    for (const more of [[], ['--restart'], ['--resume']]) {
      for (const words of [create(file), ['items', 'get', '--from', world.file('ids.txt', '1\n')]]) {
        const { exitCode, stderr } = await world.run([...words, '--journal', path, ...more]);
        expect({ path, exitCode }).toEqual({ path, exitCode: 2 });
        expect(stderr).toContain(
          `invalid --journal "${path}": ${path === '' ? 'expected a file' : 'not a regular file'}`,
        );
        expect(stderr).toContain('--journal none');
      }
    }
  }

  expect(service.requests).toEqual([]);
  expect(statSync(join(world.path, 'pipe')).isFIFO()).toBe(true);
  for (const path of device) expect(statSync(path).isCharacterDevice()).toBe(true);
});

test('--journal none keeps no record, and says what that gives up', async () => {
  const { service, world } = await refusing();
  const words = create(world.file('a.csv', titles(3)), '--journal', 'none');

  const ended = await world.run(words);
  const again = await world.run(words);
  const resumed = await world.run([...words, '--resume']);

  expect([ended.exitCode, again.exitCode, service.items.size]).toEqual([9, 9, 4]);
  expect(ended.stderr).toContain('without a journal this run cannot be resumed or undone');
  expect(ended.stderr).not.toContain('--resume');
  expect([world.journals(), world.leftovers(), existsSync(join(world.path, 'none'))]).toEqual([[], [], false]);
  expect(resumed).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--resume cannot be used with --journal'),
  });
});

test.runIf(isPosix)('a journal has one lock, whatever leads to it', async () => {
  const { world } = await listWorld();
  const file = world.file('a.csv', titles(2));
  mkdirSync(join(world.path, 'real'));
  symlinkSync('real', join(world.path, 'linked'));
  symlinkSync('real/j', join(world.path, 'j'));
  const names = ['linked/j', 'j', join(world.path, 'real/j')];

  const lock = await takeLock(join(world.path, 'real', 'j.lock'), { waitMs: 0 }, testHost());
  for (const name of names) {
    expect((await world.run(create(file, '--journal', name))).exitCode).toBe(11);
  }
  lock.release();

  expect((await world.run(create(file, '--journal', 'j'))).exitCode).toBe(0);
  for (const name of names) {
    expect((await world.run(['runs', 'show', name, '-o', 'id'])).stdout).toBe('1\n2\n');
  }
  expect(statSync(join(world.path, 'real', 'j')).isFile()).toBe(true);
});

test.runIf(isPosix)('what cannot be written is found out before anything is sent', async () => {
  const { service, world } = await refusing();
  const file = world.file('a.csv', titles(2));
  symlinkSync('loop', join(world.path, 'loop'));
  const unusable = [
    { words: ['--rejects', world.path], says: 'it is a directory', exit: 10 },
    { words: ['--rejects', ''], says: 'invalid --rejects "": expected a file', exit: 2 },
    { words: ['--rejects', 'j.lock', '--journal', 'j'], says: 'the .lock file of --journal', exit: 2 },
    { words: ['--rejects', 'nowhere/r'], says: 'no such file or directory', exit: 10 },
    { words: ['--rejects', 'a.csv/r'], says: 'not a directory', exit: 10 },
    { words: ['--rejects', 'loop'], says: 'too many symbolic links', exit: 10 },
    { words: ['--rejects', 'x'.repeat(256)], says: 'name too long', exit: 10 },
    { words: ['--journal', 'a.csv/j'], says: 'not a directory', exit: 10 },
    { words: ['--journal', 'loop'], says: 'too many symbolic links', exit: 10 },
    { words: ['--journal', 'x'.repeat(256)], says: 'name too long', exit: 10 },
    { words: ['--from', 'a.csv/x'], says: 'not a directory', exit: 2 },
    { words: ['--from', 'loop'], says: 'too many symbolic links', exit: 10 },
    { words: ['--rejects', 'state/runs/r'], says: 'the directory of runs', exit: 2 },
  ];

  for (const { words, says, exit } of unusable) {
    const { exitCode, stderr } = await world.run(create(file, ...words));
    expect({ words, exitCode, stderr }).toEqual({ words, exitCode: exit, stderr: expect.stringContaining(says) });
  }
  expect(service.requests).toEqual([]);
});

test.runIf(isPosix)('two files of a command are not one, though none is there yet', async () => {
  const { service, world } = await refusing();
  const file = world.file('a.csv', titles(2));
  mkdirSync(join(world.path, 'a'));
  symlinkSync('a', join(world.path, 'b'));

  const { exitCode, stderr } = await world.run(create(file, '--rejects', 'a/x', '--journal', 'b/x'));

  expect({ exitCode, requests: service.requests }).toEqual({ exitCode: 2, requests: [] });
  expect(stderr).toContain('--journal and --rejects are the same file');
});

test.each(['-', '/dev/stdout'])('--rejects %s prints the rejects, and no results beside them', async (path) => {
  const { service, world } = await refusing();
  const words = create(world.file('a.csv', titles(3)), '--rejects', path);
  const rejected = /^Title,listctl:error\nt2,[^\n]*\n$/;

  const usual = await world.run(words);
  const none = await world.run([...words, '-o', 'none', '--journal', 'j', '--restart']);
  const both = await world.run([...words, '-o', 'jsonl', '--journal', 'k']);
  const twice = await world.run([...words, '-o', 'none', '--journal', 'k', '--summary-json', path]);
  const read = await world.run(['items', 'get', '--from', world.file('ids.txt', '1\n'), '--rejects', path]);

  for (const { exitCode, stdout } of [usual, none])
    expect([exitCode, stdout]).toEqual([9, expect.stringMatching(rejected)]);
  expect(both).toMatchObject({ exitCode: 2, stdout: '' });
  expect(both.stderr).toContain('--rejects cannot be used with -o jsonl: both write to standard output');
  expect(read).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('pass -o none') });
  expect(twice).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`are the same file: ${path}\n`) });
  expect([service.requests.length, existsSync(join(world.path, '-'))]).toEqual([6, false]);
});

test('--rejects /dev/stderr is written there', async () => {
  const { world } = await refusing();

  const { stdout, stderr } = await world.run(create(world.file('a.csv', titles(2)), '--rejects', '/dev/stderr'));

  expect(jsonLines(stdout)).toHaveLength(2);
  expect(stderr).toContain('Title,listctl:error\nt2,');
});

test.runIf(isPosix)('--rejects to a pipe is written while the pipe has a reader', async () => {
  const { world } = await refusing();
  const pipe = fifo(world, 'pipe');
  const { promises } = await import('node:fs');

  const [read, { exitCode }] = await Promise.all([
    promises.readFile(pipe, 'utf8'),
    world.run(create(world.file('a.csv', titles(2)), '--rejects', pipe)),
  ]);

  expect([exitCode, read]).toEqual([9, expect.stringMatching(/^Title,listctl:error\nt2,/)]);
  expect(statSync(pipe).isFIFO()).toBe(true);
  expect(readFileSync(join(world.path, 'a.csv'), 'utf8')).toBe(titles(2));
});

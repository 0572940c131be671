/** A disk of its own with little room (tmpfs), on which writes are cut short, and fail; a file at a second path. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { temporaryDirectory } from './temporary-directory.ts';

/** Why no disk can be mounted here; undefined where one can. */
export function whyNoMount(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has tmpfs';
  if (process.geteuid?.() !== 0) return 'only root may mount a disk';
  const probe = mkdtempSync(join(tmpdir(), 'listctl-mount-'));
  const isMounted = mountDisk(probe, 4);
  if (isMounted) unmountDisk(probe);
  rmSync(probe, { recursive: true });
  return isMounted ? undefined : 'no disk may be mounted here';
}

/** Mounts a disk of the given size in kilobytes on a directory; false if that is impossible. */
export function mountDisk(path: string, kilobytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k,mode=700`, 'tmpfs', path]).status === 0;
}

/** Takes it away again, with all that is on it. */
export function unmountDisk(path: string): void {
  spawnSync('umount', [path]);
}

/** Mounts a file on another one, until the end of the block that holds it with `using`. */
export function mountFile(path: string, at: string): Disposable {
  if (spawnSync('mount', ['--bind', path, at]).status !== 0) throw new Error(`no file can be mounted at ${at}`);
  return { [Symbol.dispose]: () => unmountDisk(at) };
}

export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  resize(kilobytes: number): void;
}

/** A disk for one test; gone at the end of the block that holds it with `await using`. */
export async function smallDisk(kilobytes: number): Promise<SmallDisk> {
  const directory = await temporaryDirectory();
  const path = join(directory.path, 'disk');
  mkdirSync(path);
  if (!mountDisk(path, kilobytes)) throw new Error(`no disk can be mounted at ${path}`);
  return {
    path,
    resize: (to) => {
      const { status } = spawnSync('mount', ['-o', `remount,size=${to}k`, path]);
      if (status !== 0) throw new Error(`the disk at ${path} cannot be resized`);
    },
    [Symbol.asyncDispose]: async () => {
      unmountDisk(path);
      await directory[Symbol.asyncDispose]();
    },
  };
}

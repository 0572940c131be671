/** Looks for a secret in everything that a run leaves or shows. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A unique token: other runs of this suite on the machine must not match. */
export function newCanary(): string {
  return `canary-${randomBytes(4).toString('hex')}-${randomBytes(8).toString('hex')}`;
}

/**
 * The files under a directory that hold the text, whatever else is in them.
 *
 * @param except where it is kept on purpose
 */
export function filesWith(text: string, directory: string, except: readonly string[] = []): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((file) => !except.includes(file) && statSync(file, { throwIfNoEntry: false })?.isFile() === true)
    .filter((file) => readFileSync(file).includes(text));
}

/** The processes whose command line holds the text, as every user of the machine may read it. */
export function processesWith(text: string): string[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLineOf(pid).includes(text));
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}

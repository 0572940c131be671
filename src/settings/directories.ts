/** The directories of settings, data and state on each platform. */
import { isAbsolute, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import type { Host } from '../core/host.ts';

type Where = Pick<Host, 'env' | 'platform' | 'passwdHome'>;

/**
 * On Linux as in the XDG Base Directory Specification. The parent directory is `base`, a variable, if its value is an
 * absolute path, else `inHome`, in the home directory.
 */
const layouts: Readonly<
  Record<
    'config' | 'data' | 'state',
    { variable: string } & Record<'linux' | 'darwin' | 'win32', { base?: string; inHome: string; own: string }>
  >
> = {
  config: {
    variable: 'LISTCTL_CONFIG_DIR',
    linux: { base: 'XDG_CONFIG_HOME', inHome: '.config', own: 'listctl' },
    darwin: { inHome: 'Library/Preferences', own: 'listctl' },
    win32: { base: 'APPDATA', inHome: 'AppData/Roaming', own: 'listctl/Config' },
  },
  data: {
    variable: 'LISTCTL_DATA_DIR',
    linux: { base: 'XDG_DATA_HOME', inHome: '.local/share', own: 'listctl' },
    darwin: { inHome: 'Library/Application Support', own: 'listctl' },
    win32: { base: 'LOCALAPPDATA', inHome: 'AppData/Local', own: 'listctl/Data' },
  },
  state: {
    variable: 'LISTCTL_STATE_DIR',
    linux: { base: 'XDG_STATE_HOME', inHome: '.local/state', own: 'listctl' },
    darwin: { inHome: 'Library/Application Support', own: 'listctl/state' },
    win32: { base: 'LOCALAPPDATA', inHome: 'AppData/Local', own: 'listctl/State' },
  },
};

/**
 * The absolute path of the directory of the built-in service's items: the one that was typed, else the default, which
 * needs a home directory (else local-file).
 */
export function storeDirectory(typed: string | undefined, host: Where & Pick<Host, 'cwd'>): string {
  return absolutePath(typed ?? join(findDirectory('data', host) ?? refuse('data'), 'local'), host);
}

/** @throws {Failure} local-file, without a home directory */
export function runsDirectory(host: Where): string {
  return findRunsDirectory(host) ?? refuse('state');
}

/** The directory of the journals of runs. */
export function findRunsDirectory(host: Where): string | undefined {
  const state = findDirectory('state', host);
  return state && join(state, 'runs');
}

/** One of the three directories; undefined without a home directory. */
export function findDirectory(kind: keyof typeof layouts, host: Where): string | undefined {
  const { env, platform } = host;
  const { variable, ...byPlatform } = layouts[kind];
  const chosen = env[variable];
  if (chosen) return chosen;
  const { base, inHome, own } = byPlatform[platform === 'darwin' || platform === 'win32' ? platform : 'linux'];
  const above = absoluteOnly(base && env[base]);
  if (above !== undefined) return join(above, own);
  const home = absoluteOnly(env['HOME']) ?? absoluteOnly(host.passwdHome);
  return home && join(home, inHome, own);
}

/** A relative path would make files in the current directory the user's own. */
function absoluteOnly(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function refuse(kind: keyof typeof layouts): never {
  const reason = 'HOME is not an absolute path, and the user has no passwd entry';
  throw new Failure('local-file', `cannot find the home directory: ${reason}`, {
    hint: `set HOME, or ${layouts[kind].variable} to a directory`,
  });
}

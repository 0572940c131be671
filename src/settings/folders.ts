/** Where listctl keeps things, on each platform. */

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { absolutePath } from '../absolute-path.ts';
import type { Host } from '../host.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where the embedded service keeps its items, as an absolute path.
 *
 * @param named the folder that was named, as it was typed; undefined for the user's own
 */
export function storeFolder(
  named: string | undefined,
  { env, platform, cwd }: Pick<Host, 'env' | 'platform' | 'cwd'>,
): string {
  const folder = named ?? join(dataFolder(env, platform), 'local');
  return absolutePath(folder, { cwd });
}

/**
 * Where listctl keeps what it makes for the user: `LISTCTL_DATA_DIR`, else `listctl` in the platform's own data folder
 * (XDG Base Directory Specification on Linux).
 */
export function dataFolder(env: Environment, platform: NodeJS.Platform): string {
  const chosen = env['LISTCTL_DATA_DIR'];
  if (chosen) return chosen;
  const home = env['HOME'] || homedir();
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support', 'listctl');
    case 'win32':
      return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'listctl', 'Data');
    default:
      return join(env['XDG_DATA_HOME'] || join(home, '.local', 'share'), 'listctl');
  }
}

/**
 * Where listctl keeps what it is in the middle of, the journals of runs: `LISTCTL_STATE_DIR`, else `listctl` in the
 * platform's own folder for that (XDG Base Directory Specification on Linux).
 */
export function stateFolder(env: Environment, platform: NodeJS.Platform): string {
  const chosen = env['LISTCTL_STATE_DIR'];
  if (chosen) return chosen;
  const xdg = env['XDG_STATE_HOME'];
  const home = env['HOME'] || homedir();
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support', 'listctl', 'state');
    case 'win32':
      return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'listctl', 'State');
    default:
      return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.local', 'state'), 'listctl');
  }
}

/**
 * Where the user's settings are: `LISTCTL_CONFIG_DIR`, else `listctl` in the platform's own folder for settings.
 * Undefined where nothing says where that is: neither a variable nor the system knows a home.
 */
export function configFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const chosen = env['LISTCTL_CONFIG_DIR'];
  if (chosen) return chosen;
  const xdg = env['XDG_CONFIG_HOME'];
  // A relative path there is to be ignored (XDG Base Directory Specification, "Basics").
  if (platform !== 'darwin' && platform !== 'win32' && xdg && isAbsolute(xdg)) return join(xdg, 'listctl');
  const home = env['HOME'] || systemHome();
  if (home === undefined) return undefined;
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Preferences', 'listctl');
    case 'win32':
      return join(env['APPDATA'] || join(home, 'AppData', 'Roaming'), 'listctl', 'Config');
    default:
      return join(home, '.config', 'listctl');
  }
}

function systemHome(): string | undefined {
  try {
    return homedir();
  } catch {
    // A user without an entry in the system's list, as in many containers.
    return undefined;
  }
}

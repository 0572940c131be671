import { storeDirectory } from '../../settings/directories.ts';
import type { Session } from '../session.ts';

/**
 * The address that a run is recorded with, and looked for by: one spelling for each. The loopback names are one host,
 * and slashes that are doubled or last count for nothing. That of the embedded service names its folder: `local:`
 * alone, or a folder as it was typed, leads elsewhere when listctl is started elsewhere, to items with the same ids.
 */
export function runOrigin({ address, host }: Pick<Session, 'address' | 'host'>): string {
  const origin = address();
  if (!origin.startsWith('local:')) return oneSpelling(new URL(origin));
  return `local:${storeDirectory(origin.slice('local:'.length) || undefined, host)}`;
}

function oneSpelling({ protocol, hostname, port, pathname }: URL): string {
  const host = /^(localhost\.?|\[::1\])$/.test(hostname) ? '127.0.0.1' : hostname;
  const path = pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${path}`;
}

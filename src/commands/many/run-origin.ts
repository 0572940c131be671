import { storeDirectory } from '../../settings/directories.ts';
import type { Session } from '../session.ts';

/**
 * The address that a run is recorded with, and looked for by. That of the embedded service names its folder: `local:`
 * alone, or a folder as it was typed, leads elsewhere when listctl is started elsewhere, to items with the same ids.
 */
export function runOrigin({ address, host }: Pick<Session, 'address' | 'host'>): string {
  const origin = address();
  if (!origin.startsWith('local:')) return origin;
  return `local:${storeDirectory(origin.slice('local:'.length) || undefined, host)}`;
}

import { randomBytes } from 'node:crypto';
import type { Host } from '../../host.ts';
import { type BadDay, onBadDay } from '../../service/bad-day.ts';
import { listItemService } from '../../service/handle.ts';
import { type Server, type ServerOptions, startServer } from '../../service/server.ts';
import { openStore } from '../../service/store.ts';
import { storeDirectory } from '../../settings/directories.ts';

/** What is served, and how. */
export interface LocalServerOptions extends ServerOptions {
  /** Where its items are; undefined for the user's own, those of `local:`. */
  readonly folder: string | undefined;
  readonly badDay: BadDay;
}

/**
 * Serves the embedded service to other programs. Closing it lets go of its store, too.
 *
 * @throws {Failure} as the store and the server do
 */
export async function startLocalServer(options: LocalServerOptions, host: Host): Promise<Server> {
  const { clock, signal } = host;
  const store = openStore(storeDirectory(options.folder, host));
  const now = () => clock.now();
  // Who asks listctl to stop does not wait for a day to end: what is under way is answered at once.
  const wait = (ms: number) => clock.sleep(ms, signal).catch(() => {});
  try {
    const service = onBadDay(listItemService(store, now), options.badDay, { now, wait });
    const server = await startServer(service, options);
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A token that nobody can guess: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

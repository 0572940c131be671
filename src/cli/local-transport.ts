import type { Transport } from '../api/transport.ts';
import type { Host } from '../core/host.ts';
import { listItemService } from '../service/handle.ts';
import { openStore } from '../service/store.ts';
import { storeDirectory } from '../settings/directories.ts';
import type { ServiceKind } from '../settings/setting.ts';

/** Creates a transport that calls the built-in service in this process; without `directory` it uses the user's items. */
export async function localTransport(
  directory: string | undefined,
  host: Host,
  kind: ServiceKind = 'list-item',
): Promise<Transport> {
  const create = kind === 'graph' ? (await import('../service/graph/service.ts')).graphService : listItemService;
  const store = openStore(storeDirectory(directory, host));
  const handle = create(store, () => host.clock.now());
  return {
    address: 'local:',
    hide: (text) => text,
    send: async ({ method, path, headers, body = '' }) => {
      const response = await handle({ method, path, headers, body: Buffer.from(body) });
      const date = new Date(host.clock.now()).toUTCString();
      const lowerCased = Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]);
      return {
        response: {
          status: response.status,
          headers: { date, ...Object.fromEntries(lowerCased) },
          body: Buffer.from(response.body),
        },
      };
    },
    close: () => store.close(),
  };
}

import type { Transport } from '../api/transport.ts';
import type { Host } from '../core/host.ts';
import { listItemService } from '../service/handle.ts';
import { openStore } from '../service/store.ts';
import { storeDirectory } from '../settings/directories.ts';

/**
 * The built-in service in this process, as a transport: no socket, no token, the same requests and answers.
 *
 * @param directory where its items are; undefined for the user's own
 */
export function localTransport(directory: string | undefined, host: Host): Transport {
  const store = openStore(storeDirectory(directory, host));
  const handle = listItemService(store, () => host.clock.now());
  return {
    address: 'local:',
    send: async ({ method, path, headers, body = '' }) => {
      const {
        status,
        headers: answered,
        body: text,
      } = await handle({ method, path, headers, body: Buffer.from(body) });
      const date = new Date(host.clock.now()).toUTCString();
      return { response: { status, headers: { date, ...lowerCased(answered) }, body: Buffer.from(text) } };
    },
    close: () => store.close(),
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

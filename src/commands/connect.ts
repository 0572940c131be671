/** The way to a service: its address and a token in, a transport out. */
import type { Transport } from '../api/transport.ts';
import { Failure } from '../errors.ts';
import type { Address } from '../settings/address.ts';
import type { Token } from '../settings/token.ts';
import type { Context } from './context.ts';

/**
 * Opens a transport to an address.
 *
 * @param findToken asked only where a token is needed: the embedded service takes none
 * @throws {Failure} credentials, when there is no token; and as `findToken`
 */
export async function connect(
  address: Address,
  findToken: () => Promise<Token | undefined>,
  { host, version }: Context,
): Promise<Transport> {
  if (address.kind === 'local') {
    const { localTransport } = await import('./local-transport.ts');
    return localTransport(address.folder, host);
  }
  const token = await findToken();
  if (token === undefined) throw noToken();
  const { httpTransport } = await import('../api/http.ts');
  const open = ({ value }: Token) =>
    httpTransport(address.url, { authorization: `Bearer ${value}`, 'user-agent': `listctl/${version}` });
  const transport = await open(token);
  return token.renew === undefined ? transport : renewing(transport, token, open);
}

/** The failure for a command that needs a token and has none. */
export function noToken(): Failure {
  return new Failure('credentials', 'no token', {
    hint: 'set LISTCTL_TOKEN to the access token of the service, or store one: listctl auth login',
  });
}

/**
 * Where a command gives the tokens, one that the service refuses (401) is replaced once, and the request sent again:
 * it was refused, so it had no effect.
 */
function renewing(first: Transport, token: Token, open: (token: Token) => Promise<Transport>): Transport {
  let replaced: Promise<Transport | undefined> | undefined;
  const replace = async () => {
    const fresh = await token.renew?.();
    return fresh === undefined || fresh.value === token.value ? undefined : open(fresh);
  };
  return {
    address: first.address,
    send: async (request, limits) => {
      const current = await replaced;
      const attempt = await (current ?? first).send(request, limits);
      if (current !== undefined || attempt.answer?.status !== 401) return attempt;
      // A command that fails now has given its reason on stderr; what the service said is the answer.
      replaced ??= replace().catch(() => undefined);
      const next = await replaced;
      return next === undefined ? attempt : next.send(request, limits);
    },
    close: async () => {
      await Promise.all([first.close(), (await replaced)?.close()]);
    },
  };
}

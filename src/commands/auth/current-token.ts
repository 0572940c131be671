import { type Address, addressSetting } from '../../settings/address.ts';
import { findSetting } from '../../settings/setting.ts';
import { findToken, type Token } from '../../settings/token.ts';
import { noToken } from '../connect.ts';
import type { Session } from '../session.ts';

/** The token that a request would be sent with, and where it would go; no address is needed to know it. */
export interface CurrentToken {
  readonly token: Token;
  readonly address: Address | undefined;
}

/**
 * Finds the token of this run; undefined for the embedded service, which takes none.
 *
 * @throws {Failure} credentials, when there is none; and as `findToken`
 */
export async function currentToken({ sources, host, say }: Session): Promise<CurrentToken | undefined> {
  const address = findSetting(addressSetting, sources)?.value;
  if (address?.kind === 'local') return undefined;
  const token = await findToken(address, sources, host);
  if (token === undefined) throw noToken();
  if (token.warning !== undefined) await say(token.warning);
  return { token, address };
}

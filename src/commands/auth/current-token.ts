import { type Address, addressSetting } from '../../settings/address.ts';
import { findSetting } from '../../settings/setting.ts';
import { findToken, type Token } from '../../settings/token.ts';
import { noToken, tokenCommandRunner } from '../connect.ts';
import { misfit } from '../profile/settings-exit-codes.ts';
import type { Session } from '../session.ts';

/** What looking for the token may end in, but 0. */
export const tokenExitCodes = {
  1: misfit,
  2: 'wrong usage',
  3: 'there is none for this address',
  10: 'the settings, or a file with a token, can’t be read',
} as const;

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
export async function currentToken({ sources, host, say, isJsonWanted }: Session): Promise<CurrentToken | undefined> {
  const address = findSetting(addressSetting, sources)?.value;
  if (address?.kind === 'local') return undefined;
  const token = await findToken(address, sources, tokenCommandRunner(host, isJsonWanted));
  if (token === undefined) throw noToken(sources.flags['--profile']);
  if (token.warning !== undefined) await say(token.warning);
  return { token, address };
}

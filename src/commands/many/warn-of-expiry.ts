import { statSync } from 'node:fs';
import { Failure } from '../../errors.ts';
import { addressSetting } from '../../settings/address.ts';
import { findSetting } from '../../settings/setting.ts';
import type { Sources } from '../../settings/sources.ts';
import { findToken, type Token } from '../../settings/token.ts';
import { expiryOf, momentText } from '../doctor/token-expiry.ts';
import type { Session } from '../session.ts';

/**
 * Says so on stderr, in one line, where the token of this run is known to have expired: before many rows are begun. It
 * is not asked of a `token-command`, which would run twice, nor of a pipe, which can be read once; what is wrong with
 * the token otherwise, whoever sends says.
 */
export async function warnOfExpiry(session: Session): Promise<void> {
  const { host, say } = session;
  const token = await tokenAtHand(session);
  const expiresAtMs = token && expiryOf(token.value);
  const nowMs = host.clock.now();
  if (token === undefined || expiresAtMs === undefined || expiresAtMs > nowMs) return;
  await say(
    `listctl: the token from ${token.source} expired at ${momentText(expiresAtMs, nowMs)}; the service may refuse it`,
  );
}

async function tokenAtHand({ sources, host }: Session): Promise<Token | undefined> {
  try {
    const address = findSetting(addressSetting, sources)?.value;
    if (address?.kind === 'local' || !isAtHand(sources)) return undefined;
    return await findToken(address, sources, host);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Whether looking for the token reads settings and files and does nothing else, in the order of `findToken`. */
function isAtHand(sources: Sources): boolean {
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file } = sources.env;
  const profile = sources.profile();
  const isOfCommand =
    typeof profile?.values['tokenCommand'] === 'string' && !sources.user.credentials().has(profile.name);
  if (profile?.isNamed && isOfCommand) return false;
  if (token) return true;
  if (file) return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  return !isOfCommand;
}

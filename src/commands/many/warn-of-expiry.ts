import { statSync } from 'node:fs';
import { Failure } from '../../errors.ts';
import { addressSetting } from '../../settings/address.ts';
import { findSetting } from '../../settings/setting.ts';
import { findToken, type Token } from '../../settings/token.ts';
import { expiryOf, momentText } from '../doctor/token-expiry.ts';
import type { Session } from '../session.ts';

/**
 * Says so on stderr, in one line, where the token of this run is known to have expired: before many rows are begun. No
 * token command is run for that, which would run twice, and no pipe read, which can be read once; what is wrong with
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

async function tokenAtHand({ sources }: Session): Promise<Token | undefined> {
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file } = sources.env;
  if (!token && file && statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  try {
    const address = findSetting(addressSetting, sources)?.value;
    return address?.kind === 'local' ? undefined : await findToken(address, sources, notRun);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

async function notRun(_: string, name: string): Promise<string> {
  throw new Failure('credentials', `${name} is not run`);
}

/** When a token expires, which service it is for, and what is said of that. */
import { statSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { parseClaim, parseTokenExpiry } from '../core/jwt.ts';
import { countOf, oneLine } from '../core/text.ts';
import { addressSetting, findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import type { Messages } from './report.ts';

export interface Expiry {
  readonly atMs: number;
  readonly isPast: boolean;
  /** `2026-11-20 12:00 UTC (2 hours ago)` */
  readonly text: string;
}

/** Undefined for a token that cannot be read, such as one that is not a JWT. */
export function readExpiry(token: string, nowMs: number): Expiry | undefined {
  const atMs = parseTokenExpiry(token);
  if (atMs === undefined) return undefined;
  const isPast = atMs <= nowMs;
  const at = new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');
  const distance = formatDuration(Math.abs(atMs - nowMs));
  return { atMs, isPast, text: `${at} UTC (${isPast ? `${distance} ago` : `in ${distance}`})` };
}

function formatDuration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return countOf(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? countOf(hours, 'hour') : countOf(Math.floor(hours / 24), 'day');
}

/** The origin of the service that a token is for (RFC 7519, section 4.1.3), if that is another one than `address`. */
function otherAudience(token: string, address: string): string | undefined {
  const audience = parseClaim(token, 'aud');
  const own = attempt(() => new URL(address).origin);
  // Microsoft also has the application id of the service here.
  const its =
    typeof audience === 'string' && /^https?:/.test(audience) ? attempt(() => new URL(audience).origin) : undefined;
  return own === undefined || its === own ? undefined : its;
}

/** Says of a rejected token when it expired or for which other service it is, if that is known, and how to replace it. */
export function rejectedTokenHint({ value, source, remedy }: Token, nowMs: number, address: string): string {
  const expiry = readExpiry(value, nowMs);
  const audience = otherAudience(value, address);
  const expired = expiry?.isPast ? `the token expired at ${expiry.text}\n` : '';
  const elsewhere = audience === undefined ? '' : `the token is for ${oneLine(audience, 200)}, not for this service\n`;
  return (expired || elsewhere) + (remedy ?? `check the token; it comes from ${source}`);
}

/** Warns before a bulk run whose token has expired. It runs no token command and reads no pipe: both work only once. */
export async function warnOfExpiry(session: {
  readonly settings: { readonly sources: Sources };
  readonly host: Pick<Host, 'clock'>;
  readonly messages: Pick<Messages, 'say'>;
}): Promise<void> {
  const { settings, host, messages } = session;
  const token = await findKnownToken(settings.sources);
  const expiry = token && readExpiry(token.value, host.clock.now());
  if (!expiry?.isPast) return;
  await messages.say(`listctl: the token from ${token?.source} expired at ${expiry.text}; the service may refuse it`);
}

async function findKnownToken(sources: Sources): Promise<Token | undefined> {
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file } = sources.env;
  if (!token && file && statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  try {
    const address = findValue(addressSetting, sources);
    return address?.kind === 'local' ? undefined : await findToken(address, sources, refuseToRun);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

async function refuseToRun(_: string, name: string): Promise<string> {
  throw new Failure('credentials', `${name} is not run`);
}

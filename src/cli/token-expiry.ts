import { statSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { countOf } from '../core/text.ts';
import { addressSetting, findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import { parseTokenExpiry } from './token-renewal.ts';

/** Says of a rejected token when it expired, if that is known, and how to replace it. */
export function rejectedTokenHint({ value, source, remedy }: Token, nowMs: number): string {
  const expiresAtMs = parseTokenExpiry(value);
  const expired =
    expiresAtMs !== undefined && expiresAtMs <= nowMs
      ? [`the token expired at ${formatExpiry(expiresAtMs, nowMs)}`]
      : [];
  return [...expired, remedy ?? `check the token; it comes from ${source}`].join('\n');
}

/** `2026-11-20 12:00 UTC (2 hours ago)` */
export function formatExpiry(ms: number, nowMs: number): string {
  const at = new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const distance = formatDuration(Math.abs(ms - nowMs));
  return `${at} UTC (${ms > nowMs ? `in ${distance}` : `${distance} ago`})`;
}

function formatDuration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return countOf(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? countOf(hours, 'hour') : countOf(Math.floor(hours / 24), 'day');
}

/** Warns before a bulk run whose token has expired. It runs no token command and reads no pipe: both work only once. */
export async function warnOfExpiry({
  settings,
  host,
  messages,
}: {
  readonly settings: { readonly sources: Sources };
  readonly host: Pick<Host, 'clock'>;
  readonly messages: { say(text: string): Promise<void> };
}): Promise<void> {
  const token = await findKnownToken(settings.sources);
  const expiresAtMs = token && parseTokenExpiry(token.value);
  const nowMs = host.clock.now();
  if (token === undefined || expiresAtMs === undefined || expiresAtMs > nowMs) return;
  await messages.say(
    `listctl: the token from ${token.source} expired at ${formatExpiry(expiresAtMs, nowMs)}; the service may refuse it`,
  );
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

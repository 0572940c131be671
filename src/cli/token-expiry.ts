import { statSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { isObject, type JsonValue, NumberToken, parseJson } from '../core/json.ts';
import { addressSetting, findValue } from '../settings/setting.ts';
import { findToken, type Token } from '../settings/token.ts';
import type { Session } from './session.ts';

/**
 * When a token says that it expires, in milliseconds since the Unix epoch; undefined where it does not say. That is
 * the `exp` of a JWT (RFC 7519, section 4.1.4). Nothing is verified, so it is for telling people, and decides nothing.
 */
export function expiryOf(token: string): number | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0 || token.length > 65_536) return undefined;
  const claims = parsed(Buffer.from(payload, 'base64url').toString());
  const exp = isObject(claims) && Object.hasOwn(claims, 'exp') ? claims['exp'] : undefined;
  const seconds = exp instanceof NumberToken ? Number(exp.digits) : exp;
  if (typeof seconds !== 'number') return undefined;
  const ms = seconds * 1000;
  // What is no time that a Date can hold says nothing.
  return Math.abs(ms) <= 8.64e15 ? ms : undefined;
}

/** A time for people, and how far it is from now: `2026-11-20 12:00 UTC (2 hours ago)`. */
export function momentText(ms: number, nowMs: number): string {
  const at = new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const far = spanText(Math.abs(ms - nowMs));
  return `${at} UTC (${ms > nowMs ? `in ${far}` : `${far} ago`})`;
}

function spanText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return counted(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? counted(hours, 'hour') : counted(Math.floor(hours / 24), 'day');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    // A token of another kind: nothing is known of it.
    return undefined;
  }
}

/**
 * Says so on stderr, in one line, where the token of this run is known to have expired: before many rows are begun. No
 * token command is run for that, which would run twice, and no pipe read, which can be read once; what is wrong with
 * the token otherwise, whoever sends says.
 */
export async function warnOfExpiry(session: Session): Promise<void> {
  const {
    host,
    messages: { say },
  } = session;
  const token = await tokenAtHand(session);
  const expiresAtMs = token && expiryOf(token.value);
  const nowMs = host.clock.now();
  if (token === undefined || expiresAtMs === undefined || expiresAtMs > nowMs) return;
  await say(
    `listctl: the token from ${token.source} expired at ${momentText(expiresAtMs, nowMs)}; the service may refuse it`,
  );
}

async function tokenAtHand({ settings: { sources } }: Session): Promise<Token | undefined> {
  const { LISTCTL_TOKEN: token, LISTCTL_TOKEN_FILE: file } = sources.env;
  if (!token && file && statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  try {
    const address = findValue(addressSetting, sources);
    return address?.kind === 'local' ? undefined : await findToken(address, sources, notRun);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

async function notRun(_: string, name: string): Promise<string> {
  throw new Failure('credentials', `${name} is not run`);
}

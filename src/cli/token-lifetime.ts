/** When a token expires, and its renewal: a run may last longer than a token lives (docs/settings.md, "Tokens"). */
import { statSync } from 'node:fs';
import { stoppedBefore } from '../api/connect.ts';
import { type Attempt, isSuccess, type Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import type { Host } from '../core/host.ts';
import { isObject, type JsonValue, NumberToken, parseJson } from '../core/json.ts';
import { countOf, oneLine } from '../core/text.ts';
import { addressSetting, findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import type { Messages } from './report.ts';

/** A token is not read more often than this; a refusal within it waits. */
const renewalIntervalMs = 60_000;

/** A token is renewed when less than this is left of its life, or less than a tenth of it. */
const earlyMs = 300_000;

interface Credential {
  readonly token: Token;
  readonly transport: Transport;
  /** When to renew it ahead of time, in milliseconds since the Unix epoch. */
  readonly renewAtMs: number;
  /** The service accepted it before, or it is the first: it may be replaced once it is refused. */
  mayExpire: boolean;
  inFlight: number;
  /** Settles once the token has been read again ahead of time. */
  early?: Promise<void> | undefined;
  /** The 401 after which it is not sent again. */
  refused?: Attempt;
  /** Settles once the token has been read again after that; rejects at a stop. */
  renewed?: Promise<void>;
}

/**
 * A transport that reads its token again ahead of its expiry, if that can be read from the token, and whenever the
 * service refuses (401) a token that it had accepted. The refused request is then sent once more, unless the process is
 * stopping. Tokens are read at most once a minute, and none that was replaced is used again.
 */
export class RenewingTransport implements Transport {
  readonly address: string;
  readonly #open: (token: Token) => Promise<Transport>;
  readonly #clock: Host['clock'];
  readonly #closed = new AbortController();
  /** Aborts at a stop, or once this transport is closed. */
  readonly #ended: AbortSignal;
  readonly #seen: Set<string>;
  readonly #live: Set<Transport>;
  #newest: Credential;
  #hide: Transport['hide'];
  #lastReadMs = Number.NEGATIVE_INFINITY;

  /**
   * @param open opens a transport with another token
   * @param host its signal ends the wait for a token; requests have their own, which may abort later
   */
  constructor(
    first: Transport,
    token: Token,
    open: (token: Token) => Promise<Transport>,
    host: Pick<Host, 'clock' | 'signal'>,
  ) {
    this.address = first.address;
    this.#open = open;
    this.#clock = host.clock;
    this.#ended = AbortSignal.any([host.signal, this.#closed.signal]);
    this.#seen = new Set([token.value]);
    this.#live = new Set([first]);
    this.#hide = first.hide;
    this.#newest = this.#createCredential(token, first, true);
  }

  readonly hide = (text: string) => this.#hide(text);

  readonly tokenHint = () => this.#newest.transport.tokenHint?.();

  readonly send: Transport['send'] = async (request, limits) => {
    const used = this.#newest;
    this.#renewEarly(used);
    // A token that is known to be refused is not sent again.
    const attempt = used.refused ?? (await this.#sendWith(used, request, limits));
    if (attempt.response?.status !== 401 || !used.mayExpire) return attempt;
    used.refused ??= attempt;
    used.renewed ??= this.#renewRefused(used, limits.signal);
    try {
      await used.renewed;
      this.#ended.throwIfAborted();
    } catch {
      return stoppedBefore(this.#ended.aborted ? this.#ended : limits.signal);
    }
    return this.#newest === used ? attempt : this.#sendWith(this.#newest, request, limits);
  };

  readonly close = async () => {
    this.#closed.abort();
    // A renewal may be opening one more transport.
    await Promise.allSettled([this.#newest.early, this.#newest.renewed]);
    await Promise.all(Array.from(this.#live, (transport) => transport.close()));
  };

  async #sendWith(used: Credential, ...[request, limits]: Parameters<Transport['send']>): Promise<Attempt> {
    used.inFlight += 1;
    const attempt = await used.transport.send(request, limits);
    used.inFlight -= 1;
    await this.#closeIdle(used);
    if (isAuthenticated(attempt)) used.mayExpire = true;
    return attempt;
  }

  #renewEarly(used: Credential): void {
    if (used.early !== undefined || used.refused !== undefined || this.#ended.aborted) return;
    if (this.#clock.now() < used.renewAtMs || this.#nextReadMs() > 0) return;
    used.early = this.#renew(used).finally(() => {
      used.early = undefined;
    });
  }

  async #renewRefused(used: Credential, signal: AbortSignal): Promise<void> {
    await used.early;
    if (this.#newest !== used) return;
    const waitMs = this.#nextReadMs();
    if (waitMs > 0) await this.#clock.sleep(waitMs, AbortSignal.any([this.#ended, signal]));
    this.#ended.throwIfAborted();
    await this.#renew(used);
  }

  /** Milliseconds until the token may be read again. */
  #nextReadMs(): number {
    return this.#lastReadMs + renewalIntervalMs - this.#clock.monotonicMs();
  }

  /** Never rejects: a token command that fails has printed the reason, and the result is the 401. */
  async #renew(used: Credential): Promise<void> {
    this.#lastReadMs = this.#clock.monotonicMs();
    try {
      const fresh = await used.token.renew?.(this.#closed.signal);
      if (fresh === undefined || this.#seen.has(fresh.value)) return;
      this.#seen.add(fresh.value);
      const transport = await this.#open(fresh);
      const hideEarlier = this.#hide;
      this.#hide = (text) => transport.hide(hideEarlier(text));
      this.#newest = this.#createCredential(fresh, transport, false);
      this.#live.add(transport);
    } catch {
      return;
    }
    await this.#closeIdle(used);
  }

  #createCredential(token: Token, transport: Transport, mayExpire: boolean): Credential {
    return { token, transport, renewAtMs: renewalTime(token.value, this.#clock.now()), mayExpire, inFlight: 0 };
  }

  async #closeIdle(used: Credential): Promise<void> {
    if (used !== this.#newest && used.inFlight === 0 && this.#live.delete(used.transport)) await used.transport.close();
  }
}

/** Whether a response proves that the token was accepted; a 503 may come from a gateway that has not checked it. */
function isAuthenticated({ response }: Attempt): boolean {
  return response !== undefined && (isSuccess(response) || [404, 409, 412].includes(response.status));
}

/** When to renew a token that is read now; never, where its expiry is unknown, or past: then a clock may be wrong. */
function renewalTime(token: string, nowMs: number): number {
  const expiresAtMs = parseTokenExpiry(token) ?? 0;
  const lifeMs = expiresAtMs - nowMs;
  return lifeMs <= 0 ? Number.POSITIVE_INFINITY : expiresAtMs - Math.min(earlyMs, lifeMs / 10);
}

/** A claim of a JWT (RFC 7519). Not verified; undefined if the token is not a JWT, or has no such claim. */
function parseClaim(token: string, name: 'exp' | 'aud'): JsonValue | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0 || token.length > 65_536) return undefined;
  const claims = attempt(() => parseJson(Buffer.from(payload, 'base64url').toString()));
  return isObject(claims) && Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** The `exp` of a JWT (RFC 7519, section 4.1.4) in milliseconds since the Unix epoch. */
function parseTokenExpiry(token: string): number | undefined {
  const exp = parseClaim(token, 'exp');
  const seconds = exp instanceof NumberToken ? Number(exp.digits) : exp;
  if (typeof seconds !== 'number') return undefined;
  const ms = seconds * 1000;
  // The range of Date.
  return Math.abs(ms) <= 8.64e15 ? ms : undefined;
}

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

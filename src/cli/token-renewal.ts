/** Renews the token of a transport: a run may last longer than a token lives (docs/settings.md, "Tokens"). */
import { stoppedBefore } from '../api/connect.ts';
import type { Attempt, AttemptLimits, Transport } from '../api/transport.ts';
import type { Clock } from '../core/host.ts';
import { isObject, type JsonValue, NumberToken, parseJson } from '../core/json.ts';
import type { Token } from '../settings/token.ts';

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
  /** Settles once the token has been read again: ahead of time, or after a refusal. */
  early?: Promise<void>;
  renewed?: Promise<void>;
}

/**
 * A transport that reads its token again ahead of its expiry, if that can be read from the token, and whenever the
 * service refuses (401) a token that it had accepted. The refused request is then sent once more. Tokens are read at
 * most once a minute, and none that was replaced is used again.
 *
 * @param open opens a transport with another token
 */
export function renewingTransport(
  first: Transport,
  token: Token,
  open: (token: Token) => Promise<Transport>,
  clock: Pick<Clock, 'now' | 'monotonicMs' | 'sleep'>,
): Transport {
  const seen = new Set([token.value]);
  const live = new Set([first]);
  let hide = first.hide;
  let lastReadMs = Number.NEGATIVE_INFINITY;
  let newest = credentialOf(token, first, true);

  function credentialOf(held: Token, transport: Transport, mayExpire: boolean): Credential {
    return { token: held, transport, renewAtMs: renewalTime(held.value, clock.now()), mayExpire, inFlight: 0 };
  }

  /** Never rejects: a token command that fails has printed the reason, and the result is the 401. */
  const renew = async (used: Credential): Promise<void> => {
    lastReadMs = clock.monotonicMs();
    try {
      const fresh = await used.token.renew?.();
      if (fresh === undefined || seen.has(fresh.value)) return;
      seen.add(fresh.value);
      const transport = await open(fresh);
      const hideEarlier = hide;
      hide = (text) => transport.hide(hideEarlier(text));
      newest = credentialOf(fresh, transport, false);
      live.add(transport);
    } catch {
      return;
    }
    await closeIdle(used);
  };

  const closeIdle = async (used: Credential): Promise<void> => {
    if (used !== newest && used.inFlight === 0 && live.delete(used.transport)) await used.transport.close();
  };

  const renewRefused = async (used: Credential, signal: AbortSignal): Promise<void> => {
    await used.early;
    if (newest !== used) return;
    const waitMs = lastReadMs + renewalIntervalMs - clock.monotonicMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    await renew(used);
  };

  const sendWith = async (used: Credential, request: Parameters<Transport['send']>[0], limits: AttemptLimits) => {
    used.inFlight += 1;
    const attempt = await used.transport.send(request, limits);
    used.inFlight -= 1;
    await closeIdle(used);
    if (![undefined, 401].includes(attempt.response?.status)) used.mayExpire = true;
    return attempt;
  };

  return {
    address: first.address,
    hide: (text) => hide(text),
    tokenHint: () => newest.transport.tokenHint?.(),
    send: async (request, limits): Promise<Attempt> => {
      const used = newest;
      if (clock.now() >= used.renewAtMs && clock.monotonicMs() >= lastReadMs + renewalIntervalMs) {
        used.early ??= renew(used);
      }
      // A token that is known to be refused is not sent again.
      const attempt = used.renewed === undefined ? await sendWith(used, request, limits) : undefined;
      if (attempt !== undefined && (attempt.response?.status !== 401 || !used.mayExpire)) return attempt;
      used.renewed ??= renewRefused(used, limits.signal);
      try {
        await used.renewed;
      } catch {
        return stoppedBefore(limits.signal);
      }
      return newest === used ? (attempt ?? sendWith(used, request, limits)) : sendWith(newest, request, limits);
    },
    close: async () => {
      await Promise.all(Array.from(live, (transport) => transport.close()));
    },
  };
}

/** When to renew a token that is read now; never, where its expiry is unknown, or past: then a clock may be wrong. */
function renewalTime(token: string, nowMs: number): number {
  const expiresAtMs = parseTokenExpiry(token) ?? 0;
  const lifeMs = expiresAtMs - nowMs;
  return lifeMs <= 0 ? Number.POSITIVE_INFINITY : expiresAtMs - Math.min(earlyMs, lifeMs / 10);
}

/** The `exp` of a JWT (RFC 7519, section 4.1.4) in milliseconds since the Unix epoch. Not verified. */
export function parseTokenExpiry(token: string): number | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0 || token.length > 65_536) return undefined;
  const claims = parseClaims(Buffer.from(payload, 'base64url').toString());
  const exp = isObject(claims) && Object.hasOwn(claims, 'exp') ? claims['exp'] : undefined;
  const seconds = exp instanceof NumberToken ? Number(exp.digits) : exp;
  if (typeof seconds !== 'number') return undefined;
  const ms = seconds * 1000;
  // The range of Date.
  return Math.abs(ms) <= 8.64e15 ? ms : undefined;
}

function parseClaims(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    // Not a JWT.
    return undefined;
  }
}

/** A transport that renews its token: a run may last longer than a token lives (docs/settings.md, "Tokens"). Loaded late. */
import type { Host } from '../core/host.ts';
import { parseTokenExpiry } from '../core/jwt.ts';
import { stoppedBefore } from './connect.ts';
import { type Attempt, isSuccess, type Transport } from './transport.ts';

/** A token is not read more often than this; a refusal within it waits. */
const renewalIntervalMs = 60_000;

/** A token is renewed when less than this is left of its life, or less than a tenth of it. */
const earlyMs = 300_000;

/** A token that may be read again. */
interface RenewableToken<T> {
  readonly value: string;
  /** Reads it again; the signal ends that. */
  readonly renew?: ((signal: AbortSignal) => Promise<T>) | undefined;
}

interface Credential<T> {
  readonly token: T;
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
export class RenewingTransport<T extends RenewableToken<T>> implements Transport {
  readonly address: string;
  readonly #open: (token: T) => Promise<Transport>;
  readonly #clock: Host['clock'];
  readonly #closed = new AbortController();
  /** Aborts at a stop, or once this transport is closed. */
  readonly #ended: AbortSignal;
  readonly #seen: Set<string>;
  readonly #live: Set<Transport>;
  #newest: Credential<T>;
  #hide: Transport['hide'];
  #lastReadMs = Number.NEGATIVE_INFINITY;

  /**
   * @param open opens a transport with another token
   * @param host its signal ends the wait for a token; requests have their own, which may abort later
   */
  constructor(
    first: Transport,
    token: T,
    open: (token: T) => Promise<Transport>,
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

  async #sendWith(used: Credential<T>, ...[request, limits]: Parameters<Transport['send']>): Promise<Attempt> {
    used.inFlight += 1;
    const attempt = await used.transport.send(request, limits);
    used.inFlight -= 1;
    await this.#closeIdle(used);
    if (isAuthenticated(attempt)) used.mayExpire = true;
    return attempt;
  }

  #renewEarly(used: Credential<T>): void {
    if (used.early !== undefined || used.refused !== undefined || this.#ended.aborted) return;
    if (this.#clock.now() < used.renewAtMs || this.#nextReadMs() > 0) return;
    used.early = this.#renew(used).finally(() => {
      used.early = undefined;
    });
  }

  async #renewRefused(used: Credential<T>, signal: AbortSignal): Promise<void> {
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
  async #renew(used: Credential<T>): Promise<void> {
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

  #createCredential(token: T, transport: Transport, mayExpire: boolean): Credential<T> {
    return { token, transport, renewAtMs: renewalTime(token.value, this.#clock.now()), mayExpire, inFlight: 0 };
  }

  async #closeIdle(used: Credential<T>): Promise<void> {
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

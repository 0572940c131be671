/** The way to a service: its address and a token in, a transport out. */
import type { TlsTrust } from '../api/tls.ts';
import type { Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { isLoopback } from '../core/loopback.ts';
import type { Address } from '../settings/setting.ts';
import type { RunTokenCommand, Token } from '../settings/token.ts';
import type { Context } from './context.ts';
import { noticesInto, writeNotice } from './report.ts';

/** How a transport is made. */
export interface ConnectOptions {
  /** What it is for: `one` request, or a few, which starts at once; or `many`, which is fast. */
  readonly kind?: 'one' | 'many';
  /** More authorities to trust over TLS: a file in PEM. */
  readonly caFile?: string | undefined;
  /** The profile that was named on the command line, for a hint. */
  readonly profile?: string | undefined;
  /** No certificate is verified. */
  readonly isInsecure?: boolean;
  /** The token may go through a network in clear. */
  readonly allowsHttp?: boolean;
}

/**
 * Opens a transport to an address.
 *
 * @param findToken asked only where a token is needed: the built-in service takes none
 * @throws {Failure} credentials, when there is no token, or the environment says that nobody is verified; usage, when
 *   the proxy or the authorities that are named cannot be; and as `findToken`
 */
export async function connect(
  address: Address,
  findToken: () => Promise<Token | undefined>,
  context: Context,
  options: ConnectOptions = {},
): Promise<Transport> {
  const { host, version, transport = 'one' } = context;
  if (address.kind === 'local') {
    const { localTransport } = await import('./local-transport.ts');
    return localTransport(address.directory, host);
  }
  const { url: base } = address;
  const { HTTPS_PROXY, https_proxy, HTTP_PROXY, http_proxy, ALL_PROXY, all_proxy } = host.env;
  const mayHaveProxy = HTTPS_PROXY || https_proxy || HTTP_PROXY || http_proxy || ALL_PROXY || all_proxy;
  const proxy = mayHaveProxy ? (await import('../api/proxy.ts')).findProxy(base, host.env) : undefined;
  const isSecure = base.protocol === 'https:';
  const trust = isSecure || proxy?.protocol === 'https:' ? await findTrust(options, context) : undefined;
  // By its name it may go in clear, and past a proxy: then it must be this machine.
  const isLocal = isLoopback(base) && ((!isSecure && !options.allowsHttp) || Boolean(mayHaveProxy));
  const token = await findToken();
  if (token === undefined) throw noToken(options.profile);
  const open = async ({ value }: Token) => {
    const { monotonicMs } = host.clock;
    const headers = { 'user-agent': `listctl/${version}` };
    const connection = { base, proxy, trust, isLocal, token: value, headers, monotonicMs };
    return (options.kind ?? transport) === 'many' && hasWebAssembly()
      ? (await import('../api/undici.ts')).undiciTransport(connection)
      : (await import('../api/http.ts')).httpTransport(connection);
  };
  const opened = await open(token);
  return token.renew === undefined ? opened : renewing(opened, token, open);
}

/** Whether undici's parser can run: not with `--jitless`, nor where a process may have little address space. */
function hasWebAssembly(): boolean {
  const { WebAssembly: wasm } = globalThis as MaybeWasm;
  try {
    return wasm !== undefined && new wasm.Memory({ initial: 1 }) instanceof wasm.Memory;
  } catch {
    // It reserves gigabytes of addresses, whatever it needs.
    return false;
  }
}

interface MaybeWasm {
  readonly WebAssembly?: { readonly Memory: new (pages: { readonly initial: number }) => object };
}

/** Whom to trust over TLS: undefined for whom Node trusts. */
async function findTrust({ caFile, isInsecure }: ConnectOptions, context: Context): Promise<TlsTrust | undefined> {
  const { host } = context;
  if (isInsecure) {
    await writeNotice(
      'listctl: warning: TLS verification is off (--insecure-tls); the token can be intercepted',
      context,
    );
    return { authorities: [], skipVerification: true };
  }
  if (host.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new Failure('credentials', 'refusing to send the token while NODE_TLS_REJECT_UNAUTHORIZED=0 is set', {
      hint: 'unset it, and pass --ca-file FILE to trust your own CA',
      outcome: 'not-sent',
    });
  }
  return caFile === undefined ? undefined : (await import('../api/tls.ts')).readTrust(caFile, host);
}

/**
 * The failure for a command that needs a token and has none.
 *
 * @param profile the one that `--profile` names: a token that is stored without it is another one's
 */
export function noToken(profile: string | undefined): Failure {
  const login = profile === undefined ? 'listctl auth login' : `listctl auth login -p ${profile}`;
  return new Failure('credentials', 'no token', {
    hint: `set LISTCTL_TOKEN or run ${login}`,
  });
}

/** Runs token commands, and shows what they say on stderr. */
export function tokenCommandRunner(host: Host, isJsonWanted: boolean): RunTokenCommand {
  const { clock, env, killGroup, platform, signal } = host;
  const stderr = isJsonWanted ? noticesInto(host.stderr) : host.stderr;
  const its = { clock, env, killGroup, platform, signal, stderr };
  return async (command, name) => (await import('./token-command.ts')).runTokenCommand(command, name, its);
}

/** A token and the transport that sends it. */
interface Credential {
  readonly token: Token;
  readonly transport: Transport;
  /** Whether another token may follow once this is refused: the service accepted it before, or it is the first. */
  mayExpire: boolean;
  /** Settles once the token has been read again. */
  renewed?: Promise<void>;
}

/**
 * Reads the token again when the service refuses (401) the first one, or one that it accepted before, and sends the
 * request again: it was refused, so it had no effect. A request is sent again once, and no token twice.
 */
function renewing(first: Transport, token: Token, open: (token: Token) => Promise<Transport>): Transport {
  const all: [Credential, ...Credential[]] = [{ token, transport: first, mayExpire: true }];
  const newest = () => all.at(-1) ?? all[0];
  const renew = async (refused: Token) => {
    // A command that fails now has given its reason on stderr; what the service said is the response.
    const fresh = await refused.renew?.().catch(() => undefined);
    if (fresh === undefined || all.some((known) => known.token.value === fresh.value)) return;
    all.push({ token: fresh, transport: await open(fresh), mayExpire: false });
  };
  const sendWith = async (credential: Credential, ...args: Parameters<Transport['send']>) => {
    const attempt = await credential.transport.send(...args);
    const status = attempt.response?.status;
    if (status !== undefined && status !== 401) credential.mayExpire = true;
    return attempt;
  };
  return {
    address: first.address,
    hide: (text) => all.reduce((hidden, { transport }) => transport.hide?.(hidden) ?? hidden, text),
    send: async (...args) => {
      const used = newest();
      const attempt = await sendWith(used, ...args);
      if (attempt.response?.status !== 401 || !used.mayExpire) return attempt;
      used.renewed ??= renew(used.token);
      await used.renewed;
      return newest() === used ? attempt : sendWith(newest(), ...args);
    },
    close: async () => {
      await Promise.all(all.map(({ transport }) => transport.close()));
    },
  };
}

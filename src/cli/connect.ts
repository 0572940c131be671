/** Opens the transport to a service. */
import type { TlsTrust } from '../api/tls.ts';
import type { Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { isLoopback } from '../core/loopback.ts';
import type { Address, ServiceKind } from '../settings/setting.ts';
import type { RunTokenCommand, Token } from '../settings/token.ts';
import type { Context } from './command.ts';
import { noticesInto, writeNotice } from './report.ts';

export interface ConnectOptions {
  /** `one` starts faster, `many` is for bulk runs. */
  readonly kind?: 'one' | 'many';
  readonly caFile?: string | undefined;
  /** `--profile`, for a hint. */
  readonly profile?: string | undefined;
  readonly isInsecure?: boolean;
  readonly allowHttp?: boolean;
  readonly service?: ServiceKind;
  /** In the user agent, for Microsoft's operators. */
  readonly company?: string | undefined;
}

/** @throws {Failure} credentials, without a token, or if TLS verification is off; usage, for an invalid proxy or CA file */
export async function connect(
  address: Address,
  findToken: () => Promise<Token | undefined>,
  context: Context,
  options: ConnectOptions = {},
): Promise<Transport> {
  const { host, version, transport = 'one' } = context;
  if (address.kind === 'local') {
    const { localTransport } = await import('./local-transport.ts');
    return localTransport(address.directory, host, options.service);
  }
  const { url: base } = address;
  const { HTTPS_PROXY, https_proxy, HTTP_PROXY, http_proxy, ALL_PROXY, all_proxy } = host.env;
  const mayHaveProxy = HTTPS_PROXY || https_proxy || HTTP_PROXY || http_proxy || ALL_PROXY || all_proxy;
  const proxy = mayHaveProxy ? (await import('../api/proxy.ts')).findProxy(base, host.env) : undefined;
  const isSecure = base.protocol === 'https:';
  const trust = isSecure || proxy?.protocol === 'https:' ? await findTrust(options, context) : undefined;
  // A loopback name is allowed plain http, and no proxy: it must resolve to this machine (docs/decisions.md, secrets-3).
  const isLocal = isLoopback(base) && ((!isSecure && !options.allowHttp) || Boolean(mayHaveProxy));
  const token = await findToken();
  if (token === undefined) throw noToken(options.profile);
  const open = async (used: Token) => {
    const { monotonicMs } = host.clock;
    const headers = { 'user-agent': userAgent(options, version) };
    const connection = { base, proxy, trust, isLocal, token: used.value, headers, monotonicMs };
    const plain =
      (options.kind ?? transport) === 'many' && hasWebAssembly()
        ? (await import('../api/undici.ts')).undiciTransport(connection)
        : (await import('../api/http.ts')).httpTransport(connection);
    return withTokenHint(await plain, used, host);
  };
  const opened = await open(token);
  if (token.renew === undefined) return opened;
  const { RenewingTransport } = await import('./token-renewal.ts');
  return new RenewingTransport(opened, token, open, host);
}

/** Microsoft asks for this form ("How to avoid getting throttled", "decorate your traffic"). */
function userAgent({ service, company = 'listctl' }: ConnectOptions, version: string): string {
  return service === 'graph' ? `NONISV|${company}|listctl/${version}` : `listctl/${version}`;
}

/** Makes a rejected token known by where it comes from. */
function withTokenHint(transport: Transport, token: Token, { clock }: Host): Transport {
  let tokenHint: string | undefined;
  return {
    ...transport,
    tokenHint: () => tokenHint,
    send: async (...args) => {
      const attempt = await transport.send(...args);
      if (attempt.response?.status === 401) {
        tokenHint = (await import('./token-expiry.ts')).rejectedTokenHint(token, clock.now());
      }
      return attempt;
    },
  };
}

/** Whether undici's parser can run: not with `--jitless`, nor with little address space, of which it reserves gigabytes. */
function hasWebAssembly(): boolean {
  const { WebAssembly: wasm } = globalThis as {
    readonly WebAssembly?: { readonly Memory: new (pages: { readonly initial: number }) => object };
  };
  try {
    return wasm !== undefined && new wasm.Memory({ initial: 1 }) instanceof wasm.Memory;
  } catch {
    return false;
  }
}

/** Undefined for Node's defaults. */
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

/** The failure for a missing token. */
export function noToken(profile: string | undefined): Failure {
  const login = profile === undefined ? 'listctl auth login' : `listctl auth login -p ${profile}`;
  return new Failure('credentials', 'no token', { hint: `set LISTCTL_TOKEN or run ${login}` });
}

/** Creates a function that runs token commands, and prints their stderr. */
export function tokenCommandRunner(host: Host, isJsonWanted: boolean): RunTokenCommand {
  const { clock, env, killGroup, platform, signal } = host;
  const stderr = isJsonWanted ? noticesInto(host.stderr) : host.stderr;
  const commandHost = { clock, env, killGroup, platform, stderr };
  return async (command, name, until) => {
    const { runTokenCommand } = await import('./token-command.ts');
    const ended = until === undefined ? signal : AbortSignal.any([signal, until]);
    return runTokenCommand(command, name, { ...commandHost, signal: ended });
  };
}

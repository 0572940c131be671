/** The way to the service, step by step: proxy, name, TLS, one request. Nobody else on a network is asked. */
import { lookup } from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createConnector } from '../../api/connect.ts';
import { findProxy, proxyVariable } from '../../api/proxy.ts';
import { hostOf } from '../../api/socket.ts';
import type { TlsTrust } from '../../api/tls.ts';
import { toTransportError } from '../../api/transport.ts';
import { type ConnectOptions, connect } from '../../cli/connect.ts';
import type { Context } from '../../cli/context.ts';
import { globalFlags } from '../../cli/flags.ts';
import { probe } from '../../cli/probe.ts';
import { trustWith } from '../../cli/tls.ts';
import { Failure } from '../../core/errors.ts';
import { type Host, untilStopped } from '../../core/host.ts';
import type { ListRef } from '../../core/item.ts';
import { type Address, findSetting } from '../../settings/setting.ts';
import type { Sources } from '../../settings/sources.ts';
import type { Token } from '../../settings/token.ts';
import { type Diagnosis, diagnosed, type Found, failedFor, skipped } from './checks.ts';

/** A certificate with fewer days left is worth a word. */
const fewDays = 14;

/** What the way is looked at with. */
export interface WayOptions {
  readonly context: Context;
  readonly sources: Sources;
  readonly address: Address | undefined;
  /** Undefined where none was found; the built-in service takes none. */
  readonly token: Token | undefined;
  /** Whether certificates go unverified, by `--insecure-tls`. */
  readonly isInsecure: boolean;
  /** Whether the token may go through a network in clear, by `--allow-http`. */
  readonly allowHttp: boolean;
}

/** The steps in their order; one that needs a step before it that failed is skipped. */
export async function* wayFindings(options: WayOptions): AsyncGenerator<Diagnosis> {
  const { address, context } = options;
  const base = address?.kind === 'http' ? address.url : undefined;
  if (base === undefined) {
    const why = address === undefined ? 'no service address' : 'the built-in service needs no connection';
    for (const check of ['proxy', 'ca', 'dns', 'tls']) yield { check, ...skipped(why) };
  } else {
    let proxy: URL | undefined;
    let trust: TlsTrust | undefined;
    const proxyRow = await diagnosed('proxy', () => {
      proxy = findProxy(base, context.host.env);
      return proxyFound(base, proxy, context.host);
    });
    yield proxyRow;
    const caRow = await diagnosed('ca', () => {
      const [found, trusted] = authoritiesFound(base, proxy, options);
      trust = trusted;
      return found;
    });
    yield caRow;
    const isWayKnown = proxyRow.status !== 'failed' && caRow.status !== 'failed';
    const dns = await diagnosed('dns', () => nameFound(base, proxy, context.host));
    yield dns;
    const isReachable = isWayKnown && dns.status !== 'failed';
    yield await diagnosed('tls', () =>
      isReachable ? tlsFound(base, { proxy, trust }, context.host) : skipped('a previous check failed'),
    );
  }
  yield await diagnosed('request', () => requestFound(options));
}

function proxyFound(base: URL, proxy: URL | undefined, { env }: Host): Found {
  const source = proxyVariable(base, env);
  // Without the user name and the password that may stand in it.
  if (proxy !== undefined) return { status: 'ok', value: `${proxy.protocol}//${proxy.host}`, source };
  return { status: 'ok', value: source === undefined ? 'none' : `none for this address, though ${source} is set` };
}

function authoritiesFound(
  base: URL,
  proxy: URL | undefined,
  { context, sources, isInsecure }: WayOptions,
): [Found, TlsTrust | undefined] {
  if (base.protocol !== 'https:' && proxy?.protocol !== 'https:')
    return [skipped('http has no certificates'), undefined];
  const { env } = context.host;
  const more = env['NODE_EXTRA_CA_CERTS'];
  const usual = `Node.js CA certificates${more ? `, ${more}` : ''}`;
  if (isInsecure) {
    const hint = 'pass --ca-file FILE to trust your own CA instead';
    const found: Found = { status: 'warning', value: 'TLS verification is off', source: '--insecure-tls', hint };
    return [found, { authorities: [], skipVerification: true }];
  }
  const file = findSetting(globalFlags.caFile, sources);
  if (file === undefined) {
    return [{ status: 'ok', value: usual, source: more ? 'NODE_EXTRA_CA_CERTS' : 'the default' }, undefined];
  }
  const trust = trustWith(file.value, context.host);
  return [{ status: 'ok', value: `${usual}, ${file.value}`, source: file.source }, trust];
}

async function nameFound(base: URL, proxy: URL | undefined, { signal }: Host): Promise<Found> {
  const name = hostOf(proxy ?? base);
  if (isIP(name) !== 0) return skipped(`${name} is an IP address`);
  try {
    const found = await untilStopped(lookup(name, { all: true }), signal);
    const shown = found.slice(0, 3).map(({ address }) => address);
    const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : '';
    return { status: 'ok', value: `${shown.join(', ')}${more}`, source: proxy ? `of the proxy ${name}` : name };
  } catch (error) {
    signal.throwIfAborted();
    const value = `${name}: ${toTransportError(error, false).reason}`;
    return { status: 'failed', value, hint: 'check the address, and that this machine is online', kind: 'unreachable' };
  }
}

async function tlsFound(
  base: URL,
  { proxy, trust }: { readonly proxy: URL | undefined; readonly trust: TlsTrust | undefined },
  { signal, clock }: Host,
): Promise<Found> {
  if (base.protocol !== 'https:') return skipped('the address is http');
  let socket: Socket;
  try {
    socket = await (await createConnector({ base, proxy, trust }))(10_000, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { kind, reason } = toTransportError(error, false);
    const own = 'pass --ca-file FILE if it uses your own CA';
    const hint =
      kind === 'untrusted' ? `nothing was sent: check the address; ${own}` : 'check the address and the network';
    return { status: 'failed', value: reason, hint, kind: 'unreachable' };
  }
  const certificate = (socket as TLSSocket).getPeerCertificate();
  const protocol = (socket as TLSSocket).getProtocol() ?? 'TLS';
  socket.destroy();
  const days = Math.floor((Date.parse(certificate.valid_to) - clock.now()) / 86_400_000);
  const { O: organisation, CN: name } = certificate.issuer ?? {};
  const value = `${protocol}, certificate of ${[organisation, name].flat().filter(Boolean).join(' ')}, for ${days} more days`;
  if (days >= fewDays) return { status: 'ok', value };
  return { status: 'warning', value, hint: 'ask the operator of the service to renew its certificate' };
}

async function requestFound(options: WayOptions): Promise<Found> {
  const { address, context, sources, token, isInsecure, allowHttp } = options;
  if (address === undefined) return skipped('no service address');
  if (address.kind === 'http' && token === undefined) return skipped('no token');
  const { host } = context;
  const { clock, signal } = host;
  const timeoutMs = findOrNothing(() => findSetting(globalFlags.timeout, sources)?.value) ?? 30_000;
  const caFile = findSetting(globalFlags.caFile, sources)?.value;
  const allowsHttp = allowHttp || findOrNothing(() => findSetting(globalFlags.allowHttp, sources)?.value) === true;
  const how: ConnectOptions = { isInsecure, caFile, allowsHttp };
  const transport = await connect(address, async () => token, context, how);
  try {
    const startedAtMs = clock.monotonicMs();
    const failure = await probe(transport, listOf(sources), { timeoutMs, signal });
    const tookMs = Math.round(clock.monotonicMs() - startedAtMs);
    if (failure !== undefined) return failedFor(failure);
    const taken = token === undefined ? '' : ' and accepts the token';
    return { status: 'ok', value: `the service responds in ${tookMs} ms${taken}` };
  } finally {
    await transport.close();
  }
}

/** The list that is set; where none is, any will do: what is asked for is not there anyway. */
function listOf(sources: Sources): ListRef {
  const find = (definition: typeof globalFlags.site) => findOrNothing(() => findSetting(definition, sources)?.value);
  return { site: find(globalFlags.site) ?? 'listctl-doctor', list: find(globalFlags.list) ?? 'listctl-doctor' };
}

/** What is malformed has a finding of its own. */
function findOrNothing<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

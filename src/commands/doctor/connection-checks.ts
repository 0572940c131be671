/** The checks of the connection: proxy, certificates, DNS, TLS, and one request. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createConnector } from '../../api/connect.ts';
import { findProxy, proxyVariable } from '../../api/proxy.ts';
import { hostOf } from '../../api/socket.ts';
import { readTrust, type TlsTrust } from '../../api/tls.ts';
import { toTransportError } from '../../api/transport.ts';
import type { Context } from '../../cli/command.ts';
import { connect } from '../../cli/connect.ts';
import { globalFlags } from '../../cli/flags.ts';
import { tryService } from '../../cli/probe.ts';
import { Failure } from '../../core/errors.ts';
import { type Host, untilStopped } from '../../core/host.ts';
import { listNames } from '../../core/text.ts';
import { type Address, companySetting, type Definition, findSetting, findValue } from '../../settings/setting.ts';
import type { Sources } from '../../settings/sources.ts';
import type { Token } from '../../settings/token.ts';
import { type CheckResult, type Finding, failed, runCheck, skipped } from './checks.ts';

/** Certificates that expire in fewer days are reported. */
const expiryDays = 14;

export interface ConnectionOptions {
  readonly context: Context;
  readonly sources: Sources;
  readonly address: Address | undefined;
  readonly token: Token | undefined;
  readonly isInsecure: boolean;
  readonly allowHttp: boolean;
}

/** Checks the connection step by step; a step that needs a failed one is skipped. */
export async function* checkConnection(options: ConnectionOptions): AsyncGenerator<Finding> {
  const { address, context } = options;
  if (address?.kind === 'http') yield* checkNetwork(address.url, options, context.host);
  else {
    const reason = address === undefined ? 'no service address' : 'the built-in service needs no connection';
    for (const check of ['proxy', 'ca', 'dns', 'tls']) yield { check, ...skipped(reason) };
  }
  yield await runCheck('request', () => checkRequest(options));
}

async function* checkNetwork(base: URL, options: ConnectionOptions, host: Host): AsyncGenerator<Finding> {
  let proxy: URL | undefined;
  let trust: TlsTrust | undefined;
  const proxyFinding = await runCheck('proxy', () => {
    proxy = findProxy(base, host.env);
    return checkProxy(base, proxy, host);
  });
  yield proxyFinding;
  const caFinding = await runCheck('ca', () => {
    const { result, trust: found } = checkAuthorities(base, proxy, options);
    trust = found;
    return result;
  });
  yield caFinding;
  const dnsFinding = await runCheck('dns', () => checkName(base, proxy, host));
  yield dnsFinding;
  const isReachable = [proxyFinding, caFinding, dnsFinding].every(({ status }) => status !== 'failed');
  yield await runCheck('tls', () =>
    isReachable ? checkTls(base, proxy, trust, host) : skipped('a previous check failed'),
  );
}

function checkProxy(base: URL, proxy: URL | undefined, { env }: Host): CheckResult {
  const source = proxyVariable(base, env);
  // Without user name and password.
  if (proxy !== undefined) return { status: 'ok', value: `${proxy.protocol}//${proxy.host}`, source };
  return { status: 'ok', value: source === undefined ? 'none' : `none for this address, though ${source} is set` };
}

function checkAuthorities(
  base: URL,
  proxy: URL | undefined,
  { context, sources, isInsecure }: ConnectionOptions,
): { readonly result: CheckResult; readonly trust?: TlsTrust } {
  if (base.protocol !== 'https:' && proxy?.protocol !== 'https:') {
    return { result: skipped('http has no certificates') };
  }
  if (isInsecure) {
    const hint = 'pass --ca-file FILE to trust your own CA instead';
    return {
      result: { status: 'warning', value: 'TLS verification is off', source: '--insecure-tls', hint },
      trust: { authorities: [], skipVerification: true },
    };
  }
  const extra = context.host.env['NODE_EXTRA_CA_CERTS'];
  const value = `Node.js CA certificates${extra ? `, ${extra}` : ''}`;
  const file = findSetting(globalFlags.caFile, sources);
  if (file === undefined) {
    return { result: { status: 'ok', value, source: extra ? 'NODE_EXTRA_CA_CERTS' : 'the default' } };
  }
  const trust = readTrust(file.value, context.host);
  return { result: { status: 'ok', value: `${value}, ${file.value}`, source: file.source }, trust };
}

async function checkName(base: URL, proxy: URL | undefined, { signal }: Host): Promise<CheckResult> {
  const name = hostOf(proxy ?? base);
  if (isIP(name) !== 0) return skipped(`${name} is an IP address`);
  try {
    const found = await untilStopped(lookup(name, { all: true }), signal);
    const addresses = found.map(({ address }) => address);
    return { status: 'ok', value: listNames(addresses, 3), source: proxy ? `of the proxy ${name}` : name };
  } catch (error) {
    signal.throwIfAborted();
    const value = `${name}: ${toTransportError(error, false).reason}`;
    return { status: 'failed', value, hint: 'check the address, and that this machine is online', kind: 'unreachable' };
  }
}

async function checkTls(
  base: URL,
  proxy: URL | undefined,
  trust: TlsTrust | undefined,
  { signal, clock }: Host,
): Promise<CheckResult> {
  if (base.protocol !== 'https:') return skipped('the address is http');
  let socket: TLSSocket;
  try {
    const open = await createConnector({ base, proxy, trust });
    socket = (await open(10_000, signal)) as TLSSocket;
  } catch (error) {
    signal.throwIfAborted();
    const { kind, reason } = toTransportError(error, false);
    const hint =
      kind === 'untrusted'
        ? 'nothing was sent: check the address; pass --ca-file FILE if it uses your own CA'
        : 'check the address and the network';
    return { status: 'failed', value: reason, hint, kind: 'unreachable' };
  }
  const certificate = socket.getPeerCertificate();
  const protocol = socket.getProtocol() ?? 'TLS';
  socket.destroy();
  const days = Math.floor((Date.parse(certificate.valid_to) - clock.now()) / 86_400_000);
  const { O: organization, CN: name } = certificate.issuer ?? {};
  const issuer = [organization, name].flat().filter(Boolean).join(' ');
  const value = `${protocol}, certificate of ${issuer}, for ${days} more days`;
  if (days >= expiryDays) return { status: 'ok', value };
  return { status: 'warning', value, hint: 'ask the operator of the service to renew its certificate' };
}

async function checkRequest(options: ConnectionOptions): Promise<CheckResult> {
  const { address, context, sources, token, isInsecure, allowHttp } = options;
  if (address === undefined) return skipped('no service address');
  if (address.kind === 'http' && token === undefined) return skipped('no token');
  const service = findValid(globalFlags.service, sources) ?? 'list-item';
  if (service === 'graph' && findValid(globalFlags.list, sources) === undefined) return skipped('no list');
  const { clock, signal } = context.host;
  const timeoutMs = findValid(globalFlags.timeout, sources) ?? 30_000;
  const open = (at: Address) =>
    connect(at, async () => token, context, {
      isInsecure,
      caFile: findValue(globalFlags.caFile, sources),
      allowHttp: allowHttp || findValid(globalFlags.allowHttp, sources) === true,
      service,
      company: findValid(companySetting, sources),
    });
  const [site, list] = [findValid(globalFlags.site, sources), findValid(globalFlags.list, sources)];
  const known = { ...(site === undefined ? {} : { site }), ...(list === undefined ? {} : { list }) };
  const startedAtMs = clock.monotonicMs();
  const failure = await tryService(address, open, known, { timeoutMs, signal }, service);
  const tookMs = Math.round(clock.monotonicMs() - startedAtMs);
  if (failure !== undefined) return failed(failure);
  const accepted = token === undefined ? '' : ' and accepts the token';
  return { status: 'ok', value: `the service responds in ${tookMs} ms${accepted}` };
}

/** A setting; undefined for an invalid one, which has its own finding. */
function findValid<T>(definition: Definition<T>, sources: Sources): T | undefined {
  try {
    return findValue(definition, sources);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

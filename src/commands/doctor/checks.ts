/** The checks of the program, the settings, the directories and the connection. */

import { lookup } from 'node:dns/promises';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import packageJson from '../../../package.json' with { type: 'json' };
import { createConnector } from '../../api/connect.ts';
import { findProxy, proxyVariable } from '../../api/proxy.ts';
import { hostOf } from '../../api/socket.ts';
import { readTrust, type TlsTrust } from '../../api/tls.ts';
import { toTransportError } from '../../api/transport.ts';
import type { Context } from '../../cli/command.ts';
import { connect } from '../../cli/connect.ts';
import { globalFlags } from '../../cli/flags.ts';
import { tryService } from '../../cli/probe.ts';
import { errnoCode, errnoReason, Failure, type FailureKind } from '../../core/errors.ts';
import { type Host, untilStopped } from '../../core/host.ts';
import { isWebAddress } from '../../core/item.ts';
import { countOf, listNames } from '../../core/text.ts';
import { factsOf, setups } from '../../services/index.ts';
import { findDirectory, storeDirectory } from '../../settings/directories.ts';
import { isDenied } from '../../settings/read-settings.ts';
import {
  type Address,
  addressText,
  companySetting,
  type Definition,
  findSetting,
  findValue,
  refuseOpenHttp,
} from '../../settings/setting.ts';
import { findProjectFile, type Sources } from '../../settings/sources.ts';
import type { Token } from '../../settings/token.ts';

export interface Finding {
  /** The name of the check: `base-url`. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** The value, or what is wrong with it; never a token or a password. */
  readonly value: string;
  /** Where the value comes from: `LISTCTL_SITE`. */
  readonly source?: string | undefined;
  readonly hint?: string | undefined;
  /** The kind of failure that doctor ends in, if the check failed. Not printed. */
  readonly kind?: FailureKind | undefined;
}

export type CheckResult = Omit<Finding, 'check'>;

/** Runs a check; a Failure is a finding, too. */
export async function runCheck(check: string, work: () => CheckResult | Promise<CheckResult>): Promise<Finding> {
  try {
    return { check, ...(await work()) };
  } catch (error) {
    if (error instanceof Failure) return { check, ...failed(error) };
    throw error;
  }
}

export function failed({ kind, message, details: { hint } }: Failure, source?: string): CheckResult {
  return { status: 'failed', value: message, source, hint, kind };
}

export function skipped(value: string): CheckResult {
  return { status: 'skipped', value };
}

/** The newest major version of Node.js that listctl is tested with. */
const newestMajor = 26;

/** @param version as of Node.js: `v20.18.1` */
export function checkNode(version: string): CheckResult {
  const oldest = packageJson.engines.node.replace('>=', '');
  if (version.slice(1).localeCompare(oldest, 'en', { numeric: true }) < 0) {
    return { status: 'warning', value: version, hint: `install Node.js ${oldest} or later` };
  }
  if (Number.parseInt(version.slice(1), 10) > newestMajor) {
    return { status: 'warning', value: version, hint: `listctl is tested with Node.js up to ${newestMajor}` };
  }
  return { status: 'ok', value: version };
}

/**
 * Checks the files of settings and the profile; returns the sources without what cannot be read, for the other checks.
 */
export async function checkFiles(
  sources: Sources,
  host: Host,
): Promise<{ readonly findings: readonly Finding[]; readonly sources: Sources }> {
  const { user } = sources;
  const config = await runCheck('config', () =>
    checkSettingsFile(user.files?.config, 'profile', {
      count: () => user.profiles().byName.size,
      warning: () => (user.areProfilesOpen ? 'others can write it; run chmod go-w' : undefined),
    }),
  );
  const credentials = await runCheck('credentials', () =>
    checkSettingsFile(user.files?.credentials, 'token', {
      count: () => user.credentials().size,
      warning: () => (user.areCredentialsLoose ? 'others can read it; run chmod 600' : undefined),
    }),
  );
  const project = await runCheck('project-file', () => checkProjectFile(host));
  const isKnown = config.status !== 'failed';
  const profile = await runCheck('profile', () =>
    isKnown ? checkProfile(sources) : skipped('unknown: cannot read the settings file'),
  );
  const withoutProfile = { profile: () => undefined, named: () => undefined, fallback: () => undefined };
  return {
    findings: [config, credentials, project, profile],
    sources: {
      ...sources,
      ...(isKnown && profile.status !== 'failed' ? {} : withoutProfile),
      ...(project.status === 'failed' ? { project: () => undefined } : {}),
    },
  };
}

/** @param warning is called after `count`, which reads the file */
function checkSettingsFile(
  file: string | undefined,
  noun: string,
  { count, warning }: { readonly count: () => number; readonly warning: () => string | undefined },
): CheckResult {
  if (file === undefined) {
    return { status: 'warning', value: 'no home directory', hint: 'set HOME or LISTCTL_CONFIG_DIR' };
  }
  try {
    const entries = countOf(count(), noun);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return { status: 'ok', value: 'none yet', source: file };
    const value = `${entries}, mode ${(stats.mode & 0o777).toString(8).padStart(4, '0')}`;
    const problem = warning();
    if (problem === undefined) return { status: 'ok', value, source: file };
    return { status: 'warning', value, source: file, hint: `${problem} ${file}` };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // Without permission, the environment may still be enough.
    return { ...failed(error, file), ...(isDenied(error) ? { status: 'warning' } : {}) };
  }
}

function checkProjectFile(host: Host): CheckResult {
  const project = findProjectFile(host);
  if (project === undefined) return skipped('none in this or a parent directory');
  return { status: 'ok', value: `sets ${Object.keys(project.values).join(', ') || 'nothing'}`, source: project.file };
}

function checkProfile(sources: Sources): CheckResult {
  const profile = sources.profile();
  if (profile === undefined) return skipped('no default profile');
  const isProtected = profile.values['protected'] === true;
  return { status: 'ok', value: profile.name + (isProtected ? ' (protected)' : ''), source: profile.chosenBy };
}

/**
 * Checks the service URL.
 *
 * @param allowHttp whether --allow-http was typed
 * @returns the address as well, if it can be used
 */
export async function checkAddress(
  sources: Sources,
  allowHttp: boolean,
): Promise<{ readonly finding: Finding; readonly address: Address | undefined }> {
  let address: Address | undefined;
  const finding = await runCheck('address', () => {
    const found = findSetting(globalFlags.baseUrl, sources);
    if (found === undefined) {
      const hint =
        'pass --base-url URL, set LISTCTL_BASE_URL, or run listctl init; use --local to try the built-in service';
      return { status: 'failed', value: 'no service address', hint, kind: 'usage' };
    }
    const { value, source } = found;
    refuseOpenHttp(value, allowHttp || findValue(globalFlags.allowHttp, sources) === true);
    address = value;
    return { status: 'ok', value: addressText(value), source };
  });
  return { finding, address };
}

/** The kind of service is never guessed, but a host may say what it should be. */
function checkService(sources: Sources): Promise<Finding> {
  return runCheck('service', async () => {
    const { value = 'list-item', source = 'the default' } = findSetting(globalFlags.service, sources) ?? {};
    const address = findValue(globalFlags.baseUrl, sources);
    const host = address?.kind === 'http' ? address.url.host : '';
    const owner = (await setups()).find(({ setup }) => setup.ownsHost(host));
    if (owner === undefined || owner.kind === value) return { status: 'ok', value, source };
    const hint = `pass --service ${owner.kind}, or run listctl init with the list's URL (copy it from the browser)`;
    const { title } = factsOf(owner.kind);
    return { status: 'warning', value: `${value}, but the address is that of ${title}`, source, hint };
  });
}

/** Checks the other settings. */
export function checkSettings(sources: Sources): Promise<readonly Finding[]> {
  const formatSeconds = (ms: number) => `${ms / 1000} s`;
  return Promise.all([
    checkService(sources),
    checkId('site', globalFlags.site, sources),
    checkId('list', globalFlags.list, sources),
    checkSetting('output', globalFlags.output, 'pretty on a terminal; elsewhere items and api print JSON', sources),
    checkSetting('timeout', globalFlags.timeout, '120 s', sources, formatSeconds),
    checkSetting('retries', globalFlags.retries, '4', sources),
    checkSetting('max-wait', globalFlags.maxWait, '180 s', sources, formatSeconds),
    checkSetting('idempotency', globalFlags.idempotency, 'unknown', sources),
  ]);
}

function checkId(check: 'site' | 'list', definition: Definition<string>, sources: Sources): Promise<Finding> {
  return runCheck(check, () => {
    const found = findSetting(definition, sources);
    if (found !== undefined) return { status: 'ok', ...found };
    const list = check === 'site' ? findSetting(globalFlags.list, sources) : undefined;
    if (list && isWebAddress(list.value))
      return { status: 'ok', value: 'in the address of the list', source: list.source };
    const hint = `pass --${check}, or set LISTCTL_${check.toUpperCase()} or a profile`;
    return { status: 'warning', value: 'not set: commands on items need it', hint };
  });
}

function checkSetting<T>(
  check: string,
  definition: Definition<T>,
  defaultText: string,
  sources: Sources,
  format: (value: T) => string = String,
): Promise<Finding> {
  return runCheck(check, () => {
    const found = findSetting(definition, sources);
    if (found === undefined) return { status: 'ok', value: defaultText, source: 'the default' };
    return { status: 'ok', value: format(found.value), source: found.source };
  });
}

/** Certificates that expire in fewer days are reported. */
const expiryDays = 14;

interface ConnectionOptions {
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
        ? 'check the address; pass --ca-file FILE if it uses your own CA'
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
  const hasProbe = (await factsOf(service).load()).probe !== undefined;
  if (hasProbe && findValid(globalFlags.list, sources) === undefined) return skipped('no list');
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
  const trial = await tryService(address, open, known, { timeoutMs, signal }, service);
  if (trial.status === 'failed') return failed(trial.failure);
  const responds = `the service responds in ${Math.round(clock.monotonicMs() - startedAtMs)} ms`;
  if (trial.status === 'accepted') {
    return { status: 'ok', value: `${responds}${token === undefined ? '' : ' and accepts the token'}` };
  }
  const hint = 'check --base-url, --site and --list: the service did not say whether it accepts the token';
  return { status: 'warning', value: `${responds}, but with ${trial.said}`, hint };
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

/** Checks the directory of journals; leaves nothing. */
export function checkStateDirectory(host: Host): CheckResult {
  const hint = 'set LISTCTL_STATE_DIR to a writable directory, for the journals of bulk runs';
  const directory = findDirectory('state', host);
  if (directory === undefined) return { status: 'warning', value: 'no home directory', hint };
  const reason = accessProblem(directory);
  if (reason !== undefined) {
    return { status: 'warning', value: `not writable: ${reason}`, source: directory, hint };
  }
  return { status: 'ok', value: existsSync(directory) ? 'writable' : 'not created yet', source: directory };
}

/** Why a directory cannot be written, or the nearest existing one above it. */
function accessProblem(directory: string): string | undefined {
  try {
    // Permissions alone promise too much of a file system such as /proc.
    rmSync(mkdtempSync(join(directory, 'listctl-doctor-')), { recursive: true });
    return undefined;
  } catch (error) {
    const above = dirname(directory);
    if (errnoCode(error) === 'ENOENT' && above !== directory && !existsSync(directory)) return accessProblem(above);
    return errnoReason(error);
  }
}

/** Opens the store of the built-in service, or an empty one elsewhere if it does not exist yet. */
export async function checkStore(address: Address | undefined, host: Host): Promise<CheckResult> {
  const isUsed = address?.kind === 'local';
  const chosen = isUsed ? address.directory : undefined;
  let directory: string;
  try {
    directory = storeDirectory(chosen, host);
  } catch {
    return { status: 'warning', value: 'no home directory', hint: 'set LISTCTL_DATA_DIR to a directory' };
  }
  const exists = existsSync(join(directory, 'data.mdb'));
  const trial = exists ? undefined : mkdtempSync(join(tmpdir(), 'listctl-doctor-'));
  try {
    const { openStore } = await import('../../server/store.ts');
    await openStore(trial ?? directory).close();
    return { status: 'ok', value: exists ? 'opens' : 'none yet; lmdb is installed', source: directory };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { ...failed(error, directory), ...(isUsed ? {} : { status: 'warning' }) };
  } finally {
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}

/** The service of a command: its clients, its token and the transport, each opened when it is needed. */
import type { AttemptReport } from '../api/attempts.ts';
import { type Client, type ClientOptions, createClient, stopGraceMs } from '../api/client.ts';
import { defaultRetries, type RetryPolicy } from '../api/outcome.ts';
import type { TlsTrust } from '../api/tls.ts';
import { isRead, type Transport } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { isLoopback } from '../core/loopback.ts';
import { oneLine } from '../core/text.ts';
import { factsOf, type ServiceFacts } from '../services/index.ts';
import type { ItemOperations, NamedList, ResolvedList, Service } from '../services/service.ts';
import { storeDirectory } from '../settings/directories.ts';
import { type Address, addressText, companySetting, findValue, type ServiceKind } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type RunTokenCommand, type Token } from '../settings/token.ts';
import type { Context } from './command.ts';
import { globalFlags, type switches } from './flags.ts';
import { guardWrites, type WriteGuard } from './guards.ts';
import { isJsonWanted, type Messages, noticesInto, writeNotice, writeTrace } from './report.ts';
import { checkReadable, idempotencyOf, serviceOf } from './run-settings.ts';

export interface ServiceAccess {
  /** Opens a client: `one` starts faster, `many` is for bulk runs. */
  client(kind?: 'one' | 'many', overrides?: Partial<ClientOptions>): Promise<Client>;
  /** What is known of the kind of service. */
  readonly facts: ServiceFacts;
  load(): Promise<Service>;
  /** The operations on items. */
  items(): Promise<ItemOperations>;
  /** Finds the ids of a list, once, where the service knows it by other names. Throws as `Service.resolve`. */
  resolve(list: NamedList): Promise<ResolvedList>;
  retryPolicy(kind: 'one' | 'many'): RetryPolicy;
  /** Asks once before writes to `list "tasks" of site "home"` through a protected profile. */
  confirmWrites(place: string): Promise<void>;
  /** Opens a transport with a token that may not be saved yet; the caller closes it. */
  connect(address: Address, token: Token | undefined, options?: ConnectOptions): Promise<Transport>;
}

interface ServiceOptions {
  readonly address: () => Address;
  readonly sources: Sources;
  readonly context: Context;
  readonly messages: Pick<Messages, 'say' | 'notice'>;
  readonly typed: ReturnType<typeof switches>;
  /** Whether plain http to another machine is allowed. */
  readonly allowHttp: () => boolean;
  readonly guard: WriteGuard;
  /** Receives the transports that were opened, for the caller to close. */
  readonly opened: Transport[];
}

export function serviceAccess(options: ServiceOptions): ServiceAccess {
  const { address, sources, context, typed, opened, guard } = options;
  const connectOptions = () => ({
    caFile: findValue(globalFlags.caFile, sources),
    isInsecure: typed.isInsecure,
    allowHttp: options.allowHttp(),
    profile: sources.flags['--profile'],
    service: serviceOf(sources),
    company: findValue(companySetting, sources),
  });
  const load = () => factsOf(serviceOf(sources)).load();
  const resolved = new Map<string, Promise<ResolvedList>>();
  let token: Promise<Token | undefined> | undefined;
  let one: Promise<Client> | undefined;
  const client: ServiceAccess['client'] = (kind = 'one', overrides) => {
    if (kind === 'many' || overrides !== undefined) return open(kind, overrides);
    // One connection for all requests of a command.
    one ??= open('one');
    return one;
  };
  const open = async (kind: 'one' | 'many', overrides: Partial<ClientOptions> = {}) => {
    const at = address();
    // Only once: a token command may ask for a passphrase, and a pipe can be read once.
    const findOnce = () => (token ??= tokenFor(at, options));
    const kindOption = kind === 'one' ? {} : { kind };
    const transport = await connect(at, findOnce, context, { ...connectOptions(), ...kindOption });
    opened.push(transport);
    const shown = kind === 'one' && at.kind === 'http' ? showWaits(transport, options) : transport;
    return guardWrites(createClient(shown, { ...clientOptions(at, transport, kind, options), ...overrides }), guard);
  };
  return {
    client,
    get facts() {
      return factsOf(serviceOf(sources));
    },
    load,
    items: async () => (await load()).items,
    resolve: (list) => {
      const name = JSON.stringify(list);
      const known = resolved.get(name) ?? load().then((service) => resolveList(list, service, client));
      resolved.set(name, known);
      return known;
    },
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => guard.check(`${place} at ${addressText(address())}`),
    connect: (at, given, more) => connect(at, async () => given, context, { ...connectOptions(), ...more }),
  };
}

async function resolveList(named: NamedList, { resolve }: Service, open: () => Promise<Client>): Promise<ResolvedList> {
  if (resolve !== undefined) return { ids: await resolve(named, open), named };
  if ('url' in named) throw new Error('only a service that resolves lists takes URLs');
  return { ids: named, named };
}

/** A single command announces a longer wait, on a terminal. */
const silentWaitMs = 2000;

async function tokenFor(address: Address, options: ServiceOptions): Promise<Token | undefined> {
  const { sources, context, messages, typed } = options;
  const found = await findToken(address, sources, tokenCommandRunner(context.host, isJsonWanted(context)));
  if (found === undefined) checkReadable(sources);
  if (found?.warning !== undefined) await messages.say(found.warning);
  if (typed.verbosity > 0 && found)
    await messages.say(`to ${addressText(address)}, with the token from ${found.source}`);
  return found;
}

function retryPolicy(sources: Sources, kind: 'one' | 'many'): RetryPolicy {
  const { retries, maxWaitMs } = defaultRetries;
  return {
    retries: findValue(globalFlags.retries, sources) ?? retries,
    maxWaitMs: findValue(globalFlags.maxWait, sources) ?? (kind === 'one' ? maxWaitMs : 900_000),
  };
}

function clientOptions(
  address: Address,
  transport: Transport,
  kind: 'one' | 'many',
  options: ServiceOptions,
): ClientOptions {
  const { sources, context, typed } = options;
  const { host } = context;
  return {
    timeoutMs: findValue(globalFlags.timeout, sources) ?? 120_000,
    ...retryPolicy(sources, kind),
    honorsKeys: idempotencyOf(sources, address) === 'honored',
    signal: host.signal,
    forceStop: () => host.forceStop,
    clock: host.clock,
    random: () => host.random(),
    countWrite: (change) => {
      if (context.ending.writes !== undefined) context.ending.writes += change;
    },
    // A bulk run shows its waits in its progress.
    onAttempt: kind === 'many' && typed.verbosity === 0 ? undefined : (report) => watch(report, transport, options),
  };
}

/** Says on a terminal what a command waits for: from 2 s on, until the response is there, and when it is stopped. */
function showWaits(transport: Transport, { context, typed, messages }: ServiceOptions): Transport {
  const { clock, env, signal, stderr } = context.host;
  const isShowable = () => stderr.isTTY && !typed.isQuiet && env['TERM'] !== 'dumb' && !isJsonWanted(context);
  let inFlight = 0;
  let writes = 0;
  let sinceMs = 0;
  let isShown = false;
  let endTicks = () => {};
  const erase = () => stderr.write('\r\u001b[K').catch(() => {});
  const tick = () => {
    const ms = clock.monotonicMs() - sinceMs;
    if (ms < silentWaitMs || typed.verbosity > 0 || !isShowable()) return;
    isShown = true;
    const line = oneLine(`waiting for ${transport.address} (${Math.round(ms / 1000)} s)`, (stderr.columns || 80) - 1);
    stderr.write(`\r\u001b[K${line}`).catch(() => {});
  };
  const announceStop = async () => {
    if (writes === 0 || !isShowable()) return;
    // What the terminal shows for Ctrl-C, too.
    await erase();
    await messages.notice(`stopping: waiting up to ${stopGraceMs / 1000} s for the response`);
  };
  signal.addEventListener('abort', () => void announceStop(), { once: true });
  const send: Transport['send'] = async (request, limits) => {
    const isWrite = !isRead(request.method);
    if (inFlight === 0) {
      sinceMs = clock.monotonicMs();
      endTicks = clock.every(1000, tick);
    }
    inFlight += 1;
    if (isWrite) writes += 1;
    const attempt = await transport.send(request, limits);
    inFlight -= 1;
    if (isWrite) writes -= 1;
    if (inFlight === 0) endTicks();
    if (inFlight === 0 && isShown) await erase();
    if (inFlight === 0) isShown = false;
    return attempt;
  };
  return {
    address: transport.address,
    get hide() {
      return transport.hide;
    },
    tokenHint: () => transport.tokenHint?.(),
    send,
    close: () => transport.close(),
  };
}

async function watch(report: AttemptReport, transport: Transport, options: ServiceOptions): Promise<void> {
  const { verbosity } = options.typed;
  const isLongWait = (report.waitMs ?? 0) > silentWaitMs;
  if (verbosity === 0 && !isLongWait) return;
  const { traceLines, waitText } = await import('./trace.ts');
  const { hide } = transport;
  if (verbosity === 0) return options.messages.notice(hide(waitText(report)));
  await writeTrace(traceLines(report, verbosity > 1, hide), options.context);
}

interface ConnectOptions {
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
  options: ConnectOptions,
): Promise<Transport> {
  const { host, version, transport = 'one' } = context;
  if (address.kind === 'local') {
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
    const { userAgent } = factsOf(options.service ?? 'list-item');
    const headers = { 'user-agent': userAgent(version, options.company) };
    const connection = { base, proxy, trust, isLocal, token: used.value, headers, monotonicMs };
    const plain =
      (options.kind ?? transport) === 'many' && hasWebAssembly()
        ? (await import('../api/undici.ts')).undiciTransport(connection)
        : (await import('../api/http.ts')).httpTransport(connection);
    return withTokenHint(await plain, used, host);
  };
  const opened = await open(token);
  if (token.renew === undefined) return opened;
  const { RenewingTransport } = await import('../api/renewing-transport.ts');
  return new RenewingTransport(opened, token, open, host);
}

/** Calls the built-in service in this process; without `directory` with the user's items. */
async function localTransport(
  directory: string | undefined,
  host: Host,
  kind: ServiceKind = 'list-item',
): Promise<Transport> {
  const { builtInServer } = await import('../server/index.ts');
  const server = builtInServer(kind);
  const store = (await import('../server/store.ts')).openStore(storeDirectory(directory, host));
  const { service: handle } = await server.open(store, () => host.clock.now());
  return {
    address: 'local:',
    hide: (text) => text,
    send: async ({ method, path, headers, body = '' }) => {
      const response = await handle({ method, path, headers, body: Buffer.from(body) });
      const date = new Date(host.clock.now()).toUTCString();
      const lowerCased = Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]);
      return {
        response: {
          status: response.status,
          headers: { date, ...Object.fromEntries(lowerCased) },
          body: Buffer.from(response.body),
        },
      };
    },
    close: () => store.close(),
  };
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
        tokenHint = (await import('./token-lifetime.ts')).rejectedTokenHint(token, clock.now(), transport.address);
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

/** Opens the clients of a command when they are needed. */
import {
  type AttemptReport,
  type Client,
  type ClientOptions,
  createClient,
  type ItemOperations,
  stopGraceMs,
} from '../api/client.ts';
import { listItemOperations } from '../api/items.ts';
import { defaultRetries, type RetryPolicy } from '../api/outcome.ts';
import { isRead, type Transport } from '../api/transport.ts';
import type { ListRef } from '../core/item.ts';
import { oneLine } from '../core/text.ts';
import { type Address, addressText, findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import type { Context } from './command.ts';
import { type ConnectOptions, connect, tokenCommandRunner } from './connect.ts';
import { globalFlags, type switches } from './flags.ts';
import { guardWrites, type WriteGuard } from './guards.ts';
import { isJsonWanted, type Messages, writeTrace } from './report.ts';
import { checkReadable, idempotencyOf, serviceOf } from './run-settings.ts';

export interface ServiceAccess {
  /** Opens a client: `one` starts faster, `many` is for bulk runs. */
  client(kind?: 'one' | 'many', overrides?: Partial<ClientOptions>): Promise<Client>;
  /** Resolves the names of a list to its ids, where the service knows it by other names. */
  locate(list: ListRef): Promise<ListRef>;
  /** The operations on items, for requests that are only shown. */
  items(): Promise<ItemOperations>;
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
  readonly connectOptions: () => ConnectOptions;
  readonly guard: WriteGuard;
  /** Receives the transports that were opened, for the caller to close. */
  readonly opened: Transport[];
}

export function serviceAccess(options: ServiceOptions): ServiceAccess {
  const { address, sources, context, connectOptions, opened, guard } = options;
  const items = async () =>
    serviceOf(sources) === 'graph' ? (await import('../api/graph/items.ts')).graphOperations : listItemOperations;
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
    const settings = { ...clientOptions(at, transport, kind, options), items: await items() };
    const shown = kind === 'one' && at.kind === 'http' ? showWaits(transport, options) : transport;
    return guardWrites(createClient(shown, { ...settings, ...overrides }), guard);
  };
  return {
    client,
    items,
    locate: async (list) =>
      serviceOf(sources) === 'graph' ? (await import('../api/graph/places.ts')).locate(list, client) : list,
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => guard.check(`${place} at ${addressText(address())}`),
    connect: (at, given, more) => connect(at, async () => given, context, { ...connectOptions(), ...more }),
  };
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
): Omit<ClientOptions, 'items'> {
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

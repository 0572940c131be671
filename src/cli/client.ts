/** The client of a command: opened when it is needed. */
import { type AttemptReport, type Client, type ClientOptions, createClient } from '../api/client.ts';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import { defaultRetries, type RetryPolicy } from '../api/outcome.ts';
import type { Transport } from '../api/transport.ts';
import { type Address, addressText, findSetting } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import { type ConnectOptions, connect, tokenCommandRunner } from './connect.ts';
import type { Context } from './context.ts';
import { globalFlags, type Switches } from './flags.ts';
import { guarded, type Protection } from './guards.ts';
import { isJsonWanted, writeTrace } from './report.ts';
import { refuseDenied } from './run-settings.ts';

/** How a command reaches the service. */
export interface ServiceAccess {
  /**
   * Opens a client.
   *
   * @param kind `one` for a few requests, which starts at once; `many` for bulk runs
   * @param more overrides the settings
   */
  client(kind?: 'one' | 'many', more?: Partial<ClientOptions>): Promise<Client>;
  /** The requests on items, over a client for a few. */
  api(): Promise<ItemsApi>;
  retryPolicy(kind: 'one' | 'many'): RetryPolicy;
  /**
   * Asks once before anything is written through a protected profile.
   *
   * @param place the target: `list "tasks" of site "home"`
   * @throws {Failure} usage, when it is not confirmed
   */
  confirmWrites(place: string): Promise<void>;
  /** For commands that open a transport themselves. */
  connecting(): ConnectOptions;
}

export function serviceAccess(connecting: Connecting): ServiceAccess {
  const { address, sources, protection } = connecting;
  const client = clientOpener(connecting);
  return {
    client,
    api: async () => itemsApi(await client()),
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => protection(`${place} at ${addressText(address())}`),
    connecting: connecting.connecting,
  };
}

/** A wait that is longer is told to whoever sits before a terminal. */
const silentWaitMs = 2000;

/** What a connection depends on. */
interface Connecting {
  readonly address: () => Address;
  readonly sources: Sources;
  readonly context: Context;
  /** Tells whoever reads stderr something that they must know; silent with --quiet alone. */
  readonly say: (text: string) => Promise<void>;
  /** Tells a person something on stderr; silent with --quiet and off a terminal. */
  readonly notice: (text: string) => Promise<void>;
  readonly typed: Switches;
  readonly connecting: () => ConnectOptions;
  readonly protection: Protection;
  /** What has been opened, for who closes it. */
  readonly opened: Transport[];
}

/** Opens ways to the service; writes pass the protection. Who sends many asks for them all at once (`confirmWrites`). */
function clientOpener(options: Connecting): (kind?: 'one' | 'many', more?: Partial<ClientOptions>) => Promise<Client> {
  const { address, sources, context, notice, typed, connecting, opened, protection } = options;
  let token: Promise<Token | undefined> | undefined;
  return async (kind = 'one', more = {}) => {
    const at = address();
    // Once for all ways: a command may ask for a passphrase, and a pipe is read once.
    const findOnce = () => (token ??= tokenFor(at, options));
    const transport = await connect(at, findOnce, context, kind === 'one' ? connecting() : { ...connecting(), kind });
    opened.push(transport);
    const sending = { address: at, transport, sources, typed, context, notice, kind };
    return guarded(createClient(transport, { ...clientOptions(sending), ...more }), protection);
  };
}

async function tokenFor(address: Address, options: Connecting): Promise<Token | undefined> {
  const { sources, context, say, typed } = options;
  const found = await findToken(address, sources, tokenCommandRunner(context.host, isJsonWanted(context)));
  if (found === undefined) refuseDenied(sources);
  if (found?.warning !== undefined) await say(found.warning);
  if (typed.verbosity > 0 && found) await say(`to ${addressText(address)}, with the token from ${found.source}`);
  return found;
}

/** What the sending of requests depends on. */
interface Sending {
  readonly address: Address;
  readonly transport: Transport;
  readonly sources: Sources;
  readonly typed: Switches;
  readonly context: Context;
  readonly notice: (text: string) => Promise<void>;
  /** One request and a few, or many: then a service may ask for a longer wait. */
  readonly kind: 'one' | 'many';
}

/** How often a request is sent again, and how long it may be waited for, as flags, variables and profiles have it. */
function retryPolicy(sources: Sources, kind: 'one' | 'many'): RetryPolicy {
  const { retries, maxWaitMs } = defaultRetries;
  return {
    retries: findSetting(globalFlags.retries, sources)?.value ?? retries,
    maxWaitMs: findSetting(globalFlags.maxWait, sources)?.value ?? (kind === 'one' ? maxWaitMs : 900_000),
  };
}

/** How the requests of this run are sent: what flags, profiles and the environment say of it, and who watches. */
function clientOptions(sending: Sending): ClientOptions {
  const { address, sources, context } = sending;
  const { host } = context;
  const find = <T>(definition: Parameters<typeof findSetting<T>>[0]) => findSetting(definition, sources)?.value;
  return {
    timeoutMs: find(globalFlags.timeout) ?? 120_000,
    ...retryPolicy(sources, sending.kind),
    honorsKeys: address.kind === 'local' || find(globalFlags.idempotency) === 'honored',
    signal: host.signal,
    clock: host.clock,
    random: () => host.random(),
    // Over many rows the waits are the run's, and its progress tells of them.
    onAttempt:
      sending.kind === 'many' && sending.typed.verbosity === 0 ? undefined : (report) => watch(report, sending),
  };
}

async function watch(report: AttemptReport, { transport, typed, context, notice }: Sending): Promise<void> {
  const { verbosity } = typed;
  const isLongWait = (report.waitMs ?? 0) > silentWaitMs;
  if (verbosity === 0 && !isLongWait) return;
  const { traceLines, waitText } = await import('./trace.ts');
  const { hide = (text: string) => text } = transport;
  if (verbosity === 0) return notice(hide(waitText(report)));
  await writeTrace(traceLines(report, verbosity > 1, hide), context);
}

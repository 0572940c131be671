/** The client of a command: opened when it is needed. */
import { type AttemptReport, type Client, type ClientOptions, createClient } from '../api/client.ts';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import { defaultRetries, type RetryPolicy } from '../api/outcome.ts';
import type { Transport } from '../api/transport.ts';
import { type Address, addressText, findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import { type ConnectOptions, connect, tokenCommandRunner } from './connect.ts';
import type { Context } from './context.ts';
import { globalFlags, type Switches } from './flags.ts';
import { guarded, type Protection } from './guards.ts';
import { isJsonWanted, type Messages, writeTrace } from './report.ts';
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

/** What a connection depends on. */
interface ServiceOptions {
  readonly address: () => Address;
  readonly sources: Sources;
  readonly context: Context;
  readonly messages: Pick<Messages, 'say' | 'notice'>;
  readonly typed: Switches;
  readonly connecting: () => ConnectOptions;
  readonly protection: Protection;
  /** The transports that were opened, for the caller to close. */
  readonly opened: Transport[];
}

/** Opens clients; writes pass the protection of the profile. */
export function serviceAccess(options: ServiceOptions): ServiceAccess {
  const { address, sources, context, connecting, opened, protection } = options;
  let token: Promise<Token | undefined> | undefined;
  const client: ServiceAccess['client'] = async (kind = 'one', more = {}) => {
    const at = address();
    // Once for all clients: a token command may ask for a passphrase, and a pipe can be read once.
    const findOnce = () => (token ??= tokenFor(at, options));
    const transport = await connect(at, findOnce, context, kind === 'one' ? connecting() : { ...connecting(), kind });
    opened.push(transport);
    const wanted = clientOptions(at, transport, kind, options);
    return guarded(createClient(transport, { ...wanted, ...more }), protection);
  };
  return {
    client,
    api: async () => itemsApi(await client()),
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => protection(`${place} at ${addressText(address())}`),
    connecting,
  };
}

/** A longer wait of a single command is announced on a terminal. */
const silentWaitMs = 2000;

async function tokenFor(address: Address, options: ServiceOptions): Promise<Token | undefined> {
  const { sources, context, messages, typed } = options;
  const found = await findToken(address, sources, tokenCommandRunner(context.host, isJsonWanted(context)));
  if (found === undefined) refuseDenied(sources);
  if (found?.warning !== undefined) await messages.say(found.warning);
  if (typed.verbosity > 0 && found)
    await messages.say(`to ${addressText(address)}, with the token from ${found.source}`);
  return found;
}

/** The limits of retries. For bulk runs, a service may ask for a longer wait. */
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
    honorsKeys: address.kind === 'local' || findValue(globalFlags.idempotency, sources) === 'honored',
    signal: host.signal,
    clock: host.clock,
    random: () => host.random(),
    // The progress of a bulk run shows its waits.
    onAttempt: kind === 'many' && typed.verbosity === 0 ? undefined : (report) => watch(report, transport, options),
  };
}

async function watch(report: AttemptReport, transport: Transport, options: ServiceOptions): Promise<void> {
  const { verbosity } = options.typed;
  const isLongWait = (report.waitMs ?? 0) > silentWaitMs;
  if (verbosity === 0 && !isLongWait) return;
  const { traceLines, waitText } = await import('./trace.ts');
  const { hide = (text: string) => text } = transport;
  if (verbosity === 0) return options.messages.notice(hide(waitText(report)));
  await writeTrace(traceLines(report, verbosity > 1, hide), options.context);
}

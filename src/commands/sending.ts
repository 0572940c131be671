/** How requests are sent: the way that is opened for them, and how often they are sent again. */
import { type RetryPolicy, usualRetries } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
import { type AttemptReport, type Wire, type WireOptions, wireOver } from '../api/wire.ts';
import { type Address, addressText } from '../settings/address.ts';
import { findSetting } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import { type ConnectOptions, connect, tokenCommandRunner } from './connect.ts';
import type { Context } from './context.ts';
import { refuseDenied } from './named-list.ts';
import { type Switches, settings } from './options/shared.ts';
import { guarded, type Protection } from './protection.ts';
import { isJsonWanted, writeTrace } from './report.ts';

/** A wait that is longer is told to whoever sits before a terminal. */
const silentWaitMs = 2000;

/** What a way to the service is made of. */
interface WayOptions {
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
export function wireOpener(options: WayOptions): (kind?: 'one' | 'many', more?: Partial<WireOptions>) => Promise<Wire> {
  const { address, sources, context, notice, typed, connecting, opened, protection } = options;
  let token: Promise<Token | undefined> | undefined;
  return async (kind = 'one', more = {}) => {
    const at = address();
    // Once for all ways: a command may ask for a passphrase, and a pipe is read once.
    const findOnce = () => (token ??= tokenFor(at, options));
    const transport = await connect(at, findOnce, context, kind === 'one' ? connecting() : { ...connecting(), kind });
    opened.push(transport);
    const sending = { address: at, transport, sources, typed, context, notice, kind };
    return guarded(wireOver(transport, { ...wireOptions(sending), ...more }), protection);
  };
}

async function tokenFor(address: Address, options: WayOptions): Promise<Token | undefined> {
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
export function retryPolicy(sources: Sources, kind: 'one' | 'many'): RetryPolicy {
  const { retries, maxWaitMs } = usualRetries;
  return {
    retries: findSetting(settings.retries, sources)?.value ?? retries,
    maxWaitMs: findSetting(settings.maxWait, sources)?.value ?? (kind === 'one' ? maxWaitMs : 900_000),
  };
}

/** How the requests of this run are sent: what flags, profiles and the environment say of it, and who watches. */
function wireOptions(sending: Sending): WireOptions {
  const { address, sources, context } = sending;
  const { host } = context;
  const find = <T>(definition: Parameters<typeof findSetting<T>>[0]) => findSetting(definition, sources)?.value;
  return {
    timeoutMs: find(settings.timeout) ?? 120_000,
    ...retryPolicy(sources, sending.kind),
    honoursKeys: address.kind === 'local' || find(settings.idempotency) === 'honoured',
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

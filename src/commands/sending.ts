import { type RetryPolicy, usualRetries } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
import type { AttemptReport, WireOptions } from '../api/wire.ts';
import type { Host } from '../host.ts';
import type { Address } from '../settings/address.ts';
import { findSetting } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { type Switches, settings } from './options/shared.ts';

/** A wait that is longer is told to whoever sits before a terminal. */
const silentWaitMs = 2000;

/** What the sending of requests depends on. */
export interface Sending {
  readonly address: Address;
  readonly transport: Transport;
  readonly sources: Sources;
  readonly typed: Switches;
  readonly host: Host;
  /** Tells a person something on stderr; silent with --quiet and off a terminal. */
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
export function wireOptions(sending: Sending): WireOptions {
  const { address, sources, host } = sending;
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

async function watch(report: AttemptReport, { transport, typed, host, notice }: Sending): Promise<void> {
  const { verbosity } = typed;
  const isLongWait = (report.waitMs ?? 0) > silentWaitMs;
  if (verbosity === 0 && !isLongWait) return;
  const { traceLines, waitText } = await import('./trace.ts');
  if (verbosity === 0) return notice(waitText(report));
  await host.stderr.write(traceLines(report, verbosity > 1, transport.hide ?? ((text) => text)));
}

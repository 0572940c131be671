/** Global flags and the environment in, what one run works with out. */
import type { Command } from 'commander';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import type { Transport } from '../api/transport.ts';
import { type Wire, wireOver } from '../api/wire.ts';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import type { ListRef } from '../item.ts';
import { printable } from '../output/printable.ts';
import { openPrinter } from '../output/printer.ts';
import type { PrintFormat, View } from '../output/view.ts';
import { type Address, addressText, refuseOpenHttp } from '../settings/address.ts';
import { type Definition, findSetting } from '../settings/setting.ts';
import { openSources, type Sources } from '../settings/sources.ts';
import { findToken } from '../settings/token.ts';
import { type ConnectOptions, connect } from './connect.ts';
import type { Context } from './context.ts';
import { flagTexts, type Switches, settings, switches } from './options/shared.ts';
import { type Print, printResults } from './printing.ts';
import { guarded, protectingProfile } from './protection.ts';
import { reportFailure, screenOf } from './report.ts';
import { wireOptions } from './sending.ts';

/** What a command works with. Nothing is opened before it is asked for. */
export interface Session {
  readonly host: Host;
  /** Where its settings come from, for what shows or changes them. */
  readonly sources: Sources;
  /** Whether a question may be asked: on a terminal, and nobody said no. */
  mayPrompt(): boolean;
  /** Whether creates carry an Idempotency-Key. */
  readonly sendsKeys: boolean;
  /** @throws {Failure} usage, when the site or the list is not named */
  list(): ListRef;
  /** Where requests go, for messages and dry runs. */
  address(): string;
  /** Opens the way to the service, for one request and a few, or for `many`. */
  wire(kind?: ConnectOptions['kind']): Promise<Wire>;
  /** How connections are made, for who makes one of their own. */
  connecting(): ConnectOptions;
  /** The verbs on items, over the same way. */
  api(): Promise<ItemsApi>;
  /**
   * Prints results on stdout as `work` comes upon them, in the format that was asked for. To be called before anything
   * is sent: a query or a format that can't be is found out first.
   *
   * @param isSeveral as a list, even where there is one
   * @param done what the service did to each result, where it was a write: `created`. Where a result can't be printed
   *   then, the failure says that it was done
   */
  printing<T>(
    view: View<T>,
    isSeveral: boolean,
    work: (print: Print<T>) => Promise<void>,
    done?: string,
  ): Promise<void>;
  /** Whether http to another machine was allowed on the command line. */
  readonly allowsHttp: boolean;
  /** Prints a failure on stderr and goes on. */
  report(failure: Failure): Promise<void>;
  /** Tells a person something on stderr; silent with --quiet and off a terminal. */
  notice(text: string): Promise<void>;
  /** Tells whoever reads stderr something that they must know; silent with --quiet alone. */
  say(text: string): Promise<void>;
}

/**
 * Runs a command's work with a session, and lets go of what it opened however that ends. With `makesProfile` the
 * profile that `--profile` names need not be there yet.
 */
export async function withSession(
  context: Context,
  command: Command,
  work: (session: Session) => Promise<void>,
  { makesProfile = false }: { readonly makesProfile?: boolean } = {},
): Promise<void> {
  const opened: Transport[] = [];
  try {
    await work(openSession(context, command, opened, makesProfile));
  } finally {
    await Promise.all(opened.map((transport) => transport.close()));
  }
}

function openSession(context: Context, command: Command, opened: Transport[], makesProfile: boolean): Session {
  const { host } = context;
  const sources = openSources(flagTexts(command), host, makesProfile);
  const typed = switches(command);
  const { allowHttp, isCsvSafe, isQuiet, mayPrompt } = typed;
  const find = <T>(definition: Definition<T>) => findSetting(definition, sources)?.value;
  const output = find(settings.output);
  const color = find(settings.color) ?? 'auto';
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const address = () => {
    const found = find(settings.baseUrl);
    return addressOf(found, found !== undefined && (allowHttp || find(settings.allowHttp) === true), sources);
  };
  const printing = {
    query: find(settings.query),
    columns: find(settings.columns),
    csvSafe: isCsvSafe,
  };
  const say = async (text: string) => {
    if (!isQuiet) await host.stderr.write(`${printable(text)}\n`);
  };
  const mayAsk = () => mayPrompt && !isCi(host) && host.stdin.isTTY && host.stderr.isTTY;
  const notice = async (text: string) => {
    if (host.stderr.isTTY) await say(text);
  };
  const connecting = (): ConnectOptions => ({ caFile: find(settings.caFile), isInsecure: typed.isInsecure });
  const wire = async (kind?: ConnectOptions['kind']) => {
    const at = address();
    const how = { ...connecting(), ...(kind && { kind }) };
    const transport = await openTransport({ address: at, sources, context, say, how, typed });
    opened.push(transport);
    const open = wireOver(transport, wireOptions({ address: at, transport, sources, typed, host, notice }));
    const protecting = protectingProfile(sources);
    const confirmed = find(settings.confirm);
    return protecting === undefined ? open : guarded(open, protecting, { mayPrompt: mayAsk(), confirmed }, host);
  };

  return {
    host,
    sources,
    mayPrompt: mayAsk,
    sendsKeys: find(settings.idempotency) !== 'none',
    list: () => ({
      site: required(find(settings.site), 'site', '-s, --site or LISTCTL_SITE', sources),
      list: required(find(settings.list), 'list', '-l, --list or LISTCTL_LIST', sources),
    }),
    address: () => addressText(address()),
    wire,
    api: async () => itemsApi(await wire()),
    printing: async (view, isSeveral, work, done) => {
      const format = output ?? defaultFormat(host, command, isSeveral);
      const screen = await screenOf(host.stdout, color, host);
      const asked = { format, isSeveral, screen, ...printing, isJsonExplicit: output === 'json' };
      await printResults(await openPrinter(view, asked, host.stdout), view, work, done);
    },
    report: (failure) => reportFailure(failure, context),
    allowsHttp: allowHttp,
    notice,
    say,
    connecting,
  };
}

/** Without `--output`: a table for a person, and JSON for a program, of what the service gave. */
function defaultFormat({ stdout }: Host, command: Command, isSeveral: boolean): PrintFormat {
  const isOfService = typedPath(command).some((name) => name === 'items' || name === 'api');
  if (stdout.isTTY || !isOfService) return 'pretty';
  return isSeveral ? 'jsonl' : 'json';
}

function typedPath(command: Command): string[] {
  const names = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.push(at.name());
  return names;
}

function isCi({ env }: Host): boolean {
  const value = env['CI'];
  return Boolean(value) && value !== '0' && value !== 'false';
}

function required(value: string | undefined, name: string, ways: string, sources: Sources): string {
  if (value !== undefined) return value;
  refuseDenied(sources);
  throw new Failure('usage', `no ${name} is named`, { hint: `pass ${ways}` });
}

/** What is missing may stand in settings that the system denies us: then that is what to mend. */
function refuseDenied(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

function addressOf(address: Address | undefined, allowHttp: boolean, sources: Sources): Address {
  if (address === undefined) {
    refuseDenied(sources);
    throw new Failure('usage', 'no service address', {
      hint: 'pass --base-url <url> or set LISTCTL_BASE_URL; --local tries the embedded service, and listctl init sets up another',
    });
  }
  refuseOpenHttp(address, allowHttp);
  return address;
}

interface WayOptions {
  readonly address: Address;
  readonly sources: Sources;
  readonly context: Context;
  readonly say: (text: string) => Promise<void>;
  readonly how: ConnectOptions;
  readonly typed: Switches;
}

/** The way to the service. */
async function openTransport(options: WayOptions): Promise<Transport> {
  const { address, sources, context, say, how, typed } = options;
  const { host } = context;
  const token = async () => {
    const found = await findToken(address, sources, host);
    if (found === undefined) refuseDenied(sources);
    if (found?.warning !== undefined) await say(found.warning);
    if (typed.verbosity > 0 && found) await say(`to ${addressText(address)}, with the token from ${found.source}`);
    return found;
  };
  return connect(address, token, context, how);
}

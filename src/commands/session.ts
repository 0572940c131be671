/** Global flags and the environment in, what one run works with out. */
import type { Command } from 'commander';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import type { RetryPolicy } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
import type { Wire, WireOptions } from '../api/wire.ts';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import type { ListRef } from '../item.ts';
import { printable } from '../output/printable.ts';
import { openPrinter } from '../output/printer.ts';
import type { PrintFormat, Screen, View } from '../output/view.ts';
import { wholeLines } from '../output/whole-lines.ts';
import { type Address, addressText, refuseOpenHttp } from '../settings/address.ts';
import { type Definition, findSetting } from '../settings/setting.ts';
import { openSources, type Sources } from '../settings/sources.ts';
import type { ConnectOptions } from './connect.ts';
import type { Context } from './context.ts';
import { listNamed, type NamedList, refuseDenied } from './named-list.ts';
import { flagTexts, settings, switches } from './options/shared.ts';
import { type Print, printResults } from './printing.ts';
import { lazyProtection } from './protection.ts';
import { reportFailure, screenOf } from './report.ts';
import { retryPolicy, wireOpener } from './sending.ts';

/** What a command works with. Nothing is opened before it is asked for. */
export interface Session {
  readonly host: Host;
  /** Where its settings come from, for what shows or changes them. */
  readonly sources: Sources;
  /** Whether a question may be asked: on a terminal, and nobody said no. */
  mayPrompt(): boolean;
  /** --no-input or CI: nothing is asked, and nothing guessed that a terminal would be asked for. */
  readonly isUnattended: boolean;
  /** Whether creates carry an Idempotency-Key. */
  readonly sendsKeys: boolean;
  /** What the service does with Idempotency-Key, as far as anybody has said. */
  readonly idempotency: 'honoured' | 'unknown' | 'none';
  /**
   * The list, as flags and settings name it.
   *
   * @param named by a seed: that stands above what the environment and the settings say
   * @throws {Failure} usage, when the site or the list is not named, or a flag contradicts the seed
   */
  list(named?: NamedList): ListRef;
  /** Says that the command ends with changes that are still to be made. */
  endWithChanges(): void;
  /** Where requests go, for messages and dry runs. */
  address(): string;
  /**
   * Opens the way to the service, for one request and a few, or for `many`.
   *
   * @param more over what flags, variables and profiles say
   */
  wire(kind?: 'one' | 'many', more?: Partial<WireOptions>): Promise<Wire>;
  /** How often requests are sent again. */
  retryPolicy(kind: 'one' | 'many'): RetryPolicy;
  /**
   * Asks, once, before anything is written through a protected profile.
   *
   * @param place what is written to: `list "tasks" of site "home"`
   * @throws {Failure} usage, when nobody confirms it
   */
  confirmWrites(place: string): Promise<void>;
  /** The command line, without the program's name. */
  readonly words: readonly string[];
  readonly version: string;
  readonly isQuiet: boolean;
  /** What text on stderr is made for. */
  errorScreen(): Promise<Screen>;
  /** What text on stdout is made for. */
  screen(): Promise<Screen>;
  /** Whether a query is to be asked of what is printed. */
  readonly hasQuery: boolean;
  /** How results are printed: what was asked for, else what suits whoever reads them. */
  format(isSeveral: boolean): PrintFormat;
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
   * @param takeAway takes away what is drawn on the screen meanwhile, before anything is printed there
   */
  printing<T>(
    view: View<T>,
    isSeveral: boolean,
    work: (print: Print<T>) => Promise<void>,
    done?: string,
    takeAway?: () => void,
  ): Promise<void>;
  /** Whether http to another machine was allowed on the command line. */
  readonly allowsHttp: boolean;
  /** Prints a failure on stderr and goes on. */
  report(failure: Failure): Promise<void>;
  /** Tells a person something on stderr; silent with --quiet and off a terminal. */
  notice(text: string): Promise<void>;
  /** Tells whoever reads stderr something that they must know; silent with --quiet alone. */
  say(text: string): Promise<void>;
  /** The same with a text that is printable already, colours included. */
  sayStyled(text: string): Promise<void>;
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
  const flags = flagTexts(command);
  const sources = openSources(flags, host, makesProfile);
  const typed = switches(command);
  const { allowHttp, isCsvSafe, isQuiet } = typed;
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
  const { say, sayStyled, notice } = speaking(host, isQuiet);
  const isUnattended = !typed.mayPrompt || isCi(host);
  const mayPrompt = () => !isUnattended && host.stdin.isTTY && host.stderr.isTTY;
  const profile = sources.flags['--profile'];
  const connecting = (): ConnectOptions => ({ caFile: find(settings.caFile), isInsecure: typed.isInsecure, profile });
  const errorScreen = () => screenOf(host.stderr, color, host);
  const confirming = { mayPrompt, confirmed: find(settings.confirm) };
  const protection = lazyProtection(sources, confirming, { host, errorScreen });
  const wire = wireOpener({ address, sources, context, say, notice, typed, connecting, opened, protection });
  const format = (isSeveral: boolean) => output ?? defaultFormat(host, command, isSeveral);

  return {
    host,
    sources,
    sendsKeys: find(settings.idempotency) !== 'none',
    get idempotency() {
      return address().kind === 'local' ? 'honoured' : (find(settings.idempotency) ?? 'unknown');
    },
    list: (named = {}) => listNamed(named, flags, sources),
    endWithChanges: () => {
      context.ending.is = 'changes';
    },
    address: () => addressText(address()),
    wire,
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => protection(`${place} at ${addressText(address())}`),
    words: context.words,
    version: context.version,
    isQuiet,
    errorScreen,
    screen: () => screenOf(host.stdout, color, host),
    hasQuery: printing.query !== undefined,
    format,
    api: async () => itemsApi(await wire()),
    printing: async (view, isSeveral, work, done, takeAway) => {
      const screen = await screenOf(host.stdout, color, host);
      const isJsonExplicit = output === 'json';
      const asked = { format: format(isSeveral), isSeveral, screen, ...printing, isJsonExplicit };
      const beside = takeAway && host.stdout.isTTY ? wholeLines(host.stdout, takeAway) : undefined;
      try {
        await printResults(await openPrinter(view, asked, beside ?? host.stdout), view, work, done);
      } finally {
        await beside?.flush();
      }
    },
    report: (failure) => reportFailure(failure, context),
    allowsHttp: allowHttp,
    ...{ notice, say, sayStyled, connecting, isUnattended, mayPrompt },
  };
}

/** What is said on stderr: printable, but for what is styled already. */
function speaking({ stderr }: Host, isQuiet: boolean): Pick<Session, 'say' | 'sayStyled' | 'notice'> {
  const sayStyled = async (text: string) => {
    if (!isQuiet) await stderr.write(`${text}\n`);
  };
  const say = (text: string) => sayStyled(printable(text));
  const notice = async (text: string) => {
    if (stderr.isTTY) await say(text);
  };
  return { say, sayStyled, notice };
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

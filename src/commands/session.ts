/** Global flags and the environment in, what one run works with out. */
import type { Command } from 'commander';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import type { RetryPolicy } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
import type { Wire, WireOptions } from '../api/wire.ts';
import { exitCodeOf, exitCodes, Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import type { ListRef } from '../item.ts';
import type { JsonObject } from '../json.ts';
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
import { isJsonWanted, reportFailure, screenOf, writeNotice, writeSummary } from './report.ts';
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
  /** Whether stderr is JSON lines, for a program. */
  readonly isJsonWanted: boolean;
  /** What text on stderr is made for. */
  errorScreen(): Promise<Screen>;
  /** What text on stdout is made for. */
  screen(): Promise<Screen>;
  /** Whether a query is to be asked of what is printed. */
  readonly hasQuery: boolean;
  /** How results are printed: what was asked for, else what suits whoever reads them. */
  format(isSeveral: boolean): PrintFormat;
  /**
   * Takes stdout for something else than results: where no format was chosen, none are printed there.
   *
   * @param flag what writes there instead
   * @param needsResults whether the command is nothing without its results
   * @throws {Failure} usage, when results are to be printed there as well
   */
  claimStdout(flag: string, needsResults: boolean): void;
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
  /**
   * Tells whoever reads stderr what a run did; silent with --quiet.
   *
   * @param lines the same for a person, printable
   */
  summarize(object: JsonObject, lines: () => Promise<readonly string[]>): Promise<void>;
  /**
   * Runs something when the command has ended, before that is reported; what it throws, the command ends in.
   *
   * @param work is given what the command ended in, undefined where it did not fail, and the exit status of that
   */
  atEnd(work: (error: unknown, exit: number) => Promise<void>): void;
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
  const endings: Ending[] = [];
  const end = async (error: unknown) => {
    const exit = error === undefined ? exitCodes[context.ending.is] : exitCodeOf(error, context.host.signal);
    for (const ending of endings) await ending(error, exit);
  };
  try {
    await work(openSession(context, command, { opened, endings, makesProfile }));
  } catch (error) {
    // What can't be told of its end changes nothing about that.
    await end(error).catch(() => {});
    throw error;
  } finally {
    await Promise.all(opened.map((transport) => transport.close()));
  }
  await end(undefined);
}

type Ending = Parameters<Session['atEnd']>[0];

interface OpeningSession {
  /** What has been opened, and is to be closed. */
  readonly opened: Transport[];
  /** What is to be run at the end. */
  readonly endings: Ending[];
  readonly makesProfile: boolean;
}

function openSession(context: Context, command: Command, opening: OpeningSession): Session {
  const { host } = context;
  const { opened, endings, makesProfile } = opening;
  const flags = flagTexts(command);
  const sources = openSources(flags, host, makesProfile);
  const typed = switches(command);
  const { allowHttp, isCsvSafe, isQuiet } = typed;
  const find = <T>(definition: Definition<T>) => findSetting(definition, sources)?.value;
  const [output, color] = [find(settings.output), find(settings.color) ?? 'auto'];
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const allowsHttp = () => allowHttp || find(settings.allowHttp) === true;
  const address = () => {
    const found = find(settings.baseUrl);
    return addressOf(found, found !== undefined && allowsHttp(), sources);
  };
  const printing = { query: find(settings.query), columns: find(settings.columns), csvSafe: isCsvSafe };
  const told = speaking(context, isQuiet);
  const { say, notice } = told;
  const isUnattended = !typed.mayPrompt || isCi(host);
  const mayPrompt = () => !isUnattended && host.stdin.isTTY && host.stderr.isTTY;
  const profile = sources.flags['--profile'];
  const connecting = (): ConnectOptions => {
    return { caFile: find(settings.caFile), isInsecure: typed.isInsecure, allowsHttp: allowsHttp(), profile };
  };
  const errorScreen = () => screenOf(host.stderr, color, host);
  const confirming = { mayPrompt, confirmed: find(settings.confirm) };
  const protection = lazyProtection(sources, confirming, { host, errorScreen });
  const wire = wireOpener({ address, sources, context, say, notice, typed, connecting, opened, protection });
  const stdoutUse = useOfStdout(output, printing.query !== undefined, host, command);

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
    errorScreen,
    screen: () => screenOf(host.stdout, color, host),
    hasQuery: printing.query !== undefined,
    ...stdoutUse,
    api: async () => itemsApi(await wire()),
    printing: async (view, isSeveral, work, done, takeAway) => {
      const screen = await screenOf(host.stdout, color, host);
      const isJsonExplicit = output === 'json';
      const asked = { format: stdoutUse.format(isSeveral), isSeveral, screen, ...printing, isJsonExplicit };
      const beside = takeAway && host.stdout.isTTY ? wholeLines(host.stdout, takeAway) : undefined;
      try {
        await printResults(await openPrinter(view, asked, beside ?? host.stdout), view, work, done);
      } finally {
        await beside?.flush();
      }
    },
    allowsHttp: allowHttp,
    atEnd: (ending) => void endings.push(ending),
    ...told,
    ...{ connecting, isUnattended, mayPrompt },
  };
}

type Speaking = Pick<Session, 'isQuiet' | 'isJsonWanted' | 'report' | 'say' | 'notice' | 'summarize'>;

/** What is said on stderr. */
function speaking(context: Context, isQuiet: boolean): Speaking {
  const say = async (text: string) => {
    if (!isQuiet) await writeNotice(text, context);
  };
  const notice = async (text: string) => {
    if (context.host.stderr.isTTY) await say(text);
  };
  const summarize: Session['summarize'] = async (object, lines) => {
    if (!isQuiet) await writeSummary(object, lines, context);
  };
  const report = (failure: Failure) => reportFailure(failure, context);
  return { isQuiet, isJsonWanted: isJsonWanted(context), report, say, notice, summarize };
}

/** Without `--output`: a table for a person, and JSON for a program, of what the service gave. */
function defaultFormat({ stdout }: Host, command: Command, isSeveral: boolean): PrintFormat {
  const isOfService = typedPath(command).some((name) => name === 'items' || name === 'api');
  if (stdout.isTTY || !isOfService) return 'pretty';
  return isSeveral ? 'jsonl' : 'json';
}

/** What is printed on stdout: results, unless something else claims it. */
function useOfStdout(
  output: PrintFormat | undefined,
  hasQuery: boolean,
  host: Host,
  command: Command,
): Pick<Session, 'format' | 'claimStdout'> {
  let isClaimed = false;
  return {
    format: (isSeveral) => output ?? (isClaimed ? 'none' : defaultFormat(host, command, isSeveral)),
    claimStdout: (flag, needsResults) => {
      const isFree = output === 'none' || (output === undefined && !hasQuery && !needsResults);
      if (!isFree) throw claimedTwice(flag, output);
      isClaimed = true;
    },
  };
}

function claimedTwice(flag: string, output: PrintFormat | undefined): Failure {
  const results = output === undefined ? 'the results' : `-o ${output}`;
  return new Failure('usage', `${flag} cannot be used with ${results}: both write to standard output`, {
    hint: 'pass -o none, or name a file',
  });
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

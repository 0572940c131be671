/** Global flags and the environment in, what one run works with out. */
import type { Command } from 'commander';
import { type AttemptReport, type Client, type ClientOptions, createClient } from '../api/client.ts';
import { type ItemsApi, itemsApi } from '../api/items.ts';
import { defaultRetries, type RetryPolicy } from '../api/outcome.ts';
import type { ApiRequest, Transport } from '../api/transport.ts';
import { exitCodeOf, exitCodes, Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import type { ListRef } from '../core/item.ts';
import { type JsonObject, type JsonValue, parseJson } from '../core/json.ts';
import { requestView } from '../output/item.ts';
import { wholeLines } from '../output/layout.ts';
import { openPrinter, type Printer } from '../output/printer.ts';
import type { PrintFormat, Screen, View } from '../output/view.ts';
import {
  type Address,
  addressText,
  type Definition,
  type FlagTexts,
  findSetting,
  refuseOpenHttp,
} from '../settings/setting.ts';
import { openSources, type Sources } from '../settings/sources.ts';
import { findToken, type Token } from '../settings/token.ts';
import { type ConnectOptions, connect, tokenCommandRunner } from './connect.ts';
import type { Context } from './context.ts';
import { flagTexts, globalFlags, type Switches, switches } from './flags.ts';
import { guarded, lazyProtection, type Protection } from './guards.ts';
import { isJsonWanted, reportFailure, screenOf, writeNotice, writeSummary, writeTrace } from './report.ts';

/** A site and a list, as far as a file names them. */
export interface NamedList {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
}

/**
 * The list that a file names, else that of flags and globalFlags.
 *
 * @throws {Failure} usage, when nothing names it, or a flag contradicts the file
 */
function listNamed(named: NamedList, flags: FlagTexts, sources: Sources): ListRef {
  const pick = (name: 'site' | 'list', ways: string) =>
    namedOr(name, named[name], flags) ?? required(findSetting(globalFlags[name], sources)?.value, name, ways, sources);
  return {
    site: pick('site', '--site <id> or set LISTCTL_SITE'),
    list: pick('list', '--list <id> or set LISTCTL_LIST'),
  };
}

/** What a file names, unless a flag says something else: then nobody knows what is meant. */
function namedOr(name: 'site' | 'list', named: string | undefined, flags: FlagTexts): string | undefined {
  const typed = flags[`--${name}`];
  if (named === undefined || typed === undefined || typed === named) return named;
  throw new Failure('usage', `--${name} "${typed}" conflicts with the manifest: its ${name} is "${named}"`, {
    hint: `leave out --${name}, or change the manifest; nothing was sent`,
  });
}

function required(value: string | undefined, name: string, ways: string, sources: Sources): string {
  if (value !== undefined) return value;
  refuseDenied(sources);
  const isNew = findSetting(globalFlags.baseUrl, sources) === undefined;
  const setUp = isNew ? ', or run listctl init' : '';
  throw new Failure('usage', `no ${name} given`, { hint: `pass ${ways}${setUp}` });
}

/** What is missing may stand in settings that the system denies us: then that is what to mend. */
function refuseDenied(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

/** Prints one result; undefined where nothing has to be waited for. */
export type Print<T> = (value: T) => Promise<void> | undefined;

/**
 * Prints results as `work` comes upon them, and ends the printer however that goes.
 *
 * @param done what the service did to each, where it was a write: `created`
 * @throws {Failure} what cannot be printed; where it was done, with the outcome applied and what was done in its message
 */
async function printResults<T>(
  printer: Printer<T>,
  view: View<T>,
  work: (print: Print<T>) => Promise<void>,
  done: string | undefined,
): Promise<void> {
  const ids = new FirstIds();
  const refuse = (error: unknown) => {
    throw done !== undefined && ids.count > 0 && error instanceof Failure ? notPrinted(error, done, ids) : error;
  };
  try {
    await work((value) => {
      ids.add(view.id(value));
      try {
        return printer.print(value)?.catch(refuse);
      } catch (error) {
        return refuse(error);
      }
    });
  } finally {
    await printer.end().catch(refuse);
  }
}

/** The ids of what was printed, as many as a message has room for: there may be a million. */
class FirstIds {
  readonly known: string[] = [];
  count = 0;
  #knownCount = 0;

  add(id: string | undefined): void {
    this.count += 1;
    if (id === undefined) return;
    this.#knownCount += 1;
    if (this.known.length < 10) this.known.push(id);
  }

  /** The id, where there is one. */
  get only(): string | undefined {
    return this.#knownCount === 1 ? this.known[0] : undefined;
  }

  /** `items 17, 18 were` */
  get sentence(): string {
    if (this.#knownCount === 0) return 'the request was';
    const more = this.#knownCount - this.known.length;
    const shown = this.known.join(', ') + (more > 0 ? ` and ${more} more` : '');
    return this.#knownCount === 1 ? `item ${shown} was` : `items ${shown} were`;
  }
}

/** What was done is never reported as if it were not: a script that tried again would do it twice. */
function notPrinted({ message, kind, details }: Failure, done: string, ids: FirstIds): Failure {
  return new Failure(
    kind === 'refused' ? 'local-file' : kind,
    `${ids.sentence} ${done}, but could not be printed: ${message}`,
    {
      ...details,
      hint: 'do not run the command again',
      outcome: 'applied',
      about: ids.only === undefined ? undefined : { id: ids.only },
    },
  );
}

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
function clientOpener(options: WayOptions): (kind?: 'one' | 'many', more?: Partial<ClientOptions>) => Promise<Client> {
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
  readonly idempotency: 'honored' | 'unknown' | 'none';
  /**
   * The list, as flags and settings name it.
   *
   * @param named by a manifest: that stands above what the environment and the settings say
   * @throws {Failure} usage, when the site or the list is not named, or a flag contradicts the manifest
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
  client(kind?: 'one' | 'many', more?: Partial<ClientOptions>): Promise<Client>;
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
   * is sent: a query or a format that cannot be is found out first.
   *
   * @param isSeveral as a list, even where there is one
   * @param done what the service did to each result, where it was a write: `created`. Where a result cannot be printed
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
    // What cannot be told of its end changes nothing about that.
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
  const [output, color] = [find(globalFlags.output), find(globalFlags.color) ?? 'auto'];
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const allowsHttp = () => allowHttp || find(globalFlags.allowHttp) === true;
  const address = () => {
    const found = find(globalFlags.baseUrl);
    return addressOf(found, found !== undefined && allowsHttp(), sources);
  };
  const printing = { query: find(globalFlags.query), columns: find(globalFlags.columns), csvSafe: isCsvSafe };
  const told = speaking(context, isQuiet);
  const { say, notice } = told;
  const isUnattended = !typed.mayPrompt || isCi(host);
  const mayPrompt = () => !isUnattended && host.stdin.isTTY && host.stderr.isTTY;
  const profile = sources.flags['--profile'];
  const connecting = (): ConnectOptions => {
    return { caFile: find(globalFlags.caFile), isInsecure: typed.isInsecure, allowsHttp: allowsHttp(), profile };
  };
  const errorScreen = () => screenOf(host.stderr, color, host);
  const confirming = { mayPrompt, confirmed: find(globalFlags.confirm) };
  const protection = lazyProtection(sources, confirming, { host, errorScreen });
  const client = clientOpener({ address, sources, context, say, notice, typed, connecting, opened, protection });
  const stdoutUse = useOfStdout(output, printing.query !== undefined, host, command);

  return {
    host,
    sources,
    sendsKeys: find(globalFlags.idempotency) !== 'none',
    get idempotency() {
      return address().kind === 'local' ? 'honored' : (find(globalFlags.idempotency) ?? 'unknown');
    },
    list: (named = {}) => listNamed(named, flags, sources),
    endWithChanges: () => {
      context.ending.is = 'changes';
    },
    address: () => addressText(address()),
    client,
    retryPolicy: (kind) => retryPolicy(sources, kind),
    confirmWrites: (place) => protection(`${place} at ${addressText(address())}`),
    words: context.words,
    version: context.version,
    errorScreen,
    screen: () => screenOf(host.stdout, color, host),
    hasQuery: printing.query !== undefined,
    ...stdoutUse,
    api: async () => itemsApi(await client()),
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
    hint: 'pass -o none or a file name',
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
      hint: 'pass --base-url <url> or set LISTCTL_BASE_URL; use --local to try the built-in service, or run listctl init',
    });
  }
  refuseOpenHttp(address, allowHttp);
  return address;
}

/** Shows requests that are not sent. */
export function showDryRun(requests: readonly ApiRequest[], session: Session): Promise<void> {
  return session.printing(requestView, requests.length > 1, async (print) => {
    for (const { method, path, headers, body } of requests) {
      const url = session.address() + path;
      await print({ method, url, headers, ...(body === undefined ? {} : { body: bodyOf(body) }) });
    }
  });
}

/** The body as JSON, else as text. */
function bodyOf(body: string | Uint8Array): JsonValue {
  const text = Buffer.from(body).toString();
  try {
    return parseJson(text);
  } catch {
    // A body of the user's own, for `api`: it may be anything.
    return text;
  }
}

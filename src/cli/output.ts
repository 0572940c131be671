/** Results on stdout. */
import type { Command } from 'commander';
import type { Operation } from '../api/operation.ts';
import type { ApiRequest } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { Host, Output } from '../core/host.ts';
import { parseJson } from '../core/json.ts';
import { listNames, nearestName, quoted } from '../core/text.ts';
import { type PlannedRequest, requestView } from '../output/item.ts';
import { rowOf, wholeLines } from '../output/layout.ts';
import { openPrinter, type Printer } from '../output/printer.ts';
import type { PrintFormat, Screen, View } from '../output/view.ts';
import type { ItemOperations } from '../services/service.ts';
import { findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { type Context, commandPath } from './command.ts';
import type { ServiceAccess } from './connect.ts';
import { globalFlags, type switches } from './flags.ts';
import { type Messages, screenOf } from './report.ts';
import type { RunSettings } from './run-settings.ts';

export interface CommandOutput {
  readonly hasQuery: boolean;
  /** The format of --output, else the default for a terminal or a pipe. */
  format(isSeveral: boolean): PrintFormat;
  /** Reserves stdout for a flag instead of results; throws if results were requested as well, or are needed. */
  claimStdout(flag: string, needsResults: boolean): void;
  screen(): Promise<Screen>;
  /** Rejects an invalid query. */
  checkQuery(): Promise<void>;
  /** Rejects an invalid query or format, as `printing` does: for a command that has long work before it. */
  check<T>(view: View<T>, isSeveral: boolean): Promise<void>;
  /**
   * Prints the results of `work`. Call it before anything is sent, since it rejects an invalid query or format.
   *
   * @param done the past tense of a write, `created`: a failure to print says that it was done
   */
  printing<T>(
    view: View<T>,
    isSeveral: boolean,
    work: (print: Print<T>) => Promise<void>,
    done?: string,
  ): Promise<void>;
  /**
   * Opens a printer of results. Call it before anything is sent, since it rejects an invalid query or format.
   *
   * @param clear removes a progress display before anything is printed
   */
  open<T>(view: View<T>, isSeveral: boolean, clear?: () => void): Promise<Printer<T>>;
}

export function commandOutput(
  {
    sources,
    output,
    color,
    typed,
    messages,
  }: {
    readonly sources: Sources;
    readonly output: PrintFormat | undefined;
    readonly color: Context['errors']['color'];
    readonly typed: ReturnType<typeof switches>;
    readonly messages: Pick<Messages, 'notice' | 'say'>;
  },
  host: Host,
  command: Command,
): CommandOutput {
  const query = findValue(globalFlags.query, sources);
  const columns = findValue(globalFlags.columns, sources);
  const hasQuery = query !== undefined;
  let isClaimed = false;
  const screen = async () => {
    const known = await screenOf(host.stdout, color, host);
    return typed.isWide && known.columns !== undefined ? { ...known, columns: Number.POSITIVE_INFINITY } : known;
  };
  const toFormat = (isSeveral: boolean) =>
    output ?? (isClaimed ? 'none' : defaultFormat(host, command, isSeveral && !hasQuery));
  const openTo = async <T>(view: View<T>, isSeveral: boolean, to: Pick<Output, 'write' | 'isClosed'>) =>
    openPrinter(
      view,
      {
        ...{ isSeveral, screen: await screen(), query, columns, format: toFormat(isSeveral) },
        ...{ csvSafe: typed.isCsvSafe, isJsonExplicit: output === 'json' },
      },
      to,
    );
  const open = async <T>(view: View<T>, isSeveral: boolean, clear?: () => void): Promise<Printer<T>> => {
    const lines = clear && host.stdout.isTTY ? wholeLines(host.stdout, clear) : undefined;
    const watch = watchResults(view, lines ?? host.stdout, hasQuery ? undefined : columns);
    const printer = await openTo(view, isSeveral, watch.output);
    return {
      print: watch.before(printer.print),
      end: async () => {
        try {
          await printer.end();
          const format = toFormat(isSeveral);
          const isEmpty = hasQuery && format !== 'none' && !watch.hasPrinted();
          if (isEmpty) await messages.say(emptyQueryText(query, format !== 'jsonl' && isSeveral));
          for (const text of watch.missing()) await messages.notice(text);
        } finally {
          await lines?.flush();
        }
      },
    };
  };
  return {
    hasQuery,
    format: toFormat,
    claimStdout: (flag, needsResults) => {
      const isFree = output === 'none' || (output === undefined && !hasQuery && !needsResults);
      if (!isFree) throw claimedTwice(flag, output);
      isClaimed = true;
    },
    screen,
    checkQuery: async () => {
      if (query !== undefined) (await import('../output/query.ts')).compileQuery(query);
    },
    check: async (view, isSeveral) => {
      await openTo(view, isSeveral, { isClosed: false, write: async () => {} });
    },
    printing: async (view, isSeveral, work, done) => printResults(await open(view, isSeveral), view, work, done),
    open,
  };
}

/** Notes whether anything was printed, and the columns that no result has. */
function watchResults<T>(
  view: View<T>,
  output: Pick<Output, 'write' | 'isClosed'>,
  columns: readonly string[] | undefined,
) {
  const missing = new Set(columns);
  const seen = new Set<string>();
  let hasPrinted = false;
  const note = (value: T) => {
    const names = rowOf(value, view).keys();
    for (const name of names) {
      missing.delete(name);
      if (seen.size < 1000) seen.add(name);
    }
  };
  return {
    output: {
      get isClosed() {
        return output.isClosed;
      },
      write: (text: string) => {
        hasPrinted ||= text !== '' && text !== '[]\n';
        return output.write(text);
      },
    },
    before:
      (print: Print<T>): Print<T> =>
      (value) => {
        if (missing.size > 0) note(value);
        return print(value);
      },
    hasPrinted: () => hasPrinted,
    missing: () =>
      seen.size === 0
        ? []
        : [...missing].map((name) => {
            const meant = nearestName(name, seen);
            return `note: no result has the column "${name}"${meant === undefined ? '' : `; did you mean ${quoted(meant)}?`}`;
          }),
  };
}

function emptyQueryText(query: string, isArray: boolean): string {
  const advice =
    isArray && !query.trimStart().startsWith('[') ? `: several results are an array, so try [].${query}` : '';
  return `note: the query returned nothing${advice}`;
}

/** Prints one result; returns undefined if there is nothing to wait for. */
export type Print<T> = (value: T) => Promise<void> | undefined;

async function printResults<T>(
  printer: Printer<T>,
  view: View<T>,
  work: (print: Print<T>) => Promise<void>,
  done: string | undefined,
): Promise<void> {
  let count = 0;
  let idCount = 0;
  /** For a message: there may be a million. */
  const firstIds: string[] = [];
  const refuse = (error: unknown) => {
    if (done === undefined || count === 0 || !(error instanceof Failure)) throw error;
    throw notPrinted(error, done, firstIds, idCount);
  };
  try {
    await work((value) => {
      count += 1;
      const id = view.id(value);
      if (id !== undefined) idCount += 1;
      if (id !== undefined && firstIds.length < 10) firstIds.push(id);
      try {
        return printer.print(value)?.catch(refuse);
      } catch (error) {
        return refuse(error);
      }
    });
  } catch (error) {
    // An empty list would say that there is nothing.
    if (count > 0) await printer.end().catch(refuse);
    throw error;
  }
  await printer.end().catch(refuse);
}

/** A script that retried a write because of its output would do it twice. */
function notPrinted({ message, kind, details }: Failure, done: string, ids: readonly string[], count: number): Failure {
  const items = `item${count === 1 ? '' : 's'} ${listNames(ids, 10, count)} ${count === 1 ? 'was' : 'were'}`;
  return new Failure(
    kind === 'refused' ? 'local-file' : kind,
    `${count === 0 ? 'the request was' : items} ${done}, but could not be printed: ${message}`,
    {
      ...details,
      hint: 'do not run the command again',
      outcome: 'applied',
      about: count === 1 ? { id: ids[0] } : undefined,
    },
  );
}

/** The format without `--output`: JSON for items off a terminal, else pretty. */
function defaultFormat({ stdout }: Host, command: Command, isSeveral: boolean): PrintFormat {
  const isOfService = commandPath(command).some((name) => name === 'items' || name === 'api');
  if (stdout.isTTY || !isOfService) return 'pretty';
  return isSeveral ? 'jsonl' : 'json';
}

function claimedTwice(flag: string, output: PrintFormat | undefined): Failure {
  const results = output === undefined ? 'the results' : `-o ${output}`;
  return new Failure('usage', `${flag} cannot be used with ${results}: both write to standard output`, {
    hint: 'pass -o none or a file name',
  });
}

/** Prints the requests of operations on these items or lists instead of sending them. */
export async function showDryRun<T>(
  targets: readonly T[],
  toOperation: (items: ItemOperations, target: T) => Pick<Operation<unknown>, 'request'>,
  session: Parameters<typeof showRequests>[1] & { readonly service: Pick<ServiceAccess, 'items'> },
): Promise<void> {
  const items = await session.service.items();
  return showRequests(
    targets.map((target) => toOperation(items, target).request),
    session,
  );
}

/** Prints requests instead of sending them. */
export function showRequests(
  requests: readonly ApiRequest[],
  { output, settings }: { readonly output: CommandOutput; readonly settings: Pick<RunSettings, 'address'> },
): Promise<void> {
  return output.printing(requestView, requests.length > 1, async (print) => {
    for (const { method, path, headers, body } of requests) {
      const url = settings.address() + path;
      await print({ method, url, headers, ...(body === undefined ? {} : shownBody(body)) });
    }
  });
}

/** The body as JSON; that of `api` may be any text. */
function shownBody(body: string | Uint8Array): Pick<PlannedRequest, 'body' | 'isText'> {
  const text = Buffer.from(body).toString();
  try {
    return { body: parseJson(text) };
  } catch {
    return { body: text, isText: true };
  }
}

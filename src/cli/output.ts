/** Results on stdout. */
import type { Command } from 'commander';
import type { ApiRequest } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { type JsonValue, parseJson } from '../core/json.ts';
import { requestView } from '../output/item.ts';
import { wholeLines } from '../output/layout.ts';
import { openPrinter, type Printer } from '../output/printer.ts';
import type { PrintFormat, Screen, View } from '../output/view.ts';
import { findValue } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { commandPath } from './command.ts';
import { globalFlags } from './flags.ts';
import { type ColorChoice, screenOf } from './report.ts';
import type { RunSettings } from './run-settings.ts';

/** How a command prints its results. */
export interface CommandOutput {
  readonly hasQuery: boolean;
  /** The format of --output, else the default for a terminal or a pipe. */
  format(isSeveral: boolean): PrintFormat;
  /**
   * Reserves stdout for something else than results: unless a format was chosen, none are printed.
   *
   * @param flag the flag that writes there
   * @param needsResults whether the command is useless without its results
   * @throws {Failure} usage, when results are to be printed there as well
   */
  claimStdout(flag: string, needsResults: boolean): void;
  screen(): Promise<Screen>;
  /**
   * Prints the results of `work`. Call it before anything is sent: an invalid query or format is found first.
   *
   * @param isSeveral prints a list, even of one result
   * @param done the past tense of a write, `created`: if a result cannot be printed, the failure says that it was done
   * @param takeAway clears a progress display before anything is printed
   */
  printing<T>(
    view: View<T>,
    isSeveral: boolean,
    work: (print: Print<T>) => Promise<void>,
    done?: string,
    takeAway?: () => void,
  ): Promise<void>;
}

export function commandOutput(
  { sources, color, csvSafe }: { readonly sources: Sources; readonly color: ColorChoice; readonly csvSafe: boolean },
  host: Host,
  command: Command,
): CommandOutput {
  const output = findValue(globalFlags.output, sources);
  const query = findValue(globalFlags.query, sources);
  const columns = findValue(globalFlags.columns, sources);
  const stdoutUse = useOfStdout(output, query !== undefined, host, command);
  return {
    hasQuery: query !== undefined,
    ...stdoutUse,
    screen: () => screenOf(host.stdout, color, host),
    printing: async (view, isSeveral, work, done, takeAway) => {
      const screen = await screenOf(host.stdout, color, host);
      const options = { isSeveral, screen, query, columns, csvSafe, isJsonExplicit: output === 'json' };
      const beside = takeAway && host.stdout.isTTY ? wholeLines(host.stdout, takeAway) : undefined;
      try {
        const printer = await openPrinter(
          view,
          { ...options, format: stdoutUse.format(isSeveral) },
          beside ?? host.stdout,
        );
        await printResults(printer, view, work, done);
      } finally {
        await beside?.flush();
      }
    },
  };
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

/** Without `--output`: a table for a person, and JSON for a program, of what the service gave. */
function defaultFormat({ stdout }: Host, command: Command, isSeveral: boolean): PrintFormat {
  const isOfService = commandPath(command).some((name) => name === 'items' || name === 'api');
  if (stdout.isTTY || !isOfService) return 'pretty';
  return isSeveral ? 'jsonl' : 'json';
}

/** What is printed on stdout: results, unless something else claims it. */
function useOfStdout(
  output: PrintFormat | undefined,
  hasQuery: boolean,
  host: Host,
  command: Command,
): Pick<CommandOutput, 'format' | 'claimStdout'> {
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

/** Shows requests that are not sent. */
export function showDryRun(
  requests: readonly ApiRequest[],
  { output, settings }: { readonly output: CommandOutput; readonly settings: Pick<RunSettings, 'address'> },
): Promise<void> {
  return output.printing(requestView, requests.length > 1, async (print) => {
    for (const { method, path, headers, body } of requests) {
      const url = settings.address() + path;
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

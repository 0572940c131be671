/** What a command works with: settings, service, output, messages and prompts. */
import type { Command } from 'commander';
import type { Transport } from '../api/transport.ts';
import { exitCodeOf, exitCodes, type Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import type { JsonObject } from '../core/json.ts';
import type { Screen } from '../output/view.ts';
import { type Definition, findSetting } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import { type ServiceAccess, serviceAccess } from './client.ts';
import type { Context } from './context.ts';
import { flagTexts, globalFlags, switches } from './flags.ts';
import { lazyProtection } from './guards.ts';
import { type CommandOutput, commandOutput } from './output.ts';
import { isJsonWanted, reportFailure, screenOf, writeNotice, writeSummary } from './report.ts';
import { addressFinder, type RunSettings, runSettings } from './run-settings.ts';

/** Everything that a command works with. Nothing is opened before it is needed. */
export interface Session {
  readonly host: Host;
  readonly settings: RunSettings;
  readonly service: ServiceAccess;
  readonly output: CommandOutput;
  readonly messages: Messages;
  readonly prompts: Prompts;
  readonly command: RunningCommand;
}

/** Messages on stderr. */
export interface Messages {
  readonly isQuiet: boolean;
  /** Whether stderr is JSON lines. */
  readonly isJsonWanted: boolean;
  errorScreen(): Promise<Screen>;
  /** Prints a failure; the command continues. */
  report(failure: Failure): Promise<void>;
  /** Prints a line for a person; silent with --quiet and off a terminal. */
  notice(text: string): Promise<void>;
  /** Prints a line that scripts need too; silent with --quiet only. */
  say(text: string): Promise<void>;
  /**
   * Prints the summary of a run; silent with --quiet.
   *
   * @param lines the same for a person, printable
   */
  summarize(object: JsonObject, lines: () => Promise<readonly string[]>): Promise<void>;
}

/** Whether questions may be asked. */
export interface Prompts {
  /** On a terminal, unless --no-input or CI. */
  mayPrompt(): boolean;
  /** --no-input or CI: nothing is asked, and nothing is assumed that would be asked on a terminal. */
  readonly isUnattended: boolean;
}

/** The command line, and how it ends. */
export interface RunningCommand {
  /** Without the program's name. */
  readonly words: readonly string[];
  readonly version: string;
  /** Sets the exit code for pending changes. */
  endWithChanges(): void;
  /**
   * Runs `work` at the end of the command, before its failure is reported.
   *
   * @param work receives the error, if the command failed, and the exit code
   */
  atEnd(work: (error: unknown, exit: number) => Promise<void>): void;
}

/**
 * Runs a command with a session, and closes what it opened. With `mayCreateProfile` the profile of `--profile` need not
 * exist.
 */
export async function withSession(
  context: Context,
  command: Command,
  work: (session: Session) => Promise<void>,
  { mayCreateProfile = false }: { readonly mayCreateProfile?: boolean } = {},
): Promise<void> {
  const opened: Transport[] = [];
  const endings: Ending[] = [];
  const end = async (error: unknown) => {
    const exit = error === undefined ? exitCodes[context.ending.is] : exitCodeOf(error, context.host.signal);
    for (const ending of endings) await ending(error, exit);
  };
  try {
    await work(openSession(context, command, { opened, endings, mayCreateProfile }));
  } catch (error) {
    await end(error).catch(() => {});
    throw error;
  } finally {
    await Promise.all(opened.map((transport) => transport.close()));
  }
  await end(undefined);
}

type Ending = Parameters<RunningCommand['atEnd']>[0];

interface OpeningSession {
  /** To be closed at the end. */
  readonly opened: Transport[];
  /** To be run at the end. */
  readonly endings: Ending[];
  readonly mayCreateProfile: boolean;
}

function openSession(
  context: Context,
  command: Command,
  { opened, endings, mayCreateProfile }: OpeningSession,
): Session {
  const { host } = context;
  const sources = openSources(flagTexts(command), host, mayCreateProfile);
  const typed = switches(command);
  const find = <T>(definition: Definition<T>) => findSetting(definition, sources)?.value;
  const [output, color] = [find(globalFlags.output), find(globalFlags.color) ?? 'auto'];
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const allowsHttp = () => typed.allowHttp || find(globalFlags.allowHttp) === true;
  const address = addressFinder(sources, allowsHttp);
  const isUnattended = !typed.mayPrompt || isCi(host);
  const prompts = { isUnattended, mayPrompt: () => !isUnattended && host.stdin.isTTY && host.stderr.isTTY };
  const messages = commandMessages(context, typed.isQuiet);
  const confirming = { mayPrompt: prompts.mayPrompt, confirmed: find(globalFlags.confirm) };
  const service = serviceAccess({
    ...{ address, sources, context, typed, opened },
    ...{ say: messages.say, notice: messages.notice },
    protection: lazyProtection(sources, confirming, { host, messages }),
    connecting: () => ({
      caFile: find(globalFlags.caFile),
      isInsecure: typed.isInsecure,
      allowsHttp: allowsHttp(),
      profile: sources.flags['--profile'],
    }),
  });
  return {
    ...{ host, service, messages, prompts },
    settings: runSettings(sources, typed.allowHttp, address),
    output: commandOutput({ sources, color, csvSafe: typed.isCsvSafe }, host, command),
    command: {
      words: context.words,
      version: context.version,
      endWithChanges: () => {
        context.ending.is = 'changes';
      },
      atEnd: (ending) => void endings.push(ending),
    },
  };
}

function commandMessages(context: Context, isQuiet: boolean): Messages {
  const { host } = context;
  const say = async (text: string) => {
    if (!isQuiet) await writeNotice(text, context);
  };
  return {
    isQuiet,
    isJsonWanted: isJsonWanted(context),
    errorScreen: () => screenOf(host.stderr, context.errors.color, host),
    report: (failure) => reportFailure(failure, context),
    say,
    notice: async (text) => {
      if (host.stderr.isTTY) await say(text);
    },
    summarize: async (object, lines) => {
      if (!isQuiet) await writeSummary(object, lines, context);
    },
  };
}

function isCi({ env }: Host): boolean {
  const value = env['CI'];
  return Boolean(value) && value !== '0' && value !== 'false';
}

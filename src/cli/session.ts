/** What a command works with: settings, service, output, messages and prompts. */
import type { Command } from 'commander';
import type { Transport } from '../api/transport.ts';
import { exitCodeOf, exitCodes } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { findValue } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import { type ServiceAccess, serviceAccess } from './client.ts';
import type { Context } from './context.ts';
import { flagTexts, globalFlags, switches } from './flags.ts';
import { lazyProtection } from './guards.ts';
import { type CommandOutput, commandOutput } from './output.ts';
import { commandMessages, type Messages } from './report.ts';
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
  const output = findValue(globalFlags.output, sources);
  const color = findValue(globalFlags.color, sources) ?? 'auto';
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const allowsHttp = () => typed.allowHttp || findValue(globalFlags.allowHttp, sources) === true;
  const address = addressFinder(sources, allowsHttp);
  const isUnattended = !typed.mayPrompt || isCi(host);
  const prompts = { isUnattended, mayPrompt: () => !isUnattended && host.stdin.isTTY && host.stderr.isTTY };
  const messages = commandMessages(context, typed.isQuiet);
  const confirming = { mayPrompt: prompts.mayPrompt, confirmed: findValue(globalFlags.confirm, sources) };
  const service = serviceAccess({
    ...{ address, sources, context, typed, opened, messages },
    protection: lazyProtection(sources, confirming, { host, messages }),
    connecting: () => ({
      caFile: findValue(globalFlags.caFile, sources),
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

function isCi({ env }: Host): boolean {
  const value = env['CI'];
  return Boolean(value) && value !== '0' && value !== 'false';
}

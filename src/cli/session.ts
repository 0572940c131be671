/** What a command works with: settings, service, output, messages and prompts. */
import type { Command } from 'commander';
import type { Transport } from '../api/transport.ts';
import { exitCodeOf, exitCodes } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { findValue } from '../settings/setting.ts';
import { openSources } from '../settings/sources.ts';
import { type Context, commandPath, helpNotes } from './command.ts';
import { type ServiceAccess, serviceAccess } from './connect.ts';
import { flagTexts, globalFlags, switches } from './flags.ts';
import { createWriteGuard, type WriteGuard } from './guards.ts';
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
  readonly prompts: {
    /** On a terminal, unless --no-input or CI. */
    mayPrompt(): boolean;
    /** --no-input or CI. */
    readonly isUnattended: boolean;
    readonly isCi: boolean;
    readonly confirm: WriteGuard['confirm'];
    readonly skipHint: WriteGuard['skipHint'];
  };
  readonly command: {
    readonly words: readonly string[];
    readonly version: string;
    /** Sets the exit code for pending changes. */
    endWithChanges(): void;
    /** Runs `work` at the end, before the failure is reported; it receives the error, if any, and the exit code. */
    atEnd(work: EndWork): void;
  };
}

type EndWork = (error: unknown, exit: number) => Promise<void>;

/**
 * The action of a command: `work` receives a session, then the arguments and flags. `--profile` may be new, if allowed.
 */
export function inSession<Typed extends unknown[]>(
  context: Context,
  work: (session: Session, ...typed: Typed) => Promise<void>,
  options?: { readonly mayCreateProfile?: boolean },
): (this: Command, ...typed: Typed) => Promise<void> {
  return function (...typed) {
    return withSession(context, this, (session) => work(session, ...typed), options);
  };
}

/** Runs `work` with a session, and closes its connections. */
export async function withSession(
  context: Context,
  command: Command,
  work: (session: Session) => Promise<void>,
  { mayCreateProfile = false }: { readonly mayCreateProfile?: boolean } = {},
): Promise<void> {
  const opened: Transport[] = [];
  const endWork: EndWork[] = [];
  const end = async (error: unknown) => {
    let failure = error;
    for (const each of endWork) {
      const exit = failure === undefined ? exitCodes[context.ending.is] : exitCodeOf(failure, context.host.signal);
      try {
        await each(failure, exit);
      } catch (thrown) {
        failure ??= thrown;
      }
    }
    if (failure !== undefined) throw failure;
  };
  try {
    const session = openSession(context, command, { opened, endWork, mayCreateProfile });
    // Before the work, which may send requests.
    if (session.output.hasQuery) await session.output.checkQuery();
    await work(session);
  } catch (error) {
    await end(error).catch(() => {});
    throw error;
  } finally {
    await Promise.all(opened.map((transport) => transport.close()));
  }
  await end(undefined);
}

function openSession(
  context: Context,
  command: Command,
  { opened, endWork, mayCreateProfile }: { opened: Transport[]; endWork: EndWork[]; mayCreateProfile: boolean },
): Session {
  const { host } = context;
  const sources = openSources(flagTexts(command), host, mayCreateProfile);
  const typed = switches(command);
  if (mayWrite(command)) context.ending.writes = 0;
  const output = findValue(globalFlags.output, isSetup(command) ? { flags: sources.flags, env: sources.env } : sources);
  // Only a request that is not sent can be printed so.
  if (output === 'curl') command.setOptionValue('dryRun', true);
  const color = findValue(globalFlags.color, sources) ?? 'auto';
  context.errors.color = color;
  context.errors.asJson = output === 'json' || output === 'jsonl';
  const allowHttp = () => typed.allowHttp || findValue(globalFlags.allowHttp, sources) === true;
  const address = addressFinder(sources, allowHttp);
  const isUnattended = !typed.mayPrompt || isCi(host);
  const mayPrompt = () => !isUnattended && host.stdin.isTTY && host.terminal !== undefined;
  const messages = commandMessages(context, typed.isQuiet);
  const guard = createWriteGuard(sources, mayPrompt, { host, messages });
  const service = serviceAccess({
    ...{ address, sources, context, typed, opened, messages },
    ...{ guard, allowHttp },
  });
  return {
    ...{ host, service, messages },
    prompts: { isUnattended, isCi: isCi(host), mayPrompt, confirm: guard.confirm, skipHint: guard.skipHint },
    settings: runSettings(sources, typed.allowHttp, address),
    output: commandOutput({ sources, output, color, typed, messages }, host, command),
    command: {
      words: context.words,
      version: context.version,
      endWithChanges: () => {
        context.ending.is = 'changes';
      },
      atEnd: (work) => void endWork.push(work),
    },
  };
}

/** Commands for people, which the format of a profile is not for. */
function isSetup(command: Command): boolean {
  return ['auth', 'doctor', 'init', 'profile'].includes(commandPath(command)[1] ?? '');
}

/** A command that may write to the service may leave a write in doubt. */
function mayWrite(command: Command): boolean {
  const { exitCodes: own = {}, exits = [] } = helpNotes(command) ?? {};
  return exitCodes['in-doubt'] in own || exits.includes(exitCodes['in-doubt']);
}

function isCi({ env }: Host): boolean {
  const value = env['CI'];
  return Boolean(value) && value !== '0' && value !== 'false';
}

import type { Command } from 'commander';
import { addHelpNotes, type SetUp } from '../../cli/command.ts';
import { noToken, tokenCommandRunner } from '../../cli/connect.ts';
import type { Context } from '../../cli/context.ts';
import { flagTexts, switches } from '../../cli/flags.ts';
import { type Session, withSession } from '../../cli/session.ts';
import { expiryOf, momentText } from '../../cli/token-expiry.ts';
import { Failure } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import type { Address } from '../../settings/setting.ts';
import { openSources } from '../../settings/sources.ts';
import { findToken, type Token } from '../../settings/token.ts';
import {
  addressFinding,
  type Diagnosis,
  diagnosed,
  directoryFindings,
  doctorView,
  type Found,
  fileFindings,
  programFindings,
  skipped,
  valueFindings,
} from './checks.ts';
import { wayFindings } from './connection-checks.ts';

/** `listctl doctor` */
export const setUpDoctor: SetUp = (command, context) => {
  command.action(() => withAnySession(context, command, (session) => showFindings(session, context, command)));
  addHelpNotes(command, {
    examples: ['listctl doctor', 'listctl doctor -p prod', 'listctl doctor -o json'],
    globalFlags: ['profile', 'output'],
    exitCodes: {
      1: 'the response is not that of a list service',
      2: 'a setting is missing or invalid',
      3: 'no token, or it was rejected',
    },
    exits: [6, 7],
  });
};

/**
 * Runs the work with a session that prints, whatever is wrong with the settings: what keeps one from being opened has
 * no say in how this command prints, and is found by its checks.
 */
async function withAnySession(
  context: Context,
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  let refusal: unknown;
  for (const host of hostsToTry(context.host)) {
    let isOpen = false;
    const begin = (session: Session) => {
      isOpen = true;
      return work(session);
    };
    try {
      return await withSession({ ...context, host }, command, begin, { mayCreateProfile: true });
    } catch (error) {
      if (isOpen || !(error instanceof Failure)) throw error;
      refusal = error;
    }
  }
  // What was typed for this very run.
  throw refusal;
}

/** The world as it is, then without kept settings, then without what variables say of printing. */
function hostsToTry(host: Host): readonly Host[] {
  const unkept = { ...host.env, LISTCTL_CONFIG_DIR: '/dev/null/listctl', LISTCTL_PROFILE: undefined };
  return [host, unlike(host, unkept), unlike(host, { ...unkept, LISTCTL_OUTPUT: undefined })];
}

/** Not a copy: its streams are made on first use. */
function unlike(host: Host, env: Host['env']): Host {
  return Object.create(host, { env: { value: env }, cwd: { value: '' } });
}

async function showFindings(session: Session, context: Context, command: Command): Promise<void> {
  let failed: Diagnosis | undefined;
  await session.output.printing(doctorView, true, async (print) => {
    for await (const diagnosis of findings(session, context, command)) {
      const { kind, ...finding } = diagnosis;
      if (kind !== undefined && finding.status === 'failed') failed ??= diagnosis;
      await print(finding);
    }
  });
  if (failed === undefined) return;
  const { kind = 'usage', check, value, hint } = failed;
  throw new Failure(kind, `${check}: ${value}`, { hint });
}

/** What is looked at, in the order in which one thing needs another: the first that failed is why the rest may have. */
async function* findings(
  { messages: { notice, isJsonWanted } }: Session,
  context: Context,
  command: Command,
): AsyncGenerator<Diagnosis> {
  const { host, version } = context;
  const { allowHttp, isInsecure } = switches(command);
  yield* programFindings(version);
  const files = await fileFindings(openSources(flagTexts(command), host), host);
  yield* files.findings;
  const { sources } = files;
  const { finding, address } = await addressFinding(sources, allowHttp);
  yield finding;
  yield* await valueFindings(sources);
  let token: Token | undefined;
  yield await diagnosed('token', async () => {
    token =
      address?.kind === 'local' ? undefined : await findToken(address, sources, tokenCommandRunner(host, isJsonWanted));
    return tokenFound(token, address, host.clock.now(), sources.flags['--profile']);
  });
  if (address?.kind === 'http') await notice(`connecting to ${finding.value} …`);
  yield* wayFindings({ context, sources, address, token, isInsecure, allowHttp });
  yield* await directoryFindings(address, host);
}

function tokenFound(
  token: Token | undefined,
  address: Address | undefined,
  nowMs: number,
  profile: string | undefined,
): Found {
  if (address?.kind === 'local') return skipped('the built-in service needs none');
  if (token === undefined) {
    const { message: value, details, kind } = noToken(profile);
    return { status: 'failed', value, hint: details.hint, kind };
  }
  const { source, warning } = token;
  const expiresAtMs = expiryOf(token.value);
  const value = expiresAtMs === undefined ? 'expiry unknown' : momentText(expiresAtMs, nowMs);
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    return {
      status: 'warning',
      value: `expired at ${value}`,
      source,
      hint: 'get a new token, then run listctl auth login',
    };
  }
  const told = expiresAtMs === undefined ? value : `expires at ${value}`;
  return warning === undefined
    ? { status: 'ok', value: told, source }
    : { status: 'warning', value: told, source, hint: warning };
}

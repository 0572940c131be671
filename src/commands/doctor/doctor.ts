import type { Command } from 'commander';
import { addHelpNotes, type Context, type SetUp } from '../../cli/command.ts';
import { noToken, tokenCommandRunner } from '../../cli/connect.ts';
import { flagTexts, switches } from '../../cli/flags.ts';
import { type Session, withSession } from '../../cli/session.ts';
import { formatExpiry } from '../../cli/token-expiry.ts';
import { parseTokenExpiry } from '../../cli/token-renewal.ts';
import { Failure } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { openSources } from '../../settings/sources.ts';
import { findToken, type Token } from '../../settings/token.ts';
import {
  type CheckResult,
  checkAddress,
  checkFiles,
  checkNode,
  checkSettings,
  checkStateDirectory,
  checkStore,
  doctorView,
  type Finding,
  failed,
  runCheck,
  skipped,
} from './checks.ts';
import { checkConnection } from './connection-checks.ts';

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
 * Runs the work with a session: without stored settings, then without LISTCTL_OUTPUT, if one cannot be opened with
 * them. The checks report what is wrong with them.
 */
async function withAnySession(
  context: Context,
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const { host } = context;
  const withoutStored = { ...host.env, LISTCTL_CONFIG_DIR: '/dev/null/listctl', LISTCTL_PROFILE: undefined };
  const hosts = [host, withEnv(host, withoutStored), withEnv(host, { ...withoutStored, LISTCTL_OUTPUT: undefined })];
  let refusal: unknown;
  for (const each of hosts) {
    let isOpen = false;
    const begin = (session: Session) => {
      isOpen = true;
      return work(session);
    };
    try {
      return await withSession({ ...context, host: each }, command, begin, { mayCreateProfile: true });
    } catch (error) {
      if (isOpen || !(error instanceof Failure)) throw error;
      refusal = error;
    }
  }
  // A flag is invalid.
  throw refusal;
}

/** Without a directory there is no project file. Not a copy, since the host opens its streams on first use. */
function withEnv(host: Host, env: Host['env']): Host {
  return Object.create(host, { env: { value: env }, cwd: { value: '' } });
}

async function showFindings(session: Session, context: Context, command: Command): Promise<void> {
  const problems: Finding[] = [];
  await session.output.printing(doctorView, true, async (print) => {
    for await (const finding of runChecks(session, context, command)) {
      if (finding.kind !== undefined && finding.status === 'failed') problems.push(finding);
      await print(finding);
    }
  });
  const [first] = problems;
  if (first === undefined) return;
  const { kind = 'usage', check, value, hint } = first;
  // The findings have been printed with their hints.
  if (session.output.format(true) === 'pretty' && !session.output.hasQuery) {
    throw new Failure(kind, `failed: ${problems.map((problem) => problem.check).join(', ')}`);
  }
  throw new Failure(kind, `${check}: ${value}`, { hint });
}

/** Runs the checks; a failed one may be the cause of failures after it. */
async function* runChecks(
  { messages: { notice, isJsonWanted } }: Session,
  context: Context,
  command: Command,
): AsyncGenerator<Finding> {
  const { host, version } = context;
  const { allowHttp, isInsecure } = switches(command);
  yield { check: 'version', status: 'ok', value: version };
  // biome-ignore lint/style/noRestrictedGlobals: the version is a constant.
  yield { check: 'node', ...checkNode(process.version) };
  const { findings, sources } = await checkFiles(openSources(flagTexts(command), host), host);
  yield* findings;
  const { finding, address } = await checkAddress(sources, allowHttp);
  yield finding;
  yield* await checkSettings(sources);
  let token: Token | undefined;
  yield await runCheck('token', async () => {
    if (address?.kind === 'local') return skipped('the built-in service needs none');
    token = await findToken(address, sources, tokenCommandRunner(host, isJsonWanted));
    if (token === undefined) return failed(noToken(sources.flags['--profile']));
    return checkExpiry(token, host.clock.now());
  });
  if (address?.kind === 'http') await notice(`connecting to ${finding.value} …`);
  yield* checkConnection({ context, sources, address, token, isInsecure, allowHttp });
  yield await runCheck('state', () => checkStateDirectory(host));
  yield await runCheck('store', () => checkStore(address, host));
}

function checkExpiry({ value, source, warning, remedy = 'get a new token' }: Token, nowMs: number): CheckResult {
  const expiresAtMs = parseTokenExpiry(value);
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    return {
      status: 'warning',
      value: `expired at ${formatExpiry(expiresAtMs, nowMs)}`,
      source,
      hint: remedy,
    };
  }
  const shown = expiresAtMs === undefined ? 'expiry unknown' : `expires at ${formatExpiry(expiresAtMs, nowMs)}`;
  return { status: warning === undefined ? 'ok' : 'warning', value: shown, source, hint: warning };
}

import type { Command } from 'commander';
import { addHelpNotes, type Context, type SetUp } from '../../cli/command.ts';
import { noToken, tokenCommandRunner } from '../../cli/connect.ts';
import { flagTexts, switches } from '../../cli/flags.ts';
import { type Session, withSession } from '../../cli/session.ts';
import { readExpiry } from '../../cli/token-lifetime.ts';
import { Failure } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { objectFrom, withoutUndefined } from '../../core/json.ts';
import { printable, widthAtMost } from '../../core/text.ts';
import type { Row, Screen, View } from '../../output/view.ts';
import { wrapMessage, wrapText } from '../../output/wrap.ts';
import { openSources } from '../../settings/sources.ts';
import { findToken, type Token } from '../../settings/token.ts';
import {
  type CheckResult,
  checkAddress,
  checkConnection,
  checkFiles,
  checkNode,
  checkSettings,
  checkStateDirectory,
  checkStore,
  type Finding,
  failed,
  runCheck,
  skipped,
} from './checks.ts';

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
      4: 'the service has no such site or list',
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
    if (token === undefined && isFailed(findings, 'profile')) return skipped('the profile of the token is unknown');
    if (token === undefined) return failed(noToken(sources.flags['--profile']));
    return checkExpiry(token, host.clock.now());
  });
  if (address?.kind === 'http') await notice(`connecting to ${finding.value} …`);
  yield* checkConnection({ context, sources, address, token, isInsecure, allowHttp });
  yield await runCheck('state', () => checkStateDirectory(host));
  yield await runCheck('store', () => checkStore(address, host));
}

function isFailed(findings: readonly Finding[], name: string): boolean {
  return findings.some(({ check, status }) => check === name && status === 'failed');
}

function checkExpiry({ value, source, warning, remedy = 'get a new token' }: Token, nowMs: number): CheckResult {
  const expiry = readExpiry(value, nowMs);
  if (expiry?.isPast) return { status: 'warning', value: `expired at ${expiry.text}`, source, hint: remedy };
  const shown = expiry === undefined ? 'expiry unknown' : `expires at ${expiry.text}`;
  return { status: warning === undefined ? 'ok' : 'warning', value: shown, source, hint: warning };
}

/** Columns; a longer value has its source behind it. */
const valueWidthMax = 60;

/** A line with a mark for each finding, and its hints below; on a narrow terminal values and sources wrap. */
const doctorView: View<Finding> = {
  pretty: (findings, screen) => {
    const width = screen.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(screen.columns || 80, 30);
    const checkWidth = Math.max(...findings.map(({ check }) => check.length));
    const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => widthAtMost(printable(text))));
    // A long error would move the sources of all others to the right.
    const valueWidth = widest(findings.map(({ value }) => value).filter((value) => value.length <= valueWidthMax));
    const sourceWidth = widest(findings.map(({ source = '' }) => source));
    const isWide = 3 + checkWidth + 2 + valueWidth + 2 + sourceWidth <= width;
    const layout = { width, checkWidth, valueWidth: isWide ? valueWidth : undefined };
    return findings.flatMap((finding) => findingLines(finding, layout, screen)).join('\n');
  },
  json: (finding) => objectFrom(toRow(finding)),
  id: ({ check }) => check,
  row: toRow,
};

/** @param valueWidth undefined if the source does not fit next to the value */
function findingLines(
  { check, status, value, source = '', hint = '' }: Finding,
  layout: { readonly width: number; readonly checkWidth: number; readonly valueWidth: number | undefined },
  { style }: Screen,
): string[] {
  const { width, checkWidth, valueWidth } = layout;
  const mark = { ok: '✓', warning: '!', failed: '✗', skipped: '-' }[status];
  const paint = { ok: style.green, warning: style.yellow, failed: style.red, skipped: style.dim }[status];
  const [text, from] = [printable(value), printable(source)];
  const dimmed = (line: string) => (line === '' ? '' : style.dim(line));
  const start = 3 + checkWidth + 2;
  const valueMin = Math.max(valueWidth ?? 0, widthAtMost(text));
  const isOneLine = start + valueMin + (from === '' ? 0 : 2 + widthAtMost(from)) <= width;
  const padding = ' '.repeat(from === '' ? 0 : valueMin - widthAtMost(text) + 2);
  const [first, ...rest] = isOneLine
    ? [text + padding + dimmed(from)]
    : [...wrapText(text, width - start), ...wrapText(from, width - start).map(dimmed)];
  const hints = hint === '' ? [] : hint.split('\n');
  return [
    `${paint(mark)}  ${check.padEnd(checkWidth)}  ${first}`,
    ...rest.filter((line) => line !== '').map((line) => ' '.repeat(start) + line),
    ...hints.map((line) => wrapMessage(`   → ${printable(line)}`, width)),
  ];
}

function toRow({ check, status, value, source, hint }: Finding): Row {
  return new Map(Object.entries(withoutUndefined({ check, status, value, source, hint })));
}

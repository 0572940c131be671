/** The checks of the program, the settings and the directories; and how findings are printed. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import { globalFlags } from '../../cli/flags.ts';
import { errnoCode, errnoReason, Failure, type FailureKind } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { isWebAddress } from '../../core/item.ts';
import { objectFrom, withoutUndefined } from '../../core/json.ts';
import { countOf, printable, widthAtMost } from '../../core/text.ts';
import type { Row, Screen, View } from '../../output/view.ts';
import { wrapMessage, wrapText } from '../../output/wrap.ts';
import { findStateDirectory, storeDirectory } from '../../settings/directories.ts';
import { isDenied } from '../../settings/read-settings.ts';
import {
  type Address,
  addressText,
  type Definition,
  findSetting,
  findValue,
  refuseOpenHttp,
} from '../../settings/setting.ts';
import { findProjectFile, type Sources } from '../../settings/sources.ts';

export interface Finding {
  /** The name of the check: `base-url`. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** The value, or what is wrong with it; never a token or a password. */
  readonly value: string;
  /** Where the value comes from: `LISTCTL_SITE`. */
  readonly source?: string | undefined;
  readonly hint?: string | undefined;
  /** The kind of failure that doctor ends in, if the check failed. Not printed. */
  readonly kind?: FailureKind | undefined;
}

export type CheckResult = Omit<Finding, 'check'>;

/** Runs a check; a Failure is a finding, too. */
export async function runCheck(check: string, work: () => CheckResult | Promise<CheckResult>): Promise<Finding> {
  try {
    return { check, ...(await work()) };
  } catch (error) {
    if (error instanceof Failure) return { check, ...failed(error) };
    throw error;
  }
}

export function failed({ kind, message, details: { hint } }: Failure, source?: string): CheckResult {
  return { status: 'failed', value: message, source, hint, kind };
}

export function skipped(value: string): CheckResult {
  return { status: 'skipped', value };
}

/** A line with a mark for each finding, and its hints below; on a narrow terminal values and sources wrap. */
export const doctorView: View<Finding> = {
  pretty: (findings, screen) => {
    const width = screen.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(screen.columns || 80, 30);
    const checkWidth = Math.max(...findings.map(({ check }) => check.length));
    const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => widthAtMost(printable(text))));
    const valueWidth = widest(findings.map(({ value }) => value));
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

/** The newest major version of Node.js that listctl is tested with. */
const newestMajor = 26;

/** @param version as of Node.js: `v20.18.1` */
export function checkNode(version: string): CheckResult {
  const oldest = packageJson.engines.node.replace('>=', '');
  if (version.slice(1).localeCompare(oldest, 'en', { numeric: true }) < 0) {
    return { status: 'warning', value: version, hint: `install Node.js ${oldest} or later` };
  }
  if (Number.parseInt(version.slice(1), 10) > newestMajor) {
    return { status: 'warning', value: version, hint: `listctl is tested with Node.js up to ${newestMajor}` };
  }
  return { status: 'ok', value: version };
}

/**
 * Checks the files of settings and the profile; returns the sources without what cannot be read, for the other checks.
 */
export async function checkFiles(
  sources: Sources,
  host: Host,
): Promise<{ readonly findings: readonly Finding[]; readonly sources: Sources }> {
  const { user } = sources;
  const config = await runCheck('config', () =>
    checkSettingsFile(user.files?.config, 'profile', {
      count: () => user.profiles().byName.size,
      warning: () => (user.areProfilesOpen ? 'others can write it; run chmod go-w' : undefined),
    }),
  );
  const credentials = await runCheck('credentials', () =>
    checkSettingsFile(user.files?.credentials, 'token', {
      count: () => user.credentials().size,
      warning: () => (user.areCredentialsLoose ? 'others can read it; run chmod 600' : undefined),
    }),
  );
  const project = await runCheck('project-file', () => checkProjectFile(host));
  const isKnown = config.status !== 'failed';
  const profile = await runCheck('profile', () =>
    isKnown ? checkProfile(sources) : skipped('unknown: cannot read the settings file'),
  );
  const withoutProfile = { profile: () => undefined, named: () => undefined, fallback: () => undefined };
  return {
    findings: [config, credentials, project, profile],
    sources: {
      ...sources,
      ...(isKnown && profile.status !== 'failed' ? {} : withoutProfile),
      ...(project.status === 'failed' ? { project: () => undefined } : {}),
    },
  };
}

/** @param warning is called after `count`, which reads the file */
function checkSettingsFile(
  file: string | undefined,
  noun: string,
  { count, warning }: { readonly count: () => number; readonly warning: () => string | undefined },
): CheckResult {
  if (file === undefined) {
    return { status: 'warning', value: 'no home directory', hint: 'set HOME or LISTCTL_CONFIG_DIR' };
  }
  try {
    const entries = countOf(count(), noun);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return { status: 'ok', value: 'none yet', source: file };
    const value = `${entries}, mode ${(stats.mode & 0o777).toString(8).padStart(4, '0')}`;
    const problem = warning();
    if (problem === undefined) return { status: 'ok', value, source: file };
    return { status: 'warning', value, source: file, hint: `${problem} ${file}` };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // Without permission, the environment may still be enough.
    return { ...failed(error, file), ...(isDenied(error) ? { status: 'warning' } : {}) };
  }
}

function checkProjectFile(host: Host): CheckResult {
  const project = findProjectFile(host);
  if (project === undefined) return skipped('none in this or a parent directory');
  return { status: 'ok', value: `sets ${Object.keys(project.values).join(', ') || 'nothing'}`, source: project.file };
}

function checkProfile(sources: Sources): CheckResult {
  const profile = sources.profile();
  if (profile === undefined) return skipped('no default profile');
  const isProtected = profile.values['protected'] === true;
  return { status: 'ok', value: profile.name + (isProtected ? ' (protected)' : ''), source: profile.chosenBy };
}

/**
 * Checks the service URL.
 *
 * @param allowHttp whether --allow-http was typed
 * @returns the address as well, if it can be used
 */
export async function checkAddress(
  sources: Sources,
  allowHttp: boolean,
): Promise<{ readonly finding: Finding; readonly address: Address | undefined }> {
  let address: Address | undefined;
  const finding = await runCheck('address', () => {
    const found = findSetting(globalFlags.baseUrl, sources);
    if (found === undefined) {
      const hint =
        'pass --base-url URL, set LISTCTL_BASE_URL, or run listctl init; use --local to try the built-in service';
      return { status: 'failed', value: 'no service address', hint, kind: 'usage' };
    }
    const { value, source } = found;
    refuseOpenHttp(value, allowHttp || findValue(globalFlags.allowHttp, sources) === true);
    address = value;
    return { status: 'ok', value: addressText(value), source };
  });
  return { finding, address };
}

/** The kind of service is never guessed, but the host of Microsoft Graph says what it should be. */
function checkService(sources: Sources): Promise<Finding> {
  return runCheck('service', async () => {
    const { value = 'list-item', source = 'the default' } = findSetting(globalFlags.service, sources) ?? {};
    const address = findValue(globalFlags.baseUrl, sources);
    const { isGraphHost } = await import('../../api/graph/places.ts');
    if (value === 'graph' || address?.kind !== 'http' || !isGraphHost(address.url.host)) {
      return { status: 'ok', value, source };
    }
    const hint = 'pass --service graph, or run listctl init with the address of the list in the browser';
    return { status: 'warning', value: `${value}, but the address is that of Microsoft Graph`, source, hint };
  });
}

/** Checks the other settings. */
export function checkSettings(sources: Sources): Promise<readonly Finding[]> {
  const formatSeconds = (ms: number) => `${ms / 1000} s`;
  return Promise.all([
    checkService(sources),
    checkId('site', globalFlags.site, sources),
    checkId('list', globalFlags.list, sources),
    checkSetting('output', globalFlags.output, 'pretty on a terminal; elsewhere items and api print JSON', sources),
    checkSetting('timeout', globalFlags.timeout, '120 s', sources, formatSeconds),
    checkSetting('retries', globalFlags.retries, '4', sources),
    checkSetting('max-wait', globalFlags.maxWait, '180 s', sources, formatSeconds),
    checkSetting('idempotency', globalFlags.idempotency, 'unknown', sources),
  ]);
}

function checkId(check: 'site' | 'list', definition: Definition<string>, sources: Sources): Promise<Finding> {
  return runCheck(check, () => {
    const found = findSetting(definition, sources);
    if (found !== undefined) return { status: 'ok', ...found };
    const list = check === 'site' ? findSetting(globalFlags.list, sources) : undefined;
    if (list && isWebAddress(list.value))
      return { status: 'ok', value: 'in the address of the list', source: list.source };
    const hint = `pass --${check}, or set LISTCTL_${check.toUpperCase()} or a profile`;
    return { status: 'warning', value: 'not set: commands on items need it', hint };
  });
}

function checkSetting<T>(
  check: string,
  definition: Definition<T>,
  defaultText: string,
  sources: Sources,
  format: (value: T) => string = String,
): Promise<Finding> {
  return runCheck(check, () => {
    const found = findSetting(definition, sources);
    if (found === undefined) return { status: 'ok', value: defaultText, source: 'the default' };
    return { status: 'ok', value: format(found.value), source: found.source };
  });
}

/** Checks the directory of journals; creates nothing. */
export function checkStateDirectory(host: Host): CheckResult {
  const hint = 'set LISTCTL_STATE_DIR to a writable directory, for the journals of bulk runs';
  const directory = findStateDirectory(host);
  if (directory === undefined) return { status: 'warning', value: 'no home directory', hint };
  const reason = accessProblem(directory);
  if (reason !== undefined) {
    return { status: 'warning', value: `not writable: ${reason}`, source: directory, hint };
  }
  return { status: 'ok', value: existsSync(directory) ? 'writable' : 'not created yet', source: directory };
}

/** Why a directory cannot be written, or the nearest existing one above it. */
function accessProblem(directory: string): string | undefined {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const above = dirname(directory);
    if (errnoCode(error) === 'ENOENT' && above !== directory) return accessProblem(above);
    return errnoReason(error);
  }
}

/** Opens the store of the built-in service, or an empty one elsewhere if it does not exist yet. */
export async function checkStore(address: Address | undefined, host: Host): Promise<CheckResult> {
  const isUsed = address?.kind === 'local';
  const chosen = isUsed ? address.directory : undefined;
  let directory: string;
  try {
    directory = storeDirectory(chosen, host);
  } catch {
    return { status: 'warning', value: 'no home directory', hint: 'set LISTCTL_DATA_DIR to a directory' };
  }
  const exists = existsSync(join(directory, 'data.mdb'));
  const trial = exists ? undefined : mkdtempSync(join(tmpdir(), 'listctl-doctor-'));
  try {
    const { openStore } = await import('../../service/store.ts');
    await openStore(trial ?? directory).close();
    return { status: 'ok', value: exists ? 'opens' : 'none yet; lmdb is installed', source: directory };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { ...failed(error, directory), ...(isUsed ? {} : { status: 'warning' }) };
  } finally {
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}

import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import { globalFlags } from '../../cli/flags.ts';
import { errnoCode, errnoReason, Failure, type FailureKind } from '../../core/errors.ts';
import type { Host } from '../../core/host.ts';
import { objectFrom } from '../../core/json.ts';
import { printable } from '../../core/text.ts';
import type { Cell } from '../../output/table.ts';
import type { Row, Screen, View } from '../../output/view.ts';
import { splitWords, wrap } from '../../output/wrap.ts';
import { findStateDirectory, storeDirectory } from '../../settings/directories.ts';
import { isDenied } from '../../settings/read-settings.ts';
import { type Address, addressText, type Definition, findSetting, refuseOpenHttp } from '../../settings/setting.ts';
import { findProjectFile, type Sources } from '../../settings/sources.ts';

/** What became of a check. `warning`: it works, and somebody should know; `skipped`: there is nothing to check. */
export type FindingStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** One thing that was looked at. */
export interface Finding {
  /** In kebab-case: `base-url`. */
  readonly check: string;
  readonly status: FindingStatus;
  /** What it is, or what is wrong with it. Never a token or a password. */
  readonly value: string;
  /** Where the value comes from, in the user's words: `LISTCTL_SITE`. */
  readonly source?: string | undefined;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** Findings: as a table with a mark for each, and the hints below it. */
export const doctorView: View<Finding> = {
  pretty: async (findings, screen) => {
    const { drawTable } = await import('../../output/table.ts');
    const columns = [
      { name: '', cell: (finding: Finding) => markOf(finding, screen), isWhole: true },
      { name: 'check', cell: ({ check }: Finding) => ({ text: check }), isWhole: true },
      { name: 'value', cell: ({ value }: Finding) => ({ text: value }) },
      { name: 'source', cell: ({ source = '' }: Finding) => ({ text: source, paint: screen.style.dim }) },
    ];
    return [drawTable(findings, columns, screen), ...hintLines(findings, screen)].join('\n');
  },
  json: (finding) => objectFrom(rowOf(finding)),
  id: ({ check }) => check,
  row: rowOf,
};

const marks = { ok: '✓', warning: '!', failed: '✗', skipped: '-' } as const;

function markOf({ status }: Finding, { style }: Screen): Cell {
  const paint = { ok: style.green, warning: style.yellow, failed: style.red, skipped: style.dim }[status];
  return { text: marks[status], paint };
}

/** What is wrong is there as a whole too: a table cuts it. */
function hintLines(findings: readonly Finding[], screen: Screen): readonly string[] {
  const width = screen.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(screen.columns || 80, 20);
  const lines = findings.flatMap((finding) => {
    const { check, status, value, hint } = finding;
    if (status === 'ok' || status === 'skipped') return [];
    const { text, paint } = markOf(finding, screen);
    const head = { text, paint };
    const told = wrap([head, ...splitWords(printable(`${check}: ${value}`))], width, 2);
    const hints = (hint ?? '').split('\n').filter((line) => line !== '');
    return [...told, ...hints.flatMap((line) => wrap([{ text: '   ' }, ...splitWords(printable(line))], width, 4))];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function rowOf({ check, status, value, source, hint }: Finding): Row {
  const members = Object.entries({ check, status, value, source, hint });
  return new Map(members.filter((member): member is [string, string] => member[1] !== undefined));
}

/** A finding, and what a command would end in because of it. */
export interface Diagnosis extends Finding {
  /** Of one that failed. */
  readonly kind?: FailureKind | undefined;
}

/** What a check found, without its name. */
export type Found = Omit<Diagnosis, 'check'>;

/** Looks at one thing; a failure is what was found, too. */
export async function diagnosed(check: string, look: () => Found | Promise<Found>): Promise<Diagnosis> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    if (error instanceof Failure) return { check, ...failedFor(error) };
    throw error;
  }
}

/** A failure as what was found. */
export function failedFor({ kind, message, details: { hint } }: Failure, source?: string): Found {
  return { status: 'failed', value: message, source, hint, kind };
}

/** That there is nothing to check, and why. */
export function skipped(value: string): Found {
  return { status: 'skipped', value };
}

/** What the files of settings came to. */
export interface FilesFound {
  readonly findings: readonly Diagnosis[];
  /** The same sources without what cannot be read, so that the rest can be looked at. */
  readonly sources: Sources;
}

/** Looks at the files of settings, and at the profile that is chosen among them. */
export async function fileFindings(sources: Sources, host: Host): Promise<FilesFound> {
  const config = await diagnosed('config', () => configFound(sources));
  const credentials = await diagnosed('credentials', () => credentialsFound(sources));
  const project = await diagnosed('project-file', () => projectFound(host));
  const isKnown = config.status !== 'failed';
  const profile = await diagnosed('profile', () =>
    isKnown ? profileFound(sources) : skipped('unknown: cannot read the settings file'),
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

function configFound({ user }: Sources): Found {
  const { files } = user;
  if (files === undefined) return noHome;
  try {
    const { byName } = user.profiles();
    const count = byName.size === 1 ? '1 profile' : `${byName.size} profiles`;
    const mode = modeOf(files.config);
    if (mode === undefined) return { status: 'ok', value: 'none yet', source: files.config };
    const found = { value: `${count}, mode ${mode}`, source: files.config };
    if (!user.areProfilesOpen()) return { status: 'ok', ...found };
    return { status: 'warning', ...found, hint: `others can write it; run chmod go-w ${files.config}` };
  } catch (error) {
    return fileFailure(error, files.config);
  }
}

function credentialsFound({ user }: Sources): Found {
  const { files } = user;
  if (files === undefined) return noHome;
  try {
    const { size } = user.credentials();
    const mode = modeOf(files.credentials);
    if (mode === undefined) return { status: 'ok', value: 'none yet', source: files.credentials };
    const found = { value: `${size === 1 ? '1 token' : `${size} tokens`}, mode ${mode}`, source: files.credentials };
    if (!user.areCredentialsLoose()) return { status: 'ok', ...found };
    return { status: 'warning', ...found, hint: `others can read it; run chmod 600 ${files.credentials}` };
  } catch (error) {
    return fileFailure(error, files.credentials);
  }
}

function fileFailure(error: unknown, file: string): Found {
  if (!(error instanceof Failure)) throw error;
  // With the rest in the environment, that is enough for many a command (reliability, P11).
  return { ...failedFor(error, file), ...(isDenied(error) ? { status: 'warning' } : {}) };
}

const noHome: Found = {
  status: 'warning',
  value: 'no home directory',
  hint: 'set HOME or LISTCTL_CONFIG_DIR',
};

function modeOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && (found.mode & 0o777).toString(8).padStart(4, '0');
}

function projectFound(host: Host): Found {
  const project = findProjectFile(host);
  if (project === undefined) return skipped('none in this or a parent directory');
  return { status: 'ok', value: `sets ${Object.keys(project.values).join(', ') || 'nothing'}`, source: project.file };
}

function profileFound(sources: Sources): Found {
  const profile = sources.profile();
  if (profile === undefined) return skipped('no default profile');
  const isProtected = profile.values['protected'] === true;
  return { status: 'ok', value: profile.name + (isProtected ? ' (protected)' : ''), source: profile.chosenBy };
}

/** The address, where one is set that may be used. */
export interface AddressFound {
  readonly finding: Diagnosis;
  readonly address: Address | undefined;
}

/** @param allowHttp whether http to another machine was allowed on the command line */
export async function addressFinding(sources: Sources, allowHttp: boolean): Promise<AddressFound> {
  let address: Address | undefined;
  const finding = await diagnosed('address', () => {
    const found = findSetting(globalFlags.baseUrl, sources);
    if (found === undefined) {
      const hint =
        'pass --base-url URL, set LISTCTL_BASE_URL, or run listctl init; use --local to try the built-in service';
      return { status: 'failed', value: 'no service address', hint, kind: 'usage' };
    }
    const { value, source } = found;
    refuseOpenHttp(value, allowHttp || findSetting(globalFlags.allowHttp, sources)?.value === true);
    address = value;
    return { status: 'ok', value: addressText(value), source };
  });
  return { finding, address };
}

/** The other settings, each with its source or what it is without one. */
export function valueFindings(sources: Sources): Promise<readonly Diagnosis[]> {
  const seconds = (ms: number) => `${ms / 1000} s`;
  return Promise.all([
    idFinding('site', globalFlags.site, sources),
    idFinding('list', globalFlags.list, sources),
    valueFinding('output', globalFlags.output, 'pretty on a terminal; elsewhere items and api print JSON', sources),
    valueFinding('timeout', globalFlags.timeout, '120 s', sources, seconds),
    valueFinding('retries', globalFlags.retries, '4', sources),
    valueFinding('max-wait', globalFlags.maxWait, '180 s', sources, seconds),
    valueFinding('idempotency', globalFlags.idempotency, 'unknown', sources),
  ]);
}

function idFinding(check: 'site' | 'list', definition: Definition<string>, sources: Sources): Promise<Diagnosis> {
  return diagnosed(check, () => {
    const found = findSetting(definition, sources);
    if (found !== undefined) return { status: 'ok', ...found };
    const hint = `pass --${check}, or set LISTCTL_${check.toUpperCase()} or a profile`;
    return { status: 'warning', value: 'not set: commands on items need it', hint };
  });
}

function valueFinding<T>(
  check: string,
  definition: Definition<T>,
  usual: string,
  sources: Sources,
  textOf: (value: T) => string = String,
): Promise<Diagnosis> {
  return diagnosed(check, () => {
    const found = findSetting(definition, sources);
    if (found === undefined) return { status: 'ok', value: usual, source: 'the default' };
    return { status: 'ok', value: textOf(found.value), source: found.source };
  });
}

/** The directories that listctl writes to; nothing is made in them. */
export async function directoryFindings(address: Address | undefined, host: Host): Promise<readonly Diagnosis[]> {
  return [await diagnosed('state', () => stateFound(host)), await diagnosed('store', () => storeFound(address, host))];
}

function stateFound(host: Host): Found {
  const hint = 'set LISTCTL_STATE_DIR to a writable directory, for the journals of bulk runs';
  const directory = findStateDirectory(host);
  if (directory === undefined) return { status: 'warning', value: 'no home directory', hint };
  const source = directory;
  const reason = reasonNotWritable(directory);
  if (reason === undefined)
    return { status: 'ok', value: existsSync(directory) ? 'writable' : 'not created yet', source };
  return { status: 'warning', value: `not writable: ${reason}`, source, hint };
}

/** Asks of the directory, or of the nearest one above it, in which it would be made. */
function reasonNotWritable(directory: string): string | undefined {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const above = dirname(directory);
    if (errnoCode(error) === 'ENOENT' && above !== directory) return reasonNotWritable(above);
    return errnoReason(error);
  }
}

async function storeFound(address: Address | undefined, host: Host): Promise<Found> {
  const isUsed = address?.kind === 'local';
  const chosen = isUsed ? address.directory : undefined;
  let directory: string;
  try {
    directory = storeDirectory(chosen, host);
  } catch {
    return { status: 'warning', value: 'no home directory', hint: 'set LISTCTL_DATA_DIR to a directory' };
  }
  const isThere = existsSync(join(directory, 'data.mdb'));
  // That it can be opened is asked of one that is there, else of one that nobody keeps anything in.
  const trial = isThere ? undefined : mkdtempSync(join(tmpdir(), 'listctl-doctor-'));
  try {
    const { openStore } = await import('../../service/store.ts');
    await openStore(trial ?? directory).close();
    return { status: 'ok', value: isThere ? 'opens' : 'none yet; lmdb is installed', source: directory };
  } catch (error) {
    const { status, ...found } = await diagnosed('store', () => Promise.reject(error));
    // Only the built-in service needs it.
    return { ...found, status: isUsed ? status : 'warning', source: directory };
  } finally {
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}

/** The newest major of Node that listctl is tested with. */
const newestMajor = 26;

/** The program itself, and what runs it. */
export function programFindings(version: string): readonly Diagnosis[] {
  return [{ check: 'version', status: 'ok', value: version }, nodeFinding(ownNode())];
}

/** @param version as Node has it: `v20.18.1` */
export function nodeFinding(version: string): Diagnosis {
  const oldest = packageJson.engines.node.replace('>=', '');
  const named = { check: 'node', value: version };
  if (compareVersions(version.slice(1), oldest) < 0) {
    return { ...named, status: 'warning', hint: `install Node.js ${oldest} or later` };
  }
  if (Number.parseInt(version.slice(1), 10) > newestMajor) {
    return { ...named, status: 'warning', hint: `listctl is tested with Node.js up to ${newestMajor}` };
  }
  return { ...named, status: 'ok' };
}

function ownNode(): string {
  // biome-ignore lint/style/noRestrictedGlobals: a constant of the program that runs, and nothing of the world outside.
  return process.version;
}

function compareVersions(one: string, other: string): number {
  const parts = (text: string) => text.split(/[.-]/).map(Number);
  const [theirs, ours] = [parts(one), parts(other)];
  for (const [at, part] of ours.entries()) {
    if (theirs[at] !== part) return (theirs[at] ?? 0) < part ? -1 : 1;
  }
  return 0;
}

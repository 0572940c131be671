/** What is set, and by whom; and the files that it is kept in. */
import { statSync } from 'node:fs';
import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import { type Address, addressText, refuseOpenHttp } from '../../settings/address.ts';
import { findProjectFile } from '../../settings/project-file.ts';
import { type Definition, findSetting } from '../../settings/setting.ts';
import type { Sources } from '../../settings/sources.ts';
import { isDenied } from '../../settings/stored-file.ts';
import { settings } from '../options/shared.ts';
import { type Diagnosis, diagnosed, type Found, failedFor, skipped } from './diagnosis.ts';

/** What the files of settings came to. */
export interface FilesFound {
  readonly findings: readonly Diagnosis[];
  /** The same sources without what can't be read, so that the rest can be looked at. */
  readonly sources: Sources;
}

/** Looks at the files of settings, and at the profile that is chosen among them. */
export async function fileFindings(sources: Sources, host: Host): Promise<FilesFound> {
  const config = await diagnosed('config', () => configFound(sources));
  const credentials = await diagnosed('credentials', () => credentialsFound(sources));
  const project = await diagnosed('project-file', () => projectFound(host));
  const isKnown = config.status !== 'failed';
  const profile = await diagnosed('profile', () =>
    isKnown ? profileFound(sources) : skipped('not known: the file of the settings can’t be read'),
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
    if (mode === undefined) return { status: 'ok', value: 'none kept yet', source: files.config };
    const found = { value: `${count}, mode ${mode}`, source: files.config };
    if (!user.areProfilesOpen()) return { status: 'ok', ...found };
    return { status: 'warning', ...found, hint: `others may write it: chmod go-w ${files.config}` };
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
    if (mode === undefined) return { status: 'ok', value: 'none kept yet', source: files.credentials };
    const found = { value: `${size === 1 ? '1 token' : `${size} tokens`}, mode ${mode}`, source: files.credentials };
    if (!user.areCredentialsLoose()) return { status: 'ok', ...found };
    return { status: 'warning', ...found, hint: `others may read it: chmod 600 ${files.credentials}` };
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
  value: 'there is no home folder to keep it in',
  hint: 'set HOME, or name a folder in LISTCTL_CONFIG_DIR',
};

function modeOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && (found.mode & 0o777).toString(8).padStart(4, '0');
}

function projectFound(host: Host): Found {
  const project = findProjectFile(host);
  if (project === undefined) return skipped('there is none here or above');
  return { status: 'ok', value: `sets ${Object.keys(project.values).join(', ') || 'nothing'}`, source: project.file };
}

function profileFound(sources: Sources): Found {
  const profile = sources.profile();
  if (profile === undefined) return skipped('none is in use');
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
    const found = findSetting(settings.baseUrl, sources);
    if (found === undefined) {
      const hint =
        'pass --base-url URL, set LISTCTL_BASE_URL, or let listctl init ask for it; --local is the embedded one';
      return { status: 'failed', value: 'no service address', hint, kind: 'usage' };
    }
    const { value, source } = found;
    refuseOpenHttp(value, allowHttp || findSetting(settings.allowHttp, sources)?.value === true);
    address = value;
    return { status: 'ok', value: addressText(value), source };
  });
  return { finding, address };
}

/** The other settings, each with its source or what it is without one. */
export function valueFindings(sources: Sources): Promise<readonly Diagnosis[]> {
  const seconds = (ms: number) => `${ms / 1000} s`;
  return Promise.all([
    idFinding('site', settings.site, sources),
    idFinding('list', settings.list, sources),
    valueFinding('output', settings.output, 'pretty on a terminal; elsewhere items and api print JSON', sources),
    valueFinding('timeout', settings.timeout, '120 s', sources, seconds),
    valueFinding('retries', settings.retries, '4', sources),
    valueFinding('max-wait', settings.maxWait, '180 s', sources, seconds),
    valueFinding('idempotency', settings.idempotency, 'unknown', sources),
  ]);
}

function idFinding(check: 'site' | 'list', definition: Definition<string>, sources: Sources): Promise<Diagnosis> {
  return diagnosed(check, () => {
    const found = findSetting(definition, sources);
    if (found !== undefined) return { status: 'ok', ...found };
    const hint = `name it with --${check}, LISTCTL_${check.toUpperCase()} or in a profile`;
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

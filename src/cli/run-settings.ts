/** The list and the service of a run, and the keys of its creates. */
import { closeSync, openSync, readSync } from 'node:fs';
import { Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import { isWebAddress } from '../core/item.ts';
import { factsOf } from '../services/index.ts';
import type { NamedList, ResolvedList } from '../services/service.ts';
import {
  type Address,
  addressText,
  findSetting,
  findValue,
  originOf,
  refuseOpenHttp,
  type ServiceKind,
} from '../settings/setting.ts';
import { isFor, type Sources } from '../settings/sources.ts';
import { hasToken } from '../settings/token.ts';
import { globalFlags } from './flags.ts';

export interface ListNames {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
}

export interface RunSettings {
  /** For commands that show or change settings. */
  readonly sources: Sources;
  readonly service: ServiceKind;
  readonly sendsKeys: boolean;
  /** Whether the service supports Idempotency-Key. */
  readonly idempotency: 'honored' | 'unknown' | 'none';
  /** Whether --allow-http was typed. */
  readonly allowHttp: boolean;
  /**
   * The list as given. That of a manifest overrides the environment and stored settings, and must not contradict a flag.
   * Sends nothing.
   */
  list(manifest?: ListNames): NamedList;
  /** The site or the list alone. */
  name(name: 'site' | 'list'): string;
  /** The service URL, for messages and dry runs. */
  address(): string;
  /** The profile in use, unless the address is that of another service. */
  profile(): string | undefined;
  /** Where the requests go, for confirmations and summaries: `prod (https://lists.example)`. */
  target(): string;
}

export function runSettings(sources: Sources, allowHttp: boolean, findAddress: () => Address): RunSettings {
  // Flags and the environment may be enough, without readable settings.
  const profile = () =>
    attempt(() => {
      const chosen = sources.profile();
      return chosen !== undefined && isFor(chosen, sources) ? chosen.name : undefined;
    });
  return {
    sources,
    allowHttp,
    get service() {
      return serviceOf(sources);
    },
    get sendsKeys() {
      return factsOf(serviceOf(sources)).takesKeys && findValue(globalFlags.idempotency, sources) !== 'none';
    },
    get idempotency() {
      return idempotencyOf(sources, findAddress());
    },
    list: (manifest = {}) => findList(manifest, sources),
    name: (name) => {
      const found = findName(name, undefined, sources);
      if (found === undefined) throw missing([name], sources);
      return found;
    },
    address: () => addressText(findAddress()),
    profile,
    target: () => {
      const address = findAddress();
      const service = address.kind === 'http' ? originOf(address) : addressText(address);
      const name = profile();
      return name === undefined ? service : `${name} (${service})`;
    },
  };
}

/**
 * Describes a list for messages, with its id: `list "Books" (6f5a…) of site "contoso.sharepoint.com:/sites/team"`, or
 * `list https://… (6f5a…)`.
 */
export function describeList({ ids: { list: id }, named }: ResolvedList): string {
  if ('url' in named) return `list ${named.url} (${id})`;
  const aside = named.list.toLowerCase() === id.toLowerCase() ? '' : ` (${id})`;
  return `list "${named.list}"${aside} of site "${named.site}"`;
}

function findList(manifest: ListNames, sources: Sources): NamedList {
  const list = findName('list', manifest.list, sources);
  const site = findName('site', manifest.site, sources);
  const { takesListUrl } = factsOf(serviceOf(sources));
  if (takesListUrl && isWebAddress(site)) throw addressAsSite(site);
  if (takesListUrl && isWebAddress(list)) return listAddress(list, manifest.site ?? sources.flags['--site']);
  if (site !== undefined && list !== undefined) return { site, list };
  throw missing([...(site === undefined ? ['site'] : []), ...(list === undefined ? ['list'] : [])], sources);
}

/** The address has the site: another one that was given would be ignored. */
function listAddress(list: string, site: string | undefined): NamedList {
  if (site === undefined) return { url: list };
  throw new Failure('usage', '--site cannot be used when --list is a URL', {
    hint: 'leave out --site',
  });
}

function addressAsSite(site: string): Failure {
  const { host, pathname } = URL.canParse(site) ? new URL(site) : { host: 'HOST', pathname: '/PATH' };
  return new Failure('usage', `invalid --site "${site}": expected an id, or host:/path`, {
    hint: `pass --site ${host}:${pathname}, or the address of a list with --list`,
  });
}

export function serviceOf(sources: Sources): ServiceKind {
  return findValue(globalFlags.service, sources) ?? 'list-item';
}

/**
 * Whether the service supports Idempotency-Key: the built-in one does; Microsoft Graph does not, and it is a usage
 * failure if --idempotency says so.
 */
export function idempotencyOf(sources: Sources, address: Address): RunSettings['idempotency'] {
  const { takesKeys, title } = factsOf(serviceOf(sources));
  if (!takesKeys) {
    if (findValue(globalFlags.idempotency, { flags: sources.flags, env: {} }) !== 'honored') return 'none';
    throw new Failure('usage', `${title} does not support idempotency keys`, {
      hint: 'leave out --idempotency',
    });
  }
  return address.kind === 'local' ? 'honored' : (findValue(globalFlags.idempotency, sources) ?? 'unknown');
}

/** Finds the address when it is needed: some commands need none. */
export function addressFinder(sources: Sources, mayUseHttp: () => boolean): () => Address {
  return () => {
    const address = findValue(globalFlags.baseUrl, sources);
    if (address === undefined) throw missing([], sources);
    refuseOpenHttp(address, mayUseHttp());
    return address;
  };
}

function findName(name: 'site' | 'list', inManifest: string | undefined, sources: Sources): string | undefined {
  const flag = `--${name}`;
  const typed = sources.flags[flag];
  if (inManifest !== undefined && typed !== undefined && typed !== inManifest) {
    throw new Failure('usage', `${flag} "${typed}" conflicts with the manifest: its ${name} is "${inManifest}"`, {
      hint: `leave out ${flag}, or change the manifest`,
    });
  }
  return inManifest ?? findValue(globalFlags[name], sources);
}

/** The failure for all that is missing: these names, and the address and the token without which they are no use. */
function missing(names: readonly string[], sources: Sources): Failure {
  checkReadable(sources);
  const isNew = findSetting(globalFlags.baseUrl, sources) === undefined;
  const lacksToken = isNew && !hasToken(sources);
  const needed = [...(isNew ? ['service address'] : []), ...(lacksToken ? ['token'] : []), ...names];
  const flags = [...(isNew ? ['--base-url <url>'] : []), ...names.map((name) => `--${name} <id>`)].join(' ');
  const variables = names.map((name) => `LISTCTL_${name.toUpperCase()}`).join(' and ');
  const [last = '', ...others] = needed.toReversed();
  return new Failure('usage', `no ${others.length > 0 ? `${others.toReversed().join(', ')} or ${last}` : last} given`, {
    hint: isNew
      ? `run listctl init, or pass ${flags}${lacksToken ? ' and set LISTCTL_TOKEN' : ''}\nuse --local to try the built-in service, without an address or a token`
      : `pass ${flags} or set ${variables}`,
  });
}

/** Throws if there are settings that may not be read: a missing value may be in them. */
export function checkReadable(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * The key of a POST: the one that was typed, else a new one, if keys are sent (docs/decisions.md, keys-1). An invalid
 * one is a usage failure.
 */
export function toIdempotencyKey(typed: string | undefined, sendsKeys: boolean): string | undefined {
  if (typed !== undefined) return checkIdempotencyKey(typed);
  if (!sendsKeys) return undefined;
  const bytes = readUrandom(26) ?? crypto.getRandomValues(new Uint8Array(26));
  return Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join('');
}

/** The source of `node:crypto`'s own random bytes (random(4)), without the time that loading it takes. */
function readUrandom(count: number): Uint8Array | undefined {
  try {
    const device = openSync('/dev/urandom', 'r');
    const bytes = new Uint8Array(count);
    const isWhole = readSync(device, bytes) === count;
    closeSync(device);
    return isWhole ? bytes : undefined;
  } catch {
    // Windows, or a container without it.
    return undefined;
  }
}

/** Allows what a string of RFC 9651 (section 3.3.3) contains without escapes. */
function checkIdempotencyKey(text: string): string {
  if (/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,255}$/.test(text)) return text;
  throw new Failure(
    'usage',
    'invalid --idempotency-key: expected 1 to 255 printable ASCII characters except " and \\',
    { hint: 'pass the key that the uncertain create printed' },
  );
}

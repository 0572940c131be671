/** The settings of one run: where its requests go. */
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import {
  type Address,
  addressText,
  type FlagTexts,
  findSetting,
  findValue,
  refuseOpenHttp,
} from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { globalFlags } from './flags.ts';

/** The settings of one run. */
export interface RunSettings {
  /** For commands that show or change settings. */
  readonly sources: Sources;
  /** Whether creates carry an Idempotency-Key. */
  readonly sendsKeys: boolean;
  /** Whether the service supports Idempotency-Key. */
  readonly idempotency: 'honored' | 'unknown' | 'none';
  /** Whether --allow-http was typed. */
  readonly allowsHttp: boolean;
  /**
   * The list of flags and settings.
   *
   * @param named the list of a manifest, which overrides the environment and stored settings
   * @throws {Failure} usage, when the site or the list is missing, or a flag contradicts the manifest
   */
  list(named?: NamedList): ListRef;
  /**
   * The service URL, for messages and dry runs.
   *
   * @throws {Failure} usage, when there is none, or it is plain http
   */
  address(): string;
}

/** @param findAddress as `addressFinder` */
export function runSettings(sources: Sources, allowsHttp: boolean, findAddress: () => Address): RunSettings {
  const idempotency = findValue(globalFlags.idempotency, sources);
  return {
    sources,
    allowsHttp,
    sendsKeys: idempotency !== 'none',
    get idempotency() {
      return findAddress().kind === 'local' ? 'honored' : (idempotency ?? 'unknown');
    },
    list: (named = {}) => listNamed(named, sources.flags, sources),
    address: () => addressText(findAddress()),
  };
}

/** Finds the address when it is needed: other commands need none. */
export function addressFinder(sources: Sources, mayUseHttp: () => boolean): () => Address {
  return () => {
    const found = findValue(globalFlags.baseUrl, sources);
    return addressOf(found, found !== undefined && mayUseHttp(), sources);
  };
}

/** A site and a list, as far as a file names them. */
export interface NamedList {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
}

/**
 * The list that a file names, else that of flags and globalFlags.
 *
 * @throws {Failure} usage, when nothing names it, or a flag contradicts the file
 */
function listNamed(named: NamedList, flags: FlagTexts, sources: Sources): ListRef {
  const pick = (name: 'site' | 'list', ways: string) =>
    namedOr(name, named[name], flags) ?? required(findValue(globalFlags[name], sources), name, ways, sources);
  return {
    site: pick('site', '--site <id> or set LISTCTL_SITE'),
    list: pick('list', '--list <id> or set LISTCTL_LIST'),
  };
}

/** What a file names, unless a flag says something else: then nobody knows what is meant. */
function namedOr(name: 'site' | 'list', named: string | undefined, flags: FlagTexts): string | undefined {
  const typed = flags[`--${name}`];
  if (named === undefined || typed === undefined || typed === named) return named;
  throw new Failure('usage', `--${name} "${typed}" conflicts with the manifest: its ${name} is "${named}"`, {
    hint: `leave out --${name}, or change the manifest; nothing was sent`,
  });
}

function required(value: string | undefined, name: string, ways: string, sources: Sources): string {
  if (value !== undefined) return value;
  refuseDenied(sources);
  const isNew = findSetting(globalFlags.baseUrl, sources) === undefined;
  const setUp = isNew ? ', or run listctl init' : '';
  throw new Failure('usage', `no ${name} given`, { hint: `pass ${ways}${setUp}` });
}

/** What is missing may stand in settings that the system denies us: then that is what to mend. */
export function refuseDenied(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

function addressOf(address: Address | undefined, allowHttp: boolean, sources: Sources): Address {
  if (address === undefined) {
    refuseDenied(sources);
    throw new Failure('usage', 'no service address', {
      hint: 'pass --base-url <url> or set LISTCTL_BASE_URL; use --local to try the built-in service, or run listctl init',
    });
  }
  refuseOpenHttp(address, allowHttp);
  return address;
}

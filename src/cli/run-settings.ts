/** The list and the service of a run. */
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { type Address, addressText, findSetting, findValue, originOf, refuseOpenHttp } from '../settings/setting.ts';
import { isFor, type Sources } from '../settings/sources.ts';
import { globalFlags } from './flags.ts';

export interface RunSettings {
  /** For commands that show or change settings. */
  readonly sources: Sources;
  readonly sendsKeys: boolean;
  /** Whether the service supports Idempotency-Key. */
  readonly idempotency: 'honored' | 'unknown' | 'none';
  /** Whether --allow-http was typed. */
  readonly allowHttp: boolean;
  /** The list. That of a manifest overrides the environment and stored settings, and must not contradict a flag. */
  list(manifest?: { readonly site?: string | undefined; readonly list?: string | undefined }): ListRef;
  /** The service URL, for messages and dry runs. */
  address(): string;
  /** The profile in use, unless the address is that of another service. */
  profile(): string | undefined;
  /** Where the requests go, for confirmations and summaries: `prod (https://lists.example)`. */
  target(): string;
}

export function runSettings(sources: Sources, allowHttp: boolean, findAddress: () => Address): RunSettings {
  const idempotency = findValue(globalFlags.idempotency, sources);
  const profile = () => {
    try {
      const chosen = sources.profile();
      return chosen !== undefined && isFor(chosen, sources) ? chosen.name : undefined;
    } catch {
      // Flags and the environment may be enough, without readable settings.
      return undefined;
    }
  };
  return {
    sources,
    allowHttp,
    sendsKeys: idempotency !== 'none',
    get idempotency() {
      return findAddress().kind === 'local' ? 'honored' : (idempotency ?? 'unknown');
    },
    list: (manifest = {}) => ({
      site: findName('site', manifest.site, sources),
      list: findName('list', manifest.list, sources),
    }),
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

/** Finds the address when it is needed: some commands need none. */
export function addressFinder(sources: Sources, mayUseHttp: () => boolean): () => Address {
  return () => {
    const address = findValue(globalFlags.baseUrl, sources);
    if (address === undefined) {
      checkReadable(sources);
      throw new Failure('usage', 'no service address', {
        hint: 'pass --base-url <url> or set LISTCTL_BASE_URL; use --local to try the built-in service, or run listctl init',
      });
    }
    refuseOpenHttp(address, mayUseHttp());
    return address;
  };
}

function findName(name: 'site' | 'list', inManifest: string | undefined, sources: Sources): string {
  const flag = `--${name}`;
  const typed = sources.flags[flag];
  if (inManifest !== undefined && typed !== undefined && typed !== inManifest) {
    throw new Failure('usage', `${flag} "${typed}" conflicts with the manifest: its ${name} is "${inManifest}"`, {
      hint: `leave out ${flag}, or change the manifest; nothing was sent`,
    });
  }
  const found = inManifest ?? findValue(globalFlags[name], sources);
  if (found !== undefined) return found;
  checkReadable(sources);
  const isNew = findSetting(globalFlags.baseUrl, sources) === undefined;
  throw new Failure('usage', `no ${name} given`, {
    hint: `pass ${flag} <id> or set LISTCTL_${name.toUpperCase()}${isNew ? ', or run listctl init' : ''}`,
  });
}

/** Throws if there are settings that may not be read: a missing value may be in them. */
export function checkReadable(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

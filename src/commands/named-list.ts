/** Which list a command is about. */
import { Failure } from '../errors.ts';
import type { ListRef } from '../item.ts';
import { type FlagTexts, findSetting } from '../settings/setting.ts';
import type { Sources } from '../settings/sources.ts';
import { settings } from './options/shared.ts';

/** A site and a list, as far as a file names them. */
export interface NamedList {
  readonly site?: string | undefined;
  readonly list?: string | undefined;
}

/**
 * The list that a file names, else that of flags and settings.
 *
 * @throws {Failure} usage, when nothing names it, or a flag contradicts the file
 */
export function listNamed(named: NamedList, flags: FlagTexts, sources: Sources): ListRef {
  const pick = (name: 'site' | 'list', ways: string) =>
    namedOr(name, named[name], flags) ?? required(findSetting(settings[name], sources)?.value, name, ways, sources);
  return {
    site: pick('site', '-s, --site or LISTCTL_SITE'),
    list: pick('list', '-l, --list or LISTCTL_LIST'),
  };
}

/** What a file names, unless a flag says something else: then nobody knows what is meant. */
function namedOr(name: 'site' | 'list', named: string | undefined, flags: FlagTexts): string | undefined {
  const typed = flags[`--${name}`];
  if (named === undefined || typed === undefined || typed === named) return named;
  throw new Failure('usage', `--${name} is "${typed}", and the seed is of ${name} "${named}"`, {
    hint: 'nothing was sent; leave the flag out, or change the seed',
  });
}

function required(value: string | undefined, name: string, ways: string, sources: Sources): string {
  if (value !== undefined) return value;
  refuseDenied(sources);
  const isNew = findSetting(settings.baseUrl, sources) === undefined;
  const setUp = isNew ? '; listctl init asks for address, token, site and list, and keeps them' : '';
  throw new Failure('usage', `no ${name} is named`, { hint: `pass ${ways}${setUp}` });
}

/** What is missing may stand in settings that the system denies us: then that is what to mend. */
export function refuseDenied(sources: Sources): void {
  const denied = sources.deniedBecause();
  if (denied !== undefined) throw denied;
}

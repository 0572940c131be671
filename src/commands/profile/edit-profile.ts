/** Changes of one profile in a draft of the settings. */
import { isAbsolute, resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import { nearestName } from '../../nearest-name.ts';
import { parseAddress } from '../../settings/address.ts';
import type { SettingsDraft } from '../../settings/change-settings.ts';
import { noSuchProfile, type ProfileValues, profileKeys } from '../../settings/profile.ts';
import { type Definition, type FlagTexts, findSetting, keyOf } from '../../settings/setting.ts';
import { settings } from '../options/shared.ts';
import type { ShownProfile } from './profile-view.ts';

/** What is to change in a profile. */
export interface ProfileEdit {
  readonly values: ProfileValues;
  readonly removed: readonly string[];
}

/** Everything that a profile may set, by name. */
const keys: readonly string[] = [...profileKeys.texts, ...profileKeys.switches];

/** Sets what is to be set, in a profile that need not be there; the first one that is set is the current one. */
export function putProfile(draft: SettingsDraft, name: string, { values, removed }: ProfileEdit): ShownProfile {
  const profile = { ...draft.profiles.get(name), ...values };
  for (const key of removed) delete profile[key];
  draft.profiles.set(name, profile);
  draft.current ??= name;
  return shownProfile(draft, name);
}

/**
 * The profile by that name, as it stands in the draft.
 *
 * @throws {Failure} usage, when there is none
 */
export function shownProfile({ profiles, current }: SettingsDraft, name: string): ShownProfile {
  const profile = profiles.get(name);
  if (profile === undefined) {
    const byName = new Map([...profiles.keys()].map((each) => [each, {}]));
    throw noSuchProfile(name, { current, byName });
  }
  const values = Object.entries(profile).filter(
    (entry): entry is [string, string | boolean] => keys.includes(entry[0]) && typeof entry[1] !== 'object',
  );
  return { name, isCurrent: name === current, values: Object.fromEntries(values) };
}

/**
 * The settings that were typed, checked: only what may stand in a profile.
 *
 * @param own the flags of the command itself, by name
 * @throws {Failure} usage, naming the flag whose value is malformed
 */
export function typedValues(flags: FlagTexts, own: Readonly<Record<string, unknown>>, cwd: string): ProfileValues {
  const values: [string, string | boolean][] = [];
  for (const key of profileKeys.texts) {
    const definition: Definition<unknown> | undefined = Object.values(settings).find(({ flag }) => keyOf(flag) === key);
    const flag = flagFor(key);
    const text = key === 'output' ? own['defaultOutput'] : definition === undefined ? own[key] : flags[flag];
    if (typeof text !== 'string') continue;
    if (text === '') throw new Failure('usage', `${flag}: no value`, { hint: `--unset ${dashed(key)} removes it` });
    if (definition !== undefined) checkKept(definition, flag, text);
    values.push([key, placed(key, text, cwd)]);
  }
  for (const key of profileKeys.switches) if (own[key] === true) values.push([key, true]);
  return Object.fromEntries(values);
}

/** What is kept is less than what may be typed for one run. */
function checkKept({ parse }: Definition<unknown>, flag: string, text: string): void {
  findSetting({ flag, parse }, { flags: { [flag]: text }, env: {} });
}

/**
 * The settings that `--unset` names.
 *
 * @throws {Failure} usage, when there is no such setting
 */
export function removedKeys(typed: readonly string[]): readonly string[] {
  return typed.map((name) => {
    const key = keyOf(`--${name}`);
    if (keys.includes(key)) return key;
    const meant = nearestName(key, keys);
    throw new Failure('usage', `--unset: a profile has no "${name}"`, {
      hint: meant === undefined ? `it may have ${keys.join(', ')}` : `did you mean ${meant}?`,
    });
  });
}

/** The flag that sets it. `--output` says how this very command prints, so a profile's own format has another name. */
function flagFor(key: string): string {
  return key === 'output' ? '--default-output' : `--${dashed(key)}`;
}

function dashed(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** A path means the same wherever listctl is started later. */
function placed(key: string, text: string, cwd: string): string {
  if (key === 'caFile') return resolve(cwd, text);
  const address = key === 'baseUrl' ? parseAddress(text) : undefined;
  const isRelative = address?.kind === 'local' && address.folder !== undefined && !isAbsolute(address.folder);
  return isRelative ? `local:${resolve(cwd, address.folder)}` : text;
}

/** The settings that a user keeps: profiles and stored tokens, each file read once, when something in it is asked for. */
import { join } from 'node:path';
import type { Host } from '../host.ts';
import { type Credentials, credentialsFrom } from './credentials.ts';
import { findConfigDirectory } from './directories.ts';
import { type Profiles, profilesFrom } from './profile.ts';
import { readStoredFile } from './stored-file.ts';

/** Where the settings are. */
export interface SettingsFiles {
  readonly folder: string;
  readonly config: string;
  readonly credentials: string;
}

/** The kept settings of one user. */
export interface UserSettings {
  /** Undefined where there is no home to keep them in. */
  readonly files: SettingsFiles | undefined;
  /** @throws {Failure} local-file, when the file can't be read or makes no sense */
  profiles(): Profiles;
  /** @throws {Failure} local-file, as `profiles`, and when the file is another user's */
  credentials(): Credentials;
  /** Whether others may read the tokens; asks only the file that was read already. */
  areCredentialsLoose(): boolean;
  /** Whether others may write the profiles; asks only the file that was read already. */
  areProfilesOpen(): boolean;
}

/** Makes the settings of the user who runs listctl; reads nothing yet. */
export function openUserSettings(host: Pick<Host, 'env' | 'platform' | 'passwdHome' | 'uid'>): UserSettings {
  const { uid } = host;
  const folder = findConfigDirectory(host);
  const files = folder === undefined ? undefined : settingsFilesIn(folder);
  let profiles: Profiles | undefined;
  let areProfilesOpen = false;
  let credentials: { readonly tokens: Credentials; readonly isLoose: boolean } | undefined;
  const readCredentials = () => {
    const stored = files && readStoredFile(files.credentials, { uid, isSecret: true });
    if (!files || !stored) return { tokens: new Map<string, never>(), isLoose: false };
    return { tokens: credentialsFrom(stored.content, files.credentials), isLoose: stored.isLoose };
  };
  return {
    files,
    profiles: () => {
      if (profiles !== undefined) return profiles;
      const stored = files && readStoredFile(files.config, { uid, isSecret: false });
      areProfilesOpen = stored?.isWritableByOthers ?? false;
      profiles =
        files && stored ? profilesFrom(stored.content, files.config) : { current: undefined, byName: new Map() };
      return profiles;
    },
    credentials: () => {
      credentials ??= readCredentials();
      return credentials.tokens;
    },
    areCredentialsLoose: () => credentials?.isLoose ?? false,
    areProfilesOpen: () => areProfilesOpen,
  };
}

function settingsFilesIn(folder: string): SettingsFiles {
  return { folder, config: join(folder, 'config.json'), credentials: join(folder, 'credentials.json') };
}

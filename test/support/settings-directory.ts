/** The user's settings, kept in a directory of their own for one test. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from './temporary-directory.ts';

/** A directory of settings, as `LISTCTL_CONFIG_DIR` names one; removed with the block that holds it. */
export interface SettingsDirectory extends TemporaryDirectory {
  /** What a run needs to use it. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: string;
  readonly credentials: string;
  read(): { current?: string; profiles: Record<string, Record<string, unknown>> };
  tokens(): Record<string, { origin: string; token: string }>;
}

/** What a test may find there at its start. */
export interface KeptSettings {
  readonly current?: string;
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly tokens?: Readonly<Record<string, { readonly origin: string; readonly token: string }>>;
}

/** Makes a directory of settings; without any, an empty one. */
export async function settingsDirectory({ tokens, ...config }: KeptSettings = {}): Promise<SettingsDirectory> {
  const directory = await temporaryDirectory();
  const files = { config: join(directory.path, 'config.json'), credentials: join(directory.path, 'credentials.json') };
  const write = (file: string, members: object) =>
    writeFileSync(file, JSON.stringify({ version: 1, ...members }), { mode: 0o600 });
  if (config.profiles !== undefined) write(files.config, config);
  if (tokens !== undefined) write(files.credentials, { tokens });
  return {
    ...directory,
    ...files,
    env: { LISTCTL_CONFIG_DIR: directory.path },
    read: () => JSON.parse(readFileSync(files.config, 'utf8')),
    tokens: () => JSON.parse(readFileSync(files.credentials, 'utf8')).tokens,
  };
}

/** Settings that lead to a service: a profile `prod` in use, and its token. */
export function keptFor(service: { readonly url: string }, more: Readonly<Record<string, unknown>> = {}): KeptSettings {
  return {
    current: 'prod',
    profiles: { prod: { baseUrl: service.url, site: 'home', list: 'tasks', ...more } },
    tokens: { prod: { origin: new URL(service.url).origin, token: 'stored-token' } },
  };
}

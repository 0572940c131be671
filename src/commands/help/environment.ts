/** The variables that listctl reads. */
import type { Definition } from '../../settings/setting.ts';
import { settings } from '../options/shared.ts';

/** A variable, or several that go together. */
export interface VariableRow {
  readonly names: readonly string[];
  /** The flag that says the same. */
  readonly flag?: string;
  readonly meaning: string;
}

/** What the flags of a setting have as a variable that is not listctl's own, or is read before the settings are. */
const otherVariables: readonly VariableRow[] = [
  { names: ['LISTCTL_PROFILE'], flag: '--profile', meaning: 'the profile that is used where none is named' },
  { names: ['LISTCTL_TOKEN'], meaning: 'the access token' },
  { names: ['LISTCTL_TOKEN_FILE'], meaning: 'a file that holds it, read again once the service refuses it' },
  { names: ['LISTCTL_TOKEN_COMMAND'], meaning: 'a command that prints it, run again once the service refuses it' },
  { names: ['LISTCTL_CONFIG_DIR'], meaning: 'the folder of profiles and stored tokens' },
  { names: ['LISTCTL_STATE_DIR'], meaning: 'the folder of the records of runs' },
  { names: ['LISTCTL_DATA_DIR'], meaning: 'the folder of the items of local:' },
  {
    names: ['CI'],
    flag: '--no-input',
    meaning: 'never ask nor guess: --yes is needed; empty, 0 and false count as unset',
  },
  { names: ['NO_COLOR', 'FORCE_COLOR'], flag: '--color', meaning: 'no colour; colour also off a terminal' },
  { names: ['NODE_EXTRA_CA_CERTS'], flag: '--ca-file', meaning: 'more authorities to trust over TLS' },
  {
    names: ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'],
    meaning: 'the proxy (http or https); this machine is never asked for through it',
  },
  { names: ['NO_PROXY'], meaning: 'what does not go through the proxy' },
];

const settingMeanings: Readonly<Record<string, string>> = {
  '--base-url': 'the address of the service, version segment included',
  '--site': 'the site',
  '--list': 'the list',
  '--output': 'the format of results',
  '--timeout': 'seconds for one attempt (120)',
  '--retries': 'how often a request is tried again (4)',
  '--max-wait': 'the longest wait that the service may ask for, in seconds (180; 900 over many rows)',
  '--idempotency': 'what the service does with Idempotency-Key (unknown)',
};

/** Every variable, those of the settings first. */
export function variableRows(): readonly VariableRow[] {
  const definitions: readonly Definition<unknown>[] = Object.values(settings);
  const ofSettings = definitions.flatMap(({ flag, variable }) =>
    variable === undefined ? [] : [{ names: [variable], flag, meaning: settingMeanings[flag] ?? `as ${flag}` }],
  );
  return [...ofSettings, ...otherVariables];
}

/** The variables that say the same as a flag. */
export function variablesOf(flag: string): readonly string[] {
  return variableRows().flatMap((row) => (row.flag === flag ? row.names : []));
}

/** The options that every command understands: declared once, on every command. */
import { type Command, Option } from 'commander';
import { dryRunFormats, outputFormats } from '../output/view.ts';
import {
  addressSetting,
  type Definition,
  type FlagTexts,
  InvalidValue,
  parseNames,
  parseOneOf,
  parseSeconds,
} from '../settings/setting.ts';
import type { Context } from './context.ts';

/** The settings that flags and variables give, and how each is read; by the name that commander gives the flag. */
export const settings = {
  profile: { flag: '--profile', parse: (text: string) => text },
  baseUrl: addressSetting,
  site: { flag: '--site', variable: 'LISTCTL_SITE', parse: (text: string) => text },
  list: { flag: '--list', variable: 'LISTCTL_LIST', parse: (text: string) => text },
  output: {
    flag: '--output',
    variable: 'LISTCTL_OUTPUT',
    parse: parseOneOf(outputFormats),
    // As curl only dry runs can be printed: kept, it would fail every other command.
    parseTyped: parseOneOf(dryRunFormats),
  },
  query: { flag: '--query', parse: (text: string) => text },
  columns: { flag: '--columns', parse: parseNames },
  timeout: { flag: '--timeout', variable: 'LISTCTL_TIMEOUT', parse: parseSeconds },
  retries: { flag: '--retries', variable: 'LISTCTL_RETRIES', parse: parseRetries },
  maxWait: { flag: '--max-wait', variable: 'LISTCTL_MAX_WAIT', parse: parseSeconds },
  caFile: { flag: '--ca-file', parse: (text: string) => text },
  idempotency: {
    flag: '--idempotency',
    variable: 'LISTCTL_IDEMPOTENCY',
    parse: parseOneOf(['honored', 'unknown', 'none']),
  },
  allowHttp: { flag: '--allow-http', parse: (text: string) => text === 'true' },
  confirm: { flag: '--confirm', parse: (text: string) => text },
  color: { flag: '--color', parse: parseOneOf(['auto', 'always', 'never']) },
} satisfies Record<string, Definition<unknown>>;

const rows: readonly (readonly [group: string, flags: string, description: string])[] = [
  ['Service:', '-p, --profile <name>', 'a stored profile: listctl profile list'],
  ['Service:', '--base-url <url>', 'address of the service, version segment included; local: is the embedded one'],
  ['Service:', '--local', 'the same as --base-url local:'],
  ['Service:', '-s, --site <id>', 'the site that holds the list'],
  ['Service:', '-l, --list <id>', 'the list'],
  ['Service:', '--timeout <seconds>', 'for one attempt, from connecting to the last byte (120)'],
  ['Service:', '--retries <n>', 'how often a request is tried again (4)'],
  ['Service:', '--max-wait <seconds>', 'the longest wait that the service may ask for (180; 900 over many rows)'],
  ['Service:', '--idempotency <mode>', 'what the service does with Idempotency-Key: honored, unknown, none (unknown)'],
  ['Service:', '--allow-http', 'allow http to a host that is not this machine'],
  ['Service:', '--ca-file <file>', 'more authorities to trust over TLS, in PEM'],
  ['Service:', '--insecure-tls', 'verify no certificate; each run says so'],
  ['Service:', '--confirm <profile>', 'write through this protected profile without being asked'],
  ['Output:', '-o, --output <format>', `${outputFormats.join(', ')}`],
  ['Output:', '--json', 'the same as --output json'],
  [
    'Output:',
    '-q, --query <expression>',
    'a JMESPath expression over what would be printed; with jsonl, over each line',
  ],
  ['Output:', '--columns <names>', 'what csv, tsv and tables show, in this order: id,Title'],
  ['Output:', '--csv-safe', 'csv and tsv for spreadsheets: no text runs as a formula'],
  ['Output:', '--color <when>', 'auto, always, never'],
  ['Output:', '--no-color', 'the same as --color never'],
  ['Output:', '--quiet', 'no progress, no notices and no summary'],
  ['Output:', '-v, --verbose', 'a line for each attempt on stderr; -vv headers and bodies too'],
  ['Other:', '--no-input', 'never prompt: fail with what to pass instead'],
];

/** How often: a whole number. */
function parseRetries(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidValue(`expected a whole number up to 999, not "${text}"`);
}

/** Declares the shared options on a command, the program itself included. */
export function addSharedOptions(command: Command, context: Context): void {
  for (const [group, flags, description] of rows) {
    const option = new Option(flags, description).helpGroup(group);
    // Typed twice it is more.
    if (option.long === '--verbose') option.argParser((_, typed: number | undefined) => (typed ?? 0) + 1);
    command.addOption(option);
  }
  command.optionsGroup('Other:').version(context.version, '-V, --version', 'print the version');
  command.addHelpOption(new Option('-h, --help', 'print this page').helpGroup('Other:'));
  // These stand for a value of another option; as everywhere, the last one typed wins.
  const alias = (event: string, name: string, value: string) =>
    command.on(`option:${event}`, () => command.setOptionValueWithSource(name, value, 'cli'));
  alias('json', 'output', 'json');
  alias('local', 'baseUrl', 'local:');
  alias('no-color', 'color', 'never');
}

/** The flags without a value, where they were typed. */
export interface Switches {
  readonly allowHttp: boolean;
  readonly isCsvSafe: boolean;
  readonly isInsecure: boolean;
  readonly isQuiet: boolean;
  readonly mayPrompt: boolean;
  /** 1 for -v, 2 for -vv; 0 with --quiet. */
  readonly verbosity: number;
}

/** What was typed, by long flag: for each option the place nearest the verb wins. */
export function flagTexts(command: Command): FlagTexts {
  const texts: Record<string, string | undefined> = {};
  for (const [name, { flag }] of Object.entries(settings)) {
    const value = nearest(command, name);
    if (typeof value === 'string') texts[flag] = value;
  }
  return texts;
}

/** The switches that were typed anywhere between the program's name and the verb. */
export function switches(command: Command): Switches {
  const isQuiet = nearest(command, 'quiet') === true;
  const verbosity = nearest(command, 'verbose');
  return {
    allowHttp: nearest(command, 'allowHttp') === true,
    isCsvSafe: nearest(command, 'csvSafe') === true,
    isInsecure: nearest(command, 'insecureTls') === true,
    isQuiet,
    mayPrompt: nearest(command, 'input') !== false,
    verbosity: typeof verbosity === 'number' && !isQuiet ? verbosity : 0,
  };
}

function nearest(command: Command, name: string): unknown {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    // Without a source it is a default: `--no-input` makes `input` true where it was not typed.
    if (at.getOptionValueSource(name) === 'cli') return at.getOptionValue(name);
  }
  return undefined;
}

/** What a rate looks like, for messages. */
export const rateExpected = 'requests a second or a minute, such as 10, 10/s or 600/m';

/** Requests a second, of what was typed: `10`, `10/s`, `600/m`; undefined where it is no rate above 0. */
export function perSecond(text: string): number | undefined {
  const { count = '', unit = 's' } = /^(?<count>\d+(\.\d+)?)(\/(?<unit>[sm]))?$/.exec(text)?.groups ?? {};
  const value = Number(count) / (unit === 'm' ? 60 : 1);
  return value > 0 ? value : undefined;
}

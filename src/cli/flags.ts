/** The global flags: declared on every command. */
import { type Command, Option } from 'commander';
import { shellWord } from '../core/text.ts';
import { dryRunFormats, outputFormats } from '../output/view.ts';
import {
  addressSetting,
  durationParser,
  InvalidValue,
  parseNames,
  parseOneOf,
  serviceKinds,
} from '../settings/setting.ts';

/** A flag of every command: help, completion, doctor, man pages and the reference derive from it. */
export interface GlobalFlag {
  /** `-s, --site <id>` */
  readonly flags: string;
  /** `--site` */
  readonly flag: string;
  readonly text: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  readonly variable?: string;
  /** Variables of other programs with the same effect. */
  readonly otherVariables?: readonly string[];
  readonly parse?: (text: string) => unknown;
  /** Parses the flag, if it allows more than the setting. */
  readonly parseTyped?: (text: string) => unknown;
}

function define<T extends Partial<GlobalFlag>>(
  flags: string,
  text: string,
  more: T,
): Pick<GlobalFlag, 'flags' | 'flag' | 'text'> & T {
  return { ...more, flags, flag: flags.slice(flags.indexOf('--')).split(' ', 1)[0] ?? '', text };
}

const asTyped = (text: string) => text;
const parseTime = durationParser({ max: '24h' });
const modes = ['honored', 'none', 'unknown'] as const;
const colors = ['auto', 'always', 'never'] as const;

/** What to pass instead of the formats of other programs. */
const formatHints: Readonly<Record<string, string>> = {
  wide: 'pass --wide',
  text: 'did you mean pretty?',
  yml: 'did you mean yaml?',
  ndjson: 'did you mean jsonl?',
  name: 'did you mean id?',
};

const service = {
  profile: define('-p, --profile <name>', 'profile to use', { variable: 'LISTCTL_PROFILE', parse: asTyped }),
  baseUrl: define(
    '--base-url <url>',
    'service URL including the version path, or "local:" for the built-in service',
    addressSetting,
  ),
  service: define('--service <name>', 'kind of service', {
    choices: serviceKinds,
    default: 'list-item',
    variable: 'LISTCTL_SERVICE',
    parse: parseOneOf(serviceKinds),
  }),
  local: define('--local', 'use the built-in service (same as --base-url local:)', {}),
  site: define('-s, --site <id>', 'site that holds the list', { variable: 'LISTCTL_SITE', parse: asTyped }),
  list: define('-l, --list <id>', 'list that holds the items', { variable: 'LISTCTL_LIST', parse: asTyped }),
  timeout: define('--timeout <time>', 'timeout per attempt, e.g. 30s', {
    default: '2m',
    variable: 'LISTCTL_TIMEOUT',
    parse: parseTime,
  }),
  retries: define('--retries <n>', 'maximum retries', {
    default: '4',
    variable: 'LISTCTL_RETRIES',
    parse: parseRetries,
  }),
  maxWait: define('--max-wait <time>', 'longest Retry-After to honor, e.g. 10m', {
    default: '3m; 15m for bulk runs',
    variable: 'LISTCTL_MAX_WAIT',
    parse: parseTime,
  }),
  idempotency: define('--idempotency <mode>', 'whether the service supports Idempotency-Key', {
    choices: modes,
    default: 'unknown',
    variable: 'LISTCTL_IDEMPOTENCY',
    parse: parseOneOf(modes),
  }),
  allowHttp: define('--allow-http', 'allow plain http to another machine', {
    parse: (text: string) => text === 'true',
  }),
  caFile: define('--ca-file <file>', 'extra CA certificates (PEM file)', {
    otherVariables: ['NODE_EXTRA_CA_CERTS'],
    parse: asTyped,
  }),
  insecureTls: define('--insecure-tls', 'skip TLS certificate verification (prints a warning)', {}),
  confirm: define('--confirm <profile>', 'confirm writes through this protected profile', { parse: asTyped }),
};

const output = {
  output: define('-o, --output <format>', 'output format', {
    choices: outputFormats,
    variable: 'LISTCTL_OUTPUT',
    parse: parseFormat(outputFormats),
    // Only a dry run can be printed as curl or markdown: as a setting, it would fail every other command.
    parseTyped: parseFormat(dryRunFormats),
  }),
  json: define('--json', 'same as --output json', {}),
  query: define('-q, --query <expression>', 'filter the output with a JMESPath expression; jsonl line by line', {
    parse: asTyped,
  }),
  wide: define('--wide', 'do not cut tables to the width of the terminal', {}),
  columns: define('--columns <names>', 'columns to print, in JSON the members, e.g. id,Title', { parse: parseNames }),
  csvSafe: define('--csv-safe', 'escape CSV and TSV cells that spreadsheets would run as formulas', {}),
  color: define('--color <when>', 'when to use colors', {
    choices: colors,
    default: 'auto',
    otherVariables: ['NO_COLOR', 'FORCE_COLOR'],
    parse: parseOneOf(colors),
  }),
  noColor: define('--no-color', 'same as --color never', {}),
  quiet: define('--quiet', 'suppress progress, notices and summaries', {}),
  verbose: define('-v, --verbose', 'log each request to stderr; -vv adds headers and bodies', {}),
};

const other = {
  noInput: define('--no-input', 'never prompt; fail instead', { otherVariables: ['CI'] }),
  noPager: define('--no-pager', 'do not pipe help into a pager', {}),
};

/** By commander's name for the flag, in the order of help. */
export const globalFlags = { ...service, ...output, ...other };

export type GlobalFlagName = keyof typeof globalFlags;

/** The same, by heading. */
export const flagGroups: Readonly<Record<string, Readonly<Record<string, GlobalFlag>>>> = {
  Service: service,
  Output: output,
  Other: other,
};

/** The help text of a flag, with its choices and default. */
export function describeFlag({
  text,
  choices,
  default: fallback,
}: Pick<GlobalFlag, 'text' | 'choices' | 'default'>): string {
  const listed = choices === undefined ? '' : `: ${choices.join(', ')}`;
  return `${text}${listed}${fallback === undefined ? '' : ` (default ${fallback})`}`;
}

/** `-o=json`, of which commander leaves `=json`, and `-o JSON` are json; `table` is pretty. */
export function normalizeFormat(text: string): string {
  const word = text.replace(/^=/, '').toLowerCase();
  return word === 'table' ? 'pretty' : word;
}

function parseFormat<const T extends string>(formats: readonly T[]): (text: string) => T {
  const parse = parseOneOf(formats, formatHints);
  return (text) => parse(normalizeFormat(text));
}

function parseRetries(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidValue('expected a whole number up to 999', text);
}

/** Creates an option that takes one of a few values. */
export function choiceOption(flags: string, text: string, choices: readonly string[], fallback?: string): Option {
  const option = new Option(flags, describeFlag({ text, choices, ...(fallback && { default: fallback }) }));
  option.argChoices = [...choices];
  return option;
}

/**
 * A flag with an optional value, which follows `=` alone: `--init[=again]`. Without one its value is true. For an option
 * with `[value]` commander takes the next word, which may be an argument.
 */
export class OptionalValueOption extends Option {
  constructor(flags: string, text: string, choices?: readonly string[]) {
    super(flags.slice(0, flags.indexOf('[')), text);
    this.flags = flags;
    if (choices !== undefined) this.argChoices = [...choices];
  }

  /** Commander finds the option of each word by this method, and then sets the preset value. */
  is(word: string): boolean {
    const [flag, ...rest] = word.split('=');
    if (flag !== this.long) return false;
    this.preset(rest.length === 0 ? true : rest.join('='));
    return true;
  }
}

/** Declares the global flags on a command, the program itself included. */
export function addGlobalFlags(command: Command, version: string): void {
  for (const [group, flags] of Object.entries(flagGroups)) {
    for (const each of Object.values(flags)) {
      const option = new Option(each.flags, describeFlag(each)).helpGroup(`${group}:`);
      // Counts: -vv.
      if (each === globalFlags.verbose) option.argParser((_, count: number | undefined) => (count ?? 0) + 1);
      command.addOption(option);
    }
  }
  command.optionsGroup('Other:').version(version, '-V, --version', 'print the version');
  command.addHelpOption(new Option('-h, --help', 'show this help').helpGroup('Other:'));
  // Aliases for a value of another flag; the last one typed wins.
  const alias = (event: string, name: string, value: string) =>
    command.on(`option:${event}`, () => command.setOptionValueWithSource(name, value, 'cli'));
  alias('json', 'output', 'json');
  alias('local', 'baseUrl', 'local:');
  alias('no-color', 'color', 'never');
}

/** The values that were typed, by long flag; the one nearest the verb wins. */
export function flagTexts(command: Command): Readonly<Record<string, string | undefined>> {
  const texts: Record<string, string | undefined> = {};
  for (const [name, { flag }] of Object.entries(globalFlags)) {
    const value = nearest(command, name);
    if (typeof value === 'string') texts[flag] = value;
  }
  return texts;
}

/** The flags without a value that were typed; `verbosity` is 1 for -v, 2 for -vv, which override --quiet. */
export function switches(command: Command) {
  const count = nearest(command, 'verbose');
  const verbosity = typeof count === 'number' ? count : 0;
  return {
    allowHttp: nearest(command, 'allowHttp') === true,
    isCsvSafe: nearest(command, 'csvSafe') === true,
    isInsecure: nearest(command, 'insecureTls') === true,
    isQuiet: nearest(command, 'quiet') === true && verbosity === 0,
    isWide: nearest(command, 'wide') === true,
    mayPrompt: nearest(command, 'input') !== false,
    verbosity,
  };
}

function nearest(command: Command, name: string): unknown {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    // Otherwise it is a default: commander sets `input` to true for `--no-input`.
    if (at.getOptionValueSource(name) === 'cli') return at.getOptionValue(name);
  }
  return undefined;
}

export const rateExpected = 'requests a second or a minute, such as 10, 10/s or 600/m';

/** Parses `10`, `10/s` or `600/m` as requests per second; undefined if it is not a rate above 0. */
export function parseRatePerSecond(text: string): number | undefined {
  const { count = '', unit = 's' } = /^(?<count>\d+(\.\d+)?)(\/(?<unit>[sm]))?$/.exec(text)?.groups ?? {};
  const value = Number(count) / (unit === 'm' ? 60 : 1);
  return value > 0 ? value : undefined;
}

/** The flags that select a service, as typed. */
export const serviceFlagNames = ['--profile', '--service', '--base-url'] as const;

/** The flags that select the service of a command, for another command line: ` --profile staging`; empty without any. */
export function serviceWords(typed: Readonly<Record<string, string | undefined>>): string {
  const words = serviceFlagNames.flatMap((flag) => {
    const value = typed[flag];
    return value === undefined ? [] : [` ${flag} ${shellWord(value)}`];
  });
  return words.join('');
}

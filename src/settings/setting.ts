/** Settings: where their values come from, and how they are parsed. */
import { Failure } from '../core/errors.ts';
import { isLoopback } from '../core/loopback.ts';
import { nearestName } from '../core/text.ts';

/** A value and its source: `--site`, `LISTCTL_SITE`, `the default`. */
export interface Setting<T> {
  readonly value: T;
  readonly source: string;
}

/** The names and the parser of a setting. */
export interface Definition<T> {
  readonly flag: string;
  readonly variable?: string;
  /** @throws {InvalidValue} */
  readonly parse: (text: string) => T;
  /** Parses the flag, if it accepts more than files and variables. */
  readonly parseTyped?: (text: string) => T;
}

/** Thrown by parsers; the message says what was expected. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** The value, unless it may be secret. */
  readonly text: string | undefined;
  readonly hint: string | undefined;

  constructor(message: string, text?: string, hint?: string) {
    super(message);
    this.text = text;
    this.hint = hint;
  }
}

/** A profile or a project file. */
export interface Layer {
  readonly source: string;
  /** The value by the flag's name in camelCase: `baseUrl`. */
  text(key: string): string | undefined;
}

/** The sources of settings; a file is read only if no source above it has the value. */
export interface SettingSources {
  /** What was typed, by long flag. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The profile of --profile. */
  readonly named?: () => Layer | undefined;
  readonly project?: () => Layer | undefined;
  /** The default profile. */
  readonly fallback?: () => Layer | undefined;
}

/**
 * Finds the value of a setting: of the flag, the profile of --profile, the environment, the project file or the default
 * profile. An empty variable counts as unset.
 *
 * @throws {Failure} usage, with the source of an invalid value; as the files that are read
 */
export function findSetting<T>(definition: Definition<T>, sources: SettingSources): Setting<T> | undefined {
  const { flag, variable, parseTyped = definition.parse } = definition;
  const typed = sources.flags[flag];
  if (typed !== undefined) return read({ parse: parseTyped }, typed, flag);
  const named = fromLayer(definition, sources.named?.());
  if (named !== undefined) return named;
  const inherited = variable === undefined ? undefined : sources.env[variable];
  if (variable !== undefined && inherited) return read(definition, inherited, variable);
  return fromLayer(definition, sources.project?.()) ?? fromLayer(definition, sources.fallback?.());
}

/** Parses the value of a flag that is not a setting; an invalid one is a usage failure. */
export function parseFlag<T>(flag: string, text: string, parse: (text: string) => T): T {
  return read({ parse }, text, flag).value;
}

/** The value that `findSetting` finds. */
export function findValue<T>(definition: Definition<T>, sources: SettingSources): T | undefined {
  return findSetting(definition, sources)?.value;
}

/** The name of a flag in files: `--base-url` is `baseUrl`. */
export function keyOf(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function fromLayer<T>(definition: Definition<T>, layer: Layer | undefined): Setting<T> | undefined {
  if (layer === undefined) return undefined;
  const key = keyOf(definition.flag);
  const text = layer.text(key);
  return text === undefined ? undefined : read(definition, text, layer.source, [key, ` in ${layer.source}`]);
}

function read<T>(
  definition: Pick<Definition<T>, 'parse'>,
  text: string,
  source: string,
  [name, place] = [source, ''],
): Setting<T> {
  try {
    return { value: definition.parse(text), source };
  } catch (error) {
    if (error instanceof InvalidValue) {
      const shown = error.text === undefined ? '' : ` "${error.text}"`;
      throw new Failure('usage', `invalid ${name}${shown}${place}: ${error.message}`, {
        hint: error.hint,
        cause: error,
      });
    }
    throw error;
  }
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Creates the parser of times such as `10s`, `250ms`, `1h30m` or a bare number; it returns whole milliseconds.
 *
 * @param form.unit that of a bare number
 * @param form.max the longest time: `24h`
 */
export function durationParser({
  unit = 's',
  max,
  allowZero = false,
}: {
  readonly unit?: 'ms' | 's';
  readonly max: string;
  readonly allowZero?: boolean;
}): (text: string) => number {
  return (text) => {
    const ms = Math.ceil(durationMs(text, unit));
    if (ms <= durationMs(max, unit) && (ms > 0 || allowZero)) return ms;
    const above = allowZero ? '' : 'more than 0 and ';
    throw new InvalidValue(`expected a time such as 10s, 5m or 250ms, ${above}at most ${max}`, text);
  };
}

/** NaN for a text that is not a time. */
function durationMs(text: string, unit: string): number {
  const isBare = /^\d+(\.\d+)?$/.test(text);
  if (!isBare && !/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return Number.NaN;
  const parts = text.matchAll(/([\d.]+)(\D*)/g);
  return Array.from(parts, ([, amount, given]) => Number(amount) * (unitsMs[given || unit] ?? Number.NaN)).reduce(
    (sum, ms) => sum + ms,
  );
}

/** Parses a comma-separated list of names. */
export function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '') && new Set(names).size === names.length) return names;
  throw new InvalidValue('expected names with commas between them, each once, such as id,Title', text);
}

export function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidValue('expected a whole number from 1 to 999999999', text);
}

/** @param hints for the words of other programs */
export function parseOneOf<const T extends string>(
  words: readonly T[],
  hints: Readonly<Record<string, string>> = {},
): (text: string) => T {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    const nearest = nearestName(text, words);
    const guess = nearest === undefined ? undefined : `did you mean ${nearest}?`;
    const hint = Object.hasOwn(hints, text) ? hints[text] : guess;
    throw new InvalidValue(`expected one of ${words.join(', ')}`, text, hint);
  };
}

/** The address of a service; the built-in one has a directory, undefined for the default. */
export type Address =
  | { readonly kind: 'http'; readonly url: URL }
  | { readonly kind: 'local'; readonly directory: string | undefined };

/**
 * Parses a base URL: everything before `/sites/`, with the version segment (docs/decisions.md, paths-1).
 *
 * @throws {InvalidValue} without the text, which may contain a password
 */
export function parseAddress(text: string): Address {
  if (text.startsWith('local:')) return { kind: 'local', directory: text.slice('local:'.length) || undefined };
  // Without the error of Node.js, which contains the text.
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidValue('expected a URL such as https://host/v1.0, or local:');
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidValue('the URL must not contain a user name or password; set LISTCTL_TOKEN');
  }
  // `https://host?` has an empty query, which URL does not show.
  if (/[?#]/.test(text)) throw new InvalidValue('the URL must not contain a query or a fragment');
  return { kind: 'http', url };
}

/** The kinds of services: that of docs/decisions.md, and Microsoft Graph (docs/graph.md). */
export const serviceKinds = ['list-item', 'graph'] as const;

export type ServiceKind = (typeof serviceKinds)[number];

/** What the origins of a kind of service begin with, so that no run, plan or state of one is taken for another's. */
export function originPrefix(kind: ServiceKind): string {
  return kind === 'list-item' ? '' : `${kind}+`;
}

/** The kind of service and the address in an origin of a run, plan or state. */
export function parseOrigin(origin: string): { readonly kind: ServiceKind; readonly address: string } {
  const kind = serviceKinds.find((each) => originPrefix(each) !== '' && origin.startsWith(originPrefix(each)));
  return { kind: kind ?? 'list-item', address: origin.slice(originPrefix(kind ?? 'list-item').length) };
}

/** The organization in the user agent of requests to Microsoft Graph: a setting of profiles. */
export const companySetting: Definition<string> = {
  flag: '--company',
  parse: (text) => {
    if (/^[\x20-\x7b\x7d\x7e]{1,100}$/.test(text)) return text;
    throw new InvalidValue('expected up to 100 printable ASCII characters without "|"', text);
  },
};

export const addressSetting: Definition<Address> = {
  flag: '--base-url',
  variable: 'LISTCTL_BASE_URL',
  parse: parseAddress,
};

/** The origin that a stored token is for. */
export function originOf(address: Address): string {
  return address.kind === 'http' ? address.url.origin : 'local:';
}

/** Whether requests go over plain http to another machine. */
export function isOpenHttp(address: Address): boolean {
  return address.kind === 'http' && address.url.protocol === 'http:' && !isLoopback(address.url);
}

/** @throws {Failure} usage, for plain http to another machine */
export function refuseOpenHttp(address: Address, allowHttp: boolean): void {
  if (!isOpenHttp(address) || allowHttp) return;
  throw new Failure('usage', 'refusing to send the token over plain http', {
    hint: 'use https, or pass --allow-http',
  });
}

/** Formats an address without a slash at its end. */
export function addressText(address: Address): string {
  if (address.kind === 'http') return address.url.origin + address.url.pathname.replace(/\/$/, '');
  return `local:${address.directory ?? ''}`;
}

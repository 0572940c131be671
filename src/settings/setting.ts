/** One setting: what it is set to, and by whom. */
import { Failure } from '../core/errors.ts';
import { isLoopback } from '../core/loopback.ts';

/** A value, and the place it came from in the user's words: `--site`, `LISTCTL_SITE`, `the default`. */
export interface Setting<T> {
  readonly value: T;
  readonly source: string;
}

/** How one setting is named and read. */
export interface Definition<T> {
  /** The long flag: `--site`. */
  readonly flag: string;
  readonly variable?: string;
  /**
   * Turns the text into a value.
   *
   * @throws {InvalidValue} saying what was expected
   */
  readonly parse: (text: string) => T;
  /** As `parse`, where what is typed for one run may be more than what is kept for many. */
  readonly parseTyped?: (text: string) => T;
}

/** Thrown by a definition's `parse`: the message says what is expected, and never repeats what may be secret. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** The value, where it may be shown. */
  readonly text: string | undefined;

  constructor(message: string, text?: string) {
    super(message);
    this.text = text;
  }
}

/** What the user typed, by long flag; undefined where a flag was not given. */
export type FlagTexts = Readonly<Record<string, string | undefined>>;

/** One place where several settings are kept: a profile, or a project file. */
export interface Layer {
  /** In the user's words: `profile prod`. */
  readonly source: string;
  /** What it sets by the flag's name in camelCase: `baseUrl`. */
  text(key: string): string | undefined;
}

/** Where settings may come from, beside what was typed; each layer is read when nothing above it has the value. */
export interface SettingSources {
  readonly flags: FlagTexts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The profile that `--profile` names. */
  readonly named?: () => Layer | undefined;
  readonly project?: () => Layer | undefined;
  /** The profile that is used where none is named. */
  readonly fallback?: () => Layer | undefined;
}

/**
 * Finds the value of a setting: the flag wins over the profile that was named, that over the environment, the project
 * file and the default profile. An empty variable counts as unset.
 *
 * @throws {Failure} usage, naming the source whose value is malformed; and as the layers that had to be read
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
      throw new Failure('usage', `invalid ${name}${shown}${place}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

/** Seconds as they are typed, as milliseconds: `1.5` is 1500. At most a day: longer is taken for a slip. */
export function parseSeconds(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new InvalidValue('expected a number of seconds, more than 0 and at most 86400', text);
}

/** Names with commas between them, each once. */
export function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '') && new Set(names).size === names.length) return names;
  throw new InvalidValue('expected names with commas between them, each once, such as id,Title', text);
}

/** One of a few words. */
export function parseOneOf<const T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    throw new InvalidValue(`expected one of ${words.join(', ')}`, text);
  };
}

/** Where the service is: an address on a network, or the embedded one and its directory (undefined: the default one). */
export type Address =
  | { readonly kind: 'http'; readonly url: URL }
  | { readonly kind: 'local'; readonly directory: string | undefined };

/**
 * Reads a base address: everything before `/sites/`, the version segment included (rulings, "Paths and ids").
 *
 * @throws {InvalidValue} that never repeats the text: an address may hold a password
 */
export function parseAddress(text: string): Address {
  if (text.startsWith('local:')) return { kind: 'local', directory: text.slice('local:'.length) || undefined };
  const url = urlOf(text);
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

/** The address in force: `--base-url` and whatever stands for it. */
export const addressSetting: Definition<Address> = {
  flag: '--base-url',
  variable: 'LISTCTL_BASE_URL',
  parse: parseAddress,
};

/** What a stored token is bound to: scheme, host and port; for the built-in service, which takes none, `local:`. */
export function originOf(address: Address): string {
  return address.kind === 'http' ? address.url.origin : 'local:';
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // Node's error holds the whole text, password included: it goes no further.
    return undefined;
  }
}

/**
 * Refuses an address that would send the token through a network in clear.
 *
 * @throws {Failure} usage
 */
export function refuseOpenHttp(address: Address, allowHttp: boolean): void {
  const isOpen = address.kind === 'http' && address.url.protocol === 'http:' && !isLoopback(address.url);
  if (!isOpen || allowHttp) return;
  throw new Failure('usage', 'refusing to send the token over plain http', {
    hint: 'use https, or pass --allow-http',
  });
}

/** An address in words: without a slash at its end. */
export function addressText(address: Address): string {
  if (address.kind === 'http') return address.url.origin + address.url.pathname.replace(/\/$/, '');
  return `local:${address.directory ?? ''}`;
}

/** One setting: what it is set to, and by whom. */
import { Failure } from '../errors.ts';

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

/** Thrown by a definition's `parse`. The message continues «--timeout: …» and never repeats what may be secret. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
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
  return text === undefined ? undefined : read(definition, text, layer.source, `${layer.source}: ${key}`);
}

function read<T>(definition: Pick<Definition<T>, 'parse'>, text: string, source: string, place = source): Setting<T> {
  try {
    return { value: definition.parse(text), source };
  } catch (error) {
    if (error instanceof InvalidValue) throw new Failure('usage', `${place}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Seconds as they are typed, as milliseconds: `1.5` is 1500. At most a day: longer is taken for a slip. */
export function parseSeconds(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new InvalidValue(`expected a number of seconds, more than 0 and at most 86400, not "${text}"`);
}

/** Names with commas between them, each once. */
export function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '') && new Set(names).size === names.length) return names;
  throw new InvalidValue('expected names with commas between them, each once, such as id,Title');
}

/** One of a few words. */
export function parseOneOf<const T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    throw new InvalidValue(`expected one of ${words.join(', ')}, not "${text}"`);
  };
}

/** Makes the fields of requests from what was typed, where the columns of a list have names and types. */
import type { Fields } from './item.ts';
import type { JsonValue } from './json.ts';
import type { FieldForm } from './typed-text.ts';

export interface EncodeOptions {
  readonly names?: 'internal' | 'display' | undefined;
  /** Divides a text into several values; without it, they are a JSON array. */
  readonly split?: string | undefined;
  /** The decimal separator of numbers in texts. */
  readonly decimal?: '.' | ',' | undefined;
  /** The advice about a decimal comma, where `decimal` cannot be given. */
  readonly commaAdvice?: string | undefined;
  /** The internal names of columns that get a value elsewhere. */
  readonly filled?: readonly string[] | undefined;
}

/** Fields as they are sent, and why some cannot be. */
export interface EncodedFields {
  readonly fields: Fields;
  readonly problems: readonly { readonly problem: string }[];
}

export interface FieldEncoder {
  field(typed: string): FieldForm | { readonly problem: string };
  /** @param texts the names of the members that are texts, while others are JSON */
  fields(members: Iterable<readonly [string, JsonValue]>, texts?: ReadonlySet<string>): EncodedFields;
  /**
   * The same of the fields of an item that was read; those that cannot be written are left out.
   *
   * @param isKept whether one is not to be left out, but refused
   */
  fieldsOfItem(
    read: Fields,
    isKept: (name: string) => boolean,
  ): EncodedFields & { readonly leftOut: readonly string[] };
  /** The required columns without a value: as they are typed, and as they are sent. */
  missing(fields: Fields): readonly { readonly typed: string; readonly field: string }[];
  /** The names that were typed, with those that are sent. */
  mapping(): readonly (readonly [typed: string, sent: string])[];
  /** Values were made that need `complete` first, and have to be made again after it. */
  readonly isIncomplete: boolean;
  /** @throws {Failure} as `Client.send` */
  complete(): Promise<void>;
}

/** Fields as they were typed. */
export interface TypedFields {
  readonly fields: Fields;
  /** The names of those that are texts; others are JSON. */
  readonly texts: ReadonlySet<string>;
}

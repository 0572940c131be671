/** A seed: what a list is to hold, as a file says it. */
import type { Fields } from '../item.ts';

/** What a seed file says. */
export interface Seed {
  /** As the file names them; undefined where it does not. */
  readonly site?: string | undefined;
  readonly list?: string | undefined;
  /** The name of the field that tells the items apart. */
  readonly key: string;
  /** In the order of the file; no key stands twice. */
  readonly items: readonly SeedItem[];
  /** Of the content, unpacked: 64 hex digits. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Whether the file holds no value: no bytes, blank lines, or a header alone. An empty list is a value. */
  readonly isBlank: boolean;
  /** What of the file is not used, each said once. */
  readonly notices: readonly string[];
}

/** One item that a list is to hold. */
export interface SeedItem {
  /** What stands in the key's field: a text as it is, a number by its digits, true or false. Never empty. */
  readonly key: string;
  /** All that the seed says of it, the key's field included. */
  readonly fields: Fields;
  /** The line of the file in which it begins, from 1. */
  readonly line: number;
}

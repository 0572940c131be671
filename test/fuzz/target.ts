import type { FailureKind } from '../../src/core/errors.ts';
import { Failure } from '../../src/core/errors.ts';
import type { SeededRandom } from '../support/seeded-random.ts';

/** What is given damaged bytes: a reader of ours. */
export interface FuzzTarget {
  /** Its inputs are in `corpus/NAME/`. */
  readonly name: string;
  /** Pieces that mean something in its format. */
  readonly words: readonly string[];
  /** Repairs a checksum or a length, so that the damage is not detected by it. */
  readonly fix?: (bytes: Buffer, random: SeededRandom) => Buffer;
  /** How many runs `npm test` makes. */
  readonly testRuns: number;
  /** @param directory an empty one, for its files */
  open(directory: string): Promise<OpenTarget> | OpenTarget;
}

export interface OpenTarget {
  /**
   * Reads the bytes.
   *
   * @returns the outcome in a few words, which identify its kind
   * @throws an unexpected error: a finding
   */
  run(bytes: Buffer): Promise<string> | string;
  close?(): Promise<void>;
}

/** What must hold, and does not. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** @throws {Broken} */
export function mustHold(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Broken(sentence);
}

/** A typed failure in a few words; anything else is thrown again. */
export function failureWords(error: unknown, kinds: readonly FailureKind[]): string {
  if (!(error instanceof Failure) || !kinds.includes(error.kind)) throw error;
  mustHold(error.message !== '' && error.message.length < 5000, 'a failure has a message, and no endless one');
  const { hint = '', serviceCode = '', requestId = '' } = error.details;
  mustHold(Math.max(hint.length, serviceCode.length, requestId.length) < 5000, 'nor is what stands beside it endless');
  return `${error.kind}: ${error.message}`;
}

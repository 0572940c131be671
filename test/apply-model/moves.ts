/** What may happen to a list, its manifest and its state, one move after the other. */
import fc from 'fast-check';

/** An item of a manifest: its key, and its fields in JSON, the key's own left out. */
export interface ManifestItem {
  readonly key: string;
  readonly fields: readonly (readonly [name: string, json: string])[];
}

/** The outcome of one write. The `lost` ones look the same to the sender. */
export type Fate = 'done' | 'lost-applied' | 'lost-not-applied' | 'failed-applied' | 'refused' | 'throttled';

/** When the process is killed: at its n-th write to the journal, or at the service's n-th request of all. */
export interface Crash {
  readonly at: 'journal-before' | 'journal-after' | 'request-before' | 'request-applied';
  readonly nth: number;
}

export interface Call {
  readonly prunes: boolean;
  readonly refreshes: boolean;
  /** Whether the key is said to be honored, where it is. */
  readonly saysHonored: boolean;
  /** Through `--out`. */
  readonly savesPlan: boolean;
  readonly concurrency: number;
  /** By the number of the write; `done` beyond the end. */
  readonly fates: readonly Fate[];
  readonly crash: Crash | undefined;
}

export type Move =
  | { readonly kind: 'edit'; readonly manifest: readonly ManifestItem[] }
  | { readonly kind: 'apply'; readonly call: Call }
  /** Another process holds the lock, or imports or forgets an item. */
  | { readonly kind: 'drift' | 'remove' | 'import' | 'forget'; readonly nth: number; readonly json: string }
  | { readonly kind: 'add'; readonly key: string }
  /** Somebody looks what became of every create in doubt. */
  | { readonly kind: 'resolve' };

const keys = ['a', 'b', 'c', 'd', '__proto__', 'new\nline', 'x=1', '\u2028"\\'] as const;
const values = ['"x"', '"007"', '1', '1.0', '12345678901234567890', 'null', 'true', '{"n":[1,{"m":null}]}', '""'];

export const manifests: fc.Arbitrary<readonly ManifestItem[]> = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom(...keys),
    fields: fc.uniqueArray(fc.tuple(fc.constantFrom('F0', 'F1', 'constructor'), fc.constantFrom(...values)), {
      selector: ([name]) => name,
      maxLength: 3,
    }),
  }),
  { selector: ({ key }) => key, maxLength: keys.length },
);

const fates = fc.constantFrom<Fate>(
  ...(['done', 'done', 'lost-applied', 'lost-not-applied', 'failed-applied', 'refused', 'throttled'] as const),
);

const calls: fc.Arbitrary<Call> = fc.record({
  prunes: fc.boolean(),
  refreshes: fc.boolean(),
  saysHonored: fc.boolean(),
  savesPlan: fc.boolean(),
  concurrency: fc.constantFrom(1, 4),
  fates: fc.array(fates, { maxLength: 8 }),
  crash: fc.option(
    fc.record({
      at: fc.constantFrom(...(['journal-before', 'journal-after', 'request-before', 'request-applied'] as const)),
      nth: fc.integer({ min: 1, max: 12 }),
    }),
    { nil: undefined },
  ),
});

/** Any move; every other one is an `apply`. */
export const moves: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant('edit' as const), manifest: manifests }),
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('apply' as const), call: calls }) },
  fc.record({
    kind: fc.constantFrom('drift' as const, 'drift' as const, 'remove' as const, 'import' as const, 'forget' as const),
    nth: fc.nat(20),
    json: fc.constantFrom(...values),
  }),
  fc.record({ kind: fc.constant('add' as const), key: fc.constantFrom(...keys) }),
  fc.constant({ kind: 'resolve' as const }),
);

/** What may be on a disk after its power was cut. */

/** How thoroughly a power cut is looked at. */
export interface CutLimits {
  readonly disksMax: number;
  /** A number from 0 up to 1. */
  random(): number;
}

export interface StoredBytes {
  /** As a process sees it. */
  live: Buffer;
  /** What is on the disk for certain. */
  safe: Buffer;
}

export type Names = Map<string, StoredBytes>;

/**
 * Possible disks after a power cut: every one if they are few, else a random sample.
 *
 * @param namings the names that may be there: as a process sees them, and as they are on disk for certain
 */
export function statesAfterCut(
  namings: readonly Names[],
  blockBytes: number,
  { disksMax, random }: CutLimits,
): readonly ReadonlyMap<string, Buffer>[] {
  const states = namings.flatMap((names) => statesOf(names, blockBytes));
  const chosen = states.length <= disksMax ? states : Array.from({ length: disksMax }, () => pick(states, random));
  return chosen.map((make) => make(random));
}

type State = (random: () => number) => ReadonlyMap<string, Buffer>;

/** What the files of these names may hold: one file's states in every mix, the others' as they are on disk. */
function statesOf(names: Names, blockBytes: number): readonly State[] {
  const safe = new Map([...names].map(([path, file]) => [path, file.safe]));
  return [
    () => safe,
    ...[...names].flatMap(([path, file]) =>
      mixesOf(file, blockBytes).map(
        (make): State =>
          (random) =>
            new Map([...safe, [path, make(random)]]),
      ),
    ),
  ];
}

type Fate = 'kept' | 'lost' | 'torn';
const fates: readonly Fate[] = ['kept', 'lost', 'torn'];

/** Every mix of a file's blocks for every length that it may have; where those are too many, mixes by chance. */
function mixesOf({ live, safe }: StoredBytes, blockBytes: number): readonly ((random: () => number) => Buffer)[] {
  if (live === safe) return [];
  const unsynced = [...blocksBetween(Math.min(sameUntil(live, safe), live.length), live.length, blockBytes)];
  const lengths = new Set([safe.length, live.length, ...unsynced.map(({ start }) => Math.max(start, safe.length))]);
  const mix = (length: number, fateOf: (block: number) => Fate) => {
    const bytes = Buffer.alloc(length);
    safe.copy(bytes);
    for (const [index, { start, end }] of unsynced.entries()) {
      const kept = { kept: end, lost: start, torn: Math.ceil((start + end) / 2) }[fateOf(index)];
      live.copy(bytes, start, start, kept);
    }
    return bytes;
  };
  return [...lengths].flatMap((length) => {
    if (unsynced.length > 4) {
      const byChance = (random: () => number) => mix(length, () => pick(fates, random));
      return Array.from({ length: 40 }, () => byChance);
    }
    return Array.from({ length: 3 ** unsynced.length }, (_, number) => () => {
      return mix(length, (block) => fates[Math.floor(number / 3 ** block) % 3] ?? 'lost');
    });
  });
}

function sameUntil(one: Buffer, other: Buffer): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return at;
  return length;
}

function* blocksBetween(from: number, to: number, blockBytes: number) {
  for (let start = from; start < to; ) {
    const end = Math.min(to, (Math.floor(start / blockBytes) + 1) * blockBytes);
    yield { start, end };
    start = end;
  }
}

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] ?? fail();
}

function fail(): never {
  throw new RangeError('there is nothing to pick from');
}

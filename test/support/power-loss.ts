/**
 * A disk in memory that can lose its power (tests-3): what was not synced is kept, lost or torn, block by block,
 * in any mix, and names that were not synced with their directory may be gone.
 */
import { dirname } from 'node:path';
import type { JournalIo } from '../../src/bulk/journal-lines.ts';

export interface PowerLossDisk {
  readonly io: JournalIo;
  /** Called after everything that changes the disk, while it is set. */
  onChange: (() => void) | undefined;
  /** The bytes of a file as a process sees it; undefined if it is missing. */
  bytesOf(path: string): Buffer | undefined;
  /** Puts a file there, on disk. */
  put(path: string, bytes: Buffer): void;
  /** Possible disks after a power cut now: all of them if they are few, else a random sample. */
  afterPowerCut(limits: CutLimits): readonly PowerLossDisk[];
}

/**
 * Makes an empty one.
 *
 * @param blockBytes what is kept, lost or torn as one
 */
export function powerLossDisk(blockBytes = 64): PowerLossDisk {
  return diskOf(new Map(), blockBytes);
}

function diskOf(stored: ReadonlyMap<string, Buffer>, blockBytes: number): PowerLossDisk {
  const live: Names = new Map([...stored].map(([path, bytes]) => [path, { live: bytes, safe: bytes }]));
  let safe: Names = new Map(live);
  const opened = new Map<number, StoredBytes>();
  let lastDescriptor = 2;
  const at = (descriptor: number): StoredBytes => opened.get(descriptor) ?? fail('EBADF');
  const changed = () => disk.onChange?.();

  const io: JournalIo = {
    open: (path, flags) => {
      const isNew = flags === 'wx' || flags === 'ax';
      if (isNew && live.has(path)) fail('EEXIST');
      if (!isNew && !live.has(path)) fail('ENOENT');
      const file = live.get(path) ?? { live: Buffer.alloc(0), safe: Buffer.alloc(0) };
      live.set(path, file);
      lastDescriptor += 1;
      opened.set(lastDescriptor, file);
      if (isNew) changed();
      return lastDescriptor;
    },
    write: (descriptor, bytes, offset, given) => {
      const file = at(descriptor);
      const position = given ?? file.live.length;
      const after = file.live.subarray(position + bytes.length - offset);
      file.live = Buffer.concat([file.live.subarray(0, position), bytes.subarray(offset), after]);
      changed();
      return bytes.length - offset;
    },
    read: (descriptor, into, position) => at(descriptor).live.copy(into, 0, position),
    lengthOf: (descriptor) => at(descriptor).live.length,
    isAt: (descriptor, path) => live.get(path) === at(descriptor),
    reserve: () => undefined,
    truncate: (descriptor, lengthBytes) => {
      at(descriptor).live = at(descriptor).live.subarray(0, lengthBytes);
      changed();
    },
    sync: (descriptor) => {
      at(descriptor).safe = at(descriptor).live;
      changed();
    },
    syncData: async (descriptor) => {
      const file = at(descriptor);
      const bytes = file.live;
      await Promise.resolve();
      file.safe = bytes;
      changed();
    },
    close: (descriptor) => {
      if (!opened.delete(descriptor)) fail('EBADF');
    },
    makeDirectory: () => [],
    syncDirectory: (path) => {
      const isHere = ([name]: readonly [string, StoredBytes]) => dirname(name) === path;
      safe = new Map([...[...safe].filter((entry) => !isHere(entry)), ...[...live].filter(isHere)]);
      changed();
    },
    ...namesIo(live, changed),
  };
  const disk: PowerLossDisk = {
    io,
    onChange: undefined,
    bytesOf: (path) => live.get(path)?.live,
    put: (path, bytes) => {
      const file = { live: bytes, safe: bytes };
      live.set(path, file);
      safe.set(path, file);
    },
    afterPowerCut: (limits) => {
      return statesAfterCut([live, safe], blockBytes, limits).map((state) => diskOf(state, blockBytes));
    },
  };
  return disk;
}

function namesIo(live: Names, changed: () => void): Pick<JournalIo, 'modifiedMs' | 'list' | 'rename' | 'remove'> {
  return {
    modifiedMs: () => 0,
    list: (path) => {
      return [...live.keys()].filter((name) => dirname(name) === path).map((name) => name.slice(path.length + 1));
    },
    rename: (from, to) => {
      live.set(to, live.get(from) ?? fail('ENOENT'));
      live.delete(from);
      changed();
    },
    remove: (path) => {
      if (!live.delete(path)) fail('ENOENT');
      changed();
    },
  };
}

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

/** How thoroughly a power cut is looked at. */
interface CutLimits {
  readonly disksMax: number;
  /** A number from 0 up to 1. */
  random(): number;
}

interface StoredBytes {
  /** As a process sees it. */
  live: Buffer;
  /** What is on the disk for certain. */
  safe: Buffer;
}

type Names = Map<string, StoredBytes>;

/**
 * Possible disks after a power cut: every one if they are few, else a random sample.
 *
 * @param namings the names that may be there: as a process sees them, and as they are on disk for certain
 */
function statesAfterCut(
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
  return values[Math.floor(random() * values.length)] ?? fail('there is nothing to pick from');
}

/** Chance that comes out the same again for the same seed. */
export interface SeededRandom {
  /** A number from 0 up to 1. */
  next(): number;
  /** A whole number from 0 up to `below`. */
  whole(below: number): number;
  /** Chance of its own, by the same seed and these words: what one part draws changes nothing for another. */
  branch(...words: readonly (string | number)[]): SeededRandom;
}

/** Makes it: mulberry32 (Tommy Ettinger, public domain). */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    whole: (below) => Math.floor(next() * below),
    branch: (...words) => seededRandom(hashOf(`${seed} ${words.join(' ')}`)),
  };
}

/** What a number from 0 up to 1 falls on, where each has its share; the first where the shares are no whole. */
export function pick<T>(luck: number, shares: readonly (readonly [T, number])[]): T | undefined {
  let below = 0;
  const found = shares.find(([, share]) => {
    below += share;
    return luck < below;
  });
  return (found ?? shares[0])?.[0];
}

/** FNV-1a (Fowler, Noll, Vo). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash;
}

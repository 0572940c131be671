/**
 * A set of ids that takes 16 to 32 bytes for each, however long it is. It holds 63 bits of a hash of each: of a million
 * ids, two different ones are taken for the same in one of eighteen million runs.
 */
export class IdSet {
  #slots = new Uint32Array(2 * 1024);
  #size = 0;

  /** Adds an id; returns false if it was there already. */
  add(id: string): boolean {
    const [high, low] = hashOf(id);
    if (!this.#put(high, low)) return false;
    this.#size += 1;
    // Two slots for each keep the search short.
    if (this.#size * 4 > this.#slots.length) this.#grow();
    return true;
  }

  #put(high: number, low: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (low - 1) & mask; ; at = (at + 2) & mask) {
      if (slots[at] === high && slots[at + 1] === low) return false;
      if (slots[at] !== 0 || slots[at + 1] !== 0) continue;
      slots[at] = high;
      slots[at + 1] = low;
      return true;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) {
      const [high = 0, low = 0] = [before[at], before[at + 1]];
      if (high !== 0 || low !== 0) this.#put(high, low);
    }
  }
}

/** Two multiplicative hashes of 32 bits, never both zero; the low one is mixed so that each bit of it counts. */
function hashOf(id: string): readonly [high: number, low: number] {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    two = Math.imul(two ^ code, 0x5f356495);
    one ^= one >>> 15;
    two ^= two >>> 13;
  }
  return [mixed(one ^ two) >>> 0, (mixed(two) | 1) >>> 0];
}

/** The end of MurmurHash3. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

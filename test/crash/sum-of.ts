/** Adds two records of counts, name by name; what one of them has not counts 0. */
export function sumOf<T extends object>(one: T, other: T): T {
  const sums: Record<string, number> = {};
  for (const [name, count] of [...Object.entries(one), ...Object.entries(other)]) {
    sums[name] = (sums[name] ?? 0) + count;
  }
  return sums as T;
}

/** The same for maps. */
export function sumOfMaps(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>) {
  return new Map(Object.entries(sumOf(Object.fromEntries(one), Object.fromEntries(other))));
}

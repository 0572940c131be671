/** The name of a list that was probably meant, for a hint; undefined where none is near. */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // More than a third of it wrong is no slip.
  let distanceMax = Math.max(1, Math.floor(typed.length / 3));
  for (const name of names) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance > distanceMax) continue;
    nearest = name;
    distanceMax = distance - 1;
  }
  return nearest;
}

/** How many letters must be added, removed, changed or swapped with their neighbour (optimal string alignment). */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let at = 1; at <= one.length; at += 1) {
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const isSame = one[at - 1] === other[to - 1];
      const isSwapped = one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      const before = (up: number, left: number) => (up === 0 ? row[to - left] : rows[at - up]?.[to - left]) ?? Infinity;
      row[to] = Math.min(
        before(1, 0) + 1,
        before(0, 1) + 1,
        before(1, 1) + (isSame ? 0 : 1),
        isSwapped ? before(2, 2) + 1 : Infinity,
      );
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? Infinity;
}

/** The rows N01 to N41 of the fault catalog (docs/faults.md): each test is named after its row, and counted for it. */
import process from 'node:process';
import { test } from 'vitest';
import { type Way, ways } from './fault-ways.ts';

type RowId = `N${number}`;

const rowIds: readonly RowId[] = Array.from(
  { length: 41 },
  (_, index) => `N${String(index + 1).padStart(2, '0')}` as RowId,
);

const planned = new Map<RowId, number>();
const passed = new Map<RowId, number>();
const elsewhere = new Set<RowId>();

/** A test of a row, for each way to run the program. The title goes on from the row's name. */
export function row(id: RowId, title: string, run: (way: Way) => Promise<void>): void {
  for (const way of ways) {
    planned.set(id, (planned.get(id) ?? 0) + 1);
    test.concurrent(`${id} ${title} (${way.name})`, async () => {
      await run(way);
      passed.set(id, (passed.get(id) ?? 0) + 1);
    });
  }
}

/** A row, or a part of one, that is not tested here. */
export function rowElsewhere(id: RowId, reason: string): void {
  elsewhere.add(id);
  test.skip(`${id}: ${reason}`, () => {});
}

/** Rows that no test names, not even to say where it is tested. */
export function untestedRows(): readonly RowId[] {
  return rowIds.filter((id) => !planned.has(id) && !elsewhere.has(id));
}

/** Prints how many of the rows have passed, every test of theirs. */
export function printRows(): void {
  const good = rowIds.filter((id) => planned.has(id) && planned.get(id) === passed.get(id));
  const bad = rowIds.filter((id) => !good.includes(id));
  const names = ways.map(({ name }) => name).join(' and ');
  const rest = bad.length === 0 ? '' : ` (not: ${bad.join(', ')})`;
  process.stdout.write(
    `rows on Node ${process.versions.node}, over ${names}: ${good.length} of ${rowIds.length}${rest}\n`,
  );
}

import { objectFrom } from '../../json.ts';
import type { Row, View } from '../../output/view.ts';

/** A row whose outcome is unknown, as it is shown. */
export interface ShownDoubt {
  readonly row: number;
  /** The Idempotency-Key that it was sent with. */
  readonly key: string | null;
  /** Tells its payload from another one. */
  readonly hash: string;
  /** When it was first sent with that key: ISO 8601, in UTC. */
  readonly since: string;
  readonly cause: string;
}

/** Rows in doubt: always several. Each is named by its number, as `--row` takes it. */
export const doubtView: View<ShownDoubt> = {
  pretty: async (doubts, screen) => {
    const { drawRows } = await import('../../output/row-table.ts');
    return drawRows(doubts.map(rowOf), screen, undefined, true);
  },
  printsNone: true,
  json: (doubt) => objectFrom(rowOf(doubt)),
  id: ({ row }) => String(row),
  row: rowOf,
};

function rowOf({ row, key, hash, since, cause }: ShownDoubt): Row {
  return new Map(Object.entries({ row, key, hash, since, cause }));
}

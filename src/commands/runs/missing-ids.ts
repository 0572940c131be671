/**
 * Finds the items of creates in doubt where the service has no query: where ids are numbers, among those that are missing
 * between the ids that the run got (docs/decisions.md, doubt-3). Loaded late.
 */

import type { Replay } from '../../bulk/journal-read.ts';
import { payloadHash } from '../../bulk/keys.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, includesFields, type ListRef } from '../../core/item.ts';
import { countOf } from '../../core/text.ts';

/** A row in doubt; its fields are known if its input is. */
export interface SoughtItem {
  readonly row: number;
  readonly hash: string | undefined;
  readonly fields: Fields | undefined;
}

/** As many ids are read at most: a run whose rows are far apart shares its list with many others. */
const idsMax = 10_000;

/** So many ids before the first and after the last one are read too: the row there may be one in doubt. */
const marginIds = 10;

const atOnce = 4;

/**
 * Reads the items with the missing ids, and compares them with the rows.
 *
 * @returns the id of each row that exactly one item matches, which matches no other row; and how many items were read
 * @throws {Failure} usage, if the ids are no numbers, or too far apart; as `Client.send`
 */
export async function findByMissingIds(
  list: ListRef,
  { sought, known, replay }: { sought: readonly SoughtItem[]; known: readonly string[]; replay: Replay },
  session: Session,
): Promise<{ readonly ids: ReadonlyMap<number, string>; readonly read: number }> {
  const client = await session.service.client();
  const items = await session.service.items();
  const candidates = missingIds(known, sought.length, replay.header.run);
  const matches = new Map<number, string[]>();
  const rowsOf = new Map<string, number[]>();
  let read = 0;
  for (let at = 0; at < candidates.length; at += atOnce) {
    const some = candidates.slice(at, at + atOnce);
    const found = await Promise.all(some.map((id) => readIfThere(client.send(items.get({ ...list, id })))));
    for (const item of found) {
      if (item === undefined) continue;
      read += 1;
      for (const each of sought) {
        if (!isItemOf(item, each)) continue;
        matches.set(each.row, [...(matches.get(each.row) ?? []), item.id]);
        rowsOf.set(item.id, [...(rowsOf.get(item.id) ?? []), each.row]);
      }
    }
  }
  const sure = [...matches].flatMap(([row, [id = '', ...others]]) =>
    others.length === 0 && rowsOf.get(id)?.length === 1 ? [[row, id] as const] : [],
  );
  return { ids: new Map(sure), read };
}

function missingIds(known: readonly string[], rows: number, run: string): readonly string[] {
  const numbers = known.map(Number);
  const isCounted =
    known.length > 0 && known.every((id, at) => String(numbers[at]) === id && numbers[at] !== undefined);
  if (!isCounted || numbers.some((number) => !Number.isSafeInteger(number) || number < 0)) {
    const why = known.length === 0 ? 'it got no id' : 'its ids are not numbers';
    throw new Failure('usage', `cannot look for the items of run ${run}: ${why}, and it has no key field`, {
      hint: 'resolve each row with --row N --applied ID, or --not-applied; nothing was recorded',
    });
  }
  const taken = new Set(numbers);
  const margin = Math.max(rows, marginIds);
  const missing: string[] = [];
  const last = numbers.reduce((one, other) => Math.max(one, other)) + margin;
  for (let id = Math.max(1, numbers.reduce((one, other) => Math.min(one, other)) - margin); id <= last; id += 1) {
    if (!taken.has(id)) missing.push(String(id));
    if (missing.length > idsMax) throw tooFarApart(run);
  }
  return missing;
}

function tooFarApart(run: string): Failure {
  return new Failure('usage', `more than ${countOf(idsMax, 'id')} are missing between those of run ${run}`, {
    hint: 'resolve each row with --row N --applied ID, or --not-applied; nothing was recorded',
  });
}

async function readIfThere(reading: Promise<Item>): Promise<Item | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'not-found') return undefined;
    throw error;
  }
}

function isItemOf({ fields }: Item, sought: SoughtItem): boolean {
  if (sought.fields !== undefined) return includesFields(fields, sought.fields);
  return sought.hash !== undefined && payloadHash(undefined, fields) === sought.hash;
}

/** The responses of the built-in service to writers while it is killed, and what its list must then contain. */
import type { RoundCounts } from './invariants.ts';
import { isSame, type TextFields } from './list-contents.ts';

/** One create, and all that was done to its item since. */
export interface WrittenItem {
  /** A field of no other item. */
  readonly mark: string;
  /** Undefined of one that was sent without a key, and once. */
  readonly key: string | undefined;
  readonly sent: TextFields;
  /** The id that each answer to its create had. */
  readonly ids: string[];
  /** What it can be now: one thing, where the last write was answered; undefined is an item that is not there. */
  may: readonly (TextFields | undefined)[];
}

export interface Ledger {
  readonly items: readonly WrittenItem[];
  readonly refusals: readonly string[];
  readonly unanswered: number;
}

/** An item of the list that was written by them is marked. */
export function markOf(fields: TextFields): string | undefined {
  return fields['Mark'];
}

/**
 * Judges it: what was acknowledged is there as it was acknowledged, once, by its id; an id is never given twice, also
 * after its item is deleted; a key gives the same id each time; and nothing exists that was not created.
 *
 * @param found what the list holds, by id
 * @param others ids that the service gave to others in the same list
 */
export function judgeLedger(
  { items, refusals, unanswered }: Ledger,
  found: ReadonlyMap<string, TextFields>,
  others: Iterable<string>,
): { readonly counts: RoundCounts; readonly broken: readonly string[] } {
  const idsOf = idsByMark(found);
  const foundOf = (item: WrittenItem) => idsOf.get(item.mark) ?? [];
  const isThere = (item: WrittenItem) => foundOf(item).length > 0;
  const nowOf = (item: WrittenItem) => found.get(foundOf(item)[0] ?? '');
  const isAsSaid = (item: WrittenItem) => item.may.some((fields) => isSame(fields, nowOf(item)));
  const isGone = ({ may }: WrittenItem) => may.every((fields) => fields === undefined);
  const marks = new Set(items.map(({ mark }) => mark));
  const lost = items.filter((item) => !(isAsSaid(item) || isGone(item)));
  const doubled = items.filter((item) => foundOf(item).length > 1 || new Set(item.ids).size > 1);
  const undeleted = items.filter((item) => isGone(item) && isThere(item)).map(({ mark }) => mark);
  const unknown = [...idsOf.keys()].filter((mark) => !marks.has(mark));
  const inDoubt = items.filter(({ may }) => may.length > 1);
  const moved = items.filter((item) => isThere(item) && item.ids.some((id) => !foundOf(item).includes(id)));
  const broken = Object.entries({
    'S1 acknowledged, and not there as it was': lost.map(({ mark }) => mark),
    'S2 is there twice, or had two ids for one key': doubled.map(({ mark }) => mark),
    'S3 is there, and was deleted or never sent': [...undeleted, ...unknown],
    'S4 ids were given twice': reusedIn(items, others),
    'S4 is there by another id': moved.map(({ mark }) => mark),
    'S5 the service said': refusals,
  }).flatMap(([what, names]) => (names.length === 0 ? [] : [`${what}: ${names.slice(0, 5).join(', ')}`]));
  const phantom = undeleted.length + unknown.length;
  return {
    broken,
    counts: {
      ...{ lost: lost.length, doubled: doubled.length, phantom, unanswered },
      inDoubt: inDoubt.length,
      inDoubtApplied: inDoubt.filter(isThere).length,
    },
  };
}

function idsByMark(found: ReadonlyMap<string, TextFields>): ReadonlyMap<string, readonly string[]> {
  const idsOf = new Map<string, string[]>();
  for (const [id, fields] of found) {
    const mark = markOf(fields);
    if (mark !== undefined) idsOf.set(mark, [...(idsOf.get(mark) ?? []), id]);
  }
  return idsOf;
}

function reusedIn(items: readonly WrittenItem[], others: Iterable<string>): readonly string[] {
  const given = new Set(others);
  return items.flatMap(({ ids }) => {
    const reused = [...new Set(ids)].filter((id) => given.has(id));
    for (const id of ids) given.add(id);
    return reused;
  });
}

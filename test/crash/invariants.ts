/** What must hold when a run that was killed again and again has come to its end (docs/faults.md#invariants). */
import type { RowState } from '../../src/bulk/journal-read.ts';
import type { StateSeen } from './client.ts';
import type { ProxiedRequest } from './fault-proxy.ts';
import { isSame, type TextFields } from './list-contents.ts';
import { holdsDoubt, type Job } from './modes.ts';

export interface RoundFacts {
  readonly job: Job;
  /** As the journal has them, in the order of the rows. */
  readonly states: readonly RowState[];
  /** The ids that the journal has of rows that are done, by the row's number. */
  readonly doneIds: ReadonlyMap<number, string>;
  /** The same, as it was after each session before the last. */
  readonly doneBefore: readonly ReadonlyMap<number, string>[];
  /** The ids of rows that were said to be done on stdout, in any session. */
  readonly printed: ReadonlyMap<number, string>;
  /** Rows that a session said to be done, and that were not recorded so, by that id, when it had ended. */
  readonly untold: readonly number[];
  readonly items: ReadonlyMap<string, TextFields>;
  readonly requests: readonly ProxiedRequest[];
  /** The state file as it was after each session, where one is kept. */
  readonly statesSeen: readonly StateSeen[];
  readonly concurrency: number;
  /**
   * How often listctl or the service was killed. A kill of the service closes its connections, and unread requests on
   * them are not in the log: at most as many as the concurrency.
   */
  readonly kills: number;
}

/** What is counted, beside what is broken. */
export interface RoundCounts {
  /** Items that were said to be there, and are not. */
  readonly lost: number;
  readonly doubled: number;
  /** Items of no row, or of one that is neither done nor in doubt; and items of others that were changed. */
  readonly phantom: number;
  readonly inDoubt: number;
  /** Rows in doubt that had been carried out. */
  readonly inDoubtApplied: number;
  /** Requests of which the client could not know what became. */
  readonly unanswered: number;
}

export interface Judgment {
  readonly counts: RoundCounts;
  /** A sentence for each invariant that does not hold; none where all do. */
  readonly broken: readonly string[];
}

export function judge(facts: RoundFacts): Judgment {
  const found = foundIn(facts);
  const broken: string[] = [];
  const check = (name: string, rows: readonly unknown[]) => {
    if (rows.length > 0) broken.push(`${name}: ${rows.slice(0, 5).join(', ')}${rows.length > 5 ? ', …' : ''}`);
  };
  check('J1 rows are neither done nor in doubt', found.unsettled);
  check('J2 rows were applied twice', found.doubled);
  check('J3 done, and the item is not there with its fields', found.lost);
  check('J3 acknowledged, and not there after the service was killed', found.forgotten);
  check('J4 applied, and neither done nor in doubt', found.phantom);
  check('J4 items beside the input were changed', found.touched);
  if (!holdsDoubt(facts.job.mode)) check('J5 rows are not done', found.undone);
  if (found.inDoubt.length > facts.concurrency * facts.kills + found.unanswered) {
    broken.push(`J6 ${found.inDoubt.length} in doubt after ${facts.kills} kills, ${found.unanswered} unanswered`);
  }
  check('J7 printed, and not done by that id', found.overstated);
  check('J7 printed before it was recorded', facts.untold);
  check('J7 were done once, and are not now', found.reverted);
  check('J8 the service gave one id twice, or one key two', found.reused);
  check('J9 the state file', found.stateFaults);
  if (facts.job.mode === 'create-indexed') check('J10 in doubt after a look-up, and there', found.inDoubtApplied);
  const { lost, forgotten, doubled, phantom, touched, inDoubt, inDoubtApplied, unanswered } = found;
  return {
    broken,
    counts: {
      lost: lost.length + forgotten.length,
      doubled: doubled.length,
      phantom: phantom.length + touched.length,
      inDoubt: inDoubt.length,
      inDoubtApplied: inDoubtApplied.length,
      unanswered,
    },
  };
}

function foundIn(facts: RoundFacts) {
  const { job, states, doneIds, doneBefore, printed, items, requests } = facts;
  const numbers = job.rows.map((_, at) => at + 1);
  const stateOf = (number: number): RowState => states[number - 1] ?? 'pending';
  const idsOf = itemsByRow(facts);
  const isDoneBy = ([number, id]: readonly [number, string]) =>
    stateOf(number) === 'done' && doneIds.get(number) === id;
  const inDoubt = numbers.filter((number) => stateOf(number) === 'in-doubt');
  return {
    // Each of our rows is valid, and none is refused permanently.
    unsettled: numbers.filter((number) => !isTold(stateOf(number))).map((number) => `${number} ${stateOf(number)}`),
    undone: numbers.filter((number) => stateOf(number) !== 'done').map((number) => `${number} ${stateOf(number)}`),
    doubled: numbers.filter((number) => (idsOf.get(number)?.length ?? 0) > 1),
    lost: numbers.filter((number) => stateOf(number) === 'done' && !isAsItShould(facts, number)),
    forgotten: forgottenIn(facts),
    phantom: phantomsIn(facts, idsOf),
    touched: [...job.bystanders].filter(([id, fields]) => !isSame(items.get(id), fields)).map(([id]) => id),
    inDoubt,
    inDoubtApplied: inDoubt.filter((number) => isApplied(facts, number, idsOf)),
    unanswered: requests.filter(({ answered }) => answered === undefined || answered >= 500).length,
    reused: reusedIn(facts),
    stateFaults: stateFaultsIn(facts.statesSeen),
    overstated: [...printed].filter((entry) => !isDoneBy(entry)).map(([number]) => number),
    reverted: doneBefore.flatMap((before) => [...before].filter((entry) => !isDoneBy(entry)).map(([number]) => number)),
  };
}

/** The ids of the items that are of a row. */
function itemsByRow({ items, job }: RoundFacts): ReadonlyMap<number, readonly string[]> {
  const ids = new Map<number, string[]>();
  for (const [id, { Row }] of items) {
    if (job.bystanders.has(id)) continue;
    const number = Number(Row);
    ids.set(number, [...(ids.get(number) ?? []), id]);
  }
  return ids;
}

/** Whether the item of a row that is done is what the row makes of it. */
function isAsItShould({ job, doneIds, items }: RoundFacts, number: number): boolean {
  const row = job.rows[number - 1];
  const id = doneIds.get(number);
  if (row === undefined || id === undefined || (row.id !== undefined && row.id !== id)) return false;
  return isSame(items.get(id), row.becomes);
}

/** The ids that the service said it had created, and does not have, or has with other fields. */
function forgottenIn({ job, items, requests }: RoundFacts): readonly string[] {
  const acknowledged = requests.flatMap(({ method, said }) => {
    return method === 'POST' && said?.status === 201 && said.id !== undefined ? [said.id] : [];
  });
  const isKept = (id: string) => {
    const fields = items.get(id);
    return fields !== undefined && isSame(fields, job.rows[Number(fields['Row']) - 1]?.becomes);
  };
  return acknowledged.filter((id) => !isKept(id));
}

/** What was done to the list by no row that is done or in doubt. */
function phantomsIn(facts: RoundFacts, idsOf: ReadonlyMap<number, readonly string[]>): readonly string[] {
  const { job, states, doneIds } = facts;
  const isOf = (number: number, id: string) => {
    const [row, state] = [job.rows[number - 1], states[number - 1] ?? 'pending'];
    if (row === undefined) return false;
    if (row.id !== undefined) return row.id === id && (isTold(state) || !isApplied(facts, number, idsOf));
    return state === 'in-doubt' || (state === 'done' && doneIds.get(number) === id);
  };
  const unasked = [...idsOf].flatMap(([number, ids]) => ids.filter((id) => !isOf(number, id)));
  const goneUntold = job.rows.flatMap(({ id, becomes }, at) => {
    const isGone = id !== undefined && becomes === undefined && !facts.items.has(id);
    return isGone && !isTold(states[at] ?? 'pending') ? [id] : [];
  });
  return [...unasked, ...goneUntold];
}

/** The ids that the service gave to two creates; and keys, where it honors them, that it gave two. */
function reusedIn({ job, requests }: RoundFacts): readonly string[] {
  const creates = requests.filter(({ method, said }) => method === 'POST' && said?.status === 201);
  const pairs = new Set(
    creates.map(({ key, said }, at) => JSON.stringify([said?.id, holdsDoubt(job.mode) ? at : (key ?? at)])),
  );
  const known = [...pairs].map((pair) => JSON.parse(pair) as readonly [string, string | number]);
  return [...twiceIn(known.map(([id]) => id)), ...twiceIn(known.map(([, key]) => `key ${key}`))];
}

function twiceIn(values: readonly string[]): readonly string[] {
  return values.filter((value, at) => values.indexOf(value) !== at);
}

/** It is whole at any moment, one and the same, and no older than it was. */
function stateFaultsIn(seen: readonly StateSeen[]): readonly string[] {
  const [first] = seen;
  return seen.flatMap((state, at) => {
    if ('damage' in state) return [`is damaged: ${state.damage}`];
    const before = seen[at - 1];
    if (before === undefined || first === undefined || 'damage' in before || 'damage' in first) return [];
    if (state.lineage !== first.lineage) return [`is another one: ${state.lineage} after ${first.lineage}`];
    return state.serial < before.serial ? [`is older: serial ${state.serial} after ${before.serial}`] : [];
  });
}

function isTold(state: RowState): boolean {
  return state === 'done' || state === 'in-doubt';
}

function isApplied({ job, items }: RoundFacts, number: number, idsOf: ReadonlyMap<number, readonly string[]>): boolean {
  const row = job.rows[number - 1];
  if (row?.id === undefined) return idsOf.has(number);
  return isSame(items.get(row.id), row.becomes);
}

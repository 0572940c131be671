/** Selects the items of a command: ids that are typed, or rows of `--from FILE`, which load the bulk modules. */
import type { Command } from 'commander';
import type { Client } from '../../api/client.ts';
import type { BulkFlags } from '../../bulk/flags.ts';
import type { ImportCommand } from '../../bulk/import-plan.ts';
import type { Context } from '../../cli/command.ts';
import type { Print } from '../../cli/output.ts';
import type { Session } from '../../cli/session.ts';
import { type FieldFlags, readCommonFields } from '../../cli/values.ts';
import { Failure, Stopped } from '../../core/errors.ts';
import { checkId, type Item, type ItemRef } from '../../core/item.ts';
import { countOf } from '../../core/text.ts';
import type { View } from '../../output/view.ts';
import type { RowAction } from '../../rows/types.ts';
import type { ResolvedList } from '../../services/service.ts';

/** The flags of a verb that takes `--from`. */
export interface FromFlags extends BulkFlags {
  readonly from?: string;
  readonly dryRun?: boolean;
}

/** Declares `--from`; and the flags that go with it, if it or `--keep-before` was typed, or for a help page. */
export async function addFromOption(command: Command, action: RowAction | 'edit', { words }: Context): Promise<void> {
  command.option('--from <file>', 'CSV, TSV, JSON, JSONL, YAML or ids ("-" = stdin)');
  const isWanted = words.some((word) => /^(--from(=.*)?|--keep-before|--help|-h)$/s.test(word));
  if (!isWanted) return;
  const { addBulkOptions, addInputOptions } = await import('../../bulk/flags.ts');
  if (action === 'edit') addInputOptions(command);
  else addBulkOptions(command, action);
}

/** Runs an action on the rows of `--from`. */
export async function runFrom(
  verb: Omit<ImportCommand, 'common'>,
  flags: FromFlags & FieldFlags,
  session: Session,
): Promise<void> {
  const { parseBulkFlags } = await import('../../bulk/flags.ts');
  const many = parseBulkFlags(flags);
  const common = await readCommonFields(flags, session);
  const { runImport } = await import('../../bulk/import.ts');
  await runImport({ ...verb, common, isDryRun: flags.dryRun }, many, session);
}

/** Runs an action on typed ids as on the rows of a file, so that it is recorded and can be undone. */
export async function runRecorded(
  verb: Omit<ImportCommand, 'common' | 'from'>,
  refs: readonly ItemRef[],
  flags: FromFlags & FieldFlags,
  session: Session,
): Promise<void> {
  const ids = refs.map(({ id }) => id);
  return runFrom({ ...verb, from: '-', ids }, { ...flags, inputFormat: 'ids' }, session);
}

/** @throws {Failure} usage, without ids and --from, or with both */
export function checkIdsOrFrom(ids: readonly string[], from: string | undefined): void {
  if (ids.length > 0 && from !== undefined) {
    throw new Failure('usage', 'pass item ids or --from, not both');
  }
  if (ids.length === 0 && from === undefined) {
    throw new Failure('usage', "missing required argument 'id'", {
      hint: 'pass one or more item ids, or a file with --from; see --help',
    });
  }
}

/** @throws {Failure} usage, for the first invalid id */
export function checkIds(ids: readonly string[]): void {
  for (const id of ids) checkId(id, 'item');
}

/** The list of a command on single items: only a URL has to be resolved, since names do as well as ids. */
export async function oneList({ settings, service }: Pick<Session, 'settings' | 'service'>): Promise<ResolvedList> {
  const named = settings.list();
  return 'url' in named ? service.resolve(named) : { ids: named, named };
}

/**
 * The items with the ids that were typed, each once, with a notice about repeated ids.
 *
 * @throws {Failure} usage, for the first invalid id
 */
export async function itemRefs(
  ids: readonly string[],
  session: Pick<Session, 'settings' | 'service' | 'messages'>,
): Promise<readonly ItemRef[]> {
  checkIds(ids);
  const { ids: list } = await oneList(session);
  const distinct = new Set(ids);
  const repeated = ids.length - distinct.size;
  if (repeated > 0) await session.messages.say(`listctl: ${countOf(repeated, 'id')} repeated: each item is taken once`);
  return Array.from(distinct, (id) => ({ ...list, id }));
}

/**
 * The items with the ids of a file, each once.
 *
 * @throws {Failure} usage, for invalid rows; as `openRows`
 */
export async function itemRefsFrom(from: string, flags: FromFlags, session: Session): Promise<readonly ItemRef[]> {
  const [{ parseReadingFlags }, { checkFile, openShown }, { openRows }] = await Promise.all([
    import('../../bulk/flags.ts'),
    import('../../bulk/progress.ts'),
    import('../../rows/read.ts'),
  ]);
  const input = await openShown(from, session);
  try {
    const file = await openRows(input, { ...parseReadingFlags(flags), action: 'get', common: {} });
    await checkFile(file, false, undefined, session);
    const ids: string[] = [];
    for await (const rows of file.blocks()) {
      for (const row of rows) if (row.problem === undefined && row.id !== undefined) ids.push(row.id);
    }
    return await itemRefs(ids, session);
  } finally {
    input.close();
  }
}

/** The maximum number of requests in progress. */
const concurrency = 8;

/**
 * Acts on each item, several at a time, and prints the results in the order of the items. A failure does not stop the
 * others.
 *
 * @param each.isSeveral whether the results are printed as those of several items (default: if there are)
 * @param each.done the past tense of the action: `read`, `deleted`
 * @throws {Failure} that of a single item; of several, in-doubt if one of them is, else incomplete
 */
export async function forEachItem<T>(
  each: {
    readonly refs: readonly ItemRef[];
    readonly isSeveral?: boolean;
    readonly done: string;
    readonly view: View<T>;
    readonly act: (ref: ItemRef, client: Client) => Promise<T>;
  },
  session: Session,
): Promise<void> {
  const { refs, isSeveral = refs.length > 1, done, view, act } = each;
  let failures: readonly Failure[] = [];
  const work = async (print: Print<T>) => {
    const client = await session.service.client();
    failures = await settleEach(refs, (ref) => act(ref, client), print, session);
  };
  await session.output.printing(view, isSeveral, work, done === 'read' ? undefined : done);
  await reportAll(failures, refs.length, done, session);
  session.host.signal.throwIfAborted();
}

/**
 * Gets each item, in the order of the ids.
 *
 * @throws {Failure} as `forEachItem`
 */
export async function readEach(
  refs: readonly ItemRef[],
  client: Client,
  session: Session,
): Promise<readonly { readonly ref: ItemRef; readonly item: Item }[]> {
  const read: { readonly ref: ItemRef; readonly item: Item }[] = [];
  const items = await session.service.items();
  const get = async (ref: ItemRef) => ({ ref, item: await client.send(items.get(ref)) });
  const failures = await settleEach(refs, get, (found) => void read.push(found), session);
  await reportAll(failures, refs.length, 'read', session);
  session.host.signal.throwIfAborted();
  return read;
}

/** Acts on all; returns the failures of several, and throws that of a single one. */
async function settleEach<T>(
  refs: readonly ItemRef[],
  act: (ref: ItemRef) => Promise<T>,
  pass: (result: T) => Promise<void> | undefined,
  { host: { signal } }: Session,
): Promise<readonly Failure[]> {
  const [only] = refs;
  if (only !== undefined && refs.length === 1) {
    await pass(await act(only));
    return [];
  }
  const failures: Failure[] = [];
  for (const result of startAll(refs, act, signal)) {
    const ended = await result;
    if (ended.status === 'fulfilled') await pass(ended.value);
    // An unconfirmed write is a usage error, and concerns all items.
    else if (ended.reason instanceof Failure && ended.reason.kind !== 'usage') failures.push(ended.reason);
    // The results before a stop are passed on first.
    else if (!(ended.reason instanceof Stopped)) throw ended.reason;
  }
  return failures;
}

/** Starts all in their order; the promises do not reject. */
function startAll<T>(
  refs: readonly ItemRef[],
  act: (ref: ItemRef) => Promise<T>,
  signal: AbortSignal,
): readonly Promise<PromiseSettledResult<T>>[] {
  const slots: Promise<unknown>[] = Array.from({ length: concurrency }, () => Promise.resolve());
  return refs.map((ref, index) => {
    const started = Promise.resolve(slots[index % concurrency]).then(() => {
      signal.throwIfAborted();
      return act(ref);
    });
    const result = Promise.allSettled([started]).then(([settled]) => settled);
    slots[index % concurrency] = result;
    return result;
  });
}

async function reportAll(failures: readonly Failure[], count: number, done: string, session: Session): Promise<void> {
  for (const failure of failures) await session.messages.report(failure);
  if (failures.length === 0) return;
  const inDoubtCount = failures.filter(({ kind }) => kind === 'in-doubt').length;
  const failedCount = failures.length - inDoubtCount;
  const doubt = inDoubtCount > 0 ? `, ${inDoubtCount} in doubt` : '';
  throw new Failure(
    inDoubtCount > 0 ? 'in-doubt' : 'incomplete',
    `${failedCount} of ${count} items could not be ${done}${doubt}`,
  );
}

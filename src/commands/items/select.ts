/** Selects the items of a command: ids that are typed, or rows of `--from FILE`, which load the bulk modules. */
import type { Command } from 'commander';
import type { Client } from '../../api/client.ts';
import type { BulkFlags } from '../../bulk/flags.ts';
import type { ImportCommand } from '../../bulk/import.ts';
import type { Context } from '../../cli/command.ts';
import type { Print } from '../../cli/output.ts';
import type { RunSettings } from '../../cli/run-settings.ts';
import type { Session } from '../../cli/session.ts';
import { type FieldFlags, readCommonFields } from '../../cli/values.ts';
import { Failure, Stopped } from '../../core/errors.ts';
import { checkId, type ItemRef, type ListRef } from '../../core/item.ts';
import { countOf } from '../../core/text.ts';
import type { View } from '../../output/view.ts';
import type { RowAction } from '../../rows/types.ts';

/** The flags of a verb that takes `--from`. */
export interface FromFlags extends BulkFlags {
  readonly from?: string;
  readonly dryRun?: boolean;
}

/** Declares `--from`; and the flags that go with it, if it or `--keep-before` was typed, or for a help page. */
export async function addFromOption(command: Command, action: RowAction, { words }: Context): Promise<void> {
  command.option('--from <file>', 'CSV, TSV, JSON, JSONL, YAML or ids ("-" = stdin)');
  const isWanted = words.some((word) => /^(--from(=.*)?|--keep-before|--help|-h)$/s.test(word));
  if (isWanted) (await import('../../bulk/flags.ts')).addBulkOptions(command, action);
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

/** The list of a command on single items: only an address in the browser has to be resolved. */
export async function oneList(settings: RunSettings): Promise<ListRef> {
  const list = settings.list();
  return list.site === '' ? settings.locate() : list;
}

/**
 * The items with the ids that were typed, each once, with a notice about repeated ids.
 *
 * @throws {Failure} usage, for the first invalid id
 */
export async function itemRefs(
  ids: readonly string[],
  { settings, messages }: Pick<Session, 'settings' | 'messages'>,
): Promise<readonly ItemRef[]> {
  const list = await oneList(settings);
  const distinct = new Set(ids.map((id) => checkId(id, 'item')));
  const repeated = ids.length - distinct.size;
  if (repeated > 0) await messages.say(`listctl: ${countOf(repeated, 'id')} repeated: each item is taken once`);
  return Array.from(distinct, (id) => ({ ...list, id }));
}

/** The maximum number of requests in progress. */
const concurrency = 8;

/**
 * Acts on each item, several at a time, and prints the results in the order of the items. A failure does not stop the
 * others.
 *
 * @param each.done the past tense of the action: `read`, `deleted`
 * @throws {Failure} that of a single item; of several, in-doubt if one of them is, else incomplete
 */
export async function forEachItem<T>(
  each: {
    readonly refs: readonly ItemRef[];
    readonly done: string;
    readonly view: View<T>;
    readonly act: (ref: ItemRef, client: Client) => Promise<T>;
  },
  session: Session,
): Promise<void> {
  const { refs, done, view, act } = each;
  const [only] = refs;
  const failures: Failure[] = [];
  const work = async (print: Print<T>) => {
    const client = await session.service.client();
    if (refs.length === 1 && only) return print(await act(only, client));
    for (const result of startAll(refs, (ref) => act(ref, client), session.host.signal)) {
      const ended = await result;
      if (ended.status === 'fulfilled') await print(ended.value);
      // An unconfirmed write is a usage error, and concerns all items.
      else if (ended.reason instanceof Failure && ended.reason.kind !== 'usage') failures.push(ended.reason);
      // The results before a stop are printed first.
      else if (!(ended.reason instanceof Stopped)) throw ended.reason;
    }
  };
  await session.output.printing(view, refs.length > 1, work, done === 'read' ? undefined : done);
  await reportAll(failures, refs.length, done, session);
  session.host.signal.throwIfAborted();
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

/** `listctl items list`: the items of a list, which only Microsoft Graph supports, or those of a run. */
import { Option } from 'commander';
import { addHelpNotes, type SetUp, serviceExits } from '../../cli/command.ts';
import type { Print } from '../../cli/output.ts';
import { inSession, type Session } from '../../cli/session.ts';
import { collect } from '../../cli/values.ts';
import { Failure } from '../../core/errors.ts';
import type { Item } from '../../core/item.ts';
import { itemView } from '../../output/item.ts';
import type { View } from '../../output/view.ts';
import { parseFlag, parseLimit, parseNames } from '../../settings/setting.ts';
import { oneList } from './select.ts';

interface ListFlags {
  readonly filter?: string;
  readonly where?: readonly string[];
  readonly select?: string;
  readonly limit?: string;
  readonly nonIndexed?: boolean;
  readonly since?: 'last';
  readonly run?: string;
}

export const setUpList: SetUp = (command, context) => {
  command
    .option('--filter <odata>', 'OData filter, e.g. "fields/Count gt 5"')
    .option('--where <column=value>', 'only items with this value; repeatable, all must hold', collect)
    .option('--select <names>', 'fields to read, e.g. Title,Status (default: all but lookup texts)')
    .option('--limit <n>', 'maximum number of items')
    .option('--non-indexed', 'permit conditions on columns without an index, which may fail')
    .addOption(
      new Option('--since <when>', 'only changes since the last such run, with deletions: "last"')
        .choices(['last'])
        .conflicts(['filter', 'where', 'limit', 'nonIndexed']),
    )
    .addOption(
      new Option(
        '--run <run>',
        'the items that a run made, of any service: run id, "last", or path of a journal',
      ).conflicts(['filter', 'where', 'select', 'limit', 'nonIndexed', 'since']),
    )
    .action(inSession(context, listItems));
  addHelpNotes(command, {
    examples: [
      'listctl items list --where Status=New --select Title,Status',
      'listctl items list -o jsonl > books.jsonl',
      'listctl items list --where Status=Old -o id | listctl items delete --from - --yes',
      'listctl items list --since last -o jsonl > changes.jsonl',
      'listctl items list --run last',
    ],
    globalFlags: ['site', 'list', 'output'],
    exits: serviceExits,
  });
};

async function listItems(session: Session, flags: ListFlags): Promise<void> {
  if (flags.run !== undefined) return (await import('./list-run.ts')).listRun(flags.run, session);
  const { list: listPages } = await session.service.load();
  if (listPages === undefined) {
    throw new Failure('usage', 'cannot list items: the service only returns items by id', {
      hint: 'list the items of the last run with: listctl items list --run last\nprint items by their ids with: listctl items get ID…',
    });
  }
  const { where = [], select: selected, limit: typed, nonIndexed = false } = flags;
  const conditions = where.map(parseWhere);
  const select = selected === undefined ? undefined : parseFlag('--select', selected, parseNames);
  const limit = typed === undefined ? undefined : parseFlag('--limit', typed, parseLimit);
  if (flags.since !== undefined) return (await import('./list-changes.ts')).listChanges(select, session);
  const view: View<Item> = { ...itemView, printsNone: true, inPages: true };
  const columns = select === undefined ? {} : { columns: ['id', ...select.filter((name) => name !== 'id')] };
  await session.output.printing({ ...view, ...columns }, true, async (print) => {
    const { ids: list } = await oneList(session);
    const client = await session.service.client();
    const query = { filter: flags.filter, where: conditions, select, limit, nonIndexed };
    const count = await printPages(listPages(list, query, client), print, session);
    const isWhole = flags.filter === undefined && conditions.length === 0;
    if (count === 0) await session.messages.notice(isWhole ? 'the list is empty' : 'no item matches');
  });
}

/** Prints the items of each page before the next one is read; returns their number. */
export async function printPages(
  pages: AsyncIterable<readonly Item[]>,
  print: Print<Item>,
  { host }: Pick<Session, 'host'>,
): Promise<number> {
  let count = 0;
  for await (const items of pages) {
    for (const item of items) {
      const printed = print(item);
      // A promise for each item would cost more than the item.
      if (printed !== undefined) await printed;
    }
    count += items.length;
    if (host.stdout.isClosed) break;
  }
  return count;
}

function parseWhere(text: string): { readonly column: string; readonly value: string } {
  const at = text.indexOf('=');
  if (at > 0) return { column: text.slice(0, at), value: text.slice(at + 1) };
  throw new Failure('usage', `invalid --where "${text}": expected COLUMN=VALUE`, {
    hint: 'for other conditions pass --filter',
  });
}

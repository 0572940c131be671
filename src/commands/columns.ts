import { addCommands, addHelpNotes, type CommandSpec, type SetUp, serviceExits } from '../cli/command.ts';
import { inSession, type Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { objectFrom } from '../core/json.ts';
import type { Row, View } from '../output/view.ts';
import type { Column } from '../services/service.ts';
import { oneList } from './items/select.ts';

/** `listctl columns` */
export const setUpColumns: SetUp = (columns, context) => addCommands(columns, context, [listCommand]);

const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list the columns of a list (Microsoft Graph only)',
  setUp: (command, context) => {
    command.option('--hidden', 'include hidden columns').action(inSession(context, listColumns));
    addHelpNotes(command, {
      examples: ['listctl columns list', 'listctl columns list -o json -q "[?writable].name"'],
      globalFlags: ['site', 'list', 'output'],
      exits: serviceExits,
    });
  },
};

async function listColumns(session: Session, { hidden = false }: { readonly hidden?: boolean }): Promise<void> {
  const { schema } = await session.service.load();
  if (schema === undefined) {
    throw new Failure('usage', 'cannot list columns: the lists of the service have none', {
      hint: 'a field of an item may have any name and any JSON value; for SharePoint, pass --service graph',
    });
  }
  await session.output.printing(columnView, true, async (print) => {
    const { ids: list } = await oneList(session);
    const client = await session.service.client();
    for (const column of (await schema(list, client)).columns) if (hidden || !column.isHidden) await print(column);
  });
}

const names = ['name', 'displayName', 'type', 'required', 'unique', 'indexed', 'writable'] as const;

const columnView: View<Column> = {
  pretty: async (columns, screen) => {
    const { drawTable } = await import('../output/table.ts');
    const shown = names.map((name) => ({
      name: name === 'displayName' ? 'display name' : name,
      cell: (column: Column) => ({ text: cellText(toRow(column).get(name)) }),
      isWhole: name === 'name',
    }));
    return drawTable(columns, shown, screen);
  },
  json: (column) => objectFrom(toRow(column)),
  id: ({ name }) => name,
  columns: names,
  row: toRow,
  printsNone: true,
};

function toRow({ name, displayName, type, isMultiple, ...is }: Column): Row {
  return new Map<string, string | boolean>([
    ['name', name],
    ['displayName', displayName],
    ['type', isMultiple ? `${type}[]` : type],
    ['required', is.isRequired],
    ['unique', is.isUnique],
    ['indexed', is.isIndexed],
    ['writable', is.isWritable],
  ]);
}

/** A table shows only what a column is. */
function cellText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : '';
  return String(value);
}

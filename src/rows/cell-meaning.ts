/** What rows of cells mean. */
import type { Fields } from '../item.ts';
import type { JsonValue } from '../json.ts';
import { cellValue } from './cell.ts';
import type { Header } from './header.ts';
import type { Interpreter } from './meaning.ts';
import { quoted, type RowFault } from './raw-row.ts';
import type { RowsOptions } from './rows-options.ts';

export function cellInterpreter(header: Header, options: RowsOptions): Interpreter {
  const { idAt, notices } = header;
  const fieldsOf = fieldReader(header, options);
  return {
    idPlace: idAt === undefined ? undefined : idAt + 1,
    meaningOf: (source) => {
      const cells = source.kind === 'cells' ? source.cells : [];
      if (cells.length !== header.cells.length) return ragged(cells.length, header.cells.length);
      const fields = fieldsOf(cells);
      if ('fault' in fields) return fields.fault;
      return { id: idAt === undefined ? undefined : cells[idAt], fields: fields.fields };
    },
    notices: () => notices,
    unknownName: () => undefined,
  };
}

type Read = { readonly fields: Fields } | { readonly fault: RowFault };

function fieldReader({ columns }: Header, { action, common, empty }: RowsOptions): (cells: readonly string[]) => Read {
  if (action === 'delete' || action === 'get') return () => ({ fields: {} });
  const commonEntries = Object.entries(common);
  const names = [...columns.map(({ field }) => field), ...Object.keys(common)];
  // An assignment to `__proto__` would make no member.
  const empties: () => Record<string, JsonValue> = names.includes('__proto__') ? () => Object.create(null) : () => ({});
  return (cells) => {
    const fields = empties();
    for (const { at, field, type } of columns) {
      const read = cellValue(cells[at] ?? '', type, empty);
      if ('problem' in read) return { fault: { problem: `in ${quoted(field)}, ${read.problem}`, column: at + 1 } };
      if (read.value !== undefined) fields[field] = read.value;
    }
    for (const [name, value] of commonEntries) fields[name] = value;
    return { fields };
  };
}

function ragged(cells: number, columns: number): RowFault {
  const count = cells === 1 ? '1 cell' : `${cells} cells`;
  return { problem: `${count}, where the header has ${columns} columns`, column: undefined };
}

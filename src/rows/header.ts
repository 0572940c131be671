/** The header of a CSV file: which column is which field. */
import { Failure } from '../errors.ts';
import { askedNames, idsNotSent, isOurs, sameField, unknownName } from './names.ts';
import { quoted, type RawRow } from './raw-row.ts';
import { type CellType, cellTypes, type RowsOptions } from './rows-options.ts';

/** A column that becomes a field. */
export interface Column {
  /** Its place, from 0. */
  readonly at: number;
  readonly field: string;
  readonly type: CellType;
}

export interface Header {
  /** As they stand in the file. */
  readonly cells: readonly string[];
  readonly columns: readonly Column[];
  /** The place of the id, from 0. */
  readonly idAt: number | undefined;
  readonly notices: readonly string[];
}

/**
 * Reads the header.
 *
 * @param file its name, for messages
 * @throws {Failure} usage, when it can't be read, a name is empty or stands twice, a name that an option asks for is
 *   not there, or two columns would be one field
 */
export function readHeader({ line, source, fault }: RawRow, options: RowsOptions, file: string): Header {
  const wrong = (problem: string, column: number | undefined) => {
    const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    return new Failure('usage', `${file}, ${place}: in the header, ${problem}`, {
      hint: 'nothing was sent',
      about: { line, column, reason: problem },
    });
  };
  if (fault !== undefined || source.kind !== 'cells') throw wrong(fault?.problem ?? 'no cells', fault?.column);
  const named = source.cells.map(nameAndType);
  checkNames(named, wrong);
  const known = named.filter(({ name }) => !isOurs(name));
  const names = known.map(({ name }) => name);
  for (const [name, option] of askedNames(options)) {
    if (!names.includes(name)) throw unknownName(option, 'column', name, names);
  }
  const idAt = named.findIndex(({ name }) => name === options.idColumn);
  if (idAt === -1 && options.action !== 'create') {
    throw unknownName('--id-column', 'column', options.idColumn, names);
  }
  const hasUnsentId = idAt !== -1 && options.action === 'create' && !options.rename.has(options.idColumn);
  return {
    cells: source.cells,
    columns: columnsOf(named, options),
    idAt: idAt === -1 ? undefined : idAt,
    notices: hasUnsentId ? [idsNotSent(options.idColumn)] : [],
  };
}

interface NamedColumn {
  readonly name: string;
  /** As the header says; undefined where it does not. */
  readonly type: CellType | undefined;
}

/** The name of a column, as the header has it without a type. */
export function columnName(cell: string): string {
  return nameAndType(cell).name;
}

/** `Count:number` is the column `Count`; what is behind any other colon is part of the name. */
function nameAndType(cell: string): NamedColumn {
  const colon = cell.lastIndexOf(':');
  const type = cellTypes.find((word) => word === cell.slice(colon + 1));
  return colon === -1 || type === undefined || isOurs(cell)
    ? { name: cell, type: undefined }
    : { name: cell.slice(0, colon), type };
}

function checkNames(named: readonly NamedColumn[], wrong: (problem: string, column: number) => Failure): void {
  const places = new Map<string, number>();
  for (const [at, { name }] of named.entries()) {
    if (name === '') throw wrong('the column has no name', at + 1);
    const first = places.get(name);
    if (first !== undefined) throw wrong(`${quoted(name)} is the name of column ${first} already`, at + 1);
    places.set(name, at + 1);
  }
}

function columnsOf(named: readonly NamedColumn[], options: RowsOptions): readonly Column[] {
  const { only, rename, types, common, idColumn } = options;
  const taken = new Map<string, string>();
  return named.flatMap(({ name, type }, at) => {
    const isWanted = only === undefined || only.includes(name);
    // An id is a field only where somebody gave it the name of one.
    if (!isWanted || isOurs(name) || (name === idColumn && !rename.has(name))) return [];
    const field = rename.get(name) ?? name;
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
    if (Object.hasOwn(common, field)) return [];
    return [{ at, field, type: types.get(name) ?? types.get(field) ?? type ?? types.get('*') ?? 'string' }];
  });
}

/** The header of a CSV file: which column is which field. */
import { Failure } from '../core/errors.ts';
import type { Fields } from '../core/item.ts';
import { type JsonValue, parseJson } from '../core/json.ts';
import { nearestName } from '../core/text.ts';
import {
  type CellType,
  cellTypes,
  type EmptyCell,
  quoted,
  type RawRow,
  type RowFault,
  type RowParser,
  type RowsOptions,
} from './types.ts';

/** Ours, in a rejects file: ignored on the way in. */
export const isReservedName = (name: string): boolean => name.startsWith('listctl:');

/** The names that options ask for, each with the option that does. */
export function requestedColumns({ only, rename, types }: RowsOptions): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  // A type may go by the new name of a column, too.
  const fields = new Set(rename.values());
  for (const name of types.keys()) if (name !== '*' && !fields.has(name)) asked.set(name, '--type');
  for (const name of rename.keys()) asked.set(name, '--rename');
  for (const name of only ?? []) asked.set(name, '--only');
  return asked;
}

/**
 * The failure for a name that is not there.
 *
 * @param what it would be: `column`, `member`
 */
export function unknownName(option: string, what: string, name: string, names: readonly string[]): Failure {
  const nearest = nearestName(name, names);
  const shown = names
    .slice(0, 10)
    .map((each) => (each.length > 100 ? `${each.slice(0, 100)}…` : each))
    .join(', ');
  const known = names.length > 10 ? `${shown}, … (${names.length})` : shown;
  return new Failure('usage', `${option} ${name}: no ${what} ${quoted(name)}`, {
    hint: nearest === undefined ? `the ${what}s are: ${known}` : `did you mean ${quoted(nearest)}?`,
  });
}

/** The failure for two columns that would be sent as one field. */
function sameField(one: string, other: string, field: string): Failure {
  return new Failure('usage', `${quoted(one)} and ${quoted(other)} would both become field ${quoted(field)}`, {
    hint: 'pass --rename to rename one, or --only to leave it out',
  });
}

/** @throws {Failure} usage, when two names are renamed to the same */
export function checkRename(rename: ReadonlyMap<string, string>): void {
  const taken = new Map<string, string>();
  for (const [name, field] of rename) {
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
  }
}

/** What is said once of ids that a create leaves out. */
export function unsentIds(idColumn: string): string {
  return `${quoted(idColumn)} is not sent, because the service assigns ids; to send it as a field, pass --rename ${idColumn}=NAME`;
}

/** A column that becomes a field. */
export interface Column {
  /** Its place, from 0. */
  readonly at: number;
  readonly field: string;
  readonly type: CellType;
}

export interface Header {
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
 * @throws {Failure} usage, when it cannot be read, a name is empty or stands twice, a name that an option asks for is
 *   not there, or two columns would be one field
 */
export function readHeader({ line, source, fault }: RawRow, options: RowsOptions, file: string): Header {
  const wrong = (problem: string, column: number | undefined) => {
    const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    return new Failure('usage', `${file}, ${place}: invalid header: ${problem}`, {
      hint: 'nothing was sent',
      about: { line, column, reason: problem },
    });
  };
  if (fault !== undefined || source.kind !== 'cells') throw wrong(fault?.problem ?? 'no cells', fault?.column);
  const named = source.cells.map(nameAndType);
  checkNames(named, wrong);
  const known = named.filter(({ name }) => !isReservedName(name));
  const names = known.map(({ name }) => name);
  for (const [name, option] of requestedColumns(options)) {
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
    notices: hasUnsentId ? [unsentIds(options.idColumn)] : [],
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
  return colon === -1 || type === undefined || isReservedName(cell)
    ? { name: cell, type: undefined }
    : { name: cell.slice(0, colon), type };
}

function checkNames(named: readonly NamedColumn[], wrong: (problem: string, column: number) => Failure): void {
  const places = new Map<string, number>();
  for (const [at, { name }] of named.entries()) {
    if (name === '') throw wrong('empty column name', at + 1);
    const first = places.get(name);
    if (first !== undefined) throw wrong(`duplicate column name ${quoted(name)} (see column ${first})`, at + 1);
    places.set(name, at + 1);
  }
}

function columnsOf(named: readonly NamedColumn[], options: RowsOptions): readonly Column[] {
  const { only, rename, types, common, idColumn } = options;
  const taken = new Map<string, string>();
  return named.flatMap(({ name, type }, at) => {
    const isWanted = only === undefined || only.includes(name);
    // An id is a field only where it was renamed to one.
    if (!isWanted || isReservedName(name) || (name === idColumn && !rename.has(name))) return [];
    const field = rename.get(name) ?? name;
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
    if (Object.hasOwn(common, field)) return [];
    return [{ at, field, type: types.get(name) ?? types.get(field) ?? type ?? types.get('*') ?? 'string' }];
  });
}

/** What a cell says: a value, no field at all (`undefined`), or something that its column cannot hold. */
export type CellValue = { readonly value: JsonValue | undefined } | { readonly problem: string };

/**
 * The value of a cell. Text is taken as it is. Blanks around a number, true, false or JSON are no part of it; the
 * digits of a number stay as they were written, and true and false are taken in any case, as spreadsheets write them.
 */
function parseCell(text: string, type: CellType, empty: EmptyCell): CellValue {
  if (text === '') return emptyValues[empty];
  switch (type) {
    case 'string':
      return { value: text };
    case 'number':
      return number.test(text.trim()) ? { value: parseJson(text.trim()) } : isNo('a JSON number', text);
    case 'boolean':
      return boolean(text);
    case 'json':
      return json(text);
    case 'auto':
      return { value: automatic.test(text) ? parseJson(text) : text };
  }
}

const emptyValues: Readonly<Record<EmptyCell, CellValue>> = {
  omit: { value: undefined },
  string: { value: '' },
  null: { value: null },
};

/** As JSON has them: no leading zero, no plus, a point and not a comma. */
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const automatic = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/;

function boolean(text: string): CellValue {
  const word = text.trim().toLowerCase();
  return word === 'true' || word === 'false' ? { value: word === 'true' } : isNo('true or false', text);
}

function json(text: string): CellValue {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return isNo('JSON', text);
  }
}

function isNo(what: string, text: string): CellValue {
  return { problem: `${quoted(text)} is not ${what}` };
}

export function createCellParser(header: Header, options: RowsOptions): RowParser {
  const { idAt, notices } = header;
  const fieldsOf = fieldReader(header, options);
  return {
    idColumn: idAt === undefined ? undefined : idAt + 1,
    parse: (source) => {
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
      const read = parseCell(cells[at] ?? '', type, empty);
      if ('problem' in read) return { fault: { problem: `in ${quoted(field)}, ${read.problem}`, column: at + 1 } };
      if (read.value !== undefined) fields[field] = read.value;
    }
    for (const [name, value] of commonEntries) fields[name] = value;
    return { fields };
  };
}

function ragged(cells: number, columns: number): RowFault {
  const count = cells === 1 ? '1 cell' : `${cells} cells`;
  return { problem: `${count}, but the header has ${columns} columns`, column: undefined };
}

/** What rows of ids mean: the item, and for an update the common fields alone. */
export function createIdParser({ action, common }: RowsOptions): RowParser {
  const fields = action === 'update' ? common : {};
  return {
    idColumn: 1,
    parse: (source) => ({ id: source.kind === 'id' ? source.id : undefined, fields }),
    notices: () => [],
    unknownName: () => undefined,
  };
}

/** The columns of CSV and TSV files, and their cells. */
import { Failure } from '../core/errors.ts';
import type { Fields } from '../core/item.ts';
import { type JsonValue, parseJson } from '../core/json.ts';
import { listNames, nearestName } from '../core/text.ts';
import {
  type CellType,
  cellTypes,
  quoted,
  type RawRow,
  type RowFault,
  type RowParser,
  type RowsOptions,
} from './types.ts';

/** Columns of a rejects file, which are ignored when it is read. */
export const isReservedName = (name: string): boolean => name.startsWith('listctl:');

/** The names in options, each with its option. */
export function requestedColumns({ only, rename, types }: RowsOptions): ReadonlyMap<string, string> {
  const requested = new Map<string, string>();
  // A type may be given by the new name of a column.
  const fields = new Set(rename.values());
  for (const name of types.keys()) if (name !== '*' && !fields.has(name)) requested.set(name, '--type');
  for (const name of rename.keys()) requested.set(name, '--rename');
  for (const name of only ?? []) requested.set(name, '--only');
  return requested;
}

/** The failure for an option with the name of a `column` or `member` that does not exist. */
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

function sameField(one: string, other: string, field: string): Failure {
  return new Failure('usage', `${quoted(one)} and ${quoted(other)} would both become field ${quoted(field)}`, {
    hint: 'pass --rename to rename one, or --only to leave it out',
  });
}

/** @throws {Failure} usage, if two names are renamed to one */
export function checkRename(rename: ReadonlyMap<string, string>): void {
  const taken = new Map<string, string>();
  for (const [name, field] of rename) {
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
  }
}

/** The notice about ids that a create does not send. */
export function unsentIds(idColumn: string): string {
  return `${quoted(idColumn)} is not sent, because the service assigns ids; to send it as a field, pass --rename ${idColumn}=NAME`;
}

interface Header {
  readonly cells: readonly string[];
  /** The columns at the end without a name, from 0: their cells must be empty. */
  readonly unnamed: readonly number[];
  /** The columns that become fields; places are from 0. */
  readonly columns: readonly { readonly at: number; readonly field: string; readonly type: CellType }[];
  readonly idAt: number | undefined;
  readonly notices: readonly string[];
}

/**
 * Reads the header. Columns without a name are ignored at its end, as spreadsheets write them, and anywhere with `only`.
 *
 * @param asWritten its cells with the blanks around them
 * @param file its name, for messages
 * @throws {Failure} usage, if it is invalid or lacks a name that an option has
 */
export function readHeader(
  { line, source, fault }: RawRow,
  asWritten: RawRow,
  options: RowsOptions,
  file: string,
): Header {
  const wrong = (problem: string, column: number | undefined) => {
    const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    return new Failure('usage', `${file}, ${place}: invalid header: ${problem}`, {
      hint: 'nothing was sent',
      about: { line, column, reason: problem },
    });
  };
  if (fault !== undefined || source.kind !== 'cells') throw wrong(fault?.problem ?? 'no cells', fault?.column);
  const named = source.cells.map(nameAndType);
  const isKnown = ({ name }: NamedColumn) => name !== '' && !isReservedName(name);
  const unnamed = unnamedColumns(source.cells, named.findLastIndex(isKnown), options);
  checkNames(named, unnamed, wrong);
  const names = named.filter(isKnown).map(({ name }) => name);
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
    unnamed: options.only === undefined ? unnamed : [],
    columns: columnsOf(named, options),
    idAt: idAt === -1 ? undefined : idAt,
    notices: [
      ...(hasUnsentId ? [unsentIds(options.idColumn)] : []),
      ...headerNotices(source.cells, asWritten.source.kind === 'cells' ? asWritten.source.cells : [], unnamed),
    ],
  };
}

function unnamedColumns(cells: readonly string[], lastNamed: number, { only }: RowsOptions): readonly number[] {
  return cells.flatMap((cell, at) =>
    cell === '' && lastNamed !== -1 && (at > lastNamed || only !== undefined) ? [at] : [],
  );
}

function headerNotices(
  cells: readonly string[],
  asWritten: readonly string[],
  unnamed: readonly number[],
): readonly string[] {
  const trimmed = cells.filter((cell, at) => cell !== '' && cell !== asWritten[at]).map(quoted);
  const places = unnamed.map((at) => String(at + 1));
  return [
    ...(trimmed.length === 0 ? [] : [`blanks around ${listNames(trimmed, 10)} in the header are ignored`]),
    ...(places.length === 0
      ? []
      : [
          places.length === 1
            ? `column ${places[0]} is ignored: it has no name`
            : `columns ${listNames(places, 10)} are ignored: they have no name`,
        ]),
  ];
}

type NamedColumn = { readonly name: string; readonly type: CellType | undefined };

/** Parses a cell of the header: `Count:number` is the column `Count`; any other colon is part of the name. */
export function nameAndType(cell: string): NamedColumn {
  const colon = cell.lastIndexOf(':');
  const type = cellTypes.find((word) => word === cell.slice(colon + 1));
  return colon === -1 || type === undefined || isReservedName(cell)
    ? { name: cell, type: undefined }
    : { name: cell.slice(0, colon), type };
}

function checkNames(
  named: readonly NamedColumn[],
  unnamed: readonly number[],
  wrong: (problem: string, column: number) => Failure,
): void {
  const places = new Map<string, number>();
  for (const [at, { name }] of named.entries()) {
    if (unnamed.includes(at)) continue;
    if (name === '') throw wrong('empty column name', at + 1);
    const first = places.get(name);
    if (first !== undefined) throw wrong(`duplicate column name ${quoted(name)} (see column ${first})`, at + 1);
    places.set(name, at + 1);
  }
}

function columnsOf(named: readonly NamedColumn[], options: RowsOptions): Header['columns'] {
  const { only, rename, types, common, idColumn } = options;
  const taken = new Map<string, string>();
  return named.flatMap(({ name, type }, at) => {
    const isWanted = only === undefined || only.includes(name);
    // An id is a field only if it is renamed to one.
    if (!isWanted || name === '' || isReservedName(name) || (name === idColumn && !rename.has(name))) return [];
    const field = rename.get(name) ?? name;
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, name, field);
    taken.set(field, name);
    if (Object.hasOwn(common, field)) return [];
    return [{ at, field, type: types.get(name) ?? types.get(field) ?? type ?? types.get('*') ?? 'string' }];
  });
}

/** The value of a cell, undefined for no field; or why it is not valid. */
type CellValue = { readonly value: JsonValue | undefined } | { readonly problem: string };

/**
 * Parses a cell. Strings keep their blanks, other values do not; a number keeps its digits; true and false may have any
 * case, as in spreadsheets.
 */
function parseCell(text: string, type: CellType, { empty, decimal = '.' }: RowsOptions): CellValue {
  if (text === '') return emptyValues[empty];
  switch (type) {
    case 'string':
      return { value: text };
    case 'number':
      return parseNumber(text, decimal);
    case 'boolean':
      return boolean(text);
    case 'json':
      return json(text);
    case 'auto':
      return { value: isAutomatic(text, decimal) ? parseJson(text.replace(',', '.')) : text };
  }
}

const emptyValues: Readonly<Record<RowsOptions['empty'], CellValue>> = {
  omit: { value: undefined },
  string: { value: '' },
  null: { value: null },
};

/** The numbers of JSON, by their decimal separator. */
const numbers = {
  '.': /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/,
  ',': /^-?(?:0|[1-9][0-9]*)(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?$/,
} as const;

/** With thousands separators, which may be decimal ones where others write. */
const grouped = /^-?[0-9]{1,3}(?:[.,' \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?$/;

function parseNumber(text: string, decimal: '.' | ','): CellValue {
  const digits = text.trim();
  if (numbers[decimal].test(digits)) return { value: parseJson(digits.replace(',', '.')) };
  const advice = [
    ...(grouped.test(digits) ? ['remove thousands separators'] : []),
    ...(decimal === '.' && /^-?[0-9]{1,3}(?:[.' \u00a0\u202f]?[0-9]{3})*,[0-9]+$/.test(digits)
      ? ['pass --decimal , for a decimal comma']
      : []),
  ];
  const { problem } = invalid(decimal === '.' ? 'a JSON number' : 'a number with a decimal comma', text);
  return { problem: advice.length === 0 ? problem : `${problem} (${advice.join(', or ')})` };
}

function isAutomatic(text: string, decimal: '.' | ','): boolean {
  return numbers[decimal].test(text) || text === 'true' || text === 'false' || text === 'null';
}

function boolean(text: string): CellValue {
  const word = text.trim().toLowerCase();
  return word === 'true' || word === 'false' ? { value: word === 'true' } : invalid('true or false', text);
}

function json(text: string): CellValue {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return invalid('JSON', text);
  }
}

function invalid(what: string, text: string): { readonly problem: string } {
  return { problem: `${quoted(text)} is not ${what}` };
}

/** Makes the parser of rows of cells. */
export function createCellParser(header: Header, options: RowsOptions): RowParser {
  const { idAt, notices } = header;
  const fieldsOf = fieldReader(header, options);
  return {
    idColumn: idAt === undefined ? undefined : idAt + 1,
    parse: (source) => {
      const cells = source.kind === 'cells' ? source.cells : [];
      if (cells.length !== header.cells.length) return ragged(cells.length, header.cells.length);
      const unnamed = header.unnamed.find((at) => cells[at]?.trim() !== '');
      if (unnamed !== undefined) {
        return {
          problem: `the column has no name, but the cell is ${quoted(cells[unnamed] ?? '')}`,
          column: unnamed + 1,
        };
      }
      const fields = fieldsOf(cells);
      if ('fault' in fields) return fields.fault;
      return { id: idAt === undefined ? undefined : cells[idAt], fields: fields.fields };
    },
    notices: () => notices,
    unknownName: () => undefined,
  };
}

function fieldReader(
  { columns }: Header,
  options: RowsOptions,
): (cells: readonly string[]) => { readonly fields: Fields } | { readonly fault: RowFault } {
  const { action, common } = options;
  if (action === 'delete' || action === 'get') return () => ({ fields: {} });
  const commonEntries = Object.entries(common);
  const names = [...columns.map(({ field }) => field), ...Object.keys(common)];
  // An assignment to `__proto__` would not make a member.
  const empties: () => Record<string, JsonValue> = names.includes('__proto__') ? () => Object.create(null) : () => ({});
  return (cells) => {
    const fields = empties();
    for (const { at, field, type } of columns) {
      const read = parseCell(cells[at] ?? '', type, options);
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

/** Makes the parser of rows of ids; for an update, the fields are the common ones. */
export function createIdParser({ action, common }: RowsOptions): RowParser {
  const fields = action === 'update' ? common : {};
  return {
    idColumn: 1,
    parse: (source) => ({ id: source.kind === 'id' ? source.id : undefined, fields }),
    notices: () => [],
    unknownName: () => undefined,
  };
}

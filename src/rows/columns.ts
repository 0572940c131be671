/** The columns of CSV and TSV files, and their cells. */

import { Failure } from '../core/errors.ts';
import type { FieldEncoder } from '../core/field-encoder.ts';
import type { Fields } from '../core/item.ts';
import type { JsonValue } from '../core/json.ts';
import { listNames, nearestName, quoted, shellWord } from '../core/text.ts';
import {
  type FieldForm,
  type Parsed,
  parseAutomatic,
  parseBoolean,
  parseJsonText,
  parseNumber,
} from '../core/typed-text.ts';
import {
  type CellType,
  cellTypes,
  faultOf,
  missingText,
  placedProblem,
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

interface HeaderColumn {
  /** From 0. */
  readonly at: number;
  /** As messages name it. */
  readonly name: string;
  readonly field: string;
  /** Undefined for that of the list. */
  readonly type: CellType | undefined;
  readonly form: FieldForm | undefined;
}

interface Header {
  readonly cells: readonly string[];
  /** The columns at the end without a name, from 0: their cells must be empty. */
  readonly unnamed: readonly number[];
  /** The columns that become fields. */
  readonly columns: readonly HeaderColumn[];
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
  const wrong = (problem: string, column: number | undefined, hint?: string) => {
    const place = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    return new Failure('usage', `${file}, ${place}: invalid header: ${problem}`, {
      hint,
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
  const { columns, problems } = columnsOf(named, options);
  refuseProblems([...problems, ...missingColumns(columns, options)], columns, wrong);
  if (options.manifestKey !== undefined && columns.every(({ field }) => field !== options.manifestKey)) {
    const hint = `pass --key with a column of the file, which has ${listNames(names, 10)}`;
    throw wrong(`no column is the key field ${quoted(options.manifestKey)}`, undefined, hint);
  }
  const hasUnsentId = idAt !== -1 && options.action === 'create' && !options.rename.has(options.idColumn);
  return {
    cells: source.cells,
    unnamed: options.only === undefined ? unnamed : [],
    columns,
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
  const damaged = cells.filter((cell) => cell.includes('\0')).map(quoted);
  return [
    ...(damaged.length === 0 ? [] : [`the header has NUL characters in ${listNames(damaged, 10)}`]),
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

type NamedColumn = Pick<HeaderColumn, 'name' | 'type'>;

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

/** The columns that become fields, and why some cannot. */
function columnsOf(
  named: readonly NamedColumn[],
  options: RowsOptions,
): { readonly columns: readonly HeaderColumn[]; readonly problems: readonly RowFault[] } {
  const taken = new Map<string, string>();
  const problems: RowFault[] = [];
  const columns = named.flatMap((cell, at) => {
    if (!isWanted(cell.name, options)) return [];
    const column = toColumn(cell, at, options);
    if ('problem' in column) {
      problems.push(column);
      return [];
    }
    const { field } = column;
    const other = taken.get(field);
    if (other !== undefined) throw sameField(other, cell.name, field);
    taken.set(field, cell.name);
    return Object.hasOwn(options.common, field) ? [] : [column];
  });
  return { columns, problems };
}

/** An id is a field only if it is renamed to one. */
function isWanted(name: string, { only, rename, idColumn }: RowsOptions): boolean {
  if (name === '' || isReservedName(name) || (name === idColumn && !rename.has(name))) return false;
  return only === undefined || only.includes(name);
}

function toColumn(
  { name, type: inHeader }: NamedColumn,
  at: number,
  { rename, types, form: list }: RowsOptions,
): HeaderColumn | RowFault {
  const field = rename.get(name) ?? name;
  const type = types.get(name) ?? types.get(field) ?? inHeader ?? types.get('*');
  if (list === undefined) return { at, name: field, field, type: type ?? 'string', form: undefined };
  const form = list.field(field);
  if ('problem' in form) return { ...form, column: at + 1 };
  const { textProblem } = form;
  if (type === undefined && textProblem !== undefined) return { problem: textProblem, column: at + 1 };
  return { at, name, field: form.name, type, form };
}

/** The required columns that are nowhere: one failure, instead of one for each row. */
function missingColumns(columns: readonly HeaderColumn[], { action, form, common }: RowsOptions) {
  if (form === undefined || action !== 'create') return [];
  const fields = { ...Object.fromEntries(columns.map(({ field }) => [field, true])), ...common };
  return form.missing(fields).map(({ typed }) => ({ problem: missingText(typed), column: undefined }));
}

const headerProblemsMax = 20;

function refuseProblems(
  problems: readonly RowFault[],
  columns: readonly HeaderColumn[],
  wrong: (problem: string, column: number | undefined, hint: string) => Failure,
): void {
  const [first, second] = problems;
  if (first === undefined) return;
  const advice = `${withoutThem(problems, columns)}`;
  if (second === undefined) throw wrong(first.problem, first.column, advice);
  const more = problems.length - headerProblemsMax;
  const shown = problems.slice(0, headerProblemsMax).map(placedProblem).join('; ');
  throw wrong(more > 0 ? `${shown}; and ${more} more` : shown, undefined, advice);
}

function withoutThem(problems: readonly RowFault[], columns: readonly HeaderColumn[]): string {
  const names = columns.map(({ name }) => name).join(',');
  const isEnough = names !== '' && problems.every(({ column }) => column !== undefined);
  const without = isEnough ? `, or pass --only ${shellWord(names)}` : '';
  return `check the names with "listctl columns list"${without}`;
}

/** The value of a cell, undefined for no field; or why it is not valid. */
type CellValue = Parsed | { readonly value: undefined; readonly problem?: undefined };

function cellParser(
  type: CellType | undefined,
  form: FieldForm | undefined,
  { empty, decimal = '.' }: RowsOptions,
): (text: string) => CellValue {
  const typed = typedParser(type ?? 'string', decimal);
  if (form === undefined) return orEmpty(emptyValues[empty], typed);
  const emptyValue = empty === 'omit' ? emptyValues.omit : form.fromJson(empty === 'null' ? null : '');
  const checked = (text: string): Parsed => {
    const parsed = typed(text);
    return parsed.problem === undefined ? form.fromJson(parsed.value) : parsed;
  };
  return orEmpty(emptyValue, type === undefined ? form.fromText : checked);
}

/** With `--empty null`, empty quotes are an empty text, unless the column holds none. */
function withEmptyText(
  parse: (text: string) => CellValue,
  { type, form }: HeaderColumn,
  { empty }: RowsOptions,
): (text: string, isQuotedEmpty: boolean) => CellValue {
  const isText = type === undefined || type === 'string' || type === 'auto';
  if (empty !== 'null' || !isText) return parse;
  const emptyText = form === undefined ? { value: '' } : form.fromJson('');
  if (emptyText.problem !== undefined) return parse;
  return (text, isQuotedEmpty) => (isQuotedEmpty ? emptyText : parse(text));
}

function orEmpty(emptyValue: CellValue, parse: (text: string) => Parsed): (text: string) => CellValue {
  return (text) => (text === '' ? emptyValue : parse(text));
}

/** Strings keep their blanks, other values do not; a number keeps its digits; true and false may have any case. */
function typedParser(type: CellType, decimal: '.' | ','): (text: string) => Parsed {
  switch (type) {
    case 'string':
      return (value) => ({ value });
    case 'number':
      return (text) => parseNumber(text, decimal);
    case 'boolean':
      return parseBoolean;
    case 'json':
      return parseJsonText;
    case 'auto':
      return (text) => ({ value: parseAutomatic(text, decimal) });
  }
}

const emptyValues: Readonly<Record<RowsOptions['empty'], CellValue>> = {
  omit: { value: undefined },
  string: { value: '' },
  null: { value: null },
};

export function createCellParser(header: Header, options: RowsOptions): RowParser {
  const { idAt, notices } = header;
  const fieldsOf = fieldReader(header, options);
  return {
    idColumn: idAt === undefined ? undefined : idAt + 1,
    parse: (source) => {
      const { cells, quotedEmpty } = source.kind === 'cells' ? source : noCells;
      if (cells.length !== header.cells.length) return ragged(cells.length, header.cells.length);
      const unnamed = header.unnamed.find((at) => cells[at]?.trim() !== '');
      if (unnamed !== undefined) {
        return {
          problem: `the column has no name, but the cell is ${quoted(cells[unnamed] ?? '')}`,
          column: unnamed + 1,
        };
      }
      const row = fieldsOf(cells, quotedEmpty);
      const fault = faultOf(row.faults);
      return fault ?? { id: idAt === undefined ? undefined : cells[idAt], fields: row.fields };
    },
    notices: () => notices,
    unknownName: () => undefined,
  };
}

const none: readonly RowFault[] = [];
const noCells = { cells: [], quotedEmpty: undefined };

function fieldReader(
  { columns }: Header,
  options: RowsOptions,
): (
  cells: readonly string[],
  quotedEmpty?: readonly number[],
) => { readonly fields: Fields; readonly faults: readonly RowFault[] } {
  const { action, common, form } = options;
  if (action === 'delete' || action === 'get') return () => ({ fields: {}, faults: none });
  const commonEntries = Object.entries(common);
  const names = [...columns.map(({ field }) => field), ...Object.keys(common)];
  // An assignment to `__proto__` would not make a member.
  const empties: () => Record<string, JsonValue> = names.includes('__proto__') ? () => Object.create(null) : () => ({});
  const readers = columns.map((column) => ({
    ...column,
    parse: withEmptyText(cellParser(column.type, column.form, options), column, options),
  }));
  const missing = action === 'create' ? form : undefined;
  return (cells, quotedEmpty = []) => {
    const fields = empties();
    let faults = none;
    for (const { at, name, field, form: fieldForm, parse } of readers) {
      const { value, problem } = parse(cells[at] ?? '', quotedEmpty.includes(at)) as {
        value?: JsonValue;
        problem?: string;
      };
      if (problem !== undefined) {
        faults = [...faults, { problem: `in ${quoted(name)}, ${problem}`, column: at + 1 }];
        // Not missing as well.
        fields[field] = '';
      } else if (value === undefined) continue;
      else if (fieldForm === undefined) fields[field] = value;
      else fieldForm.put(fields, value);
    }
    for (const [name, value] of commonEntries) fields[name] = value;
    if (missing !== undefined) faults = [...missingFaults(missing, fields, columns), ...faults];
    return { fields, faults };
  };
}

function missingFaults(form: FieldEncoder, fields: Fields, columns: Header['columns']): readonly RowFault[] {
  return form.missing(fields).map(({ typed, field }) => {
    const column = columns.find((each) => each.field === field);
    return { problem: missingText(typed), column: column && column.at + 1 };
  });
}

function ragged(cells: number, columns: number): RowFault {
  const count = cells === 1 ? '1 cell' : `${cells} cells`;
  return { problem: `${count}, but the header has ${columns} columns`, column: undefined };
}

/** Makes the parser of rows of ids; for an update, the fields are the common ones. */
export function createIdParser({ action, common }: RowsOptions): RowParser {
  const fields = action === 'update' ? common : {};
  let hasBlanks = false;
  return {
    idColumn: 1,
    parse: (source) => {
      const id = source.kind === 'id' ? source.id : undefined;
      hasBlanks ||= id !== id?.trim();
      return { id, fields };
    },
    notices: () => (hasBlanks ? ['some ids begin or end with a blank, which is sent as a part of the id'] : []),
    unknownName: () => undefined,
  };
}

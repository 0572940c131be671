/**
 * Values in the form in which Microsoft Graph takes them, made from the columns of a list: a text becomes what its column
 * is; JSON goes as it is, and is checked, since Graph answers a value of the wrong form with 500 (docs/graph.md, "Types
 * and names").
 */
import type { EncodeOptions, FieldEncoder } from '../../core/field-encoder.ts';
import { type Fields, ownField } from '../../core/item.ts';
import { type JsonValue, NumberToken, printJson } from '../../core/json.ts';
import { listNames, nearestName, quoted, shellWord } from '../../core/text.ts';
import { type FieldForm, type Parsed, parseBoolean, parseJsonText, parseNumber } from '../../core/typed-text.ts';
import type { Column } from '../service.ts';
import { columnOfField, isSystemField, shadowedBy } from './columns.ts';
import { collectionType, decodeFields, typeSuffix } from './decode-fields.ts';
import type { People } from './pages.ts';

type NameProblem = { readonly problem: string };

type Field = FieldForm | NameProblem;

/** Makes one form for each name that was typed, however many rows there are. */
export class ColumnEncoder implements FieldEncoder {
  readonly columns: readonly Column[];
  readonly #options: EncodeOptions;
  readonly #required: readonly Column[];
  readonly #fields = { internal: new Map<string, Field>(), display: new Map<string, Field>() };
  readonly #readPeople: () => Promise<People>;
  #people: People | undefined;
  #needsPeople = false;

  constructor(columns: readonly Column[], options: EncodeOptions, readPeople: () => Promise<People>) {
    this.columns = columns;
    this.#options = options;
    this.#readPeople = readPeople;
    const { filled = [] } = options;
    this.#required = columns.filter(
      ({ name, isRequired, isWritable, isHidden, hasDefault }) =>
        isRequired && isWritable && !isHidden && !hasDefault && !filled.includes(name),
    );
  }

  /** Finds the field for a name as it was typed, or the problem with that name. */
  field(typed: string, names = this.#options.names ?? 'internal'): Field {
    let found = this.#fields[names].get(typed);
    if (found === undefined) {
      found = this.#makeField(typed, names);
      this.#fields[names].set(typed, found);
    }
    return found;
  }

  /**
   * Fields as they are sent; and why some cannot be.
   *
   * @param texts the names of those that are texts, while others are JSON
   */
  fields(
    members: Iterable<readonly [string, JsonValue]>,
    texts?: ReadonlySet<string>,
    names?: EncodeOptions['names'],
  ): { readonly fields: Fields; readonly problems: readonly NameProblem[] } {
    const fields: Record<string, JsonValue> = {};
    const problems: NameProblem[] = [];
    const taken = new Map<string, string>();
    for (const [typed, value] of members) {
      const form = this.field(typed, names);
      if ('problem' in form) {
        problems.push(form);
        continue;
      }
      const other = taken.get(form.name);
      taken.set(form.name, typed);
      const isText = texts?.has(typed) === true && typeof value === 'string';
      const parsed = isText ? notBlank(form.fromText(value), typed, value) : form.fromJson(value);
      if (other !== undefined) problems.push({ problem: `${quoted(other)} and ${quoted(typed)} are the same column` });
      else if (parsed.problem !== undefined) problems.push({ problem: `in ${quoted(typed)}, ${parsed.problem}` });
      else form.put(fields, parsed.value);
    }
    return { fields, problems };
  }

  /** The names that were typed, with those that are sent. */
  mapping(): readonly (readonly [typed: string, sent: string])[] {
    return [...this.#fields[this.#options.names ?? 'internal']].flatMap(([typed, found]) =>
      'problem' in found ? [] : [[typed, found.name] as const],
    );
  }

  /** The required columns without a value: as they are typed, and as they are sent. */
  missing(fields: Fields): readonly { readonly typed: string; readonly field: string }[] {
    return this.#required
      .filter((column) => {
        const value = ownField(fields, column.field) ?? null;
        return value === null || (Array.isArray(value) && value.length === 0);
      })
      .map((column) => ({ typed: this.#typedName(column), field: column.field }));
  }

  /**
   * The same of the fields of an item that was read, by internal names; those that cannot be written are left out.
   *
   * @param isKept whether one is not to be left out, but refused
   */
  fieldsOfItem(read: Fields, isKept: (name: string) => boolean) {
    const written = decodeFields(read, this.columns);
    const isWritten = (name: string) => Object.hasOwn(written, name) || Object.hasOwn(written, `${name}LookupId`);
    const others = Object.keys(read).filter((name) => !isWritten(name));
    // A mail address was typed: persons are read by id.
    const isTyped = (name: string) => isMail(read[name]) && columnOfField(name, this.columns)?.type === 'personOrGroup';
    const kept = others.filter((name) => isKept(name) || isTyped(name));
    const leftOut = others.filter((name) => !kept.includes(name));
    return {
      ...this.fields(
        [...Object.entries(written), ...Object.entries(read).filter(([name]) => kept.includes(name))],
        undefined,
        'internal',
      ),
      leftOut,
    };
  }

  /** Values were made that need `complete` first, and have to be made again after it. */
  get isIncomplete(): boolean {
    return this.#needsPeople && this.#people === undefined;
  }

  /** @throws {Failure} as `Client.send` */
  async complete(): Promise<void> {
    if (this.isIncomplete) this.#people = await this.#readPeople();
  }

  #typedName({ name, displayName }: Column): string {
    return this.#options.names === 'display' ? displayName : name;
  }

  #makeField(typed: string, names: 'internal' | 'display'): Field {
    const base = typed.endsWith(typeSuffix) ? this.field(typed.slice(0, -typeSuffix.length), names) : undefined;
    if (base !== undefined && 'put' in base && base.odataType !== undefined) {
      return annotationForm(base.name + typeSuffix, base.odataType);
    }
    const column = names === 'display' ? this.#displayed(typed) : columnOfField(typed, this.columns);
    if (column === undefined) {
      return isSystemField(typed) ? { problem: `only the service sets ${quoted(typed)}` } : this.#unknown(typed);
    }
    if ('problem' in column) return column;
    const refusal = refusalOf(column, typed);
    if (refusal !== undefined) return { problem: refusal };
    const name = column.field;
    if (shadowedBy(column, this.columns) !== undefined) {
      return {
        problem: `column ${quoted(typed)} cannot be written: ${quoted(name)}, its name in requests, is another column`,
      };
    }
    if (!column.isMultiple) return { name, put: putAs(name), ...this.#single(column) };
    const odataType = collectionType(column);
    return { name, put: putAs(name, odataType), odataType, ...this.#several(column) };
  }

  #displayed(typed: string): Column | NameProblem | undefined {
    const all = this.columns.filter(({ displayName }) => displayName === typed);
    const [column = all[0], ...others] = all.filter(({ isWritable, isHidden }) => isWritable && !isHidden);
    if (column === undefined || others.length === 0) return column;
    const names = [column, ...others].map(({ name }) => name);
    return { problem: `${names.length} columns are displayed as ${quoted(typed)}: ${names.join(', ')}` };
  }

  #unknown(typed: string): NameProblem {
    const byDisplay = this.#options.names === 'display';
    const what = byDisplay ? `no column is displayed as ${quoted(typed)}` : `the list has no column ${quoted(typed)}`;
    const other = this.columns.find(({ name, displayName }) => (byDisplay ? name : displayName) === typed);
    if (other !== undefined) {
      const advice = `its internal name is ${other.name} (pass that, or --names display)`;
      return { problem: byDisplay ? `${what}, but as ${quoted(other.displayName)}` : `${what}; ${advice}` };
    }
    const names = this.columns.filter(({ isWritable }) => isWritable).map((column) => this.#typedName(column));
    const nearest = nearestName(typed, names);
    return { problem: nearest === undefined ? what : `${what} (did you mean ${quoted(nearest)}?)` };
  }

  #single(column: Column): ValueForm {
    const element = this.#element(column);
    return { ...element, fromJson: (value) => (value === null ? { value } : element.fromJson(value)) };
  }

  /** A value that is not null, which may be one of several. */
  #element(column: Column): ValueForm {
    const { decimal = '.', commaAdvice } = this.#options;
    const fromJson = (value: JsonValue) => checkJson(value, column);
    switch (column.type) {
      case 'number':
      case 'currency':
        return { fromText: (text) => checkedAfter(parseNumber(text, decimal, commaAdvice), fromJson), fromJson };
      case 'boolean':
        return { fromText: parseBoolean, fromJson };
      case 'dateTime':
        return { fromText: (text) => fromJson(text.trim()), fromJson };
      case 'text':
        return { fromText: (value) => ({ value }), fromJson };
      case 'choice': {
        const check = (value: string) => choiceOf(value, column);
        return { fromText: check, fromJson: (value) => (typeof value === 'string' ? check(value) : fromJson(value)) };
      }
      case 'lookup':
      case 'personOrGroup':
        return this.#reference(column);
      default: {
        const textProblem = `the type of the column is unknown: pass JSON, as with --type ${column.name}=json`;
        return { textProblem, fromText: () => ({ problem: textProblem }), fromJson: (value) => ({ value }) };
      }
    }
  }

  #reference(column: Column): ValueForm {
    const isPerson = column.type === 'personOrGroup';
    const fromJson = (value: JsonValue): Parsed =>
      isPerson && isMail(value) ? this.#person(value.trim()) : checkJson(value, column);
    const fromText = (text: string) => {
      const trimmed = text.trim();
      return fromJson(/^[1-9]\d{0,9}$/.test(trimmed) ? Number(trimmed) : trimmed);
    };
    return { fromText, fromJson };
  }

  #several(column: Column): ValueForm {
    const element = this.#element(column);
    const { split } = this.#options;
    const expected = column.type === 'choice' ? '["a","b"]' : '[7,8]';
    const fromJson = (value: JsonValue): Parsed => {
      // An empty array clears it.
      if (value === null) return { value: [] };
      return Array.isArray(value)
        ? allOf(value, element.fromJson)
        : notA(printJson(value), `an array (expected ${expected})`);
    };
    const parts = (text: string) =>
      allOf(text.split(split ?? ''), (part) => notEmpty(part.trim(), element.fromText, text));
    // One value, unless it may be several with a separator.
    const single = (text: string): Parsed => {
      const isUnclear = column.type === 'choice' && column.choices === undefined;
      const only = isUnclear ? { problem: `${quoted(text)} may be several values` } : element.fromText(text);
      if (only.problem === undefined) return { value: [only.value] };
      return { problem: `${only.problem} (for several, pass ${expected}, or --split and the character between them)` };
    };
    const fromText = (text: string): Parsed => {
      const given = text.trimStart().startsWith('[') ? parseJsonText(text) : undefined;
      if (given?.problem === undefined && given !== undefined) return fromJson(given.value);
      return split === undefined ? (given ?? single(text)) : parts(text);
    };
    return { fromText, fromJson };
  }

  #person(mail: string): Parsed {
    this.#needsPeople = true;
    // Made again when they are known.
    if (this.#people === undefined) return { value: 0 };
    const [id, ...others] = this.#people.get(mail.toLowerCase()) ?? [];
    if (id === undefined) {
      return {
        problem: `no user of the site has the address ${quoted(mail)}; the user must visit the site once, or pass the user's id`,
      };
    }
    if (others.length === 0) return { value: id };
    return {
      problem: `several users have the address ${quoted(mail)}; pass one of their ids: ${[id, ...others].join(', ')}`,
    };
  }
}

type ValueForm = Pick<FieldForm, 'textProblem' | 'fromText' | 'fromJson'>;

/** An annotation goes before its value (OData JSON Format 4.01, section 4.5). */
function putAs(name: string, odataType?: string): FieldForm['put'] {
  return (fields, value) => {
    if (odataType !== undefined) fields[name + typeSuffix] = odataType;
    fields[name] = value;
  };
}

function annotationForm(name: string, odataType: string): FieldForm {
  const fromJson = (value: JsonValue): Parsed =>
    value === odataType ? { value } : notA(printJson(value), `"${odataType}"`);
  return { name, put: putAs(name), fromText: fromJson, fromJson };
}

/** Types that Graph cannot write, for messages. */
const unwritable: Readonly<Partial<Record<Column['type'], string>>> = {
  calculated: 'a calculated column',
  hyperlinkOrPicture: 'a hyperlink or picture',
  term: 'managed metadata',
  thumbnail: 'an image',
  geolocation: 'a location',
  contentApprovalStatus: 'an approval status',
};

/** The reason why a column cannot be written; undefined if it can. */
function refusalOf({ type, isReadOnly }: Column, typed: string): string | undefined {
  if (isReadOnly) return `only the service sets ${quoted(typed)}`;
  const kind = unwritable[type];
  return kind === undefined ? undefined : `Microsoft Graph cannot write column ${quoted(typed)}: it is ${kind}`;
}

interface JsonForm {
  readonly isValid: (value: JsonValue) => boolean;
  /** `a number` */
  readonly expected: string;
}

const isNumber: JsonForm = {
  isValid: (value) => Number.isFinite(value instanceof NumberToken ? Number(value.digits) : value),
  expected: 'a number',
};
const isText: JsonForm = { isValid: (value) => typeof value === 'string', expected: 'a string' };

/** Of the types whose values are not any string. */
const jsonForms: Readonly<Partial<Record<Column['type'], JsonForm>>> = {
  number: isNumber,
  currency: isNumber,
  boolean: { isValid: (value) => typeof value === 'boolean', expected: 'true or false' },
  dateTime: {
    isValid: (value) => typeof value === 'string' && isDate(value),
    expected: 'a date (expected 2026-01-31 or 2026-01-31T10:00:00Z)',
  },
  lookup: { isValid: isId, expected: 'an id (expected a number, such as 7)' },
  personOrGroup: { isValid: isId, expected: 'a person (expected a mail address, or an id such as 7)' },
};

function checkJson(value: JsonValue, { type }: Column): Parsed {
  const { isValid, expected } = jsonForms[type] ?? isText;
  return isValid(value) ? { value } : notA(printJson(value), expected);
}

function isMail(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.includes('@');
}

function isId(value: JsonValue): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 2_147_483_647;
}

const dateForm =
  /^(\d{4})-(\d\d)-(\d\d)(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,7})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?)?$/;

/** A date of the calendar, with or without time and zone (ISO 8601). */
function isDate(text: string): boolean {
  const [, year, month, day] = (dateForm.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function notA(shown: string, expected: string): { readonly problem: string } {
  return { problem: `${shown.length > 100 ? `${shown.slice(0, 100)}…` : shown} is not ${expected}` };
}

function choiceOf(value: string, { choices }: Column): Parsed {
  if (choices?.includes(value) ?? true) return { value };
  const nearest = nearestName(value, choices ?? []);
  const advice =
    nearest === undefined
      ? `expected ${listNames((choices ?? []).map(quoted), 10)}`
      : `did you mean ${quoted(nearest)}?`;
  return { problem: `${quoted(value)} is not a choice (${advice})` };
}

/** As it was parsed; with what clears a field for an empty text that its column cannot have. */
function notBlank(parsed: Parsed, typed: string, text: string): Parsed {
  if (parsed.problem === undefined || text.trim() !== '') return parsed;
  return { problem: `${quoted(text)} is not a value (to clear the field, pass -f ${shellWord(`${typed}:=null`)})` };
}

function notEmpty(part: string, parse: (text: string) => Parsed, text: string): Parsed {
  return part === '' ? { problem: `${quoted(text)} has an empty value` } : parse(part);
}

function checkedAfter(parsed: Parsed, check: (value: JsonValue) => Parsed): Parsed {
  return parsed.problem === undefined ? check(parsed.value) : parsed;
}

/** The values of several; or the first problem. */
function allOf<T>(parts: readonly T[], parse: (part: T) => Parsed): Parsed {
  const values: JsonValue[] = [];
  for (const part of parts) {
    const parsed = parse(part);
    if (parsed.problem !== undefined) return parsed;
    values.push(parsed.value);
  }
  return { value: values };
}

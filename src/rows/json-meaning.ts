/** What rows of JSON mean: items, fields, or ids. */
import type { Failure } from '../errors.ts';
import { isObject, type JsonObject, type JsonValue, NumberToken, objectFrom } from '../json.ts';
import type { Interpreter, Meaning } from './meaning.ts';
import { askedNames, idsNotSent, isOurs, unknownName } from './names.ts';
import { quoted } from './raw-row.ts';
import type { RowsOptions } from './rows-options.ts';

export function jsonInterpreter(options: RowsOptions): Interpreter {
  const found = new Found(options);
  return {
    idPlace: undefined,
    meaningOf: (source) => {
      const value = source.kind === 'json' ? source.value : null;
      const meaning = bareId(value, options) ?? objectMeaning(value, options, found);
      return typeof meaning === 'string' ? { problem: meaning, column: undefined } : meaning;
    },
    notices: () => found.notices(),
    unknownName: () => found.unknownName(),
  };
}

/** A text or a number may be the id itself, where one is asked for. */
function bareId(value: JsonValue, { action, common }: RowsOptions): Meaning | undefined {
  const id = action === 'create' ? undefined : idText(value);
  return id === undefined ? undefined : { id, fields: action === 'update' ? common : {} };
}

/** What an object says, or what is wrong with it. */
function objectMeaning(value: JsonValue, options: RowsOptions, found: Found): Meaning | string {
  if (!isObject(value)) return options.action === 'create' ? 'no object' : 'no object, and no id';
  if (Object.hasOwn(value, 'listctl:text'))
    return 'a row that could not be read: mend its listctl:text, and put that here';
  const parts = partsOf(value, options);
  if (parts === undefined) return 'no item: it has no object named "fields"';
  found.add(parts);
  const { id, hasId } = parts;
  if (hasId && id === undefined && options.action !== 'create') {
    return `${quoted(options.idColumn)} is no text and no number`;
  }
  return options.action === 'create' || options.action === 'update' ? sentFrom(parts, options) : { id, fields: {} };
}

/** What is found out over all rows: the names that they have, and what is left out of them. */
class Found {
  readonly #options: RowsOptions;
  /** The names that options ask for, each with the option that does, until a row has it. */
  readonly #missing: Map<string, string>;
  /** Enough of those that rows have to find the nearest. */
  readonly #names = new Set<string>();
  readonly #dropped = new Set<string>();
  #hasUnsentId = false;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#missing = new Map(askedNames(options));
  }

  add({ members, others, hasId }: Parts): void {
    const { action, idColumn, rename } = this.#options;
    for (const [name] of members) this.#see(name);
    if (hasId) this.#see(idColumn);
    if (action === 'create' && hasId && !rename.has(idColumn)) this.#hasUnsentId = true;
    if (action === 'delete' || action === 'get') return;
    for (const name of others) if (this.#dropped.size < 100) this.#dropped.add(name);
  }

  #see(name: string): void {
    this.#missing.delete(name);
    if (this.#names.size < 1_000) this.#names.add(name);
  }

  notices(): readonly string[] {
    const names = [...this.#dropped].map(quoted).join(', ');
    return [
      ...(this.#hasUnsentId ? [idsNotSent(this.#options.idColumn)] : []),
      ...(names === '' ? [] : [`only the fields of items are sent, not ${names}`]),
    ];
  }

  unknownName(): Failure | undefined {
    const [missing] = this.#missing;
    // Without rows there is nothing that a name could be missing in.
    if (missing === undefined || this.#names.size === 0) return undefined;
    const [name, option] = missing;
    return unknownName(option, 'member', name, [...this.#names]);
  }
}

/** An object, taken apart. */
interface Parts {
  /** What may become a field. */
  readonly members: readonly (readonly [string, JsonValue])[];
  /** The names of what is left out of an item, but for the id. */
  readonly others: readonly string[];
  readonly hasId: boolean;
  /** Undefined too where it is neither text nor number. */
  readonly id: string | undefined;
  /** The id as it stood there. */
  readonly idValue: JsonValue;
}

/** Undefined where it has to be an item, and is none. */
function partsOf(object: JsonObject, { action, idColumn, rows }: RowsOptions): Parts | undefined {
  const all = Object.entries(object).filter(([name]) => !isOurs(name));
  const hasId = Object.hasOwn(object, idColumn);
  const idValue = hasId ? (object[idColumn] ?? null) : null;
  const id = idText(idValue);
  const inner = Object.hasOwn(object, 'fields') ? object['fields'] : undefined;
  const others = () => all.map(([name]) => name).filter((name) => name !== 'fields' && name !== idColumn);
  if (rows === 'items' && !isObject(inner)) {
    // Whom to get or delete an id tells; what to send it does not.
    const needsFields = action === 'create' || inner !== undefined;
    return needsFields ? undefined : { members: [], others: others(), hasId, id, idValue };
  }
  const looksLikeItem = all.length === 1 || Object.hasOwn(object, 'id') || hasId;
  if (isObject(inner) && rows !== 'fields' && (rows === 'items' || looksLikeItem)) {
    const members = Object.entries(inner).filter(([name]) => !isOurs(name));
    return { members, others: others(), hasId, id, idValue };
  }
  return { members: all.filter(([name]) => name !== idColumn), others: [], hasId, id, idValue };
}

/** What is to be sent, common fields over the others; what is wrong where two members would be one field. */
function sentFrom(
  { members, hasId, id, idValue }: Parts,
  { rename, only, idColumn, common }: RowsOptions,
): Meaning | string {
  const fields = new Map<string, JsonValue>();
  const isWanted = (name: string) => only === undefined || only.includes(name);
  const idField = rename.get(idColumn);
  if (hasId && idField !== undefined && isWanted(idColumn)) fields.set(idField, idValue);
  for (const [name, value] of members) {
    if (!isWanted(name)) continue;
    // Inside an item a field may have the name of the id; it is another thing.
    const field = (name === idColumn ? undefined : rename.get(name)) ?? name;
    if (fields.has(field)) return `two of its members would be the field ${quoted(field)}`;
    fields.set(field, value);
  }
  for (const [name, value] of Object.entries(common)) fields.set(name, value);
  return { id, fields: objectFrom(fields) };
}

/** A text or a number as an id, its digits kept. */
function idText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof NumberToken) return value.digits;
  return typeof value === 'number' ? String(value) : undefined;
}

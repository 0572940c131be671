/** The flags that make fields: words in, checked fields out. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { Failure } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import type { Fields } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, objectFrom, parseJson } from '../core/json.ts';
import { readJsonFile, readTextFile } from './file-args.ts';
import type { Session } from './session.ts';

/** The field flags as they were typed. */
export interface FieldFlags {
  readonly field?: readonly string[];
  readonly fields?: string;
  readonly unset?: readonly string[];
}

/** Declares `--field` and `--fields`. */
export function addFieldOptions(command: Command): void {
  command
    .option(
      '-f, --field <key=value>',
      'set a string field; key:=JSON, key@=FILE and key:@=FILE also work; repeatable',
      collect,
    )
    .option('--fields <file>', 'fields as JSON ("-" = stdin); -f overrides');
}

/** Adds one more value to those of a flag that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/**
 * Puts the fields together: those of `--fields`, then `--field` and `--unset` over them.
 *
 * @throws {Failure} as `readMembers`; usage, when there is no field at all
 */
export async function readFields(flags: FieldFlags, session: Session): Promise<Fields> {
  const merged = await readCommonFields(flags, session);
  if (Object.keys(merged).length > 0) return merged;
  throw new Failure('usage', 'no fields given', { hint: 'pass at least one, e.g. --field Title="Buy milk"' });
}

/**
 * As `readFields`, but there need not be any: they are laid over those of each row.
 *
 * @throws {Failure} as `readMembers`
 */
export async function readCommonFields(flags: FieldFlags, session: Session): Promise<Fields> {
  const base = flags.fields === undefined ? {} : await readFieldsFile(flags.fields, session);
  return objectFrom([...Object.entries(base), ...Object.entries(await readMembers(flags, session))]);
}

/**
 * Reads the pairs of `--field` and the keys of `--unset`.
 *
 * @throws {Failure} usage, naming the flag that is malformed, the key that is set twice or the file that cannot be used
 */
export async function readMembers(flags: Pick<FieldFlags, 'field' | 'unset'>, session: Session): Promise<JsonObject> {
  const members = new Map<string, JsonValue>();
  const put = (key: string, value: JsonValue) => {
    if (members.has(key)) throw new Failure('usage', `field "${key}" is set twice`);
    members.set(key, value);
  };
  for (const text of flags.field ?? []) {
    const { key, operator, value } = splitField(text);
    put(key, await readValue(key, operator, value, session));
  }
  for (const key of flags.unset ?? []) put(key, null);
  return objectFrom(members);
}

/** Longest first: what stands before the first `=` decides, so the value may be anything. */
const operators = [':@=', ':=', '@=', '='] as const;
type Operator = (typeof operators)[number];

function splitField(text: string): { key: string; operator: Operator; value: string } {
  const head = text.slice(0, text.indexOf('=') + 1);
  const operator = operators.find((each) => head.endsWith(each));
  if (operator === undefined || operator === head) {
    throw new Failure('usage', `invalid --field "${text}": expected key=value`, {
      hint: 'use key=value for a string, key:=JSON for a JSON value, key@=FILE for a string from a file',
    });
  }
  const key = head.slice(0, -operator.length);
  // Node has already replaced what was not UTF-8 in an argument, so what was meant is lost.
  if (text.includes('\uFFFD')) {
    throw new Failure('usage', `invalid --field "${key}": the value is not UTF-8`, {
      hint: `put the value in a file and pass ${key}@=FILE`,
    });
  }
  return { key, operator, value: text.slice(head.length) };
}

async function readValue(key: string, operator: Operator, value: string, session: Session): Promise<JsonValue> {
  switch (operator) {
    case '=':
      if (
        value.startsWith('@') &&
        session.host.stderr.isTTY &&
        existsSync(absolutePath(value.slice(1), session.host))
      ) {
        await session.messages.notice(
          `note: ${key} is the string "${value}"; pass ${key}@=${value.slice(1)} to read the file`,
        );
      }
      return value;
    case ':=':
      return parseTyped(key, value);
    case '@=':
      return readTextFile(value, session.host);
    case ':@=':
      return readJsonFile(value, session.host);
  }
}

function parseTyped(key: string, text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `invalid --field "${key}": the value is not JSON (${error.message})`, {
      hint: `use ${key}=… for a string, or quote JSON for the shell: '${key}:="text"'`,
      cause: error,
    });
  }
}

/** An item is taken by its fields, so that what `items get` prints can be given to `items create`. */
async function readFieldsFile(file: string, session: Session): Promise<Fields> {
  const value = await readJsonFile(file, session.host);
  if (!isObject(value)) {
    throw new Failure('usage', `cannot use --fields ${file === '-' ? 'standard input' : file}: expected a JSON object`);
  }
  const { fields } = value;
  const isItem = isObject(fields) && (Object.hasOwn(value, 'id') || Object.keys(value).length === 1);
  return isItem ? fields : value;
}

/** Reads the values of the command line: files, stdin (`-`), and fields by `--field`, `--fields` and `--unset`. */
import { isUtf8 } from 'node:buffer';
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { Failure } from '../core/errors.ts';
import type { TypedFields } from '../core/field-encoder.ts';
import { absolutePath, firstBadByte, readAtMost, tooLarge, unreadable } from '../core/files.ts';
import type { Host, Input } from '../core/host.ts';
import type { Fields, ListRef } from '../core/item.ts';
import { isObject, type JsonObject, type JsonValue, objectFrom, parseJson } from '../core/json.ts';
import { shellWord } from '../core/text.ts';
import { choiceOption } from './flags.ts';
import type { Session } from './session.ts';

export interface FieldFlags {
  readonly field?: readonly string[];
  readonly fields?: string;
  readonly unset?: readonly string[];
  readonly names?: string;
  readonly split?: string;
  readonly dryRun?: boolean;
  readonly keyField?: string;
}

export function addFieldOptions(command: Command): void {
  command
    .option('-f, --field <key=value>', 'set a field (key:=JSON, key@=FILE); repeatable', collect)
    .option('--fields <file>', 'fields as JSON or YAML ("-" = stdin); -f wins');
  addFormOptions(command);
}

/** Declares the flags for fields by the columns of a list. */
export function addFormOptions(command: Command): void {
  command
    .addOption(choiceOption('--names <kind>', 'Graph: columns by name', ['internal', 'display']))
    .option('--split <character>', 'Graph: separator of several values');
}

/** Collects the values of a repeatable flag, for commander. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/**
 * Reads the fields of `--fields`, overridden by `--field` and `--unset`, in the form that the list takes; throws if there
 * are none.
 */
export async function readFields(
  flags: FieldFlags,
  findList: () => Promise<ListRef>,
  session: Session,
  command: Command,
): Promise<Fields> {
  const typed = await readCommonFields(flags, session);
  if (Object.keys(typed.fields).length === 0) {
    const { noFields } = await import('./usage-errors.ts');
    throw noFields(session.command.words, command, session.host);
  }
  if ((await session.service.load()).schema === undefined) return typed.fields;
  const of = { list: await findList(), isNew: command.name() === 'create' };
  return (await import('./encode-fields.ts')).toListFields(typed, flags, of, session);
}

/** The same as they were typed, for bulk runs, where they override the fields of each row: there may be none. */
export async function readCommonFields(flags: FieldFlags, session: Session): Promise<TypedFields> {
  const { names, split } = flags;
  if ((names ?? split) !== undefined && (await session.service.load()).schema === undefined) {
    throw new Failure('usage', `--${names === undefined ? 'split' : 'names'} requires --service graph`);
  }
  const texts = new Set<string>();
  const base = flags.fields === undefined ? {} : await readFieldsFile(flags.fields, session);
  const members = await readMembers(flags, session, texts);
  return { fields: objectFrom([...Object.entries(base), ...Object.entries(members)]), texts };
}

/**
 * @param texts receives the names of those that are texts
 * @throws {Failure} usage, for an invalid flag, a key that is set twice, or an unusable file
 */
export async function readMembers(
  flags: Pick<FieldFlags, 'field' | 'unset'>,
  session: Session,
  texts?: Set<string>,
): Promise<JsonObject> {
  const members = new Map<string, JsonValue>();
  const put = (key: string, value: JsonValue) => {
    if (members.has(key)) throw new Failure('usage', `field "${key}" is set twice`);
    members.set(key, value);
  };
  for (const text of flags.field ?? []) {
    const field = splitField(text);
    put(field.key, await readValue(field, session));
    if (!field.operator.startsWith(':')) texts?.add(field.key);
  }
  for (const key of flags.unset ?? []) put(key, null);
  return objectFrom(members);
}

/** Longest first: the operator ends with the first `=`, so that the value may contain any of them. */
const operators = [':@=', ':=', '@=', '='] as const;

function splitField(text: string) {
  const head = text.slice(0, text.indexOf('=') + 1);
  const operator = operators.find((each) => head.endsWith(each));
  if (operator === undefined || operator === head) {
    throw new Failure('usage', `invalid --field "${text}": expected key=value`, {
      hint: /\.(csv|tsv|jsonl?|ya?ml|xlsx?)(\.gz)?$/i.test(text)
        ? `pass the rows of a file with --from ${shellWord(text)}, the fields of one item with --fields ${shellWord(text)}`
        : 'use key=value for a string, key:=JSON for a JSON value, key@=FILE for a string from a file',
    });
  }
  const key = head.slice(0, -operator.length);
  // Node has replaced invalid UTF-8, so the value is lost.
  if (text.includes('\uFFFD')) {
    throw new Failure('usage', `invalid --field "${key}": the value is not UTF-8`, {
      hint: `put the value in a file and pass ${key}@=FILE`,
    });
  }
  return { key, operator, value: text.slice(head.length) };
}

async function readValue(
  { key, operator, value }: ReturnType<typeof splitField>,
  { host, messages }: Session,
): Promise<JsonValue> {
  switch (operator) {
    case '=':
      if (value.startsWith('@') && host.stderr.isTTY && existsSync(absolutePath(value.slice(1), host))) {
        await messages.notice(`note: ${key} is the string "${value}"; pass ${key}@=${value.slice(1)} to read the file`);
      }
      return value;
    case ':=':
      return parseTyped(key, value);
    case '@=':
      return readTextFile(value, host);
    case ':@=':
      return readJsonFile(value, host);
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

/** Accepts a whole item too, so that the output of `items get` can be passed to `items create`. */
async function readFieldsFile(file: string, session: Session): Promise<Fields> {
  if (/^\s*\{/.test(file) && !existsSync(absolutePath(file, session.host))) {
    throw new Failure('usage', 'invalid --fields: expected a file, not JSON', {
      hint: `pipe the JSON in, and pass --fields -; or use key=value with -f`,
    });
  }
  const value = await readJsonOrYamlFile(file, session.host);
  if (!isObject(value)) {
    throw new Failure('usage', `cannot use --fields ${nameOf(file)}: expected an object`);
  }
  const { fields } = value;
  const isItem = isObject(fields) && (Object.hasOwn(value, 'id') || Object.keys(value).length === 1);
  return isItem ? fields : value;
}

/** @throws {Failure} usage, if it is not UTF-8 or stdin is a terminal; local-file, if it cannot be read */
export async function readTextFile(file: string, host: Host): Promise<string> {
  const bytes = await readBinaryFile(file, host);
  if (isUtf8(bytes)) return bytes.toString();
  throw new Failure('usage', `${nameOf(file)} is not UTF-8: byte ${firstBadByte(bytes)} is invalid`, {
    hint: 'convert it to UTF-8 first',
  });
}

export async function readJsonFile(file: string, host: Host): Promise<JsonValue> {
  return parse('JSON', parseJson, await readUnmarked(file, host), file);
}

/** Reads JSON or YAML. A file that is named neither, or stdin, is YAML if it does not begin as JSON does. */
async function readJsonOrYamlFile(file: string, host: Host): Promise<JsonValue> {
  const text = await readUnmarked(file, host);
  const isYaml = /\.ya?ml$/i.test(file) || (!/\.json$/i.test(file) && /^\s*[^\s{["]/.test(text));
  if (!isYaml) return parse('JSON', parseJson, text, file);
  const { parseYaml } = await import('../core/yaml.ts');
  return parse('YAML', parseYaml, text, file);
}

async function readUnmarked(file: string, host: Host): Promise<string> {
  return (await readTextFile(file, host)).replace(/^\uFEFF/, '');
}

function parse(format: string, parseText: (text: string) => JsonValue, text: string, file: string): JsonValue {
  try {
    return parseText(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `${nameOf(file)} is not ${format}: ${error.message}`, {
      cause: error,
    });
  }
}

/** Larger than any item or request, and small enough for memory. */
const bytesMax = 64 * 1024 * 1024;

export async function readBinaryFile(file: string, host: Host): Promise<Buffer> {
  if (file === '-') return readStdin(host);
  try {
    return readAtMost(absolutePath(file, host), bytesMax);
  } catch (error) {
    throw unreadable(file, error);
  }
}

const taken = new WeakSet<Input>();

/** Claims stdin; throws if something else has read it, since a second reader would get an empty input. */
export function takeStdin({ stdin }: Host): void {
  if (taken.has(stdin)) {
    throw new Failure('usage', 'standard input can only be read once', {
      hint: 'put one of the values in a file',
    });
  }
  taken.add(stdin);
}

async function readStdin(host: Host): Promise<Buffer> {
  takeStdin(host);
  const { stdin } = host;
  if (stdin.isTTY) {
    throw new Failure('usage', 'standard input is a terminal', { hint: 'pipe the data in, or pass a file name' });
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdin.stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw unreadable(nameOf('-'), tooLarge(bytesMax));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

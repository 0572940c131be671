/** Fields and keys by the columns of a list, where the service has them (docs/graph.md, "Types and names"). Loaded late. */
import { Failure } from '../core/errors.ts';
import type { EncodeOptions, FieldEncoder, TypedFields } from '../core/field-encoder.ts';
import type { Fields, ListRef } from '../core/item.ts';
import type { KeyColumn, KeyColumns } from '../services/service.ts';
import { parseFlag, parseOneOf } from '../settings/setting.ts';
import { hasToken } from '../settings/token.ts';
import type { Session } from './session.ts';

/** The flags as typed. */
export interface FormFlags {
  readonly names?: string;
  readonly split?: string;
}

/** @throws {Failure} usage */
export function parseFormFlags({ names, split }: FormFlags): EncodeOptions {
  if (split === '') throw new Failure('usage', 'invalid --split "": expected a character, such as ";"');
  return {
    names: names === undefined ? undefined : parseFlag('--names', names, parseOneOf(['internal', 'display'])),
    split,
  };
}

/**
 * Reads how the fields of a list are encoded; undefined if they may have any names and values.
 *
 * @throws {Failure} as `Client.send`
 */
export async function openEncoder(
  list: ListRef,
  options: EncodeOptions,
  { service }: Pick<Session, 'service'>,
): Promise<FieldEncoder | undefined> {
  const { schema } = await service.load();
  return schema && (await schema(list, await service.client())).encoder(options);
}

/**
 * Makes fields as they are sent.
 *
 * @param required whether they are all the fields of a new item
 * @throws {Failure} usage; as `Client.send`
 */
export async function toSentFields(
  { fields: typed, texts }: TypedFields,
  form: FieldEncoder,
  required: boolean,
): Promise<Fields> {
  const make = () => form.fields(Object.entries(typed), texts);
  let made = make();
  if (form.isIncomplete) {
    await form.complete();
    made = make();
  }
  const missing = required && made.problems.length === 0 ? form.missing(made.fields) : [];
  const problems = [
    ...made.problems.map(({ problem }) => problem),
    ...missing.map((column) => `the required column "${column.typed}" has no value: pass -f ${column.typed}=…`),
  ];
  if (problems.length === 0) return made.fields;
  throw new Failure('usage', problems.join('; '));
}

/** The flag is about files. */
const commaAdvice = 'write a decimal point';

/**
 * Makes the fields of a command on single items; a dry run that has no token shows them as they were typed.
 *
 * @throws {Failure} usage; as `Client.send`
 */
export async function toListFields(
  typed: TypedFields,
  flags: FormFlags & { readonly dryRun?: boolean; readonly keyField?: string },
  { list, isNew }: { readonly list: ListRef; readonly isNew: boolean },
  session: Session,
): Promise<Fields> {
  const { settings, messages } = session;
  const { keyField } = flags;
  const options = { ...parseFormFlags(flags), filled: keyField === undefined ? [] : [keyField], commaAdvice };
  if (flags.dryRun && !settings.address().startsWith('local:') && !hasToken(settings.sources)) {
    await messages.say('no token, so columns were not read; fields are shown as typed');
    return typed.fields;
  }
  const form = await openEncoder(list, options, session);
  if (form === undefined) return typed.fields;
  const fields = await toSentFields(typed, form, isNew);
  if (flags.dryRun) await showMapping(form, options, session);
  return fields;
}

/** Shows the names of columns that were found by display names. */
export async function showMapping(form: FieldEncoder, { names }: EncodeOptions, { messages }: Session): Promise<void> {
  if (names !== 'display') return;
  for (const [typed, sent] of form.mapping()) await messages.say(`column "${typed}" is sent as ${sent}`);
}

/**
 * The keys in columns of the service.
 *
 * @throws {Failure} usage, if it has its own keys
 */
export async function keyColumnsOf({ service }: Pick<Session, 'service'>): Promise<KeyColumns> {
  const { keyColumns } = await service.load();
  if (keyColumns !== undefined) return keyColumns;
  throw new Failure('usage', '--key-field is only for Microsoft Graph', {
    hint: 'pass --service graph, or omit it: other services get an Idempotency-Key header',
  });
}

/**
 * Reads the column of `--key-field`, and says what it promises.
 *
 * @throws {Failure} usage, if no key can be written into it; as `Client.send`
 */
export async function openKeyField(name: string, list: ListRef, session: Session): Promise<KeyColumn> {
  const keyColumns = await keyColumnsOf(session);
  const keyField = await keyColumns.open(name, list, await session.service.client());
  const { say, notice } = session.messages;
  await (keyField.guarantee === 'unique' ? notice : say)(`listctl: ${keyColumns.describe(keyField)}`);
  return keyField;
}

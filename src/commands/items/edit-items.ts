/** `items edit`: opens items as YAML in an editor, and sends what changed. */
import type { Client } from '../../api/client.ts';
import { showDryRun } from '../../cli/output.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import {
  type Fields,
  type Item,
  type ItemRef,
  isSameField,
  type ListRef,
  ownField,
  strongTag,
} from '../../core/item.ts';
import { isList, isObject, type JsonValue, objectFrom } from '../../core/json.ts';
import { countOf, listNames, printable, quoted } from '../../core/text.ts';
import { yamlDocument } from '../../core/yaml.ts';
import { itemView } from '../../output/item.ts';
import { changeLines, type FieldChange, nameText, valueText } from '../../output/plan.ts';
import { confirmReopening, cut, type EditedText, editText, notSent, type Opening, type Problem } from './edit-text.ts';
import { Draft } from './editor.ts';
import { forEachItem, readEach } from './select.ts';

/** Items of one edit; fields named in a comment, and characters quoted of a value. */
const limits = { items: 1000, fields: 20, value: 100 } as const;

/** What of an item can be edited, and the form in which it is sent. */
interface Form {
  shown(fields: Fields): Fields;
  /** @throws {Failure} usage, for what no request can hold; as `Client.send` */
  sent(fields: Fields): Promise<Fields>;
  /** The fields that are not shown, since they cannot be written. */
  left(read: Fields): readonly string[];
}

/** An item as last read, which its edited fields are compared with. */
interface Base {
  readonly ref: ItemRef;
  readonly etag: string | undefined;
  readonly fields: Fields;
}

/** What the user changed of an item. */
interface Edit {
  readonly base: Base;
  readonly changes: readonly FieldChange[];
}

/** Sends changed fields by their items. */
type Send = (updates: ReadonlyMap<ItemRef, Update>) => Promise<void>;

interface Update extends Edit {
  /** As they are sent. */
  readonly fields: Fields;
}

/**
 * Opens items in the user's editor and, once confirmed, sends only what changed: the fields of a single item, else a list
 * of ids and fields. After any failure the text is kept and its file named.
 *
 * @throws {Failure} usage, without a terminal, with too many items, if not confirmed, or if the editor fails; incomplete,
 *   if not all of several were read or sent; as `Client.send`
 */
export async function editItems(refs: readonly ItemRef[], isDryRun: boolean, session: Session): Promise<void> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('usage', 'edit needs an interactive terminal', {
      hint: `use: listctl items update ID -f Title=… --unset Note`,
    });
  }
  if (refs.length > limits.items) {
    throw new Failure('usage', `cannot edit ${refs.length} items at once: at most ${limits.items}`, {
      hint: 'use: listctl items update --from FILE -f Title=…',
    });
  }
  const isSeveral = refs.length > 1;
  // Checked first, so that an invalid query fails before anything is edited.
  await session.output.check(itemView, isSeveral);
  const items = await session.service.items();
  await editUntilSent(refs, session, async (updates) => {
    const update = (ref: ItemRef) => {
      const { base, fields } = updates.get(ref) as Update;
      return [ref, fields, strongTag(base.etag)] as const;
    };
    const changed = [...updates.keys()];
    if (isDryRun) return showDryRun(changed, (_, ref) => items.update(...update(ref)), session);
    await confirmChanges([...updates.values()], session);
    const act = (ref: ItemRef, client: Client) => client.send(items.update(...update(ref)));
    return forEachItem({ refs: changed, isSeveral, done: 'updated', view: itemView, act }, session);
  });
}

/** What all steps of an edit use. */
interface Editing {
  readonly form: Form;
  /** By id, in their order; one is replaced when it was changed meanwhile. */
  readonly bases: Map<string, Base>;
  readonly isSeveral: boolean;
  readonly client: Client;
  readonly session: Session;
}

/** Opens the editor until the changes are sent. */
async function editUntilSent(refs: readonly ItemRef[], session: Session, send: Send): Promise<void> {
  const [first] = refs;
  if (first === undefined) throw new Failure('usage', 'there is no item to edit', { hint: 'the file holds no id' });
  const client = await session.service.client();
  const items = await readEach(refs, client, session);
  const form = await openForm(first, session);
  const bases = new Map(items.map(({ ref, item }) => [ref.id, toBase(ref, item, form)]));
  const editing: Editing = { form, bases, isSeveral: refs.length > 1, client, session };
  const left = new Set(items.flatMap(({ item }) => form.left(item.fields)));
  const shown = new Map(Array.from(bases, ([id, { fields }]) => [id, fields]));
  const edit = {
    draft: new Draft(refs.length > 1 ? undefined : first.id),
    instructions: instructions(refs, [...left], session),
    body: textOf(shown, editing),
    accept: (edited: EditedText) => acceptText(edited, editing, send),
  };
  await editText(edit, session);
}

function toBase(ref: ItemRef, { etag, fields }: Item, form: Form): Base {
  return { ref, etag, fields: form.shown(fields) };
}

/** Sends what changed in a text; returns what is wrong with it, or what to open the editor with again. */
async function acceptText(edited: EditedText, editing: Editing, send: Send): Promise<Problem | Opening | undefined> {
  const { bases, isSeveral, session } = editing;
  const read = isSeveral ? readItems(edited, bases) : readFields(edited, bases);
  if ('problem' in read) return read;
  const edits = changed(read, bases);
  if (edits.length === 0) {
    const reason = edited.value === undefined ? 'the file is empty' : 'no changes';
    const rest = isSeveral ? 'all items are unchanged' : `item "${[...bases.keys()].join()}" is unchanged`;
    await session.messages.say(`${reason}: ${rest}`);
    return undefined;
  }
  let isSent = false;
  try {
    const updates = await toUpdates(edits, editing);
    isSent = true;
    await send(updates);
    return undefined;
  } catch (error) {
    if (!isRefusal(error, isSent)) throw error;
    await confirmReopening(error, session);
    const [only] = edits;
    if (error.kind === 'conflict' && only) return reopenAfterConflict(error, only, read, editing);
    return { body: edited.body, notes: [notSent(error.message)], failure: error };
  }
}

/** Applies the changes to the item as it is now. */
async function reopenAfterConflict(
  failure: Failure,
  { base, changes }: Edit,
  read: ReadonlyMap<string, Fields>,
  editing: Editing,
): Promise<Opening> {
  const { form, bases, client, session } = editing;
  const { ref } = base;
  const items = await session.service.items();
  const now = toBase(ref, await client.send(items.get(ref)), form);
  bases.set(ref.id, now);
  const fields = new Map(Object.entries(now.fields));
  for (const { field, after = null } of changes) {
    if (after === null) fields.delete(field);
    else fields.set(field, after);
  }
  const notes = conflictNotes(failure.message, compareFields(base.fields, now.fields), changes);
  return { body: textOf(new Map([...read, [ref.id, objectFrom(fields)]]), editing), notes };
}

/** Without columns, fields are sent as they are read. */
async function openForm(list: ListRef, { service }: Session): Promise<Form> {
  const schema = await (await service.load()).schema?.(list, await service.client());
  if (schema === undefined) return { shown: (fields) => fields, sent: async (fields) => fields, left: () => [] };
  const encoder = schema.encoder({});
  const { toSentFields } = await import('../../cli/encode-fields.ts');
  return {
    shown: (fields) => schema.decode(fields).fields,
    sent: async (fields) =>
      encoder === undefined ? fields : toSentFields({ fields, texts: new Set() }, encoder, false),
    left: (read) => schema.decode(read).omitted,
  };
}

/** Whether another text may be accepted: fields are invalid, or the only update was refused by the service. */
function isRefusal(error: unknown, isSent: boolean): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { kind, details } = error;
  if (!isSent) return kind === 'usage';
  return details.outcome === 'refused' && (kind === 'refused' || kind === 'conflict');
}

/** A single item is its fields; several are as `items get` prints them, with what can be edited. */
function textOf(items: ReadonlyMap<string, Fields>, { isSeveral }: Editing): string {
  if (isSeveral) return yamlDocument(Array.from(items, ([id, fields]) => ({ id, fields })));
  const [fields = {}] = items.values();
  return yamlDocument(fields);
}

/** The fields of a single item by its id; none of an empty text. */
function readFields({ value }: EditedText, known: ReadonlyMap<string, unknown>): ReadonlyMap<string, Fields> | Problem {
  if (value === undefined) return new Map();
  if (!isObject(value)) return { problem: 'expected names and values, such as Title: Buy milk' };
  return new Map(Array.from(known.keys(), (id) => [id, value]));
}

/** The fields of several items by their ids. An item that was removed from the text is not changed. */
function readItems(
  { value = [], lineOf }: EditedText,
  known: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, Fields> | Problem {
  if (!isList(value)) return { problem: 'expected a list of items, each with "id" and "fields"' };
  const read = new Map<string, Fields>();
  for (const [index, item] of value.entries()) {
    const line = lineOf(value, index);
    const found = readItem(item);
    if (typeof found === 'string') return { problem: found, line };
    const { id, fields } = found;
    if (!known.has(id)) return { problem: `item ${quoted(id)} is not being edited`, line };
    if (read.has(id)) return { problem: `item ${quoted(id)} is here twice`, line };
    read.set(id, fields);
  }
  return read;
}

/** The id and the fields of an item, or what is wrong with it. */
function readItem(item: JsonValue): { readonly id: string; readonly fields: Fields } | string {
  const { id, fields, ...rest } = isObject(item) ? item : {};
  if (typeof id !== 'string' || !isObject(fields)) return 'expected an item with "id" and "fields"';
  const [other] = Object.keys(rest);
  return other === undefined ? { id, fields } : `${quoted(other)} must be one of the "fields"`;
}

function changed(read: ReadonlyMap<string, Fields>, bases: Editing['bases']): readonly Edit[] {
  const edits = Array.from(bases.values(), (base) => {
    return { base, changes: compareFields(base.fields, read.get(base.ref.id) ?? base.fields) };
  });
  return edits.filter(({ changes }) => changes.length > 0);
}

/** @throws {Failure} usage, for what no request can hold */
async function toUpdates(edits: readonly Edit[], { form, isSeveral }: Editing): Promise<ReadonlyMap<ItemRef, Update>> {
  const updates = new Map<ItemRef, Update>();
  for (const edit of edits) {
    const { id } = edit.base.ref;
    const fields = await form.sent(toFields(edit.changes)).catch((error: unknown) => {
      throw isSeveral && error instanceof Failure ? error.about({ id }, `item ${quoted(id)}: ${error.message}`) : error;
    });
    updates.set(edit.base.ref, { ...edit, fields });
  }
  return updates;
}

function instructions(refs: readonly ItemRef[], left: readonly string[], session: Session): readonly string[] {
  const [{ id, list, site } = { id: '', list: '', site: '' }] = refs;
  const what = refs.length > 1 ? `${refs.length} items` : `item "${id}"`;
  return [
    `The fields of ${what} of list "${list}" of site "${site}" at ${session.settings.address()}, as YAML.`,
    'Save and quit the editor to review the changes before they are sent. Removing a field clears it.',
    ...(refs.length > 1 ? ['Removing an item leaves it as it is.'] : []),
    ...(left.length > 0
      ? [`Not shown, since Microsoft Graph cannot write them: ${listNames(left, limits.fields)}`]
      : []),
  ];
}

function conflictNotes(reason: string, theirs: readonly FieldChange[], own: readonly FieldChange[]): readonly string[] {
  const ownFields = new Set(own.map(({ field }) => field));
  const elsewhere = theirs.filter(({ field }) => !ownFields.has(field));
  const names = elsewhere.map(({ field }) => cut(nameText(field), limits.value));
  const both = theirs.filter(({ field }) => ownFields.has(field)).slice(0, limits.fields);
  return [
    notSent(reason),
    'Below is the current item with your changes. Save it to send them.',
    ...(elsewhere.length > 0 ? [`Changed elsewhere, and kept: ${listNames(names, limits.fields)}`] : []),
    ...both.map(({ field, after = null }) => {
      const there = cut(valueText(after), limits.value);
      return `Changed both by you and elsewhere: ${cut(nameText(field), limits.value)}, elsewhere ${there}`;
    }),
  ];
}

/** Shows the changes, also with --quiet, and asks whether to send them. */
async function confirmChanges(edits: readonly Edit[], session: Session): Promise<void> {
  const screen = await session.messages.errorScreen();
  let count = 0;
  for (const { base, changes } of edits) {
    const { id, list, site } = base.ref;
    const place = printable(`item "${id}" of list "${list}" of site "${site}"`);
    const lines = [`${screen.style.yellow('~')} ${place}`, ...changeLines('update', changes, screen)];
    await session.host.stderr.write(`${lines.join('\n')}\n`);
    count += changes.length;
  }
  const what = count === 1 ? 'this change' : `these ${count} changes`;
  const where = edits.length === 1 ? '' : ` of ${countOf(edits.length, 'item')}`;
  if (await session.prompts.confirm(`Send ${what}${where} to ${session.settings.target()}?`)) return;
  throw new Failure('usage', 'not confirmed');
}

/** The changed fields; a removed one becomes null, which clears it. */
function compareFields(before: Fields, after: Fields): readonly FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .map((field) => ({ field, before: ownField(before, field), after: ownField(after, field) ?? null }))
    .filter((change) => !isSameField(change.before, change.after));
}

function toFields(changes: readonly FieldChange[]): Fields {
  return objectFrom(changes.map(({ field, after = null }) => [field, after]));
}

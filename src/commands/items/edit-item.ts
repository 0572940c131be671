/** `items edit`: opens an item as YAML in an editor, and sends what changed. */
import type { Client } from '../../api/client.ts';
import { showDryRun } from '../../cli/output.ts';
import { confirm } from '../../cli/prompts.ts';
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
import { isObject, objectFrom } from '../../core/json.ts';
import { listNames, printable } from '../../core/text.ts';
import { parseYaml, YamlSyntaxError, yamlDocument } from '../../core/yaml.ts';
import { itemView } from '../../output/item.ts';
import { changeLines, type FieldChange, nameText, valueText } from '../../output/plan.ts';
import { Draft, openInEditor, unreadableText } from './editor.ts';

/** Fields named in a comment, and characters quoted of a value and of a reason. */
const limits = { fields: 20, value: 100, reason: 500 } as const;

/** What all steps of an edit use. */
interface Editing {
  readonly ref: ItemRef;
  /** What of an item can be edited, and the form in which it is sent. */
  readonly form: {
    shown(fields: Fields): Fields;
    /** @throws {Failure} usage, for what no request can hold; as `Client.send` */
    sent(fields: Fields): Promise<Fields>;
    left(read: Fields, shown: Fields): readonly string[];
  };
  /** The fields that are not shown, since they cannot be written. */
  readonly left: readonly string[];
  readonly draft: Draft;
  readonly client: Client;
  readonly session: Session;
}

/** The text that the editor is opened with. */
interface Opening {
  /** The item as last read, which the edited fields are compared with. */
  readonly base: Item;
  /** The text below the comments. */
  readonly body: string;
  /** Comments that say why the editor is opened again. */
  readonly notes: readonly string[];
  /** The failure of this very text: saved unchanged, it would fail again. */
  readonly failure?: Failure | undefined;
}

/** Sends what changed of an item: `base` as it was, and `fields` as they are sent. */
type Send<T> = (
  edit: { readonly base: Item; readonly changes: readonly FieldChange[]; readonly fields: Fields },
  client: Client,
) => Promise<T>;

/**
 * Opens an item in the user's editor and, once confirmed, sends only what changed. After any failure the text is kept
 * and its file named.
 *
 * @throws {Failure} usage, without a terminal, if not confirmed, or if the editor fails; as `Client.send`
 */
export async function editItem(ref: ItemRef, isDryRun: boolean, session: Session): Promise<void> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('usage', 'edit needs an interactive terminal', {
      hint: `use: listctl items update ID -f Title=… --unset Note`,
    });
  }
  if (isDryRun) {
    await editUntilSent(ref, session, ({ base, fields }) =>
      showDryRun([ref], (items) => items.update(ref, fields, strongTag(base.etag)), session),
    );
    return;
  }
  // Opened first, so that an invalid query fails before anything is edited.
  await session.output.printing(
    itemView,
    false,
    async (print) => {
      const item = await editUntilSent(ref, session, async ({ base, changes, fields }, client) => {
        await confirmChanges(ref, changes, session);
        return client.send(client.items.update(ref, fields, strongTag(base.etag)));
      });
      if (item !== undefined) await print(item);
    },
    'updated',
  );
}

/** Microsoft Graph returns some types of columns in another form than it takes. */
async function readForm(list: ListRef, session: Session): Promise<Editing['form']> {
  if (session.settings.service !== 'graph') {
    return { shown: (fields) => fields, sent: async (fields) => fields, left: () => [] };
  }
  const [{ openListForm, toSentFields }, { plainForm, unwrittenFields }] = await Promise.all([
    import('../../cli/list-form.ts'),
    import('../../api/graph/read-form.ts'),
  ]);
  const form = await openListForm(list, {}, session);
  const columns = form?.columns ?? [];
  return {
    shown: (fields) => plainForm(fields, columns),
    sent: async (fields) => (form === undefined ? fields : toSentFields({ fields, texts: new Set() }, form, false)),
    left: (read, shown) => unwrittenFields(read, shown, columns),
  };
}

/** Opens the editor until the changes are sent; undefined without changes. */
async function editUntilSent<T>(ref: ItemRef, session: Session, send: Send<T>): Promise<T | undefined> {
  const client = await session.service.client();
  const item = await client.send(client.items.get(ref));
  const form = await readForm(ref, session);
  const base = { ...item, fields: form.shown(item.fields) };
  const draft = new Draft(ref.id);
  const editing: Editing = { ref, form, left: form.left(item.fields, base.fields), draft, client, session };
  let written: string | undefined;
  let opening: Opening = { base, body: yamlDocument(base.fields), notes: [] };
  try {
    for (;;) {
      const text = withComments([...opening.notes, ...instructions(editing)], opening.body);
      draft.write(text);
      written = text;
      const next = await openOnce(opening, text, editing, send);
      if ('value' in next) {
        draft.remove();
        return next.value;
      }
      opening = next;
    }
  } catch (error) {
    // A text that the editor was opened with again is an edit from the start.
    if (written === undefined || (opening.notes.length === 0 && isUnedited(draft, written))) {
      draft.remove();
      throw error;
    }
    throw await keepText(error, editing);
  }
}

/** Opens the editor once; returns what was sent, or what to open the editor with again. */
async function openOnce<T>(
  opening: Opening,
  text: string,
  editing: Editing,
  send: Send<T>,
): Promise<{ readonly value: T | undefined } | Opening> {
  const { ref, form, draft, client, session } = editing;
  const { base } = opening;
  await openInEditor(draft.file, session.host);
  const edited = draft.read();
  if (edited === text && opening.failure !== undefined) throw opening.failure;
  const parsed = parseFields(edited);
  if ('problem' in parsed) return reopenUnreadable(parsed, base, edited, editing);
  const { fields } = parsed;
  const changes = fields === undefined ? [] : compareFields(base.fields, fields);
  if (changes.length === 0) {
    const reason = fields === undefined ? 'the file is empty' : 'no changes';
    await session.messages.say(`${reason}: nothing was sent; item "${ref.id}" is unchanged`);
    return { value: undefined };
  }
  let sent: Fields | undefined;
  try {
    sent = await form.sent(toFields(changes));
    return { value: await send({ base, changes, fields: sent }, client) };
  } catch (error) {
    if (!isRefusal(error, sent !== undefined)) throw error;
    await confirmReopening(error, editing);
    if (error.kind === 'conflict') return reopenAfterConflict(error, base, changes, editing);
    return { base, body: splitComments(edited).body, notes: [notSent(error.message)], failure: error };
  }
}

/** Whether other fields may be accepted: these are invalid, or were refused by the service. */
function isRefusal(error: unknown, isSent: boolean): error is Failure {
  if (!(error instanceof Failure)) return false;
  const { kind, details } = error;
  if (!isSent) return kind === 'usage';
  return details.outcome === 'refused' && (kind === 'refused' || kind === 'conflict');
}

async function reopenUnreadable(
  { problem, line }: { readonly problem: string; readonly line?: number },
  base: Item,
  text: string,
  editing: Editing,
): Promise<Opening> {
  const failure = unreadableText(line === undefined ? problem : `line ${line}: ${problem}`);
  await confirmReopening(failure, editing);
  const { body, lineCount } = splitComments(text);
  // The note about the error changes the number of its line.
  const linesAbove = withComments(['', ...instructions(editing)], '').split('\n').length - 1;
  const newLine = line && line - lineCount + linesAbove;
  return { base, body, notes: [notSent(newLine === undefined ? problem : `line ${newLine}: ${problem}`)], failure };
}

/** Applies the changes to the item as it is now. */
async function reopenAfterConflict(
  failure: Failure,
  base: Item,
  changes: readonly FieldChange[],
  { ref, form, client }: Editing,
): Promise<Opening> {
  const item = await client.send(client.items.get(ref));
  const now = { ...item, fields: form.shown(item.fields) };
  const fields = new Map(Object.entries(now.fields));
  for (const { field, after = null } of changes) {
    if (after === null) fields.delete(field);
    else fields.set(field, after);
  }
  const notes = conflictNotes(failure.message, compareFields(base.fields, now.fields), changes);
  return { base: now, body: yamlDocument(objectFrom(fields)), notes };
}

function instructions({ ref: { id, list, site }, left, session }: Editing): readonly string[] {
  return [
    `The fields of item "${id}" of list "${list}" of site "${site}" at ${session.settings.address()}, as YAML.`,
    'Save and quit the editor to review the changes before they are sent. Removing a field clears it.',
    'To cancel, empty the file or quit without changes.',
    ...(left.length > 0
      ? [`Not shown, since Microsoft Graph cannot write them: ${listNames(left, limits.fields)}`]
      : []),
  ];
}

function notSent(reason: string): string {
  return `Not sent: ${cut(reason, limits.reason)}`;
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

function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

/** Shows the changes, also with --quiet, and asks whether to send them. */
async function confirmChanges(
  { id, list, site }: ItemRef,
  changes: readonly FieldChange[],
  session: Session,
): Promise<void> {
  const screen = await session.messages.errorScreen();
  const lines = changeLines('update', changes, screen);
  const place = printable(`item "${id}" of list "${list}" of site "${site}"`);
  await session.host.stderr.write(`${screen.style.yellow('~')} ${place}\n${lines.join('\n')}\n`);
  const what = changes.length === 1 ? 'this change' : `these ${changes.length} changes`;
  if (await session.prompts.confirm(`Send ${what} to ${session.settings.target()}?`)) return;
  throw new Failure('usage', 'not confirmed: nothing was sent');
}

async function confirmReopening(failure: Failure, { session }: Editing): Promise<void> {
  if (!(await confirm(`${failure.message}. Open the editor again?`, session))) throw failure;
}

function isUnedited(draft: Draft, written: string): boolean {
  try {
    return draft.read() === written;
  } catch {
    return false;
  }
}

/** Adds to an error where the text is. */
async function keepText(error: unknown, { draft, session }: Editing): Promise<unknown> {
  draft.protect();
  const note = `your text is saved in ${draft.file}`;
  if (!(error instanceof Failure)) {
    await session.host.stderr.write(`listctl: ${printable(note)}\n`);
    return error;
  }
  const { kind, message, details } = error;
  const [hint] = details.hint?.split('\n') ?? [];
  return new Failure(kind, message, { ...details, hint: hint === undefined ? note : `${hint}\n${note}` });
}

/** Puts comments above a text, each on one line. */
function withComments(comments: readonly string[], body: string): string {
  return `${comments.map((comment) => `# ${printable(comment)}`.trimEnd()).join('\n')}\n\n${body}`;
}

/** The text below the first comments and blank lines, and the number of those lines. */
function splitComments(text: string): { readonly body: string; readonly lineCount: number } {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const first = lines.findIndex((line) => !/^\s*(#|$)/.test(line));
  const lineCount = first === -1 ? lines.length : first;
  return { body: lines.slice(lineCount).join('\n'), lineCount };
}

/** Parses an edited text; no fields for one without content, which cancels the edit. */
function parseFields(
  text: string,
): { readonly fields: Fields | undefined } | { readonly problem: string; readonly line?: number } {
  if (splitComments(text).body === '') return { fields: undefined };
  try {
    const fields = parseYaml(text);
    return isObject(fields) ? { fields } : { problem: 'expected names and values, such as Title: Buy milk' };
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    return { problem: error.reason, line: error.place.line };
  }
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

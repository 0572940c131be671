/** `items edit`: read, edited, shown, asked about, sent; again where it was refused. To be loaded late. */
import type { ItemsApi } from '../../api/items.ts';
import { updateRequest } from '../../api/requests.ts';
import { showDryRun } from '../../cli/output.ts';
import { confirm } from '../../cli/prompts.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { type Fields, type Item, type ItemRef, strongTag } from '../../core/item.ts';
import { printable } from '../../core/text.ts';
import { itemView } from '../../output/item.ts';
import { changeLines, type FieldChange, nameText, valueText } from '../../output/plan.ts';
import {
  changed,
  changesBetween,
  type Draft,
  fieldsOf,
  fieldsText,
  openDraft,
  openInEditor,
  readFieldsText,
  UnreadableEdit,
  withComments,
  withoutComments,
} from './editor.ts';

/** How many fields are named, and how much is quoted. */
const limits = { fields: 20, value: 100, reason: 500 } as const;

/** Which item it is, and how to leave. */
function lessonOf({ id, list, site }: ItemRef, address: string): readonly string[] {
  return [
    `The fields of item "${id}" of list "${list}" of site "${site}" at ${address}, as YAML.`,
    'Save and quit the editor to review the changes before they are sent. Removing a field clears it.',
    'To cancel, empty the file or quit without changes.',
  ];
}

/** Why it was not sent. */
function notSent(reason: string): string {
  return `Not sent: ${cut(reason, limits.reason)}`;
}

/**
 * Why it was not sent, where somebody else was quicker, and what they changed.
 *
 * @param own what was edited here
 */
function conflictNotes(reason: string, theirs: readonly FieldChange[], own: readonly FieldChange[]): readonly string[] {
  const ownFields = new Set(own.map(({ field }) => field));
  const elsewhere = theirs.filter(({ field }) => !ownFields.has(field));
  const both = theirs.filter(({ field }) => ownFields.has(field)).slice(0, limits.fields);
  return [
    notSent(reason),
    'Below is the current item with your changes. Save it to send them.',
    ...(elsewhere.length > 0 ? [`Changed elsewhere, and kept: ${namesOf(elsewhere)}`] : []),
    ...both.map(({ field, after = null }) => {
      const there = cut(valueText(after), limits.value);
      return `Changed both by you and elsewhere: ${cut(nameText(field), limits.value)}, elsewhere ${there}`;
    }),
  ];
}

function namesOf(changes: readonly FieldChange[]): string {
  const names = changes.slice(0, limits.fields).map(({ field }) => cut(nameText(field), limits.value));
  const more = changes.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

/** What one edit works with. */
interface Editing {
  readonly ref: ItemRef;
  readonly draft: Draft;
  readonly api: ItemsApi;
  readonly session: Session;
}

/** One opening of the editor. */
interface Opening {
  /** The item as it was last read: what is changed, and what must still be so. */
  readonly base: Item;
  /** What stands below the comments. */
  readonly body: string;
  /** Why it is opened again, and what to know of it. */
  readonly notes: readonly string[];
  /** What the text came to that is opened again as it was: left so, it would come to the same. */
  readonly failure?: Failure | undefined;
}

/** What came of an opening. */
type Next<T> = { readonly value: T | undefined } | Opening;

/** What was put into the file, and whether it held somebody's edit already. */
interface Written {
  readonly text: string;
  readonly isAgain: boolean;
}

/** What the edit asks for. */
interface Edit {
  readonly base: Item;
  readonly changes: readonly FieldChange[];
}

/**
 * Opens an item in the user's editor and sends what changed, and nothing else, once that was confirmed.
 *
 * The text is kept, and its file named, whatever goes wrong behind the editor: it is removed only once it was sent, or
 * says nothing new.
 *
 * @throws {Failure} usage, where nobody can be asked, says no, or the editor fails; as `ItemsApi` has it
 */
export async function editItem(ref: ItemRef, isDryRun: boolean, session: Session): Promise<void> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('usage', 'edit needs an interactive terminal', {
      hint: `use: listctl items update ID -f Title=… --unset Note`,
    });
  }
  if (isDryRun) {
    await edited(ref, session, async ({ base, changes }) =>
      showDryRun([updateRequest(ref, fieldsOf(changes), strongTag(base.etag))], session),
    );
    return;
  }
  // Before anything is read: a query that cannot be is found out before somebody has edited.
  await session.output.printing(
    itemView,
    false,
    async (print) => {
      const item = await edited(ref, session, async (edit, editing) => {
        await askToSend(edit, editing);
        return editing.api.update(ref, fieldsOf(edit.changes), strongTag(edit.base.etag));
      });
      if (item !== undefined) await print(item);
    },
    'updated',
  );
}

type Carry<T> = (edit: Edit, editing: Editing) => Promise<T>;

/** Opens the editor until what was edited has been carried out; undefined where there was nothing to do. */
async function edited<T>(ref: ItemRef, session: Session, carryOut: Carry<T>): Promise<T | undefined> {
  const api = await session.service.api();
  const base = await api.get(ref);
  const draft = openDraft(ref.id);
  const editing: Editing = { ref, draft, api, session };
  let written: Written | undefined;
  try {
    for (let opening: Opening = { base, body: fieldsText(base.fields), notes: [] }; ; ) {
      const text = withComments([...opening.notes, ...lessonOf(ref, session.settings.address())], opening.body);
      draft.write(text);
      written = { text, isAgain: opening.notes.length > 0 };
      const next = await openOnce(opening, text, editing, carryOut);
      if ('value' in next) {
        draft.remove();
        return next.value;
      }
      opening = next;
    }
  } catch (error) {
    throw await withTextKept(error, written, editing);
  }
}

/** Opens the editor once: gives what it led to, or how it is to be opened again. */
async function openOnce<T>(opening: Opening, text: string, editing: Editing, carryOut: Carry<T>): Promise<Next<T>> {
  const { ref, draft, session } = editing;
  await openInEditor(draft.file, session.host);
  const left = readAsFarAsPossible(draft);
  if (left.text === text && opening.failure !== undefined) throw opening.failure;
  if (left.slip !== undefined) return openAfterSlip(left.slip, opening.base, left.text, editing);
  const changes = left.fields === undefined ? [] : changesBetween(opening.base.fields, left.fields);
  if (changes.length === 0) {
    const reason = left.fields === undefined ? 'the file is empty' : 'no changes';
    await session.messages.say(`${reason}: nothing was sent; item "${ref.id}" is unchanged`);
    return { value: undefined };
  }
  try {
    return { value: await carryOut({ base: opening.base, changes }, editing) };
  } catch (error) {
    if (!isAboutText(error)) throw error;
    await askToOpenAgain(error, editing);
    if (error.kind === 'conflict') return openAfterConflict(error, opening.base, changes, editing);
    const { body } = withoutComments(left.text ?? '');
    return { base: opening.base, body, notes: [notSent(error.message)], failure: error };
  }
}

/** What an editor left: the fields, none where it was emptied, or why they cannot be read. */
interface Left {
  readonly text: string | undefined;
  readonly fields?: Fields | undefined;
  readonly slip?: UnreadableEdit;
}

function readAsFarAsPossible(draft: Draft): Left {
  let text: string | undefined;
  try {
    text = draft.read();
    return { text, fields: readFieldsText(text) };
  } catch (error) {
    if (error instanceof UnreadableEdit) return { text, slip: error };
    throw error;
  }
}

/** Whether the service said no to what stands in the text: then another text may do. */
function isAboutText(error: unknown): error is Failure {
  if (!(error instanceof Failure) || error.details.outcome !== 'refused') return false;
  return error.kind === 'refused' || error.kind === 'conflict';
}

/** @param text undefined where it is none, so that it cannot be put back below a comment */
async function openAfterSlip(
  { message, line }: UnreadableEdit,
  base: Item,
  text: string | undefined,
  editing: Editing,
): Promise<Opening> {
  const at = line === undefined ? '' : `line ${line}: `;
  const failure = new Failure('usage', `cannot read the edited text: ${at}${message}`, { hint: 'nothing was sent' });
  if (text === undefined) throw failure;
  await askToOpenAgain(failure, editing);
  const { body, lineCount } = withoutComments(text);
  // With this very note above it, the line is another one.
  const above =
    withComments(['', ...lessonOf(editing.ref, editing.session.settings.address())], '').split('\n').length - 1;
  const lineThen = line && line - lineCount + above;
  return { base, body, notes: [notSent(lineThen === undefined ? message : `line ${lineThen}: ${message}`)], failure };
}

/** Somebody else was quicker: what was edited is laid over the item as it is now. */
async function openAfterConflict(
  failure: Failure,
  base: Item,
  changes: readonly FieldChange[],
  editing: Editing,
): Promise<Opening> {
  const now = await editing.api.get(editing.ref);
  const notes = conflictNotes(failure.message, changesBetween(base.fields, now.fields), changes);
  return { base: now, body: fieldsText(changed(now.fields, changes)), notes };
}

/** Shows what changed, and asks. Shown with --quiet too: the question is about it. */
async function askToSend({ changes }: Edit, { ref: { id, list, site }, session }: Editing): Promise<void> {
  const { host } = session;
  const { columns, style } = await session.messages.errorScreen();
  const screen = { width: Math.max(columns || 80, 20), style };
  const lines = changeLines('update', changes, screen);
  const place = printable(`item "${id}" of list "${list}" of site "${site}"`);
  await host.stderr.write(`${style.yellow('~')} ${place}\n${lines.join('\n')}\n`);
  const what = changes.length === 1 ? 'this change' : `these ${changes.length} changes`;
  if (await confirm(`Send ${what} to ${session.settings.address()}?`, session)) return;
  throw new Failure('usage', 'not confirmed: nothing was sent');
}

/** @throws the failure itself, where nobody wants to go on */
async function askToOpenAgain(failure: Failure, { session }: Editing): Promise<void> {
  if (!(await confirm(`${failure.message}. Open the editor again?`, session))) throw failure;
}

/** Keeps what somebody wrote, and says where; removes what nobody wrote. */
async function withTextKept(error: unknown, written: Written | undefined, editing: Editing): Promise<unknown> {
  const { draft, session } = editing;
  if (written === undefined || !isEdited(draft, written)) {
    draft.remove();
    return error;
  }
  draft.keep();
  const note = `your text is saved in ${draft.file}`;
  if (!(error instanceof Failure)) {
    await session.host.stderr.write(`listctl: ${printable(note)}\n`);
    return error;
  }
  const { kind, message, details } = error;
  const [hint] = details.hint?.split('\n') ?? [];
  return new Failure(kind, message, { ...details, hint: hint === undefined ? note : `${hint}\n${note}` });
}

/** Whether somebody's edit is in the file: in one that was opened again it is from the start. */
function isEdited({ read }: Draft, { text, isAgain }: Written): boolean {
  try {
    return isAgain || read() !== text;
  } catch {
    return true;
  }
}

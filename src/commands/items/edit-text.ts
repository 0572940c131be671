/** A YAML text in the user's editor, opened again until it is accepted or given up. */
import { confirm } from '../../cli/prompts.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import type { JsonValue } from '../../core/json.ts';
import { printable } from '../../core/text.ts';
import { readYaml, YamlSyntaxError } from '../../core/yaml.ts';
import { type Draft, openInEditor, unreadableText } from './editor.ts';

/** Characters quoted of a reason. */
const reasonLengthMax = 500;

/** What the editor is opened with. */
export interface Opening {
  /** The text below the comments. */
  readonly body: string;
  /** Comments that say why the editor is opened again. */
  readonly notes: readonly string[];
  /** The failure of this very text: saved unchanged, it would fail again. */
  readonly failure?: Failure | undefined;
}

/** Why a text is not accepted, and the line of its cause. */
export interface Problem {
  readonly problem: string;
  readonly line?: number | undefined;
}

/** The value of an edited text; undefined without content, which cancels the edit. */
export interface EditedText {
  readonly value: JsonValue | undefined;
  /** Without the comments above it. */
  readonly body: string;
  /** The line of an object or list of the value, or of a member of it. */
  lineOf(of: JsonValue, member?: string | number): number | undefined;
}

export interface TextEdit {
  readonly draft: Draft;
  /** Comments that are always above the text, before the one about cancelling. */
  readonly instructions: readonly string[];
  readonly body: string;
  /** Returns nothing once the edit is done, else what to ask for again; the text is kept if it throws. */
  readonly accept: (edited: EditedText) => Promise<Problem | Opening | undefined>;
}

/**
 * Opens a text in the user's editor until it is accepted. After any failure an edited text is kept and its file named.
 *
 * @throws {Failure} usage, if the editor fails, or if the user does not open it again; as `accept`
 */
export async function editText(edit: TextEdit, session: Session): Promise<void> {
  const { draft, instructions } = edit;
  let written: string | undefined;
  let opening: Opening | undefined = { body: edit.body, notes: [] };
  let isReopened = false;
  try {
    while (opening !== undefined) {
      // Of a text that could be sent as it is, quitting is no sign.
      const mayQuit = !isReopened || opening.failure !== undefined;
      const toCancel = `To cancel, empty the file${mayQuit ? ' or quit without changes' : ''}.`;
      written = withComments([...opening.notes, ...instructions, toCancel], opening.body);
      draft.write(written);
      opening = await openOnce(opening, written, edit, session);
      isReopened = true;
    }
    draft.remove();
  } catch (error) {
    // A text that the editor was opened with again is an edit from the start.
    if (written === undefined || (!isReopened && isUnedited(draft, written))) {
      draft.remove();
      throw error;
    }
    throw await keepText(error, draft, session);
  }
}

/** Opens the editor once; returns what to open it with again, if anything. */
async function openOnce(
  opening: Opening,
  written: string,
  { draft, instructions, accept }: TextEdit,
  session: Session,
): Promise<Opening | undefined> {
  await openInEditor(draft.file, session.host);
  const text = draft.read();
  if (text === written && opening.failure !== undefined) throw opening.failure;
  const { body, lineCount } = splitComments(text);
  const edited = readText(text, body);
  const next = 'problem' in edited ? edited : await accept(edited);
  if (next === undefined || !('problem' in next)) return next;
  const { problem, line } = next;
  const failure = unreadableText(line === undefined ? problem : `line ${line}: ${problem}`);
  await confirmReopening(failure, session);
  // The note about the error changes the number of its line.
  const linesAbove = withComments(['', ...instructions, ''], '').split('\n').length - 1;
  const place = line === undefined ? '' : `line ${line - lineCount + linesAbove}: `;
  return { body, notes: [notSent(`${place}${problem}`)], failure };
}

/** Asks whether to open the editor again after a failure, which is thrown otherwise. */
export async function confirmReopening(failure: Failure, session: Session): Promise<void> {
  if (!(await confirm(`${failure.message}. Open the editor again?`, session))) throw failure;
}

/** A comment that says why nothing was sent. */
export function notSent(reason: string): string {
  return `Not sent: ${cut(reason, reasonLengthMax)}`;
}

/** Shortens a text to a number of UTF-16 units. */
export function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

function readText(text: string, body: string): EditedText | Problem {
  if (body === '') return { value: undefined, body, lineOf: () => undefined };
  try {
    const { value, placeOf } = readYaml(text);
    return { value, body, lineOf: (of, member) => placeOf(of, member)?.line };
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    return { problem: error.reason, line: error.place.line };
  }
}

function isUnedited(draft: Draft, written: string): boolean {
  try {
    return draft.read() === written;
  } catch {
    return false;
  }
}

/** Adds to an error where the text is. */
async function keepText(error: unknown, draft: Draft, { host }: Session): Promise<unknown> {
  draft.protect();
  const note = `your text is saved in ${draft.file}`;
  if (!(error instanceof Failure)) {
    await host.stderr.write(`listctl: ${printable(note)}\n`);
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

/** The user's editor: the one program that `items edit` starts. */
import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoReason, Failure, Stopped } from '../../core/errors.ts';
import { type Host, withoutToken } from '../../core/host.ts';
import { type Fields, isSameField, ownField } from '../../core/item.ts';
import { isObject, type JsonValue, objectFrom } from '../../core/json.ts';
import { printable } from '../../core/text.ts';
import { parseYaml, YamlSyntaxError } from '../../core/yaml.ts';
import type { FieldChange } from '../../output/plan.ts';
import { yamlDocument } from '../../output/yaml.ts';

/** What starting an editor needs of the world. */
export type EditorHost = Pick<Host, 'env' | 'platform' | 'signal' | 'stdout'>;

/**
 * Opens a file in the user's editor, on the terminal, and resolves once that has ended well. It is `VISUAL`, else
 * `EDITOR`, else `vi` (`notepad` on Windows).
 *
 * @throws {Failure} usage, when it cannot be started or ends badly
 * @throws {Stopped} when listctl was told to stop meanwhile
 */
export async function openInEditor(file: string, host: EditorHost): Promise<void> {
  const { env, platform } = host;
  const variable = ['VISUAL', 'EDITOR'].find((name) => env[name]?.trim());
  const editor = (variable && env[variable]) || (platform === 'win32' ? 'notepad' : 'vi');
  const { code, signal, fault } = await ended(editor, file, host);
  // Ctrl-C ended both: that is no fault of the editor.
  host.signal.throwIfAborted();
  if (code === 0) return;
  const name = `the editor (${variable ?? 'the default'}: ${editor.slice(0, 100)})`;
  // 127 is how a shell says so (POSIX, Shell Command Language, 2.8.2).
  const isMissing = fault !== undefined || code === 127;
  const how = isMissing
    ? 'could not be started'
    : code === null
      ? `was ended by ${signal}`
      : `failed with exit code ${code}`;
  throw new Failure('usage', `${name} ${how}: nothing was sent`, {
    hint: isMissing
      ? 'set EDITOR to another editor, such as nano; a graphical editor must wait: "code --wait"'
      : undefined,
    cause: fault,
  });
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly fault?: unknown;
}

function ended(editor: string, file: string, { env, platform, signal, stdout }: EditorHost): Promise<Ended> {
  const [shell, words] = platform === 'win32' ? windowsWords(editor, file, env) : posixWords(editor, file);
  return new Promise((resolve) => {
    const child = spawn(shell, words, {
      env: withoutToken(env),
      // With stdout in a pipe the terminal is behind stderr: it is one, since questions may be asked.
      stdio: ['inherit', stdout.isTTY ? 'inherit' : 2, 'inherit'],
      windowsVerbatimArguments: platform === 'win32',
    });
    // Ctrl-C reaches the editor by itself, which may use it for something else; any other signal was for us alone.
    const stop = () => {
      const { reason } = signal;
      if (reason instanceof Stopped && reason.signal !== 'SIGINT') child.kill(reason.signal);
    };
    signal.addEventListener('abort', stop, { once: true });
    const end = (how: Ended) => {
      signal.removeEventListener('abort', stop);
      resolve(how);
    };
    child.on('error', (fault) => end({ code: null, signal: null, fault }));
    child.on('exit', (code, signalName) => end({ code, signal: signalName }));
  });
}

/**
 * As git does it: the variable holds words of the shell, so that `code --wait` and quoted paths work. What comes from
 * the user's own environment may run what it likes; the path of the file is no part of the script, and nothing that a
 * service or a project file said is in either.
 */
function posixWords(editor: string, file: string): [string, string[]] {
  // Words alone need no shell that stays: a signal is for the editor then.
  const start = /^[\w./+@ -]+$/.test(editor) ? 'exec ' : '';
  return ['/bin/sh', ['-c', `${start}${editor} "$@"`, editor, file]];
}

function windowsWords(editor: string, file: string, env: Host['env']): [string, string[]] {
  return [env['ComSpec'] || 'cmd.exe', ['/d', '/s', '/c', `"${editor} "${file}""`]];
}

/** Thrown where an edited text cannot be read: what is wrong, and in which of its lines, from 1. */
export class UnreadableEdit extends Error {
  override readonly name = 'UnreadableEdit';
  readonly line: number | undefined;

  constructor(reason: string, line?: number) {
    super(reason);
    this.line = line;
  }
}

/** The fields as YAML, numbers with the digits they came with. */
export function fieldsText(fields: Fields): string {
  return yamlDocument(fields);
}

/** A text with sentences above it as comments: whatever they quote, each is one line. */
export function withComments(sentences: readonly string[], body: string): string {
  return `${sentences.map((sentence) => `# ${printable(sentence)}`.trimEnd()).join('\n')}\n\n${body}`;
}

/** The text without the comments and blank lines that it begins with, and how many lines those are. */
export function withoutComments(text: string): { readonly body: string; readonly lineCount: number } {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const first = lines.findIndex((line) => !/^\s*(#|$)/.test(line));
  const lineCount = first === -1 ? lines.length : first;
  return { body: lines.slice(lineCount).join('\n'), lineCount };
}

/**
 * Reads an edited text; undefined where it says nothing at all, which means that the edit was given up.
 *
 * @throws {UnreadableEdit} where it is no YAML, or no fields with their values
 */
export function readFieldsText(text: string): Fields | undefined {
  if (withoutComments(text).body === '') return undefined;
  let value: JsonValue;
  try {
    value = parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw new UnreadableEdit(error.reason, error.place.line);
  }
  if (!isObject(value)) throw new UnreadableEdit('expected names and values, such as Title: Buy milk');
  return value;
}

/** What makes the fields before into those after; a field that is gone is cleared, which is null. */
export function changesBetween(before: Fields, after: Fields): readonly FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .map((field) => ({ field, before: ownField(before, field), after: ownField(after, field) ?? null }))
    .filter((change) => !isSameField(change.before, change.after));
}

/** What a PATCH sets. */
export function fieldsOf(changes: readonly FieldChange[]): Fields {
  return objectFrom(changes.map(({ field, after = null }) => [field, after]));
}

/** The fields with the changes made. */
export function changed(fields: Fields, changes: readonly FieldChange[]): Fields {
  const members = new Map(Object.entries(fields));
  for (const { field, after = null } of changes) {
    if (after === null) members.delete(field);
    else members.set(field, after);
  }
  return objectFrom(members);
}

/** A text that is being edited. */
export interface Draft {
  /** Its absolute path. */
  readonly file: string;
  /** Puts a text in its place, as a whole: where that fails, what was there stays. */
  write(text: string): void;
  /**
   * What is in it; nothing where it was removed.
   *
   * @throws {UnreadableEdit} where it is not UTF-8
   */
  read(): string;
  /** Leaves it where it is, its mode 0600: an editor may have made it anew with another one. */
  keep(): void;
  /** Removes the directory, and what an editor left in it. */
  remove(): void;
}

/**
 * Makes a directory for the text of an item; the file is made by the first `write`.
 *
 * @throws {Failure} local-file, as `write` and `read`, when the system does not let it
 */
export function openDraft(id: string): Draft {
  // Editors know by the name what is in it. An id may hold anything, and a shell may be what starts the editor.
  const name = `item-${id.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 40)}.yaml`;
  const directory = tried(tmpdir(), () => mkdtempSync(join(tmpdir(), 'listctl-edit-')));
  const file = join(directory, name);
  return {
    file,
    write: (text) =>
      tried(file, () => {
        const whole = `${file}.new`;
        rmSync(whole, { force: true });
        writeFileSync(whole, text, { mode: 0o600, flag: 'wx' });
        renameSync(whole, file);
      }),
    read: () => {
      const bytes = tried(file, () => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0)));
      if (!isUtf8(bytes)) throw new UnreadableEdit('not UTF-8');
      return bytes.toString();
    },
    keep: () => {
      try {
        chmodSync(file, 0o600);
      } catch {
        // Nobody else gets into its directory anyway.
      }
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function tried<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Failure('local-file', `cannot write ${file}: ${errnoReason(error)}`, {
      hint: 'set TMPDIR to use another directory',
      cause: error,
    });
  }
}

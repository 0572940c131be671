/** The user's editor, and the file that it edits. */
import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoReason, Failure, Stopped } from '../../core/errors.ts';
import { type Host, withoutToken } from '../../core/host.ts';

/**
 * Opens a file in `VISUAL`, `EDITOR` or `vi` (`notepad` on Windows), and waits until the editor ends.
 *
 * @throws {Failure} usage, when it cannot be started or fails
 * @throws {Stopped} when listctl was stopped meanwhile
 */
export async function openInEditor(file: string, host: Host): Promise<void> {
  const { env, platform } = host;
  const variable = ['VISUAL', 'EDITOR'].find((name) => env[name]?.trim());
  const editor = (variable && env[variable]) || (platform === 'win32' ? 'notepad' : 'vi');
  const { code, signal, fault } = await runEditor(editor, file, host);
  // Ctrl-C ends both, which is not a failure of the editor.
  host.signal.throwIfAborted();
  if (code === 0) return;
  const name = `the editor (${variable ?? 'the default'}: ${editor.slice(0, 100)})`;
  // A shell ends with 127 if it does not find a command (POSIX, Shell Command Language, 2.8.2).
  if (fault !== undefined || code === 127) {
    throw new Failure('usage', `${name} could not be started`, {
      hint: 'set EDITOR to another editor, such as nano; a graphical editor must wait: "code --wait"',
      cause: fault,
    });
  }
  const how = code === null ? `was ended by ${signal}` : `failed with exit code ${code}`;
  throw new Failure('usage', `${name} ${how}`);
}

function runEditor(
  editor: string,
  file: string,
  { env, platform, signal, stdout }: Host,
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly fault: unknown }> {
  const [shell, words] = platform === 'win32' ? windowsWords(editor, file, env) : posixWords(editor, file);
  return new Promise((resolve) => {
    const child = spawn(shell, words, {
      env: withoutToken(env),
      // If stdout is a pipe, the terminal is on stderr: questions may be asked.
      stdio: ['inherit', stdout.isTTY ? 'inherit' : 2, 'inherit'],
      windowsVerbatimArguments: platform === 'win32',
    });
    // Ctrl-C reaches the editor by itself, which may handle it; other signals were sent to listctl alone.
    const stop = () => {
      const { reason } = signal;
      if (reason instanceof Stopped && reason.signal !== 'SIGINT') child.kill(reason.signal);
    };
    signal.addEventListener('abort', stop, { once: true });
    const end = (code: number | null, signalName: NodeJS.Signals | null, fault?: unknown) => {
      signal.removeEventListener('abort', stop);
      resolve({ code, signal: signalName, fault });
    };
    child.on('error', (fault) => end(null, null, fault));
    child.on('exit', end);
  });
}

/** As in git, the variable is shell code, so that `code --wait` and quoted paths work; the path of the file is not. */
function posixWords(editor: string, file: string): [string, string[]] {
  // With exec, a signal reaches the editor and not a shell that waits for it.
  const start = /^[\w./+@ -]+$/.test(editor) ? 'exec ' : '';
  return ['/bin/sh', ['-c', `${start}${editor} "$@"`, editor, file]];
}

function windowsWords(editor: string, file: string, env: Host['env']): [string, string[]] {
  return [env['ComSpec'] || 'cmd.exe', ['/d', '/s', '/c', `"${editor} "${file}""`]];
}

/** The file of a text that is being edited. Its methods throw a Failure, local-file. */
export class Draft {
  /** Its absolute path. */
  readonly file: string;
  readonly #directory: string;

  /** @param id of a single item */
  constructor(id: string | undefined) {
    // The extension is for syntax highlighting. An id may contain anything, and a shell may start the editor.
    const name = id === undefined ? 'items.yaml' : `item-${id.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 40)}.yaml`;
    this.#directory = localFile(tmpdir(), () => mkdtempSync(join(tmpdir(), 'listctl-edit-')));
    this.file = join(this.#directory, name);
  }

  /** Replaces the text as a whole. */
  write(text: string): void {
    localFile(this.file, () => {
      const whole = `${this.file}.new`;
      rmSync(whole, { force: true });
      writeFileSync(whole, text, { mode: 0o600, flag: 'wx' });
      renameSync(whole, this.file);
    });
  }

  /** Reads the text; empty if the file was removed. Throws a usage failure if it is not UTF-8. */
  read(): string {
    const bytes = localFile(this.file, () => (existsSync(this.file) ? readFileSync(this.file) : Buffer.alloc(0)));
    if (!isUtf8(bytes)) throw unreadableText('not UTF-8');
    return bytes.toString();
  }

  /** Restores mode 0600, since an editor may have replaced the file. */
  protect(): void {
    try {
      chmodSync(this.file, 0o600);
    } catch {
      // The directory is private anyway.
    }
  }

  /** Removes the directory, and what an editor left in it. */
  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** The failure for an edited text that cannot be parsed. */
export function unreadableText(reason: string): Failure {
  return new Failure('usage', `cannot read the edited text: ${reason}`);
}

function localFile<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Failure('local-file', `cannot write ${file}: ${errnoReason(error)}`, {
      hint: 'set TMPDIR to use another directory',
      cause: error,
    });
  }
}

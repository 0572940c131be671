/** The user's editor: the one program that `items edit` starts. */
import { spawn } from 'node:child_process';
import { Failure, Stopped } from '../../errors.ts';
import type { Host } from '../../host.ts';

/** What starting an editor needs of the world. */
export type EditorHost = Pick<Host, 'env' | 'platform' | 'signal' | 'stdout'>;

/**
 * Opens a file in the user's editor, on the terminal, and resolves once that has ended well. It is `VISUAL`, else
 * `EDITOR`, else `vi` (`notepad` on Windows).
 *
 * @throws {Failure} usage, when it can't be started or ends badly
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
      ? 'name another in EDITOR, such as EDITOR=nano; one with a window of its own must wait: "code --wait"'
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
  const { LISTCTL_TOKEN: _, ...childEnv } = env;
  const [shell, words] = platform === 'win32' ? windowsWords(editor, file, env) : posixWords(editor, file);
  return new Promise((resolve) => {
    const child = spawn(shell, words, {
      env: childEnv,
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

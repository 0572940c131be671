/** A shell in a pseudo-terminal, into which a test types like a user. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env as ownEnvironment } from 'node:process';
import { listctlFile, testNode } from './listctl.ts';
import { openTerminal, type Terminal, type TerminalOptions } from './terminal.ts';

/** The shells that listctl has completions for. */
export const typedShells = ['bash', 'zsh', 'fish'] as const;
export type TypedShell = (typeof typedShells)[number];

/** Whether a shell is there. */
export function isInstalled(shell: TypedShell): boolean {
  return spawnSync(shell, ['--version']).status === 0;
}

/** Types into a shell; gone at the end of the block that holds it with `await using`. */
export interface ShellSession extends AsyncDisposable {
  readonly terminal: Terminal;
  /** Types a line and enters it, without waiting for what comes of it. */
  start(line: string): void;
  /** Waits until the output below the line that was entered last contains it. */
  shows(sign: RegExp | string): Promise<void>;
  /** Waits until the shell accepts the next line, and returns the output since the last one. */
  ended(): Promise<string>;
  /** Enters a line and waits for its end. */
  run(line: string): Promise<string>;
}

/** How each is started with nothing of the user's own; `sh` leaves a terminal as the last program left it. */
const starts: Readonly<Record<TypedShell | 'sh', { readonly args: readonly string[]; readonly prompt: string }>> = {
  sh: { args: ['-i'], prompt: "PS1='rea''dy> '" },
  bash: { args: ['--norc', '--noprofile', '-i'], prompt: "PS1='rea''dy> '" },
  zsh: { args: ['-f', '-i'], prompt: "unsetopt prompt_sp; PS1='rea''dy> '" },
  fish: { args: ['--no-config', '-i'], prompt: "function fish_prompt; echo -n 'rea''dy> '; end" },
};

const ready = 'ready> ';

/**
 * Starts a shell in a directory of its own, its home, where `listctl` is the built program. That leaves its process id in
 * the file `pid` there.
 */
export async function openShell(
  shell: TypedShell | 'sh',
  home: string,
  options: TerminalOptions = {},
): Promise<ShellSession> {
  const directory = join(home, 'bin');
  mkdirSync(directory, { recursive: true });
  writeProgram(
    join(directory, 'listctl'),
    `echo $$ > '${join(home, 'pid')}'\nexec '${testNode}' '${listctlFile}' "$@"\n`,
  );
  const { args, prompt } = starts[shell];
  const terminal = openTerminal(shell, args, {
    cwd: home,
    ...options,
    env: {
      HOME: home,
      PATH: `${directory}:${ownEnvironment['PATH']}`,
      LANG: 'C.UTF-8',
      ...options.env,
    },
  });
  const session = sessionIn(terminal);
  try {
    await terminal.comesTo('a first prompt', () => terminal.cursor.column > 0);
    await session.run(prompt);
  } catch (error) {
    await terminal[Symbol.asyncDispose]();
    throw error;
  }
  return session;
}

function sessionIn(terminal: Terminal): ShellSession {
  let enteredAt = 0;
  const below = () =>
    terminal
      .lines(enteredAt + 1)
      .join('\n')
      .trimEnd();
  const start = (line: string) => {
    enteredAt = terminal.cursor.row;
    terminal.type(`${line}\r`);
  };
  const ended = async () => {
    // The line is complete at once: the next prompt is below.
    await terminal.comesTo('a prompt', () => terminal.cursor.row > enteredAt && isAtPrompt(terminal));
    return below().slice(0, -ready.trimEnd().length).trimEnd();
  };
  return {
    terminal,
    start,
    shows: (sign) =>
      terminal.comesTo(String(sign), () => (typeof sign === 'string' ? below().includes(sign) : sign.test(below()))),
    ended,
    run: (line) => {
      start(line);
      return ended();
    },
    [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose](),
  };
}

/** Whether the cursor is after a prompt, with nothing typed yet. */
function isAtPrompt({ screen, cursor: { row, column } }: Terminal): boolean {
  return screen.buffer.active.getLine(row)?.translateToString(false, 0, column) === ready;
}

function writeProgram(file: string, script: string): void {
  writeFileSync(file, `#!/bin/sh\n${script}`);
  chmodSync(file, 0o755);
}

/** How each loads the completion. */
const completions: Readonly<Record<TypedShell, string>> = {
  bash: 'eval "$(listctl completion bash)"',
  zsh: 'autoload -U compinit; compinit -D; source <(listctl completion zsh)',
  fish: 'listctl completion fish | source',
};

/** A shell in which `listctl` completes, and otherwise prints its words. */
export interface CompletingShell extends AsyncDisposable {
  /**
   * Types a line, the tabs in it included, and enters it.
   *
   * @returns the words with which listctl was started
   */
  enter(keys: string): Promise<readonly string[]>;
  /** Types keys and gives what the terminal shows below them, once that holds the sign. The keys stay: the last thing to do. */
  show(keys: string, sign: string): Promise<string>;
}

/** Starts a shell in which of listctl the completion alone is real: its script, and what that asks for. */
export async function completingShell(shell: TypedShell, home: string): Promise<CompletingShell> {
  const session = await openShell(shell, home, { columns: 200 });
  const { terminal } = session;
  const print = 'console.log("[listctl:" + JSON.stringify(process.argv.slice(1)) + ":listctl]")';
  const real = `case "$#$1" in 2completion|*__complete) exec '${testNode}' '${listctlFile}' "$@" ;; esac`;
  writeProgram(join(home, 'bin/listctl'), `${real}\nexec '${testNode}' -e '${print}' -- "$@"\n`);
  await session.run(completions[shell]);
  return {
    enter: async (keys) => {
      const [, words = ''] = /\[listctl:(.*?):listctl\]/.exec(await session.run(keys)) ?? [];
      return JSON.parse(words);
    },
    show: async (keys, sign) => {
      const { row } = terminal.cursor;
      const shown = () => terminal.lines(row + 1).join('\n');
      terminal.type(keys);
      await terminal.comesTo(sign, () => shown().includes(sign));
      return shown();
    },
    [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose](),
  };
}

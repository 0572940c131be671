/** A shell in a pseudo-terminal, into which a test types as a person does. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { listctlFile, testNode } from './listctl.ts';

export const typedShells = ['bash', 'zsh', 'fish'] as const;
export type TypedShell = (typeof typedShells)[number];

/** Whether the shell is installed, and `script`, which makes the terminal. */
export function isInstalled(program: string): boolean {
  return [program, 'script'].every((each) => spawnSync(each, ['--version']).status === 0);
}

/** How each is started with nothing of the user's own, completes listctl, and says that it is ready. */
const starts: Readonly<Record<TypedShell, (home: string) => { readonly line: string; readonly setUp: string }>> = {
  bash: () => ({ line: 'bash --norc --noprofile -i', setUp: "source <(listctl completion bash); PS1='rea''dy> '" }),
  zsh: () => ({
    line: 'zsh -f -i',
    setUp: "autoload -U compinit; compinit -D; source <(listctl completion zsh); unsetopt prompt_sp; PS1='rea''dy> '",
  }),
  fish: () => ({
    line: 'fish --no-config -i',
    setUp: "listctl completion fish | source; function fish_prompt; echo 'rea''dy> '; end",
  }),
};

/** Types into a new shell; gone at the end of the block that holds it with `await using`. */
export interface ShellSession extends AsyncDisposable {
  /**
   * Types a line, the tabs in it included, and enters it.
   *
   * @returns the words with which listctl was started
   */
  enter(keys: string): Promise<readonly string[]>;
  /** Types keys and gives what the terminal shows of them, until it holds still; then takes them back. */
  show(keys: string): Promise<string>;
}

/**
 * Starts a shell in which `listctl` completes as it does, and otherwise prints its words.
 *
 * @param home a folder of its own, in which it stands
 */
export async function typedShell(
  shell: TypedShell,
  home: string,
  more: Record<string, string> = {},
): Promise<ShellSession> {
  const { line, setUp } = starts[shell](home);
  const running = execa('script', ['-qec', line, '/dev/null'], {
    cwd: home,
    extendEnv: false,
    env: {
      HOME: home,
      PATH: `${programsIn(home)}:${env['PATH']}`,
      TERM: 'xterm',
      COLUMNS: '200',
      LANG: 'C.UTF-8',
      ...more,
    },
    stdin: 'pipe',
    reject: false,
    buffer: false,
  });
  let screen = '';
  running.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString();
  });
  const type = (keys: string) => running.stdin.write(keys);
  const until = async (sign: RegExp): Promise<RegExpExecArray> => {
    for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 20) {
      const found = sign.exec(screen);
      if (found !== null) return found;
      await sleep(20);
    }
    throw new Error(`${shell} did not show ${sign}, but: ${JSON.stringify(screen)}`);
  };
  const ready = async () => {
    await until(/ready> [^\n]*$/);
    await still(() => screen, 100);
  };
  await still(() => screen, 400, 1);
  type(`stty cols 200; ${setUp}\r`);
  await ready();
  return {
    enter: async (keys) => {
      screen = '';
      // At once: a shell takes no key before it is done with the last one.
      type(`${keys}\r`);
      const [, words = ''] = await until(/\[listctl:(.*?):listctl\]/);
      await ready();
      return JSON.parse(words);
    },
    show: async (keys) => {
      screen = '';
      type(keys);
      await still(() => screen, 500);
      const shown = screen;
      type('\u0003');
      await ready();
      return shown;
    },
    [Symbol.asyncDispose]: async () => {
      running.kill('SIGKILL');
      await running;
    },
  };
}

/** Until something has come, and then nothing new for a while. */
async function still(look: () => string, forMs: number, atLeast = 0): Promise<void> {
  let last = look();
  for (let quietMs = 0, waitedMs = 0; (quietMs < forMs || last.length < atLeast) && waitedMs < 15_000; waitedMs += 20) {
    await sleep(20);
    quietMs = look() === last ? quietMs + 20 : 0;
    last = look();
  }
}

/** listctl, of which only the completion is real: its script, and what that asks for. */
function programsIn(home: string): string {
  const folder = join(home, 'bin');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'listctl');
  const print = 'console.log("[listctl:" + JSON.stringify(process.argv.slice(1)) + ":listctl]")';
  const real = `case "$#$1" in 2completion|*__complete) exec '${testNode}' '${listctlFile}' "$@" ;; esac`;
  writeFileSync(program, `#!/bin/sh\n${real}\nexec '${testNode}' -e '${print}' -- "$@"\n`);
  chmodSync(program, 0o755);
  return folder;
}

/** The console blocks of a Markdown page: the commands after `$ `, and their output. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { execa } from 'execa';
import { listctlFile, testNode } from '../support/listctl.ts';

export interface Step {
  /** As it was typed; a line that begins with `> ` continues it. */
  readonly command: string;
  /** All that it prints, on stdout and stderr, without the last newline. */
  readonly output: string;
}

/** A fenced `console` block, with the heading above it. */
export interface ConsoleBlock {
  readonly heading: string;
  readonly steps: readonly Step[];
}

export function consoleBlocks(markdown: string): readonly ConsoleBlock[] {
  const blocks: ConsoleBlock[] = [];
  let heading = '';
  for (const part of markdown.matchAll(/^#+ (?<title>.*)$|^```console\n(?<body>[\s\S]*?)^```$/gm)) {
    const { title, body } = part.groups ?? {};
    if (title !== undefined) heading = title;
    if (body !== undefined) blocks.push({ heading, steps: stepsOf(body) });
  }
  return blocks;
}

function stepsOf(body: string): readonly Step[] {
  return body
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const lines = text.trimEnd().split('\n');
      const typedCount = lines.findIndex((line, index) => index > 0 && !line.startsWith('> '));
      const typed = typedCount === -1 ? lines : lines.slice(0, typedCount);
      return {
        command: typed.map((line) => line.replace(/^> /, '')).join('\n'),
        output: lines.slice(typed.length).join('\n'),
      };
    });
}

/** The environment of a user who has just installed listctl: the program on the PATH, and an empty home. */
export function newcomer(home: string): Record<string, string> {
  const programs = join(home, 'bin');
  mkdirSync(programs);
  const program = join(programs, 'listctl');
  writeFileSync(program, `#!/bin/sh\nexec '${testNode}' '${listctlFile}' "$@"\n`);
  chmodSync(program, 0o755);
  return { HOME: home, PATH: `${programs}:${env['PATH']}` };
}

/** Types the commands into one shell, in a directory, and gives what each printed. */
export async function typeAll(
  commands: readonly string[],
  directory: string,
  environment: Record<string, string>,
): Promise<string[]> {
  const mark = '-- end of command --';
  // A group, not a subshell: what one command exports is there for the next; `$?` too.
  const script = commands
    .map((command) => `{ ${command}\n} 2>&1; status=$?; echo '${mark}'; (exit $status)\n`)
    .join('');
  const { stdout } = await execa('sh', [], {
    input: script,
    cwd: directory,
    env: environment,
    extendEnv: false,
    reject: false,
  });
  return (
    stdout
      .split(`${mark}`)
      .slice(0, commands.length)
      // If sh is bash it reports a job that was killed; dash does not.
      .map((text) => text.replace(/^\S*sh: line \d+: +\d+ Killed.*\n?/gm, ''))
      .map((text) => text.replace(/^\n/, '').replace(/\n$/, ''))
  );
}

/** `listctl items edit`, with an editor that is a script. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { main } from '../../src/main.ts';
import { environmentFor } from './scripted-service.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { testHost } from './test-host.ts';

/** Runs one edit with a script for an editor: its n-th start runs the n-th line. */
export async function editWith(
  to: { readonly url: string } | { readonly env: Readonly<Record<string, string>> },
  starts: readonly string[],
  answers: readonly (readonly [question: string | RegExp, typed: string])[] = [],
  words: readonly string[] = [],
  ids: string | readonly string[] = '17',
) {
  await using directory = await temporaryDirectory();
  const at = (name: string) => join(directory.path, name);
  const cases = starts.map((line, index) => `${index + 1}) ${line} ;;`).join('\n');
  const count = `n=$(($(cat '${at('count')}' 2>/dev/null || echo 0) + 1)); echo $n > '${at('count')}'`;
  writeFileSync(
    at('editor'),
    `#!/bin/sh\n${count}\ncp "$1" '${at('seen-')}'$n\nprintf %s "$1" > '${at('file')}'\ncase $n in\n${cases}\nesac\n`,
  );
  chmodSync(at('editor'), 0o700);
  const env = {
    ...('env' in to ? to.env : environmentFor(to)),
    EDITOR: at('editor'),
    REPORT: at('report'),
    NO_COLOR: '1',
  };
  const host = testHost({ env, terminal: 120 });

  const running = main(['items', 'edit', ...[ids].flat(), ...words], { ...host, env: { ...host.env, ...env } });
  for (const [question, typed] of answers) await host.answer(question, typed);
  const exitCode = await running;

  const seen = readdirSync(directory.path).filter((name) => name.startsWith('seen-'));
  const { stdout, stderr } = host.printed;
  // Where the editor found it, whatever is said of it.
  const file = existsSync(at('file')) ? readFileSync(at('file'), 'utf8') : '';
  const kept = file !== '' && existsSync(dirname(file)) ? [takeKept(file)] : [];
  return {
    ...{ exitCode, stdout, stderr, kept },
    /** What the editor found, each time that it was started. */
    seen: seen.toSorted().map((name) => readFileSync(at(name), 'utf8')),
    report: existsSync(at('report')) ? readFileSync(at('report'), 'utf8') : '',
  };
}

/** Looks at a text that was kept, and removes it. */
export function takeKept(file: string) {
  const kept = { file, text: readFileSync(file, 'utf8'), mode: statSync(file).mode & 0o777 };
  rmSync(dirname(file), { recursive: true });
  return kept;
}

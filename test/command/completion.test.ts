import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBulkFlags } from '../../src/bulk/flags.ts';
import { newRunId, runPath } from '../../src/bulk/runs.ts';
import { type GlobalFlag, globalFlags } from '../../src/cli/flags.ts';
import type { ProgramNode } from '../../src/commands/help/help.ts';
import { keyOf } from '../../src/settings/setting.ts';
import { allCommands } from '../support/command-nodes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const program: ProgramNode = JSON.parse((await run(['help', '--json'])).stdout);
const commands = allCommands(program);

/** What is offered in the place of a word, behind others. */
async function offered(typed: string, word: string, env: Record<string, string> = {}): Promise<readonly string[]> {
  const words = typed.split(' ').filter((each) => each !== '');
  const { exitCode, stdout, stderr } = await run(['__complete', `current=${word}`, ...words], { env });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0] ?? '');
}

describe('commands and flags', () => {
  test.each(commands.filter((node) => node.commands.length > 0))(
    'behind "$path" every command is offered',
    async (node) => {
      expect(await offered(node.path, '')).toEqual(node.commands.map(({ path }) => path.split(' ').at(-1)));
    },
  );

  test.each(commands)('after "$path" offers its flags and the global ones', async ({ path, options }) => {
    const all = [...program.options, ...options].map(({ long }) => long);

    expect([...(await offered(path, '-'))].sort()).toEqual([...new Set(all)].sort());
  });

  test.each([
    { typed: 'items get -p', word: 'x', is: [], because: 'a name that nobody has' },
    { typed: 'item cre', word: '', is: [], because: 'a word that is no command' },
    { typed: '-s items items', word: 'cr', is: ['create'], because: 'a value that looks like a command' },
    { typed: 'items get -vs home', word: '--colu', is: ['--columns'], because: 'several flags in one word' },
    { typed: 'items get -vp', word: '', is: [], because: 'a value behind several flags' },
    { typed: 'items get --output=json', word: '--colu', is: ['--columns'], because: 'a value that was given' },
    {
      typed: 'runs resolve last --applied',
      word: '--not',
      is: ['--not-applied'],
      because: 'a value that may be left out',
    },
    { typed: 'apply', word: '--init=', is: ['--init=again'], because: 'a value behind = alone' },
    { typed: 'items get --', word: '--', is: [], because: 'behind --' },
    { typed: 'items list', word: '--non', is: ['--non-indexed'], because: 'flags of its own' },
    { typed: '', word: '__', is: [], because: 'what is hidden' },
    { typed: 'items get', word: '--quiet=', is: [], because: 'a switch has no value' },
    { typed: 'items get -o', word: 'cu', is: ['curl'], because: 'where there are dry runs' },
    { typed: 'runs list -o', word: 'cu', is: [], because: 'where there are none' },
    { typed: 'help runs', word: 're', is: ['resolve', 'remove'], because: 'behind help' },
    { typed: 'help', word: 'ap', is: ['apply', 'api'], because: 'topics and commands, each once' },
    { typed: 'api', word: 'P', is: ['POST', 'PUT', 'PATCH'], because: 'methods' },
  ])('"$typed" and then "$word": $because', async ({ typed, word, is }) => {
    expect(await offered(typed, word)).toEqual(is);
  });
});

describe('values', () => {
  test('the choices of a flag are what it accepts', async () => {
    for (const { choices = [], parse = () => {} } of Object.values<GlobalFlag>(globalFlags)) {
      for (const word of choices) expect(() => parse(word)).not.toThrow();
      if (choices.length > 0) expect(() => parse('nothing')).toThrow(choices.join(', '));
    }
    for (const flag of ['--input-format', '--empty', '--rows', '--in-doubt']) {
      const words = await offered(`items create ${flag}`, '');
      const read = (word: string) => parseBulkFlags({ [keyOf(flag)]: word });
      for (const word of words) expect(() => read(word)).not.toThrow();
      expect(() => read('nothing')).toThrow(words.join(', '));
    }
  });

  const fileFlags = commands.flatMap(({ path, options }) =>
    options.filter(({ value }) => value === 'file' || value === 'dir').map(({ long }) => ({ path, long })),
  );

  test.each(fileFlags)('$path $long wants the name of a file', async ({ path, long }) => {
    expect(await offered(`${path} ${long}`, 'x')).toEqual([':files']);
    expect(await offered(path, `${long}=x`)).toEqual([':files=']);
  });

  test('the value of a field is a file behind @= alone', async () => {
    expect(await offered('items create -f', 'Body@=x')).toEqual([':files=']);
    expect(await offered('items create -f', 'Meta:@=x')).toEqual([':files=']);
    expect(await offered('items create -f', 'Body=@=x')).toEqual([]);
  });

  test('runs go by the names of their journals, newest first', async () => {
    await using directory = await temporaryDirectory();
    const runs = join(directory.path, 'runs');
    mkdirSync(runs);
    const [old, young] = [newRunId(1e12, () => 0.5), newRunId(2e12, () => 0.5)];
    for (const id of [old, young]) writeFileSync(runPath(runs, id, 'a'.repeat(64)), '');
    writeFileSync(join(runs, 'x.lock'), '');

    const env = { LISTCTL_STATE_DIR: directory.path };
    expect(await offered('runs show', '', env)).toEqual(['last', young, old]);
    expect(await offered('runs remove last', old.slice(0, 8), env)).toEqual([old]);
    expect(await offered('runs show', 'ci/', env)).toEqual([':files']);
  });

  test.each(['state show', 'state forget', 'state move'])('after "%s m.yaml" the keys of its state', async (verb) => {
    await using directory = await temporaryDirectory();
    const manifest = join(directory.path, 'm.yaml');
    writeFileSync(manifest, 'key: Title\nitems: [{Title: one}, {Title: two}, {Title: three}]\n');
    const env = { HOME: directory.path, LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks', LISTCTL_BASE_URL: 'local:' };
    for (const more of [[], ['--state', `${manifest}.other`]]) {
      expect(await run(['apply', manifest, '--init', '--yes', ...more], { env })).toMatchObject({ exitCode: 0 });
    }
    await run(['state', 'forget', manifest, 'two', '--state', `${manifest}.other`], { env });

    expect(await offered(`${verb} ${manifest}`, 't', env)).toEqual(['two', 'three']);
    expect(await offered(`${verb} ${manifest} --state=${manifest}.other`, 't', env)).toEqual(['three']);
    expect(await offered(`${verb} --state ${manifest}.other ${manifest}`, 't', env)).toEqual(['three']);
    expect(await offered(`${verb} ${manifest}.other`, 't', env)).toEqual([]);
  });

  test('a profile whose name would be more than a word to a shell is not offered', async () => {
    await using directory = await temporaryDirectory();
    const names = ['a$(id)', 'a;b', 'a b', 'a\u001b[2J', 'a\nb', 'a`b`', "a'b", 'a\u202eb', 'a@b'];
    keepConfig(
      directory.path,
      JSON.stringify({ version: 1, profiles: Object.fromEntries(names.map((name) => [name, {}])) }),
    );

    expect(await offered('items get -p', 'a', { LISTCTL_CONFIG_DIR: directory.path })).toEqual(['a@b']);
  });

  test('what a profile says of itself shows no control characters', async () => {
    await using directory = await temporaryDirectory();
    keepConfig(directory.path, JSON.stringify({ version: 1, profiles: { a: { baseUrl: 'x\u001b]0;y\u0007\tz\nb' } } }));

    const { stdout } = await run(['__complete', 'current=', '-p'], { env: { LISTCTL_CONFIG_DIR: directory.path } });

    expect(stdout).toBe('a\tx\\x1b]0;y\\x07\\tz⏎b\n');
  });

  test('ignores invalid settings', async () => {
    await using directory = await temporaryDirectory();
    keepConfig(directory.path, '{');

    expect(await offered('items get -p', '', { LISTCTL_CONFIG_DIR: directory.path })).toEqual([]);
  });
});

test('exits with 0 for any input, and every line is a word to complete or requests a file', async () => {
  const known = commands.flatMap(({ path, options }) => [
    ...path.split(' '),
    ...options.map(({ long }) => long),
    '-',
    '--',
    '-f',
    '-p',
  ]);
  const word = fc.oneof(fc.constantFrom(...known), fc.string({ maxLength: 6, unit: 'binary' }));
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 5 }), word, async (words, current) => {
      const { exitCode, stdout, stderr } = await run(['__complete', `current=${current}`, ...words]);

      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      for (const line of stdout.split('\n').slice(0, -1)) {
        expect(line.split('\t').filter((part) => /\p{Cc}/u.test(part))).toEqual([]);
        expect(line.startsWith(current) || /^:files=?$/.test(line)).toBe(true);
      }
    }),
    { numRuns: 40 },
  );
});

describe('listctl completion', () => {
  test('offers the shells for which it has a script', async () => {
    for (const shell of await offered('completion', '')) {
      const { exitCode, stdout } = await run(['completion', shell]);

      expect(exitCode).toBe(0);
      expect(stdout).toContain('listctl __complete');
    }
  });

  test('lists the supported shells if the shell is unknown', async () => {
    const { exitCode, stdout, stderr } = await run(['completion', 'csh']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toBe('listctl: unknown shell "csh"\n  use one of: bash, zsh, fish, powershell\n');
  });
});

function keepConfig(directory: string, text: string): void {
  writeFileSync(join(directory, 'config.json'), text, { mode: 0o600 });
}

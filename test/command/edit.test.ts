/** `listctl items edit`, with an editor that is a script. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Stopped } from '../../src/core/errors.ts';
import { editWith as edit, takeKept } from '../support/edit-with.ts';
import { environmentFor, type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { keptFor, settingsDirectory } from '../support/settings-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: { Title: 'Buy milk', Count: 2, Note: 'soon' } };
const read: ScriptedAnswer = { status: 200, body: milk, headers: { etag: '"1"' } };
const done: ScriptedAnswer = { status: 200, body: { id: '17', fields: { Title: 'Buy bread' } } };
const toBread = 'perl -pi -e \'s/Buy milk/Buy bread/\' "$1"';
const send = 'Send ';
const again = 'Open the editor again?';
const sendIt = [send, 'y\n'] as const;
const sendAgain = [/Send.*Send/s, 'y\n'] as const;
const reopenIt = [again, 'y\n'] as const;
const giveUp = [again, 'n\n'] as const;

describe('what is sent', () => {
  test('only what changed, null for what was removed, with If-Match; the item is printed', async () => {
    await using service = await scriptedService(read, done);

    const ended = await edit(
      service,
      [`${toBread}; perl -ni -e 'print unless /^Note/' "$1"; echo 'Who: me' >> "$1"`],
      [sendIt],
      ['-o', 'json'],
    );

    expect(ended).toMatchObject({
      exitCode: 0,
      stdout: '{\n  "id": "17",\n  "fields": {\n    "Title": "Buy bread"\n  }\n}\n',
    });
    expect(service.requests).toMatchObject([
      { method: 'GET' },
      {
        method: 'PATCH',
        path: '/v1.0/sites/home/lists/tasks/items/17',
        body: '{"fields":{"Title":"Buy bread","Note":null,"Who":"me"}}',
        headers: { 'if-match': '"1"' },
      },
    ]);
    expect(ended.kept).toEqual([]);
  });

  test('digits stay as they came, and what was not touched is not sent', async () => {
    const body =
      '{"id":"17","fields":{"n":1.10,"big":12345678901234567890,"__proto__":{"x":1e400},"t":"007","no":"no"}}';
    await using service = await scriptedService({ status: 200, body }, done);

    const ended = await edit(service, ['perl -pi -e \'s/1.10/1.20/\' "$1"'], [sendIt]);

    expect(ended.seen[0]).toContain('big: 12345678901234567890\n');
    expect(service.requests[1]?.body).toBe('{"fields":{"n":1.20}}');
    expect(ended.exitCode).toBe(0);
  });

  test.each([
    { etag: undefined, because: 'there is none' },
    { etag: 'W/"1"', because: 'a weak one matches nothing' },
  ])('no If-Match without a strong ETag: $because', async ({ etag }) => {
    await using service = await scriptedService({ ...read, headers: etag === undefined ? {} : { etag } }, done);

    const { exitCode } = await edit(service, [toBread], [sendIt]);

    expect(exitCode).toBe(0);
    expect(service.requests[1]?.headers).not.toHaveProperty('if-match');
  });

  test('prints the diff on stderr before the prompt, with --quiet too', async () => {
    await using service = await scriptedService(read, done);

    const { stderr, stdout } = await edit(service, [toBread], [sendIt], ['--quiet', '-o', 'none']);

    expect(stderr).toContain('~ item "17" of list "tasks" of site "home"\n    Title: Buy milk → Buy bread\n');
    expect(stderr.indexOf('Buy milk →')).toBeLessThan(stderr.indexOf('Send this change to'));
    expect(stdout).toBe('');
  });

  test('a text of the service can neither leave its comment nor steer the terminal', async () => {
    const hostile = { id: '17', fields: { 'a\nb: 1 #\u001b[31m': 'x\u202e\n# y' } };
    await using service = await scriptedService({ status: 200, body: hostile }, done);

    const ended = await edit(service, ['perl -pi -e \'s/# y/# z/\' "$1"'], [[send, 'n\n']]);

    expect(ended.exitCode).toBe(2);
    for (const text of ['\u001b[31m', '\u202e']) {
      expect(ended.seen[0]).not.toContain(text);
      expect(ended.stderr).not.toContain(text);
    }
    expect(service.requests).toHaveLength(1);
  });

  test('--dry-run prints the request, and sends and asks nothing', async () => {
    await using service = await scriptedService(read);

    const { exitCode, stdout, kept } = await edit(service, [toBread], [], ['--dry-run', '-o', 'json']);

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ method: 'PATCH', body: { fields: { Title: 'Buy bread' } } });
    expect([service.requests.length, kept]).toEqual([1, []]);
  });
});

describe('what changes nothing sends nothing', () => {
  test.each([
    { does: 'true', says: 'no changes', because: 'left as it is' },
    { does: 'echo "# more" >> "$1"', says: 'no changes', because: 'a comment' },
    { does: 'perl -pi -e \'s/^Count: 2/Count: 2.0/\' "$1"', says: 'no changes', because: 'the same number' },
    { does: 'echo "New:" >> "$1"', says: 'no changes', because: 'a field that is not there, cleared' },
    { does: ': > "$1"', says: 'the file is empty', because: 'emptied' },
    { does: 'perl -ni -e "print unless /^[^#]/" "$1"', says: 'the file is empty', because: 'only comments left' },
    { does: 'rm "$1"', says: 'the file is empty', because: 'the file removed' },
  ])('$because: exit code 0, said, and no file stays', async ({ does, says }) => {
    await using service = await scriptedService(read);

    const { exitCode, stdout, stderr, kept } = await edit(service, [does]);

    expect({ exitCode, stdout, kept }).toEqual({ exitCode: 0, stdout: '', kept: [] });
    expect(stderr).toContain(`${says}: item "17" is unchanged`);
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    { typed: 'n\n', exit: 2 },
    { typed: '\n', exit: 2 },
    { typed: '\u0003', exit: 130 },
    { typed: '\u0004', exit: 2 },
  ])('not confirmed ($typed): exit code $exit, and the text is kept and named', async ({ typed, exit }) => {
    await using service = await scriptedService(read);

    const { exitCode, stderr, kept } = await edit(service, [toBread], [[send, typed]]);

    expect(exitCode).toBe(exit);
    expect(service.requests).toHaveLength(1);
    expect(kept).toHaveLength(1);
    expect(stderr).toContain(`your text is saved in ${kept[0]?.file}`);
    expect(kept[0]?.text).toContain('Title: Buy bread');
  });

  test.each([
    { does: 'exit 3', says: 'failed with exit code 3', keeps: 0 },
    { does: `${toBread}; exit 1`, says: 'failed with exit code 1', keeps: 1 },
    { does: 'kill -TERM $$', says: 'was ended by SIGTERM', keeps: 0 },
  ])('an editor that ends badly ($does) is exit code 2; what it wrote stays', async ({ does, says, keeps }) => {
    await using service = await scriptedService(read);

    const { exitCode, stderr, kept } = await edit(service, [does]);

    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(new RegExp(`${says}\n(.*\n)?  nothing was sent`))]);
    expect(kept).toHaveLength(keeps);
    expect(service.requests).toHaveLength(1);
  });
});

describe('the editor', () => {
  test('gets a separate file with mode 0600, in a directory that is private to the user', async () => {
    await using service = await scriptedService(read);

    const { seen, report } = await edit(service, [
      'stat -c "%a" "$1" "$(dirname "$1")" > "$REPORT"; echo "$1" >> "$REPORT"',
    ]);

    expect(report).toMatch(/^600\n700\n\/.*\/item-17\.yaml\n$/);
    expect(seen[0]).toMatch(
      /^# The fields of item "17" of list "tasks"[^\n]*\n(# [^\n]*\n){2}\nTitle: Buy milk\nCount: 2\nNote: soon\n$/,
    );
  });

  test('VISUAL wins over EDITOR, and its words are words of a shell, quotes too', async () => {
    await using service = await scriptedService(read);
    await using directory = await temporaryDirectory();
    const script = join(directory.path, 'my editor');
    writeFileSync(script, `#!/bin/sh\necho "$1,$2,$#" > '${directory.path}/words'\n`, { mode: 0o700 });
    const env = { ...environmentFor(service), VISUAL: `"${script}" --wait 'a b'`, EDITOR: 'false' };

    const { exitCode } = await run(['items', 'edit', '17'], { env, terminal: 120 });

    expect(exitCode).toBe(0);
    expect(readFileSync(join(directory.path, 'words'), 'utf8')).toBe('--wait,a b,3\n');
  });

  test('an id is never run as a shell command, nor used as a path', async () => {
    await using service = await scriptedService({ status: 200, body: { ...milk, id: '$(touch x);../../a b' } });

    const { report, exitCode } = await edit(service, ['echo "$1" > "$REPORT"'], [], [], '$(touch x);../../a b');

    expect(exitCode).toBe(0);
    expect(report).toMatch(/\/item--touch-x-a-b\.yaml\n$/);
  });

  test('gets no token, and one that is not there is said to be so', async () => {
    await using service = await scriptedService(read);

    const { report } = await edit(service, ['env > "$REPORT"']);
    const env = { ...environmentFor(service), EDITOR: 'listctl-no-such-editor --wait' };
    const missing = await run(['items', 'edit', '17'], { env, terminal: 120 });

    expect(report).toContain('LISTCTL_SITE=home');
    expect(report).not.toContain('test-token');
    expect(missing.exitCode).toBe(2);
    expect(missing.stderr).toMatch(
      /the editor \(EDITOR: listctl-no-such-editor --wait\) could not be started.*\n.*set EDITOR to another editor/,
    );
  });

  test.each([
    { world: {} },
    { world: { terminal: 80 }, words: ['--no-input'] },
    { world: { terminal: 80 }, more: { CI: 'yes' } },
  ])('P22: is not opened if prompting is impossible: $world $words $more', async ({ world, words = [], more = {} }) => {
    await using service = await scriptedService(read);
    const env = { ...environmentFor(service), EDITOR: 'false', ...more };

    const { exitCode, stdout, stderr } = await run(['items', 'edit', '17', ...words], { ...world, env });

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('listctl items update');
    expect(service.requests).toEqual([]);
  });

  test('is not opened for an item that is not there, nor for a query that can not be', async () => {
    await using service = await scriptedService({ status: 404, body: {} });

    const missing = await edit(service, ['true']);
    const query = await edit(service, ['true'], [], ['-q', '[']);

    expect([missing.exitCode, query.exitCode]).toEqual([4, 2]);
    expect([missing.seen, query.seen]).toEqual([[], []]);
    expect(service.requests).toHaveLength(1);
  });
});

describe('a text that is refused is opened again', () => {
  test('with the error above it and the line that it then has, and sent once it is good', async () => {
    await using service = await scriptedService(read, done);
    const slip = 'perl -pi -e "s/^Note: soon/Note: [soon/" "$1"';
    const fix = 'perl -pi -e "s/^Note: \\[soon/Note: later/" "$1"';

    const { exitCode, seen, kept } = await edit(service, [slip, fix], [reopenIt, sendIt]);

    expect({ exitCode, kept }).toEqual({ exitCode: 0, kept: [] });
    const [, line] = /^# Not sent: line (\d+): /.exec(seen[1] ?? '') ?? [];
    // The unclosed list is found only after its line.
    expect(seen[1]?.split('\n').slice(0, Number(line)).join('\n')).toContain('Note: [soon');
    expect(seen[1]?.match(/^# The fields of/gm)).toHaveLength(1);
    expect(service.requests[1]?.body).toBe('{"fields":{"Note":"later"}}');
  });

  test.each([
    { does: 'echo "- a" > "$1"', says: 'names and values' },
    { does: 'echo "Title: again" >> "$1"', says: 'duplicate key "Title"' },
    { does: 'printf \'Title: \\344\\n\' > "$1"', says: 'not UTF-8', isAsked: false },
    { does: 'echo "a: .inf" >> "$1"', says: 'not a JSON value|not a JSON number' },
  ])('$says: exit code 2 unless it is fixed, and the text is kept', async ({ does, says, isAsked = true }) => {
    await using service = await scriptedService(read);

    const { exitCode, stderr, kept } = await edit(service, [does], isAsked ? [giveUp] : []);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(new RegExp(says));
    expect(stderr).toContain(`your text is saved in ${kept[0]?.file}`);
    expect(service.requests).toHaveLength(1);
  });

  test('the service refuses: its reason is a comment, one line, and the next text is sent', async () => {
    await using service = await scriptedService(read, { status: 400, body: { error: 'Title\nis # too bready' } }, done);

    const { exitCode, seen } = await edit(
      service,
      [toBread, 'perl -pi -e \'s/Buy bread/Buy rolls/\' "$1"'],
      [sendIt, reopenIt, sendAgain],
    );

    expect(exitCode).toBe(0);
    expect(seen[1]).toMatch(/^# Not sent: .*Title⏎is # too bready.*\n# The fields of/);
    expect(service.requests[2]?.body).toBe('{"fields":{"Title":"Buy rolls"}}');
  });

  test('is not sent again if left unchanged: the first refusal is reported, and the text is saved', async () => {
    await using service = await scriptedService(read, { status: 422, body: { error: 'no bread' } });

    const { exitCode, stderr, kept } = await edit(service, [toBread, 'chmod 644 "$1"'], [sendIt, reopenIt]);

    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`your text is saved in ${kept[0]?.file}`)]);
    expect(kept[0]?.mode).toBe(0o600);
    expect(service.requests).toHaveLength(2);
  });

  test('a concurrent change (412): the edit is applied to the current item, and the other changes are shown', async () => {
    const now = { id: '17', fields: { Title: 'Buy beer', Count: 3, Note: 'soon' } };
    await using service = await scriptedService(
      read,
      { status: 412, body: { error: 'changed' } },
      { status: 200, body: now, headers: { etag: '"2"' } },
      done,
    );

    const { exitCode, seen, stderr } = await edit(service, [toBread, 'true'], [sendIt, reopenIt, sendAgain]);

    expect(exitCode).toBe(0);
    expect(seen[1]).toContain('\nTitle: Buy bread\nCount: 3\nNote: soon\n');
    expect(seen[1]).toContain('# Changed elsewhere, and kept: Count\n');
    // Quitting would send it.
    expect(seen[0]).toContain('# To cancel, empty the file or quit without changes.\n');
    expect(seen[1]).toContain('# To cancel, empty the file.\n');
    expect(seen[1]).toContain('# Changed both by you and elsewhere: Title, elsewhere Buy beer\n');
    expect(stderr).toContain('Title: Buy beer → Buy bread');
    expect(service.requests[3]).toMatchObject({
      method: 'PATCH',
      body: '{"fields":{"Title":"Buy bread"}}',
      headers: { 'if-match': '"2"' },
    });
  });

  test('a conflict that is given up is exit code 5, and the text is kept', async () => {
    await using service = await scriptedService(read, { status: 412, body: { error: 'changed' } });

    const { exitCode, stderr, kept } = await edit(service, [toBread], [sendIt, giveUp]);

    expect([exitCode, stderr]).toEqual([5, expect.stringContaining(`your text is saved in ${kept[0]?.file}`)]);
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    { answer: { status: 401 }, exit: 3 },
    { answer: { status: 404 }, exit: 4 },
    { answer: { status: 429 }, exit: 6 },
    { answer: { status: 500 }, exit: 8 },
  ])('$answer.status: another text would not help; exit code $exit, and the text is kept', async ({ answer, exit }) => {
    await using service = await scriptedService({ ...read, headers: {} }, answer);

    const { exitCode, stderr, kept } = await edit(service, [toBread], [sendIt], ['--retries', '0']);

    expect(exitCode).toBe(exit);
    expect(stderr).not.toContain(again);
    expect(stderr).toContain(`your text is saved in ${kept[0]?.file}`);
  });
});

test.each([
  { signal: 'SIGINT', exit: 130 },
  { signal: 'SIGTERM', exit: 143 },
] as const)('$signal while the editor is open: nothing is sent, and the text is kept', async ({ signal, exit }) => {
  await using service = await scriptedService(read);
  await using directory = await temporaryDirectory();
  const script = join(directory.path, 'editor');
  const named = join(directory.path, 'named');
  // It goes on for a moment, as an editor does that takes Ctrl-C for something else.
  writeFileSync(script, `#!/bin/sh\n${toBread}\nprintf %s "$1" > '${named}'\nsleep 0.3\n`, { mode: 0o700 });
  const stop = new AbortController();

  const env = { ...environmentFor(service), EDITOR: script };
  const running = run(['items', 'edit', '17'], { env, terminal: 120, signal: stop.signal });
  while (!existsSync(named) || readFileSync(named, 'utf8') === '')
    await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort(new Stopped(signal));
  const { exitCode, stderr } = await running;

  const kept = takeKept(readFileSync(named, 'utf8'));
  expect(exitCode).toBe(exit);
  expect(stderr).toBe(`listctl: your text is saved in ${kept.file}\n`);
  expect(kept.text).toContain('Title: Buy bread');
  expect(service.requests).toHaveLength(1);
});

test('prompts through a protected profile like other commands; after a no it saves the text', async () => {
  await using service = await scriptedService(read);
  await using directory = await settingsDirectory(keptFor(service, { protected: true }));

  const { exitCode, stderr, kept } = await edit(directory, [toBread], [['Type prod', 'y\n']]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('not confirmed');
  expect(stderr).toContain(`your text is saved in ${kept[0]?.file}`);
  expect(service.requests).toHaveLength(1);
});

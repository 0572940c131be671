/** `listctl items edit` of several items. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { editWith } from '../support/edit-with.ts';
import { answeringService, type ScriptedAnswer, type SeenRequest } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const titles = new Map([
  ['17', 'Buy milk'],
  ['18', 'Buy bread'],
  ['19', 'Sing'],
]);
const ids = [...titles.keys()];
const sendThem = ['Send ', 'y\n'] as const;
const reopenIt = ['Open the editor again?', 'y\n'] as const;
const sell = 'perl -pi -e \'s/Title: Buy/Title: Sell/\' "$1"';

describe('one text for several items', () => {
  test('holds their ids and fields; what changed is sent with the ETag of each, and printed in their order', async () => {
    await using service = await items();

    const ended = await editWith(service, [sell], [sendThem], ['-o', 'jsonl'], ids);

    expect(ended.seen[0]).toMatch(
      /^# The fields of 3 items of list "tasks"[^\n]*\n(# [^\n]*\n){3}\n- id: "17"\n {2}fields:\n {4}Title: Buy milk\n/,
    );
    expect(ended).toMatchObject({
      exitCode: 0,
      kept: [],
      stdout: '{"id":"17","fields":{"Title":"Sell milk"}}\n{"id":"18","fields":{"Title":"Sell bread"}}\n',
    });
    expect(ended.stderr).toContain('Title: Buy bread → Sell bread');
    expect(ended.stderr).toContain('Send these 2 changes of 2 items to ');
    expect(updates(service)).toEqual([
      ['17', '"e17"', '{"fields":{"Title":"Sell milk"}}'],
      ['18', '"e18"', '{"fields":{"Title":"Sell bread"}}'],
    ]);
  });

  test('an item that is removed from it stays as it is', async () => {
    await using service = await items();
    const onlyLast = `printf -- '- id: "19"\\n  fields: {Title: Dance}\\n' > "$1"`;

    const { exitCode, stdout } = await editWith(service, [onlyLast], [sendThem], ['-o', 'json'], ids);

    expect([exitCode, JSON.parse(stdout)]).toEqual([0, [{ id: '19', fields: { Title: 'Dance' } }]]);
    expect(updates(service)).toEqual([['19', '"e19"', '{"fields":{"Title":"Dance"}}']]);
  });

  test.each(['true', ': > "$1"'])('%s: nothing is sent, and nothing is printed', async (does) => {
    await using service = await items();

    const { exitCode, stdout, stderr, kept } = await editWith(service, [does], [], ['-o', 'json'], ids);

    expect({ exitCode, stdout, kept }).toEqual({ exitCode: 0, stdout: '', kept: [] });
    expect(stderr).toContain('all items are unchanged');
    expect(updates(service)).toEqual([]);
  });

  test.each([
    { does: 'perl -pi -e \'s/"18"/"21"/\' "$1"', says: 'line 10: item "21" is not being edited' },
    { does: 'perl -pi -e \'s/"18"/"17"/\' "$1"', says: 'line 10: item "17" is here twice' },
    { does: 'perl -pi -e \'s/^  fields:/  field:/\' "$1"', says: 'line 7: expected an item with "id" and "fields"' },
    { does: 'echo "  Count: 1" >> "$1"', says: '"Count" must be one of the "fields"' },
    { does: 'echo "Title: x" > "$1"', says: 'expected a list of items' },
  ])('a text with another form is opened again, with the line: $says', async ({ does, says }) => {
    await using service = await items();
    const mend = `printf -- '- id: "17"\\n  fields: {Title: Mended}\\n' > "$1"`;

    const { exitCode, seen } = await editWith(service, [does, mend], [reopenIt, sendThem], [], ids);

    expect(seen[1]).toContain(`# Not sent: `);
    expect(seen[1]).toContain(says);
    expect(exitCode).toBe(0);
    expect(updates(service)).toHaveLength(1);
  });

  test('of several that fail, each is reported, the others are sent, and the text is kept', async () => {
    await using service = await items((id) =>
      id === '17' ? { status: 412, body: { error: { message: 'changed meanwhile' } } } : undefined,
    );

    const { exitCode, stdout, stderr, kept } = await editWith(service, [sell], [sendThem], ['-o', 'id'], ids);

    expect([exitCode, stdout]).toEqual([9, '18\n']);
    expect(stderr).toContain('item "17"');
    expect(stderr).toContain('1 of 2 items could not be updated');
    expect(stderr).toContain(`your text is saved in ${kept[0]?.file}`);
    expect(kept[0]?.text).toContain('Sell milk');
  });

  test('a conflict of the only one that changed opens the editor again, with all items', async () => {
    let isFirst = true;
    await using service = await items(() => {
      if (!isFirst) return undefined;
      isFirst = false;
      return { status: 412, body: { error: { message: 'changed meanwhile' } } };
    });

    const change = 'perl -pi -e \'s/milk/tea/\' "$1"';
    const { exitCode, seen } = await editWith(
      service,
      [change, 'true'],
      [sendThem, reopenIt, [/Send.*Send/s, 'y\n']],
      [],
      ids,
    );

    expect(exitCode).toBe(0);
    expect(seen[1]).toMatch(/Below is the current item with your changes[\s\S]*Buy tea[\s\S]*Buy bread/);
    expect(updates(service)).toHaveLength(2);
  });

  test('not confirmed: exit code 2, and the text is kept', async () => {
    await using service = await items();

    const { exitCode, kept } = await editWith(service, [sell], [['Send ', 'n\n']], [], ids);

    expect([exitCode, kept.length, updates(service)]).toEqual([2, 1, []]);
  });

  test('--dry-run prints the requests and sends nothing', async () => {
    await using service = await items();

    const { exitCode, stdout } = await editWith(service, [sell], [], ['--dry-run', '-o', 'json'], ids);

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ method: 'PATCH' }, { method: 'PATCH' }]);
    expect(updates(service)).toEqual([]);
  });
});

describe('which items', () => {
  test('one that cannot be read is reported, and the editor is not opened', async () => {
    await using service = await items();

    const { exitCode, stderr, seen } = await editWith(service, ['true'], [], [], ['17', '20']);

    expect([exitCode, seen]).toEqual([9, []]);
    expect(stderr).toContain('item "20"');
    expect(stderr).toContain('1 of 2 items could not be read');
  });

  test.each([
    { name: 'ids.txt', text: '17\n18\n17\n', words: [] },
    { name: 'items.csv', text: 'Nr,Title\n17,x\n18,y\n', words: ['--id-column', 'Nr'] },
    { name: 'items.jsonl', text: '{"id":"17","fields":{"Title":"x"}}\n{"id":"18","fields":{}}\n', words: [] },
  ])('--from $name takes ids alone, each once', async ({ name, text, words }) => {
    await using service = await items();
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, name), text);

    const from = ['--from', join(directory.path, name), ...words];
    const { exitCode } = await editWith(service, [sell], [sendThem], from, []);

    expect(exitCode).toBe(0);
    expect(updates(service).map(([id]) => id)).toEqual(['17', '18']);
  });

  test.each([
    { words: [], says: "missing required argument 'id'" },
    { words: ['17', '--from', 'x.txt'], says: 'pass item ids or --from, not both' },
    { words: ['--from', 'bad.csv'], text: 'id,Title\n,x\n', says: 'bad.csv' },
    { words: ['--from', 'many.txt'], text: ids.flatMap((_, part) => lines(part)).join(''), says: 'at most 1000' },
  ])('$words is a usage error that sends nothing: $says', async ({ words, text, says }) => {
    await using service = await items();
    await using directory = await temporaryDirectory();
    const placed = words.map((word) => (/\.(csv|txt)$/.test(word) ? join(directory.path, word) : word));
    if (text !== undefined) writeFileSync(placed.at(-1) ?? '', text);

    const { exitCode, stderr, seen } = await editWith(service, ['true'], [], placed, []);

    expect([exitCode, seen, service.requests]).toEqual([2, [], []]);
    expect(stderr).toContain(says);
  });
});

function lines(part: number): readonly string[] {
  return Array.from({ length: 400 }, (_, index) => `${part * 400 + index}\n`);
}

/** A service with three items, which answers an update as `refuse` says. */
function items(refuse: (id: string) => ScriptedAnswer | undefined = () => undefined) {
  return answeringService((request) => {
    const id = idOf(request);
    const title = titles.get(id);
    if (title === undefined) return { status: 404, body: {} };
    if (request.method === 'PATCH') return refuse(id) ?? { status: 200, body: { id, ...JSON.parse(request.body) } };
    return { status: 200, body: { id, fields: { Title: title } }, headers: { etag: `"e${id}"` } };
  });
}

function idOf({ path }: SeenRequest): string {
  return path.split('/').at(-1) ?? '';
}

/** The updates by id: If-Match and body. */
function updates({ requests }: { readonly requests: readonly SeenRequest[] }) {
  const sent = requests.filter(({ method }) => method === 'PATCH');
  return sent.map((request) => [idOf(request), request.headers['if-match'], request.body]).toSorted();
}

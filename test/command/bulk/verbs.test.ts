/** The four verbs over the rows of files of every format. */
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { create, jsonLines } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';

const created = [
  { Title: 't1', Note: 'a,b' },
  { Title: 't2', Note: 'é' },
];
const csv = 'Title,Note\nt1,"a,b"\nt2,é\n';

describe('a create', () => {
  test.for([
    { name: 'a.csv', content: csv },
    { name: 'a.CSV', content: csv },
    { name: 'a.csv', content: '\uFEFFTitle;Note\r\nt1;a,b\r\nt2;é' },
    { name: 'a.csv', content: 'sep=|\nTitle|Note\nt1|a,b\nt2|é\n' },
    { name: 'a.csv', content: 'Title\tNote\nt1\ta,b\nt2\té\n' },
    { name: 'a.tsv', content: 'Title\tNote\nt1\ta,b\nt2\té\n' },
    { name: 'a.jsonl', content: '{"Title":"t1","Note":"a,b"}\n\n{"Title":"t2","Note":"é"}' },
    {
      name: 'a.ndjson',
      content: '{"id":"7","fields":{"Title":"t1","Note":"a,b"}}\r\n{"fields":{"Title":"t2","Note":"é"}}\r\n',
    },
    { name: 'a.json', content: '[{"Title":"t1","Note":"a,b"},\n{"Title":"t2","Note":"é"}]' },
    { name: 'a.csv.gz', content: gzipSync(csv) },
    { name: 'a.jsonl.gz', content: gzipSync('{"Title":"t1","Note":"a,b"}\n{"Title":"t2","Note":"é"}\n') },
  ])('sends the rows of $name', async ({ name, content }, { service, world }) => {
    const { exitCode, stdout } = await world.run(create(world.file(name, content)));

    expect(exitCode).toBe(0);
    expect([...service.items.values()]).toEqual(expect.arrayContaining(created));
    expect(jsonLines(stdout).map(({ row, status }) => [row, status])).toEqual([
      [1, 'done'],
      [2, 'done'],
    ]);
  });

  test.for([
    { stdin: csv, more: ['--input-format', 'csv'] },
    { stdin: 'Title\tNote\nt1\ta,b\nt2\té\n', more: ['--input-format', 'tsv'] },
    { stdin: '{"Title":"t1","Note":"a,b"}\n{"Title":"t2","Note":"é"}', more: [] },
    { stdin: ' \n[{"Title":"t1","Note":"a,b"},{"Title":"t2","Note":"é"}]', more: [] },
    { stdin: gzipSync('{"Title":"t1","Note":"a,b"}\n{"Title":"t2","Note":"é"}'), more: [] },
  ])('takes rows from stdin, and leaves no copy of them: $more', async ({ stdin, more }, { service, world }) => {
    const { exitCode } = await world.run(create('-', ...more), { stdin });

    expect(exitCode).toBe(0);
    expect([...service.items.values()]).toEqual(expect.arrayContaining(created));
    expect(world.leftovers()).toEqual([]);
  });

  test('lays --field and --fields over every row; they win over it', async ({ service, world }) => {
    const fields = world.file('more.json', '{"Status":"Open","Count":1}');
    const file = world.file('a.csv', 'Title,Status\nt1,Done\nt2,\n');

    const { exitCode } = await world.run(create(file, '--fields', fields, '-f', 'Count:=1.10', '-f', 'Title=same'));

    expect(exitCode).toBe(0);
    expect(service.requests.map(({ body }) => JSON.parse(body).fields)).toEqual([
      { Title: 'same', Status: 'Open', Count: 1.1 },
      { Title: 'same', Status: 'Open', Count: 1.1 },
    ]);
    expect(service.requests[0]?.body).toContain('"Count":1.10');
  });

  test('sends a separate key for each row, and none with --idempotency none', async ({ service, world }) => {
    const file = world.file('a.csv', csv);

    await world.run(create(file));
    await world.run(create(file, '--idempotency', 'none', '--restart'));

    const keys = service.requests.map(({ key }) => key);
    expect(new Set(keys.slice(0, 2)).size).toBe(2);
    for (const key of keys.slice(0, 2)) expect(key).toMatch(/^"[a-z2-7]{26}"$/);
    expect(keys.slice(2)).toEqual([undefined, undefined]);
  });

  test('I07, N37: numbers keep their digits, from JSON and from typed cells', async ({ service, world }) => {
    await world.run(create(world.file('a.jsonl', '{"a":12345678901234567890,"b":1.0,"c":1e400,"d":-0}')));
    await world.run(create(world.file('a.csv', 'a:number,b\n12345678901234567890,1.0\n'), '--type', 'b=auto'));

    expect(service.requests.map(({ body }) => body)).toEqual([
      '{"fields":{"a":12345678901234567890,"b":1.0,"c":1e400,"d":-0}}',
      '{"fields":{"a":12345678901234567890,"b":1.0}}',
    ]);
  });

  test('--rename, --only, --type and --empty make fields of columns', async ({ service, world }) => {
    const file = world.file('a.csv', 'Name,Count,Done,Note,Secret\nt1,007,true,,x\n');
    const words = create(file, '--rename', 'Name=Title', '--only', 'Name,Count,Done,Note', '--type', '*=auto');

    await world.run([...words, '--empty', 'null']);
    await world.run([...words, '--empty', 'string', '--restart']);
    await world.run([...words, '--restart']);

    expect(service.requests.map(({ fields }) => fields)).toEqual([
      { Title: 't1', Count: '007', Done: true, Note: null },
      { Title: 't1', Count: '007', Done: true, Note: '' },
      { Title: 't1', Count: '007', Done: true },
    ]);
  });
});

describe('update, delete and get', () => {
  const formats = [
    { name: 'ids.txt', content: '1\n2\n' },
    { name: 'ids.ids.gz', content: gzipSync('1\r\n\r\n2') },
    { name: 'a.csv', content: 'id,Other\n1,x\n2,y\n' },
    { name: 'a.tsv', content: 'Other\tid\nx\t1\ny\t2\n' },
    { name: 'a.jsonl', content: '{"id":"1"}\n2\n' },
    { name: 'a.json', content: '["1",{"id":2}]' },
  ] as const;

  test.each(formats)('get reads the items that $name names, in its order', async ({ name, content }) => {
    const { world } = await listWithItems();

    const { exitCode, stdout } = await world.run(['items', 'get', '--from', world.file(name, content)]);

    expect(exitCode).toBe(0);
    expect(stdout).toBe('{"id":"1","fields":{"Title":"one"}}\n{"id":"2","fields":{"Title":"two"}}\n');
  });

  test.each(formats)('delete removes the items that $name names', async ({ name, content }) => {
    const { service, world } = await listWithItems();

    const { exitCode, stdout } = await world.run(['items', 'delete', '--from', world.file(name, content), '--yes']);

    expect(exitCode).toBe(0);
    expect([...service.items.keys()]).toEqual(['3']);
    expect(jsonLines(stdout)).toEqual([
      { row: 1, action: 'delete', status: 'done', id: '1' },
      { row: 2, action: 'delete', status: 'done', id: '2' },
    ]);
  });

  test('update sets what the columns say, and -f and --unset in every row', async () => {
    const { service, world } = await listWithItems();
    const file = world.file('a.csv', 'id,Title,Note\n1,uno,x\n2,,y\n');

    const { exitCode } = await world.run(['items', 'update', '--from', file, '-f', 'Status=Done', '--unset', 'Note']);

    expect(exitCode).toBe(0);
    expect(service.requests.map(({ method, id, fields }) => [method, id, fields])).toEqual([
      ['PATCH', '1', { Title: 'uno', Status: 'Done', Note: null }],
      ['PATCH', '2', { Status: 'Done', Note: null }],
    ]);
  });

  test('update takes plain ids where -f says what to set', async () => {
    const { service, world } = await listWithItems();
    const ids = world.file('ids.txt', '1\n2\n');

    const without = await world.run(['items', 'update', '--from', ids]);
    const withField = await world.run(['items', 'update', '--from', ids, '-f', 'Status=Done']);

    expect([without.exitCode, without.stdout, withField.exitCode]).toEqual([2, '', 0]);
    expect(service.requests.map(({ id, body }) => [id, body])).toEqual([
      ['1', '{"fields":{"Status":"Done"}}'],
      ['2', '{"fields":{"Status":"Done"}}'],
    ]);
  });

  test('--id-column names where the id is', async () => {
    const { service, world } = await listWithItems();
    const file = world.file('a.csv', 'Key,Title\n1,uno\n');

    const wrong = await world.run(['items', 'update', '--from', file]);
    const right = await world.run(['items', 'update', '--from', file, '--id-column', 'Key']);

    expect([wrong.exitCode, wrong.stdout, right.exitCode]).toEqual([2, '', 0]);
    expect(service.requests.map(({ id, fields }) => [id, fields])).toEqual([['1', { Title: 'uno' }]]);
  });

  test('delete --ignore-missing counts an item that is not there as deleted; without it the row has failed', async () => {
    const { world } = await listWithItems();
    const ids = world.file('ids.txt', '1\n99\n2\n');

    const strict = await world.run(['items', 'delete', '--from', ids, '--yes']);
    const lenient = await world.run(['items', 'delete', '--from', ids, '--yes', '--ignore-missing', '--restart']);

    expect(strict.exitCode).toBe(9);
    expect(jsonLines(strict.stdout)).toMatchObject([
      { row: 1, status: 'done' },
      { row: 2, status: 'failed', id: '99', error: { kind: 'not-found', exit: 4, status: 404 } },
      { row: 3, status: 'done' },
    ]);
    expect([lenient.exitCode, jsonLines(lenient.stdout).map(({ status }) => status)]).toEqual([
      0,
      ['done', 'done', 'done'],
    ]);
  });

  test('I01, I02: an id that is invalid in a path is an invalid row; any other is one segment', async () => {
    const { service, world } = await listWorld(({ id }) => ({ status: 200, body: { id, fields: {} } }));
    const bad = ['.', '..', 'a\u0007b', 'x'.repeat(1025)];
    const good = ['a/b', 'a?b', 'a#b', 'é', 'a b', '%2e%2e', 'a,b', '😀', 'a\\b', '-17'];

    for (const id of [...bad, '\\ud800']) {
      const file = world.file('a.jsonl', `{"id":"1"}\n{"id":"${id.replace('\u0007', '\\u0007')}"}\n`);
      const { exitCode, stdout, stderr } = await world.run(['items', 'get', '--from', file]);
      expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
      expect(stderr).toContain('line 2');
    }
    const { exitCode, stdout } = await world.run(['items', 'get', '--from', world.file('ids.txt', good.join('\n'))]);

    expect(exitCode).toBe(0);
    expect(jsonLines(stdout).map(({ id }) => id)).toEqual(good);
  });
});

test('ids and --from together, and neither, are wrong usage', async ({ service, world }) => {
  const ids = world.file('ids.txt', '1\n');

  for (const verb of ['get', 'update', 'delete']) {
    const both = await world.run(['items', verb, '17', '--from', ids]);
    const neither = await world.run(['items', verb]);
    expect([both.exitCode, neither.exitCode]).toEqual([2, 2]);
    expect(both.stderr).toContain('not both');
    expect(neither.stderr).toContain('--from');
  }
  const keyed = await world.run(create(world.file('a.csv', csv), '--idempotency-key', 'mine'));
  expect(keyed.exitCode).toBe(2);
  expect(service.requests).toEqual([]);
});

async function listWithItems() {
  const made = await listWorld();
  for (const [id, Title] of ['one', 'two', 'three'].entries()) made.service.items.set(`${id + 1}`, { Title });
  return made;
}

test.for([
  {
    name: 'items that are missing',
    words: ['delete', '--yes'],
    file: ['ids.txt', '7\n8\n'],
    hint: /count missing items as deleted with: listctl items delete .* --resume --ignore-missing$/m,
  },
  {
    name: 'rows that are invalid again',
    words: ['create', '--skip-invalid'],
    file: ['a.csv', 'Title,Count:number\na,1\nb,x\n'],
    hint: /fix these rows, then resume with: listctl items create .* --resume$/m,
  },
  {
    name: 'rows that were refused',
    words: ['update', '-f', 'a=b'],
    file: ['ids.txt', '7\n'],
    hint: /fix these rows, then resume with: listctl items update .* --resume$/m,
  },
] as const)(
  'the hint for $name is one that helps, and the command of it runs',
  async ({ words, file, hint }, { world }) => {
    const [verb, ...more] = words;
    const ended = await world.run(['items', verb, '--from', world.file(file[0], file[1]), '-o', 'none', ...more]);

    expect([ended.exitCode, ended.stderr]).toEqual([9, expect.stringMatching(hint)]);
    const command = /with: listctl (.*)$/m.exec(ended.stderr)?.[1] ?? '';
    expect((await world.run(command.split(' '))).exitCode).toBe(verb === 'delete' ? 0 : 9);
  },
);

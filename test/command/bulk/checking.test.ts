/** A file is read to its end and checked before the first row of it is sent. */
import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { main } from '../../../src/main.ts';
import { testHost } from '../../support/test-host.ts';
import { create, jsonLines, manyWorld, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import { listService } from './list-service.ts';

/** A file with a good row before and behind the bad one. */
interface BadFile {
  readonly what: string;
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly says: readonly string[];
}

const badRows: readonly BadFile[] = [
  { what: 'I10: a row with too few cells', name: 'a.csv', content: 'Title,Note\nt1,a\nt2\nt3,c\n', says: ['line 3'] },
  { what: 'I10: a ragged TSV', name: 'a.tsv', content: 'Title\tNote\nt1\ta\nt2\nt3\tc\n', says: ['line 3'] },
  { what: 'I10: a packed file', name: 'a.csv.gz', content: gzipSync('Title,Note\nt1,a\nt2\nt3,c\n'), says: ['line 3'] },
  {
    what: 'a cell that is no number',
    name: 'a.csv',
    content: 'Title,Count:number\nt1,1\nt2,one\nt3,3\n',
    says: ['line 3', 'column 2'],
  },
  {
    what: 'I11: a line that is no JSON',
    name: 'a.jsonl',
    content: '{"Title":"t1"}\n{"Title":}\n{"Title":"t3"}\n',
    says: ['line 2', 'column 10'],
  },
  {
    what: 'I11: an element that is no JSON',
    name: 'a.json',
    content: '[{"Title":"t1"},\n{"Title":x},\n{"Title":"t3"}]',
    says: ['line 2', 'column 10'],
  },
  {
    what: 'a row without a field',
    name: 'a.csv',
    content: 'Title,Note\nt1,x\n,\nt3,y\n',
    says: ['line 3', 'no field'],
  },
];

describe('an invalid row in the middle', () => {
  test.for(badRows)('$what: 2, named, and nothing is sent', async ({ name, content, says }, { service, world }) => {
    const { exitCode, stdout, stderr } = await world.run(create(world.file(name, content)));

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
    for (const text of says) expect(stderr).toContain(text);
    expect(stderr).toContain('--skip-invalid');
    expect(world.journals()).toEqual([]);
  });

  test.for(badRows)(
    '$what: --skip-invalid sends the others; it has failed in its place, 9',
    async ({ name, content, says }, { service, world }) => {
      const { exitCode, stdout, stderr } = await world.run(create(world.file(name, content), '--skip-invalid'));

      expect(exitCode).toBe(9);
      expect([...service.about()].sort()).toEqual(['t1', 't3']);
      const results = jsonLines(stdout);
      expect(results).toMatchObject([
        { row: 1, status: 'done' },
        { row: 2, status: 'failed', error: { kind: 'usage', exit: 2, outcome: 'not-sent' } },
        { row: 3, status: 'done' },
      ]);
      for (const text of says) expect(JSON.stringify(results[1]).replaceAll('\\"', '"')).toContain(text);
      expect(stderr).toContain('3 rows: 2 created, 1 failed');
      expect(world.records().filter(([letter]) => letter === 'X')).toEqual([['X', 2]]);
    },
  );

  test('--skip-invalid --resume skips the invalid row again; fixed, it is sent', async ({ service, world }) => {
    const words = create(world.file('a.csv', 'Title,Note\nt1,a\nt2\nt3,c\n'), '--skip-invalid');

    await world.run(words);
    const again = await world.run([...words, '--resume']);
    world.file('a.csv', 'Title,Note\nt1,a\nt2,b\nt3,c\n');
    const fixed = await world.run([...words, '--resume']);

    expect(again.exitCode).toBe(9);
    expect(jsonLines(again.stdout).map(({ row, status }) => [row, status])).toEqual([[2, 'failed']]);
    expect(fixed.exitCode).toBe(0);
    expect(jsonLines(fixed.stdout).map(({ row, status }) => [row, status])).toEqual([[2, 'done']]);
    expect([...service.about()].sort()).toEqual(['t1', 't2', 't3']);
  });
});

describe('what makes the whole file unusable', () => {
  test.for<BadFile>([
    { what: 'I10: an unterminated quote', name: 'a.csv', content: 'Title\nt1\n"t2\nt3\n', says: ['line 3'] },
    {
      what: 'I10: a name twice in the header',
      name: 'a.csv',
      content: 'Title,Note,Title\na,b,c\n',
      says: ['line 1', 'column 3', '"Title"'],
    },
    { what: 'I11: an array that never ends', name: 'a.json', content: '[{"Title":"t1"},', says: ['a.json'] },
    {
      what: 'I08: bytes that are no UTF-8',
      name: 'a.csv',
      content: Buffer.from('Title\nt1\nt\xe9\n', 'latin1'),
      says: ['--encoding'],
    },
    {
      what: 'a packed file that is cut',
      name: 'a.csv.gz',
      content: gzipSync(titles(1000)).subarray(0, 200),
      says: ['a.csv.gz'],
    },
    { what: 'a name that tells no format', name: 'a.dat', content: titles(2), says: ['--input-format'] },
  ])('$what: nothing is sent', async ({ name, content, says }, { service, world }) => {
    const { exitCode, stdout, stderr } = await world.run(create(world.file(name, content)));

    expect([2, 10]).toContain(exitCode);
    expect({ stdout, requests: service.requests }).toEqual({ stdout: '', requests: [] });
    for (const text of says) expect(stderr).toContain(text);
  });

  test('stdin requires --input-format if its first character names no format', async ({ service, world }) => {
    const { exitCode, stderr } = await world.run(create('-'), { stdin: titles(2) });

    expect([exitCode, service.requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('--input-format');
  });

  test('P22: stdin that is a terminal is not waited for', async ({ service, world }) => {
    const { exitCode, stderr } = await world.run(create('-', '--input-format', 'csv'), { terminal: 80 });

    expect([exitCode, service.requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('standard input is a terminal');
  });
});

test('I10: names the first 20 invalid rows by line, and counts the others', async ({ service, world }) => {
  const file = world.file('a.csv', `Title,Note\n${'t1\n'.repeat(25)}t2,x\n`);

  const { exitCode, stdout, stderr } = await world.run(create(file));

  expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
  const named = [...stderr.matchAll(/^[^\n]*a\.csv: line (\d+)[:,]/gm)].map(([, line]) => Number(line));
  expect(named).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  expect(stderr).toContain('and 5 more');
  expect(stderr).toContain('25 rows of 26');
});

describe('I09', () => {
  test.for([
    { name: 'a.csv', content: 'Title\n' },
    { name: 'a.jsonl', content: '\uFEFF\n \n' },
    { name: 'a.json', content: '[]' },
    { name: 'a.csv.gz', content: gzipSync('Title\n') },
  ])('$name with nothing in it ($content) is 0, with "0 rows"', async ({ name, content }, { service, world }) => {
    const file = world.file(name, content);

    for (const format of ['jsonl', 'none', 'pretty']) {
      const { exitCode, stdout, stderr } = await world.run(create(file, '-o', format));

      expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 0, stdout: '', requests: [] });
      expect(stderr).toMatch(format === 'jsonl' ? /"total":{"rows":0,/ : /^0 rows\b/m);
    }
  });

  test.for([
    { name: 'a.csv', content: '', says: 'it is empty' },
    { name: 'a.csv', content: '\uFEFF\r\n\r\n', says: 'no header' },
    { name: 'a.tsv', content: '', says: 'it is empty' },
    { name: 'a.json', content: '', says: 'it is empty' },
    { name: 'a.json', content: ' \n', says: 'no JSON array found' },
    { name: 'a.jsonl', content: '', says: 'it is empty' },
    { name: 'a.csv.gz', content: gzipSync(''), says: 'it is empty' },
    { name: 'a.jsonl.gz', content: gzipSync(''), says: 'it is empty' },
    { name: 'a.ids', content: '', says: 'it is empty', action: 'delete', more: ['--yes'] },
  ])(
    '$name with $content is 2: $says',
    async ({ name, content, says, action = 'create', more = [] }, { service, world }) => {
      const { exitCode, stderr } = await world.run(['items', action, '--from', world.file(name, content), ...more]);

      expect([exitCode, service.requests]).toEqual([2, []]);
      expect(stderr).toContain(`${name}: ${says}`);
    },
  );

  test.each([
    { format: 'csv', exit: 2 },
    { format: 'tsv', exit: 2 },
    { format: 'json', exit: 2 },
    { format: 'jsonl', exit: 0 },
    { format: 'ids', exit: 0 },
    { format: 'jsonl', exit: 2, stdinKind: 'file' },
    { format: 'ids', exit: 2, stdinKind: 'file' },
    { format: 'jsonl', exit: 2, stdinKind: 'directory' },
    { format: 'ids', exit: 2, stdinKind: 'closed' },
  ] as const)('stdin with nothing in it, as $format ($stdinKind), is $exit', async ({ format, exit, ...world }) => {
    await using service = await listService();
    await using many = await manyWorld(service);
    const words = ['items', 'delete', '--from', '-', '--yes', '--input-format', format];

    const { exitCode, stderr } = await many.run(words, { stdin: '', ...world });

    expect([exitCode, service.requests]).toEqual([exit, []]);
    expect(stderr).toMatch(exit === 0 ? /^0 rows\b/m : /cannot read standard input: it is (empty|a directory|closed)/);
  });

  test('P22: stdin with nothing in it is 0, with "0 rows"', async ({ service, world }) => {
    const { exitCode, stdout, stderr } = await world.run(create('-'), { stdin: '' });

    expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 0, stdout: '', requests: [] });
    expect(stderr).toMatch(/^0 rows\b/m);
  });

  test('ids with nothing in it are 0 too, for a delete', async ({ service, world }) => {
    const { exitCode } = await world.run(['items', 'delete', '--from', world.file('ids.txt', '\n\n'), '--yes']);

    expect([exitCode, service.requests]).toEqual([0, []]);
  });

  test('UTF-16 is detected by its byte order mark, Windows-1252 needs --encoding', async ({ service, world }) => {
    await world.run(create(world.file('a.csv', Buffer.from('\uFEFFTitle\r\né\r\n', 'utf16le'))));
    await world.run(
      create(world.file('b.csv', Buffer.from('Title\n\xe9\x80\n', 'latin1')), '--encoding', 'windows-1252'),
    );

    expect(service.about()).toEqual(['é', 'é€']);
  });
});

describe('I14', () => {
  test.skipIf(process.platform === 'win32')('a FIFO is read to its end before the first row is sent', async () => {
    const { service, world } = await listWorld();
    const fifo = join(world.path, 'rows.csv');
    execFileSync('mkfifo', [fifo]);

    const [{ exitCode }] = await Promise.all([world.run(create(fifo)), writeFile(fifo, titles(3))]);

    expect(exitCode).toBe(0);
    expect([...service.about()].sort()).toEqual(['t1', 't2', 't3']);
    expect(world.leftovers()).toEqual([]);
  });

  test('a file that is replaced while it is sent: what was opened is what is sent', async () => {
    await using world = await manyWorld({ url: '' });
    await using service = await listService(({ nth }) => {
      if (nth === 1) execFileSync('sh', ['-c', `printf 'Title\\nother\\n' > new && mv new a.csv`], { cwd: world.path });
      return undefined;
    });
    const file = world.file('a.csv', titles(200));

    const { exitCode } = await world.run(create(file), { env: { LISTCTL_BASE_URL: service.url } });

    expect(exitCode).toBe(0);
    expect(new Set(service.about()).size).toBe(200);
    expect(service.about()).not.toContain('other');
  });

  test('a file that gets shorter while it is sent stops the run: 10, what is left stays to do', async () => {
    await using world = await manyWorld({ url: '' });
    await using service = await listService(({ nth }) => {
      if (nth === 1) world.file('a.csv', 'Title\n');
      return undefined;
    });
    const file = world.file('a.csv', `Title\n${`${'x'.repeat(1000)}\n`.repeat(3000)}`);

    const { exitCode, stderr } = await world.run(create(file, '-o', 'none', '--concurrency', '1'), {
      env: { LISTCTL_BASE_URL: service.url },
    });

    expect(exitCode).toBe(10);
    expect(stderr).toContain('remaining');
    expect(stderr).not.toContain('in doubt');
    expect(service.requests.length).toBeLessThan(3000);
  });
});

describe('a name that is not there is 2, with the nearest one', () => {
  test.for([
    { more: ['--only', 'Titel'], option: '--only' },
    { more: ['--rename', 'Titel=Name'], option: '--rename' },
    { more: ['--type', 'Titel=auto'], option: '--type' },
  ])('$more', async ({ more, option }, { service, world }) => {
    const files = [world.file('a.csv', 'Title,Count\nt1,1\n'), world.file('a.tsv', 'Title\tCount\nt1\t1\n')];
    if (option !== '--type') files.push(world.file('a.jsonl', '{"Title":"t1","Count":1}\n'));

    for (const file of files) {
      const { exitCode, stdout, stderr } = await world.run(create(file, ...more));

      expect({ exitCode, stdout, requests: service.requests }).toEqual({ exitCode: 2, stdout: '', requests: [] });
      expect(stderr).toContain(`${option} Titel`);
      expect(stderr).toContain('did you mean "Title"?');
    }
  });

  test('--id-column too', async ({ service, world }) => {
    const { exitCode, stderr } = await world.run([
      ...['items', 'update', '--from', world.file('a.csv', 'Key,Title\n1,x\n'), '--id-column', 'Kay'],
    ]);

    expect([exitCode, service.requests]).toEqual([2, []]);
    expect(stderr).toContain('did you mean "Key"?');
  });
});

test('members beside the fields of an item are dropped, and that is said once', async ({ service, world }) => {
  const lines = ['1', '2'].map((id) => `{"id":"${id}","fields":{"Title":"t${id}"},"etag":"x","@odata.id":"y"}\n`);

  const { exitCode, stderr } = await world.run(create(world.file('a.jsonl', lines.join(''))));

  expect(exitCode).toBe(0);
  expect(service.requests.map(({ body }) => body).sort()).toEqual([
    '{"fields":{"Title":"t1"}}',
    '{"fields":{"Title":"t2"}}',
  ]);
  expect(stderr.match(/only the fields of items are sent; ignored: "etag", "@odata.id"/g)).toHaveLength(1);
  expect(stderr.match(/the service assigns ids/g)).toHaveLength(1);
});

test('a stop while stdin is still being read sends nothing and leaves nothing', async ({ service, world }) => {
  execFileSync('mkfifo', [join(world.path, 'pipe')]);
  const stopping = new AbortController();
  const { Stopped } = await import('../../../src/core/errors.ts');
  const made = testHost({ cwd: world.path, env: world.env, signal: stopping.signal });
  const writer = writeFile(join(world.path, 'pipe'), '{"Title":"t1"}\n');
  const host = { ...made, stdin: { isTTY: false, stream: createReadStream(join(world.path, 'pipe')) } };
  host.stdin.stream.on('data', () => stopping.abort(new Stopped('SIGINT')));

  const exitCode = await main(create('-'), host);
  await writer;

  expect([exitCode, service.requests, made.printed.stdout]).toEqual([130, [], '']);
  expect(existsSync(world.runs) ? world.leftovers() : []).toEqual([]);
});

describe('D6: a file that changes between its check and its last block', () => {
  // Several blocks of 64 KiB; the second reading is under way when the first row is sent.
  const rows = (letter: string) => Array.from({ length: 300 }, (_, at) => `${letter}${at + 1}${letter.repeat(1000)}`);
  const text = (letter: string) => `Title\n${rows(letter).join('\n')}\n`;
  const titlesOf = (items: ReadonlyMap<string, Readonly<Record<string, unknown>>>) =>
    [...items.values()].map(({ Title }) => String(Title));

  test.each([
    ['other values', text('b')],
    ['a column more', `Note,${text('b').replaceAll('\n', ',x\n')}`],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(text('a')).subarray(0, 150_000), Buffer.alloc(150_000, 255)]),
    ],
  ])('is sent no further when it gets %s: 10, and --resume does the rest once', async (_, changed) => {
    const { service, world } = await listWorld(({ nth }) => {
      if (nth === 1) world.file('a.csv', changed);
      return undefined;
    });
    const file = world.file('a.csv', text('a'));

    const { exitCode, stderr } = await world.run(create(file));

    const sent = titlesOf(service.items);
    expect(exitCode).toBe(10);
    expect(stderr).toContain(`${file} changed while it was being read`);
    expect(stderr).toContain(`300 rows: ${sent.length} created, ${300 - sent.length} remaining`);
    expect(stderr).toContain('--resume');
    expect(stderr).not.toContain('nothing was sent');
    expect(sent.length).toBeGreaterThan(0);
    expect(rows('a')).toEqual(expect.arrayContaining(sent));

    world.file('a.csv', text('a'));
    expect((await world.run(create(file, '--resume'))).exitCode).toBe(0);
    expect(titlesOf(service.items).sort()).toEqual(rows('a').sort());
  });
});

/** `items list` and `columns list`, with Microsoft Graph as the service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { type ScriptedAnswer, type ScriptedService, scriptedService } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { run, testHost } from '../support/test-host.ts';

const path = '/v1.0/sites/home/lists/Books';
const envOf = (service: ScriptedService) => ({
  LISTCTL_BASE_URL: service.url,
  LISTCTL_TOKEN: 'test-token',
  LISTCTL_SERVICE: 'graph',
  LISTCTL_SITE: 'home',
  LISTCTL_LIST: 'Books',
});
const list = (service: ScriptedService, ...words: readonly string[]) =>
  run(['items', 'list', ...words], { env: envOf(service) });
const itemsFrom = (first: number, count: number, fields: object = {}) =>
  Array.from({ length: count }, (_, at) => ({
    id: String(first + at),
    fields: { Title: `t${first + at}`, ...fields },
  }));

/** Pages with links, as the service at this address would make them. */
const pagesAt = (address: () => string, ...pages: readonly object[][]): ScriptedAnswer[] =>
  pages.map((value, at) => ({
    status: 200,
    body: () =>
      JSON.stringify(
        at === pages.length - 1 ? { value } : { value, '@odata.nextLink': `${address()}/next?p=${at + 1}` },
      ),
  }));

async function pagedService(...pages: readonly object[][]): Promise<ScriptedService> {
  let address = '';
  const service = await scriptedService(...pagesAt(() => address, ...pages));
  address = service.url;
  return service;
}

const ids = (stdout: string) => stdout.split('\n').filter((line) => line !== '');

describe('pages', () => {
  test('are read to the last one', async () => {
    await using service = await pagedService(itemsFrom(1, 3), [], itemsFrom(4, 2));
    const { exitCode, stdout } = await list(service, '-o', 'id');
    expect({ exitCode, ids: ids(stdout) }).toEqual({ exitCode: 0, ids: ['1', '2', '3', '4', '5'] });
    expect(service.requests.map((request) => request.path)).toEqual([
      `${path}/items?$expand=fields&$top=1000`,
      '/v1.0/next?p=1',
      '/v1.0/next?p=2',
    ]);
  });

  test('have no more items than --limit, and further ones are not read', async () => {
    await using service = await pagedService(itemsFrom(1, 3), itemsFrom(4, 3), itemsFrom(7, 3));
    const { stdout } = await list(service, '-o', 'id', '--limit', '5');
    expect(ids(stdout)).toHaveLength(5);
    expect(service.requests.map((request) => request.path)).toEqual([
      `${path}/items?$expand=fields&$top=5`,
      '/v1.0/next?p=1',
    ]);
  });

  test('end quietly when stdout is closed', async () => {
    await using service = await pagedService(itemsFrom(1, 3), itemsFrom(4, 3), itemsFrom(7, 3));
    const host = testHost({ env: envOf(service) });
    const { stdout } = host;
    const closed = { ...stdout, isClosed: true };
    const exitCode = await main(['items', 'list', '-o', 'jsonl'], { ...host, stdout: closed });
    expect({ exitCode, sent: service.requests.length, stderr: host.printed.stderr }).toEqual({
      exitCode: 0,
      sent: 1,
      stderr: '',
    });
  });

  test.each([
    ['https://evil.example/v1.0/next', 'not followed'],
    ['http://127.0.0.1:1/v1.0/next', 'not followed'],
    ['//evil.example/next', 'not followed'],
    [7, 'not followed'],
  ])('at %s are not read, and the token stays', async (link, says) => {
    const body = { value: itemsFrom(1, 1), '@odata.nextLink': link };
    await using service = await scriptedService({ status: 200, body });
    const { exitCode, stderr, stdout } = await list(service, '-o', 'json');
    expect({ exitCode, sent: service.requests.length, stdout }).toEqual({ exitCode: 1, sent: 1, stdout: '' });
    expect(stderr).toContain(says);
  });

  test('that come again and again end', async () => {
    let address = '';
    const body = () => JSON.stringify({ value: [], '@odata.nextLink': `${address}/again` });
    await using service = await scriptedService({ status: 200, body });
    address = service.url;
    const { exitCode, stderr } = await list(service, '-o', 'json');
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: 1, sent: 2 });
    expect(stderr).toContain('was read before');
  });

  test('are retried as any read', async () => {
    const throttled = { status: 429, headers: { 'retry-after': '1' }, body: {} };
    await using service = await scriptedService({ status: 503, body: {} }, throttled, {
      status: 200,
      body: { value: itemsFrom(1, 1) },
    });
    expect(await list(service, '-o', 'id')).toMatchObject({ exitCode: 0, stdout: '1\n' });
  });

  test('that are too large are requested with fewer items', async () => {
    const large = itemsFrom(1, 9, { Note: 'x'.repeat(1_000_000) });
    await using service = await scriptedService(
      { status: 200, body: { value: large } },
      { status: 200, body: { value: itemsFrom(1, 1) } },
    );
    expect(await list(service, '-o', 'id')).toMatchObject({ exitCode: 0, stdout: '1\n' });
    expect(service.requests.map((request) => request.path.replace(/.*top=/, ''))).toEqual(['1000', '100']);
  });

  test('may have many members', async () => {
    const fields = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`Column${at}`, at]));
    await using service = await scriptedService({ status: 200, body: { value: itemsFrom(1, 400, fields) } });
    expect(ids((await list(service, '-o', 'id')).stdout)).toHaveLength(400);
  });

  test.each([{ value: [{ fields: {} }] }, { items: [] }])('such as %j are no pages of items', async (body) => {
    await using service = await scriptedService({ status: 200, body });
    expect((await list(service, '-o', 'id')).exitCode).toBe(1);
  });
});

describe('formats', () => {
  const two = itemsFrom(1, 2);
  test.each([
    ['json', JSON.stringify(two, undefined, 2)],
    ['jsonl', two.map((item) => JSON.stringify(item)).join('\n')],
    ['csv', 'id,Title\n1,t1\n2,t2'],
    ['tsv', 'id\tTitle\n1\tt1\n2\tt2'],
    ['id', '1\n2'],
    ['yaml', "- id: '1'\n  fields:\n    Title: t1\n- id: '2'\n  fields:\n    Title: t2"],
    ['pretty', 'id  Title\n1   t1\n2   t2'],
    ['none', ''],
  ])('%s', async (format, printed) => {
    await using service = await scriptedService({ status: 200, body: { value: two } });
    const { exitCode, stdout } = await list(service, '-o', format);
    expect({ exitCode, stdout: stdout.trimEnd().replaceAll('"', "'") }).toEqual({
      exitCode: 0,
      stdout: printed.replaceAll('"', "'"),
    });
  });

  test.each([
    ['json', '[]\n'],
    ['jsonl', ''],
    ['csv', ''],
  ])('of no items: %s', async (format, printed) => {
    await using service = await scriptedService({ status: 200, body: { value: [] } });
    expect(await list(service, '-o', format)).toMatchObject({ exitCode: 0, stdout: printed });
  });

  test('a table keeps its columns over pages, and says what is missing', async () => {
    const more = itemsFrom(9_999, 2, { Later: 1 }).map((item) => ({
      ...item,
      fields: { ...item.fields, Title: 'wider' },
    }));
    await using service = await pagedService(itemsFrom(1, 200), more);
    const { stdout } = await run(['items', 'list', '--no-color'], { env: envOf(service), terminal: 40 });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(204);
    expect(lines[0]).toBe('id   Title');
    expect(lines[200]).toBe('200  t200');
    expect(lines.slice(201)).toEqual([
      expect.stringMatching(/^9999 +wide/),
      expect.stringMatching(/^10000 +wide/),
      '… 1 more column: pass --wide',
    ]);
  });
});

const definition = (name: string, facet: object, more: object = {}) => ({ name, displayName: name, ...facet, ...more });
const columns = [
  definition('Title', { text: {} }, { required: true }),
  definition('Count', { number: {} }),
  definition('Price', { currency: {} }),
  definition('Done', { boolean: {} }),
  definition('Due_x0020_Date', { dateTime: {} }, { displayName: 'Due Date' }),
  definition('Tags', { choice: { displayAs: 'checkBoxes' } }),
  definition('Owner', { personOrGroup: {} }),
  definition('Key', { text: {} }, { enforceUniqueValues: true }),
  definition('Link', { hyperlinkOrPicture: {} }),
  definition('Sum', { calculated: {} }, { readOnly: true }),
  definition('ContentType', { text: {} }),
  definition('Photo', {}),
  definition('Secret', { text: {} }, { hidden: true }),
  ...Array.from({ length: 13 }, (_, at) => definition(`Shelf${at}`, { lookup: { allowMultipleValues: at === 0 } })),
  // The name by which Shelf9 would be written.
  definition('Shelf9LookupId', { text: {} }, { displayName: 'Old' }),
  definition('Status', { choice: { choices: ['New', 'Old'] } }),
  definition('Color', { choice: { choices: ['Red'], allowTextEntry: true } }),
];
const columnsAnswer = { status: 200, body: { value: columns } };
const noItems = { status: 200, body: { value: [] } };

/** The query of the request for items. */
const queryOf = (service: ScriptedService) => new URL(service.requests.at(-1)?.path ?? '', service.url).searchParams;

describe('conditions', () => {
  test.each([
    { where: ["Title=O'Neil"], filter: "fields/Title eq 'O''Neil'" },
    { where: ['Title=a=b&c'], filter: "fields/Title eq 'a=b&c'" },
    { where: ['Title=7', 'Count=7'], filter: "fields/Title eq '7' and fields/Count eq 7" },
    { where: ['Price=-1.50'], filter: 'fields/Price eq -1.50' },
    // `eq true` finds the opposite in SharePoint.
    { where: ['Done=TRUE'], filter: 'fields/Done eq 1' },
    { where: ['Done=false'], filter: 'fields/Done eq 0' },
    { where: ['Due_x0020_Date=2026-01-31'], filter: "fields/Due_x0020_Date eq '2026-01-31'" },
    { where: ['Owner=7'], filter: "fields/OwnerLookupId eq '7'" },
    { where: ['OwnerLookupId=7'], filter: "fields/OwnerLookupId eq '7'" },
    { where: ['Status=New', 'Color=Mauve'], filter: "fields/Status eq 'New' and fields/Color eq 'Mauve'" },
    { where: ['Sum=3'], filter: "fields/Sum eq '3'" },
    { where: ['Count=1'], and: 'fields/Price gt 1', filter: 'fields/Price gt 1 and fields/Count eq 1' },
    { where: ['Count=1'], and: "a eq 1 or b eq 'x'", filter: "(a eq 1 or b eq 'x') and fields/Count eq 1" },
  ])('$where $and', async ({ where, and, filter }) => {
    await using service = await scriptedService(columnsAnswer, noItems);
    const words = [...where.flatMap((each) => ['--where', each]), ...(and === undefined ? [] : ['--filter', and])];
    const { exitCode } = await list(service, ...words);
    expect({ exitCode, filter: queryOf(service).get('$filter') }).toEqual({ exitCode: 0, filter });
    expect(service.requests.map((request) => request.path)[0]).toBe(`${path}/columns`);
  });

  test.each([
    ['--where', 'Count=many', 'expected a number'],
    ['--where', 'Done=1', 'expected true or false'],
    ['--where', 'Titel=x', 'did you mean "Title"?'],
    ['--where', 'Due Date=x', 'did you mean "Due_x0020_Date"?'],
    ['--where', 'TitleLookupId=7', 'has no column'],
    ['--where', 'Due_x0020_Date=31.01.2026', 'is not a date (expected 2026-01-31'],
    ['--where', 'Due_x0020_Date=2026-13-45', 'is not a date'],
    ['--where', 'Status=Nwe', '"Nwe" is not a choice (did you mean "New"?)'],
    ['--where', 'Shelf1=Berlin', 'is not an id (expected a number'],
    ['--where', 'Owner=Ann', 'expected a mail address'],
    ['--where', 'Tags=a', 'cannot compare a column of several values'],
    ['--where', 'Shelf0=7', 'cannot compare a column of several values'],
    ['--where', 'Owner=', 'try --filter "fields/OwnerLookupId eq null"'],
    ['--select', 'Title,Titel', 'did you mean "Title"?'],
    ['--select', 'Due Date', 'did you mean "Due_x0020_Date"?'],
    ['--select', 'Xyzzy', 'listctl columns list'],
  ])('%s %s is refused', async (flag, value, says) => {
    await using service = await scriptedService(columnsAnswer, noItems);
    const { exitCode, stderr } = await list(service, flag, value);
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: 2, sent: 1 });
    expect(stderr).toContain(says);
  });

  test.each([
    [['--where', 'Title'], 'expected COLUMN=VALUE'],
    [['--limit', '0'], 'invalid --limit'],
    [['--filtr', 'x'], 'did you mean --filter?'],
    [['17'], 'takes no arguments'],
    [['-q', '['], 'invalid JMESPath'],
    [['-o', 'curl'], 'pass another --output'],
  ])('%j sends nothing', async (words, says) => {
    await using service = await scriptedService(noItems);
    const { exitCode, stderr } = await list(service, ...words);
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: 2, sent: 0 });
    expect(stderr).toContain(says);
  });

  test('--filter goes as it is, and needs no columns', async () => {
    await using service = await scriptedService(noItems);
    const filter = "startswith(fields/Title, 'é&x') and fields/Count gt 5";
    await list(service, '--filter', filter, '--non-indexed');
    expect(queryOf(service).get('$filter')).toBe(filter);
    expect(service.requests[0]?.headers['prefer']).toBe('HonorNonIndexedQueriesWarningMayFailRandomly');
  });

  test('no Prefer header is sent by default', async () => {
    await using service = await scriptedService(noItems);
    await list(service, '--filter', 'fields/Count gt 5');
    expect(service.requests[0]?.headers['prefer']).toBeUndefined();
  });

  const error = (code: string) => ({ error: { code, message: 'What Graph says.' } });
  test.each([
    {
      name: 'a column without an index',
      answer: { status: 400, body: error('invalidRequest') },
      exit: 1,
      says: '--non-indexed',
    },
    {
      name: 'the view threshold',
      answer: { status: 429, body: error('activityLimitReached') },
      exit: 2,
      says: 'list view threshold',
    },
  ])('$name is named, and not retried', async ({ answer, exit, says }) => {
    await using service = await scriptedService(answer);
    const { exitCode, stderr } = await list(service, '--filter', 'fields/A gt 1');
    expect({ exitCode, sent: service.requests.length }).toEqual({ exitCode: exit, sent: 1 });
    expect(stderr).toContain(says);
  });
});

describe('--select', () => {
  test('reads these fields, which are the columns of a table and of csv', async () => {
    const answer = { status: 200, body: { value: itemsFrom(1, 1, { '@odata.etag': 'e' }) } };
    await using service = await scriptedService(columnsAnswer, answer, columnsAnswer, answer);
    const { stdout } = await list(service, '--select', 'Title,Count', '-o', 'csv');
    expect(stdout).toBe('id,Title,Count\n1,t1,\n');
    expect(queryOf(service).get('$expand')).toBe('fields($select=Title,Count)');
    const table = await list(service, '--select', 'Title,Count', '-o', 'pretty');
    expect(table.stdout).toBe('id  Title  Count\n1   t1\n');
  });

  test.each([
    { columns: columnsAnswer, select: 'id,Owner,OwnerLookupId,Sum,Created,_UIVersionString,webUrl' },
    { columns: noItems, select: 'Anything' },
  ])('permits $select', async ({ columns: answer, select }) => {
    await using service = await scriptedService(answer, noItems);
    expect((await list(service, '--select', select)).exitCode).toBe(0);
  });

  test.each([
    { words: ['--select', 'Title,Count', '-o', 'csv'], printed: 'id,Title,Count\n' },
    { words: ['--select', 'Title,Count', '--columns', 'Title', '-o', 'tsv'], printed: 'Title\n' },
    { words: ['--select', 'Title', '--columns', 'A,B', '-o', 'csv', '-q', '[].fields'], printed: 'A,B\n' },
    { words: ['--select', 'Title', '-o', 'csv', '-q', '[].fields'], printed: '' },
  ])('without an item, $words prints the header that is known', async ({ words, printed }) => {
    await using service = await scriptedService(columnsAnswer, noItems);
    expect((await list(service, ...words)).stdout).toBe(printed);
  });

  const shelves = (count: number) => Array.from({ length: count }, (_, at) => `Shelf${at}`).join(',');
  test.each([
    { select: shelves(13), exit: 2 },
    { select: `${shelves(12)},OwnerLookupId`, exit: 2 },
    { select: `${shelves(12)},Title,Count`, exit: 0 },
    { select: `${shelves(12)},Shelf9LookupId`, exit: 0 },
  ])('$select', async ({ select, exit }) => {
    await using service = await scriptedService(columnsAnswer, noItems);
    const { exitCode, stderr } = await list(service, '--select', select);
    expect(exitCode).toBe(exit);
    if (exit !== 0) expect(stderr).toContain(`13 lookup columns, more than 12: ${select.replaceAll(',', ', ')}`);
  });
});

test('columns list has names, types and what can be written', async () => {
  await using service = await scriptedService(columnsAnswer);
  const { stdout } = await run(['columns', 'list', '-o', 'csv'], { env: envOf(service) });
  expect(stdout.split('\n').slice(0, 14)).toEqual([
    'name,displayName,type,required,unique,indexed,writable',
    'Title,Title,text,true,false,false,true',
    'Count,Count,number,false,false,false,true',
    'Price,Price,currency,false,false,false,true',
    'Done,Done,boolean,false,false,false,true',
    'Due_x0020_Date,Due Date,dateTime,false,false,false,true',
    'Tags,Tags,choice[],false,false,false,true',
    'Owner,Owner,personOrGroup,false,false,false,true',
    'Key,Key,text,false,true,true,true',
    'Link,Link,hyperlinkOrPicture,false,false,false,false',
    'Sum,Sum,calculated,false,false,false,false',
    'ContentType,ContentType,text,false,false,false,false',
    'Photo,Photo,unknown,false,false,false,false',
    'Shelf0,Shelf0,lookup[],false,false,false,true',
  ]);
  expect(service.requests).toMatchObject([{ method: 'GET', path: `${path}/columns` }]);
});

test.each([
  { words: ['-o', 'id', '--hidden'], includes: 'Secret\n' },
  { words: ['-o', 'json'], includes: '"displayName": "Due Date"' },
  { words: ['-o', 'jsonl'], includes: '{"name":"Title","displayName":"Title","type":"text","required":true,' },
  { words: ['-o', 'yaml'], includes: '- name: Title' },
  { words: ['-o', 'tsv'], includes: 'Title\tTitle\ttext\ttrue' },
  { words: [], includes: 'Due_x0020_Date  Due Date      dateTime' },
])('columns list $words', async ({ words, includes }) => {
  await using service = await scriptedService(columnsAnswer);
  const { exitCode, stdout } = await run(['columns', 'list', ...words], { env: envOf(service) });
  expect(exitCode).toBe(0);
  expect(stdout).toContain(includes);
});

describe('what is listed is input', () => {
  let directory: TemporaryDirectory;
  const listctl = (words: string, stdin = '') =>
    run(words.split(' '), {
      stdin,
      env: {
        LISTCTL_BASE_URL: `local:${join(directory.path, 'items')}`,
        LISTCTL_SERVICE: 'graph',
        LISTCTL_SITE: 'root',
        LISTCTL_LIST: 'Books',
        LISTCTL_STATE_DIR: directory.path,
      },
    });

  beforeEach(async () => {
    directory = await temporaryDirectory();
    const rows = join(directory.path, 'rows.csv');
    writeFileSync(rows, 'Title,Status\nDune,New\nSolaris,Old\nEden,New\n');
    expect(await listctl(`items create --from ${rows} -o none`)).toMatchObject({ exitCode: 0 });
    return () => directory[Symbol.asyncDispose]();
  });

  test('of update, without what only the service sets', async () => {
    const { stdout: listed } = await listctl('items list -o jsonl');
    const edited = listed.replace('"Title":"Dune"', '"Title":"Dune Messiah"');
    const { exitCode, stderr } = await listctl('items update --from - -o none', edited);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stderr).toContain('fields that only the service sets are not sent: "@odata.etag", "id", "ContentType"');
    const after = await listctl('items list -o csv --select Title,Status');
    expect(after.stdout).toBe('id,Title,Status\n1,Dune Messiah,New\n2,Solaris,Old\n3,Eden,New\n');
  });

  test('of delete', async () => {
    const { stdout: listed } = await listctl('items list -o jsonl --limit 2');
    expect(await listctl('items delete --from - --yes -o none', listed)).toMatchObject({ exitCode: 0 });
    expect((await listctl('items list -o id')).stdout).toBe('3\n');
  });

  test('of create, for a copy', async () => {
    const { stdout: listed } = await listctl('items list -o jsonl --limit 1');
    expect(await listctl('items create --from - -l Copy -o none', listed)).toMatchObject({ exitCode: 0 });
    expect((await listctl('items list -l Copy -o csv --select Title,Status')).stdout).toBe(
      'id,Title,Status\n1,Dune,New\n',
    );
  });

  test("a user's row keeps a field of that name", async () => {
    const row = '{"id":"1","Edit":"x"}';
    const { exitCode, stderr } = await listctl('items update --from - --input-format jsonl -o none', row);
    expect(exitCode).toBe(9);
    expect(stderr).toContain('invalidRequest');
  });
});

/** What a run prints: results in the order of the input, failures, and a summary. */
import { describe, expect } from 'vitest';
import { create, jsonLines, numbered, titles } from './bulk-world.ts';
import { listWorld, test } from './fixtures.ts';
import type { ListRequest } from './list-service.ts';

/** Row 3 is refused, row 5 in doubt, and the first answer comes last. */
function mixed({ title }: ListRequest) {
  if (title === 't3') return { status: 400, headers: { 'request-id': 'r-3' }, body: { error: 'no such field' } };
  if (title === 't5') return { status: 500 };
  const after = title === 't1' ? new Promise((resolve) => setTimeout(resolve, 100)) : Promise.resolve();
  return { status: 201, body: { id: `of-${title}`, fields: {} }, after };
}

async function printed(...more: readonly string[]) {
  const { world } = await listWorld(mixed);
  return await world.run(create(world.file('a.csv', titles(6)), ...more), { env: { NO_COLOR: '1' } });
}

describe('results come in the order of the input, whichever answer comes first', () => {
  test('jsonl, which is what a pipe gets, has a line for each row', async () => {
    const { exitCode, stdout } = await printed();

    expect(exitCode).toBe(8);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('{"row":1,"action":"create","status":"done","id":"of-t1"}');
    expect(lines[1]).toBe('{"row":2,"action":"create","status":"done","id":"of-t2"}');
    expect(lines[3]).toBe('{"row":4,"action":"create","status":"done","id":"of-t4"}');
    expect(lines[5]).toBe('{"row":6,"action":"create","status":"done","id":"of-t6"}');
    expect(lines).toHaveLength(7);
    expect(JSON.parse(lines[2] ?? '')).toEqual({
      ...{ row: 3, action: 'create', status: 'failed' },
      error: {
        ...{ kind: 'refused', exit: 1, row: 3, line: 4, status: 400, outcome: 'refused', requestId: 'r-3' },
        message: expect.stringContaining('no such field'),
      },
    });
    expect(JSON.parse(lines[4] ?? '')).toMatchObject({
      ...{ row: 5, action: 'create', status: 'in-doubt' },
      error: { kind: 'in-doubt', exit: 8, status: 500, outcome: 'unknown' },
    });
  });

  test('json is one array of the same, with the same exit code', async () => {
    const [array, lines] = [await printed('-o', 'json'), await printed('-o', 'jsonl')];

    expect(array.exitCode).toBe(lines.exitCode);
    expect(withoutKeys(JSON.parse(array.stdout))).toEqual(withoutKeys(jsonLines(lines.stdout)));
  });

  test('csv and tsv have the same columns for every row', async () => {
    const [csv, tsv] = [await printed('-o', 'csv'), await printed('-o', 'tsv')];

    const rows = csv.stdout.trimEnd().split('\n');
    expect(rows[0]).toBe('row,action,status,id,error');
    expect(rows.slice(1).map((row) => row.split(',').slice(0, 4).join(','))).toEqual([
      '1,create,done,of-t1',
      '2,create,done,of-t2',
      '3,create,failed,',
      '4,create,done,of-t4',
      '5,create,in-doubt,',
      '6,create,done,of-t6',
    ]);
    expect(tsv.stdout.startsWith('row\taction\tstatus\tid\terror\n1\tcreate\tdone\tof-t1\t\n')).toBe(true);
  });

  test('id has the ids of what was done alone, and none has nothing', async () => {
    expect((await printed('-o', 'id')).stdout).toBe('of-t1\nof-t2\nof-t4\nof-t6\n');
    expect((await printed('-o', 'none')).stdout).toBe('');
  });

  test('yaml is a list of the same', async () => {
    const { stdout } = await printed('-o', 'yaml');

    expect(stdout).toMatch(/^- row: 1\n {2}action: create\n {2}status: done\n {2}id: of-t1\n- row: 2\n/);
    expect(stdout.match(/^- row: \d/gm)).toEqual([1, 2, 3, 4, 5, 6].map((row) => `- row: ${row}`));
  });

  test('pretty shows what failed on stderr, with row and line, and a summary; stdout is empty', async () => {
    const { exitCode, stdout, stderr } = await printed('-o', 'pretty');

    expect({ exitCode, stdout }).toEqual({ exitCode: 8, stdout: '' });
    expect(stderr).toMatch(/^listctl: row 3 \(line 4\): .*no such field.* \(request r-3\)$/m);
    expect(stderr).toMatch(/^listctl: row 5 \(line 6\): in doubt/m);
    expect(stderr).toMatch(/^6 rows: 4 created, 1 failed, 1 in doubt; /m);
    expect(stderr).not.toMatch(/row [1246]\b.*line/);
  });

  test('with --quiet the last failure that is shown says that there are more', async () => {
    const { world } = await listWorld(({ title }) =>
      title === 't1' ? undefined : { status: 400, body: { error: 'no' } },
    );

    const { stderr } = await world.run(create(world.file('a.csv', titles(30)), '-o', 'pretty', '--quiet'));

    const lines = stderr.split('\n').filter((line) => line.startsWith('listctl: row '));
    expect(lines).toHaveLength(20);
    expect(lines.filter((line) => line.includes('(further failures are not shown)'))).toEqual([lines.at(-1)]);
  });

  test('pretty shows 20 failures, and counts the others', async () => {
    const { world } = await listWorld(({ title }) =>
      title === 't1' ? undefined : { status: 400, body: { error: 'no' } },
    );

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(31)), '-o', 'pretty'));

    expect(exitCode).toBe(9);
    expect(stderr.match(/^listctl: row \d+ /gm)).toHaveLength(20);
    expect(stderr).toContain('31 rows: 1 created, 30 failed');
    expect(stderr).toMatch(/^ {2}30 × refused, HTTP 400 \(row 2: /m);
  });

  test('a query looks at each line of jsonl', async () => {
    const { stdout } = await printed('-o', 'jsonl', '-q', 'id');

    expect(stdout.split('\n').filter((line) => line.startsWith('of'))).toEqual(['of-t1', 'of-t2', 'of-t4', 'of-t6']);
  });

  test('many rows, answered in any order', async () => {
    const { service, world } = await listWorld(({ nth, title }) => ({
      ...{ status: 201, body: { id: title, fields: {} } },
      after: new Promise((resolve) => setTimeout(resolve, (nth * 7) % 13)),
    }));

    const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(300)), '-o', 'id'));

    expect({ exitCode, ids: stdout.trimEnd().split('\n') }).toEqual({ exitCode: 0, ids: numbered(300) });
    expect(service.atOnceMax).toBeGreaterThan(1);
    expect(service.atOnceMax).toBeLessThanOrEqual(32);
  });
});

describe('get', () => {
  async function got(...more: readonly string[]) {
    const { service, world } = await listWorld();
    service.items.set('1', { Title: 'one', Count: 1 }).set('2', { Title: 'two', Count: 2 });
    const file = world.file('ids.txt', '2\n99\n1\n');
    return await world.run(['items', 'get', '--from', file, ...more], { env: { NO_COLOR: '1' } });
  }

  test.each([
    {
      format: 'jsonl',
      out: '{"id":"2","fields":{"Title":"two","Count":2}}\n{"id":"1","fields":{"Title":"one","Count":1}}\n',
    },
    { format: 'csv', out: 'id,Title,Count\n2,two,2\n1,one,1\n' },
    { format: 'tsv', out: 'id\tTitle\tCount\n2\ttwo\t2\n1\tone\t1\n' },
    { format: 'id', out: '2\n1\n' },
    { format: 'none', out: '' },
  ])('gives the items themselves as $format; a failure is on stderr alone', async ({ format, out }) => {
    const { exitCode, stdout, stderr } = await got('-o', format);

    expect({ exitCode, stdout }).toEqual({ exitCode: 9, stdout: out });
    expect(stderr).toContain('no item 99');
    expect(stderr).toMatch(format === 'jsonl' ? /"rows":3,"done":2,"failed":1,/ : /^3 rows: 2 read, 1 failed/m);
  });

  test('json is an array of items', async () => {
    const { stdout } = await got('-o', 'json');

    expect(JSON.parse(stdout)).toEqual([
      { id: '2', fields: { Title: 'two', Count: 2 } },
      { id: '1', fields: { Title: 'one', Count: 1 } },
    ]);
  });

  test('pretty is a table', async () => {
    const { stdout } = await got('-o', 'pretty');

    expect(stdout).toMatch(/id.*Title.*Count[\s\S]*2.*two[\s\S]*1.*one/);
  });
});

describe('stdout is empty', () => {
  const formats = ['jsonl', 'json', 'csv', 'tsv', 'yaml', 'id', 'none', 'pretty'];

  test.for(formats)('as %s, if the file has an invalid row', async (format, { world }) => {
    const { exitCode, stdout } = await world.run(create(world.file('a.csv', 'Title\nt1\n"\n'), '-o', format));

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });

  test.each(formats)('as %s, where the first answer stops the run', async (format) => {
    const { world } = await listWorld(() => ({ status: 401, body: { error: 'expired' } }));

    const { exitCode, stdout } = await world.run(create(world.file('a.csv', titles(3)), '-o', format));

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
  });
});

describe('the summary', () => {
  test('has every count, the time, the retries, and the failures by sort', async () => {
    const { world } = await listWorld(({ title, nth }) => {
      if (nth <= 4) return { status: 429, headers: { 'retry-after': '2' } };
      if (title === 't3' || title === 't4')
        return { status: 400, body: { error: { code: 'badField', message: 'no' } } };
      return title === 't5' ? { status: 502 } : undefined;
    });

    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(1006)), '-o', 'none'));

    expect(exitCode).toBe(8);
    expect(stderr).toMatch(
      /^1,006 rows: 1,003 created, 2 failed, 1 in doubt; [\d.]+ s, [\d.,]+ rows\/s, \d+ retr(y|ies), 2\.\d s throttled, on http/m,
    );
    expect(stderr).toMatch(/^ {2}2 × refused, HTTP 400, badField \(row 3: /m);
    expect(stderr).toMatch(/^ {2}1 × in-doubt, HTTP 502 \(row 5: /m);
  });

  test('names what is remaining', async () => {
    const { world } = await listWorld(() => ({ status: 400, body: { error: 'no' } }));
    const file = world.file('a.csv', titles(5));

    const { exitCode, stderr } = await world.run(create(file, '-o', 'none', '--fail-fast', '--concurrency', '1'));

    expect(exitCode).toBe(9);
    expect(stderr).toMatch(/^5 rows: 0 created, 1 failed, 4 remaining; /m);
    expect(stderr).toMatch(/^ {2}resume with: listctl items create --from .*a\.csv -o none .*--resume$/m);
  });

  test('prints nothing with --quiet except errors', async () => {
    const { exitCode, stderr, stdout } = await printed('--quiet');

    expect(exitCode).toBe(8);
    expect(jsonLines(stdout)).toHaveLength(6);
    expect(stderr).toMatch(/^listctl: 1 row in doubt/);
    expect(stderr).not.toContain('6 rows');
  });

  test('after success there is nothing on stderr with --quiet', async ({ world }) => {
    const { exitCode, stderr } = await world.run(create(world.file('a.csv', titles(3)), '--quiet'));

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  test('the error is a line of JSON with --json, beside the summary', async () => {
    const { stderr } = await printed('-o', 'jsonl');

    const lines = jsonLines(stderr);
    expect(lines).toMatchObject([{ summary: { exit: 8 } }, { error: { kind: 'in-doubt', exit: 8 } }]);
    expect(stderr).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  });
});

test('O01: what a service says, and what a file holds, drives no terminal', async () => {
  const { world } = await listWorld(() => ({ status: 400, body: { error: 'no\u001b[31m\u202e\u009b2J' } }));
  const file = world.file('a.csv', 'Title\n\u001b]0;x\u0007\n');

  for (const format of ['pretty', 'csv', 'jsonl']) {
    const { stdout, stderr } = await world.run(create(file, '-o', format, '--restart'), { terminal: 100 });
    // Colors are ours.
    const esc = '\u001b';
    const shown = (stdout + stderr).replaceAll('\n', '').replaceAll(new RegExp(`${esc}\\[\\d+m`, 'g'), '');
    expect(shown).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(stdout + stderr).not.toContain('\u001b[31m\\u');
  }
});

/** Idempotency keys differ from run to run. */
function withoutKeys(results: readonly unknown[]): unknown {
  const text = JSON.stringify(results).replace(/[a-z2-7]{26}/g, 'KEY');
  return JSON.parse(text.replace(/\d{8}-\d{6}-\w{4}/g, 'RUN'));
}

/** stderr for programs: where JSON was asked for, each line of it is JSON, and says what it is about. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Stopped } from '../../src/core/errors.ts';
import { create, jsonLines, manyWorld, titles } from './bulk/bulk-world.ts';
import { test } from './bulk/fixtures.ts';
import { listService } from './bulk/list-service.ts';

/** The lines of stderr, all of which must be JSON. */
function linesOf(stderr: string): readonly Record<string, unknown>[] {
  const lines = jsonLines(stderr);
  expect(stderr).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return lines;
}

describe('an error about an item names it', () => {
  test.each([
    { words: ['get', '1', '77', '88'], ids: ['77', '88'] },
    { words: ['get', '77'], ids: ['77'] },
    { words: ['update', '1', '77', '-f', 'Title=x'], ids: ['77'] },
    { words: ['delete', '77', '1', '--yes'], ids: ['77'] },
  ])('$words', async ({ words, ids }) => {
    await using service = await listService();
    service.items.set('1', { Title: 'one' });
    await using world = await manyWorld(service);

    const { stderr } = await world.run(['items', ...words, '--json']);

    const errors = linesOf(stderr).map(({ error }) => error as { readonly id?: string; readonly kind: string });
    expect(errors.filter(({ kind }) => kind === 'not-found').map(({ id }) => id)).toEqual(ids);
  });

  test('by row, line and id in a read of many', async () => {
    await using service = await listService();
    service.items.set('1', { Title: 'one' });
    await using world = await manyWorld(service);
    const file = world.file(
      'ids.csv',
      `id\n1\n\n77\n${Array.from({ length: 30 }, (_, at) => `${at + 100}\n`).join('')}`,
    );

    const { stderr } = await world.run(['items', 'get', '--from', file, '-o', 'jsonl']);

    const errors = linesOf(stderr).flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect(errors[0]).toMatchObject({ kind: 'not-found', row: 2, line: 4, id: '77' });
    // A program is given every one of them, and what the command ended in.
    expect(errors).toHaveLength(32);
  });

  test('by the key and the action of its step in an apply', async () => {
    await using service = await listService(({ title }) => (title === 'b' ? { status: 400 } : undefined));
    await using world = await manyWorld(service);
    world.file('manifest.csv', 'Code,Title\nA,a\nB,b\n');

    const { stdout, stderr } = await world.run([
      'apply',
      'manifest.csv',
      '--key',
      'Code',
      '--init',
      '--yes',
      '-o',
      'jsonl',
    ]);

    expect(jsonLines(stdout)[1]).toMatchObject({ key: 'B', error: { kind: 'refused', key: 'B', action: 'create' } });
    expect(linesOf(stderr)).toMatchObject([{ summary: { action: 'apply', exit: 9 } }, { error: { exit: 9 } }]);
  });

  test('by its id, where it was created and could not be printed', async ({ world }) => {
    const { exitCode, stderr } = await world.run(['items', 'create', '-f', 'Title=a', '--json', '-q', 'abs(id)']);

    expect([exitCode, linesOf(stderr)]).toMatchObject([10, [{ error: { exit: 10, outcome: 'applied', id: '1' } }]]);
  });
});

describe('rows that cannot be sent', () => {
  const content = 'Title,Count:number\na,1\nb\nc,three\n';

  test.for([
    ['-o', 'json'],
    ['--json', '--quiet'],
    ['-o', 'jsonl'],
  ])('are each a line, with %s %s', async (flags, { service, world }) => {
    const { exitCode, stderr } = await world.run(create(world.file('a.csv', content), ...flags));

    const said = { kind: 'usage', exit: 2, outcome: 'not-sent' };
    expect([exitCode, service.requests]).toEqual([2, []]);
    expect(linesOf(stderr)).toEqual([
      {
        error: {
          ...said,
          row: 2,
          line: 3,
          reason: '1 cell, but the header has 2 columns',
          message: expect.any(String),
        },
      },
      {
        error: {
          ...{ ...said, row: 3, line: 4, column: 2, columnName: 'Count:number' },
          reason: 'in "Count", "three" is not a number',
          message: expect.stringMatching(/a\.csv: line 4, column 2: in "Count"/),
        },
      },
      { error: { ...said, hint: expect.any(String), message: expect.stringMatching(/2 rows of 3/) } },
    ]);
  });

  test('are named with --quiet too, and every one of many', async ({ world }) => {
    const file = world.file('a.csv', `Title,Count\n${'a\n'.repeat(30)}`);

    const [text, json] = [await world.run(create(file, '--quiet')), await world.run(create(file, '--json'))];

    expect(text.stderr.match(/^listctl: .*a\.csv: line \d+:/gm)).toHaveLength(20);
    expect(linesOf(json.stderr)).toHaveLength(31);
  });

  test('of a manifest have their keys', async ({ world }) => {
    world.file('manifest.csv', 'Code,Title\nA,a\nA,b\nB\n');

    const { stderr } = await world.run(['apply', 'manifest.csv', '--key', 'Code', '--init', '--yes', '--json']);

    expect(linesOf(stderr)).toMatchObject([
      { error: { row: 2, line: 3, key: 'A', reason: expect.stringContaining('is already used in line 2') } },
      { error: { row: 3, line: 4 } },
      { error: { exit: 2 } },
    ]);
  });
});

describe('what else stderr says is JSON too', () => {
  test('notices and traces', async ({ world }) => {
    const file = world.file('a.csv', 'id,Title\n7,a\n');

    const { stderr } = await world.run(create(file, '-v', '-o', 'jsonl'), { terminal: 80 });

    const lines = linesOf(stderr);
    expect(lines).toContainEqual({ notice: expect.stringMatching(/^.*id.*/) });
    expect(lines).toContainEqual({ trace: expect.stringMatching(/^POST .*HTTP 201/) });
    expect(lines.at(-1)).toHaveProperty('summary');
  });

  test('what a token command says is a notice', async ({ world }) => {
    const env = { LISTCTL_TOKEN: '', LISTCTL_TOKEN_COMMAND: 'echo renewing >&2; echo test-token' };

    const { stderr } = await world.run(['items', 'create', '-f', 'Title=a', '--json'], { env });

    expect(linesOf(stderr)).toEqual([{ notice: 'renewing' }]);
  });

  test('exit is the exit code of the process if a signal stopped it', async () => {
    const stop = new AbortController();
    await using service = await listService(() => {
      stop.abort(new Stopped('SIGTERM'));
      return { status: 400 };
    });
    await using world = await manyWorld(service);

    const { exitCode, stderr } = await world.run(['items', 'update', '1', '-f', 'A=a', '--json'], {
      signal: stop.signal,
    });

    expect(linesOf(stderr).at(-1)).toMatchObject({ error: { kind: 'refused', exit: exitCode } });
  });
});

describe('the summary', () => {
  test('separates this session from the whole run, in the file as on stderr', async () => {
    let isRefused = true;
    await using service = await listService(({ title }) => (title === 't3' && isRefused ? { status: 400 } : undefined));
    await using world = await manyWorld(service);
    const file = join(world.path, 'summary.json');
    const words = create(world.file('a.csv', titles(12)), '-o', 'jsonl', '--summary-json', file);

    const first = await world.run(words);
    const [failed, onStderr] = [JSON.parse(readFileSync(file, 'utf8')), linesOf(first.stderr)[0]];
    isRefused = false;
    await world.run([...words, '--resume']);
    const resumed = JSON.parse(readFileSync(file, 'utf8'));

    expect(onStderr).toEqual({ summary: failed });
    expect(failed).toEqual({
      ...{ run: expect.any(String), journal: world.journals()[0], action: 'create' },
      ...{ service: service.url, site: 'home', list: 'tasks', shard: null, exit: 9 },
      error: expect.objectContaining({ kind: 'incomplete', exit: 9 }),
      total: { rows: 12, done: 11, failed: 1, inDoubt: 0, skipped: 0, left: 0 },
      session: {
        ...{ rows: 12, done: 11, failed: 1, inDoubt: 0, sent: 12, retries: 0, throttledMs: 0, outageMs: 0 },
        durationMs: expect.any(Number),
      },
      failures: [{ count: 1, kind: 'refused', status: 400, row: 3, message: expect.any(String) }],
    });
    expect(resumed).toMatchObject({
      ...{ run: failed.run, exit: 0, total: { rows: 12, done: 12 }, session: { rows: 1, done: 1, sent: 1 } },
      failures: [],
    });
    expect(resumed).not.toHaveProperty('error');
  });

  test('is written where nothing could be sent, and with --quiet', async ({ world }) => {
    const words = create(world.file('a.csv', 'A,B\n1\n'), '--summary-json', 's.json', '--quiet', '--shard', '1/2');

    const { exitCode } = await world.run(words);

    expect([exitCode, JSON.parse(world.text('s.json'))]).toMatchObject([
      2,
      { action: 'create', shard: '1/2', exit: 2, error: { kind: 'usage', row: 1, line: 2 } },
    ]);
  });

  test('is written to stdout with -, if no results are', async ({ service, world }) => {
    const words = create(world.file('a.csv', titles(2)), '--summary-json', '-');

    const refused = await world.run(words);
    const { stdout } = await world.run([...words, '-o', 'none']);

    expect([refused.exitCode, refused.stdout, service.requests.length]).toEqual([2, '', 2]);
    expect(JSON.parse(stdout)).toMatchObject({ exit: 0, total: { done: 2 } });
  });

  test.for([
    { words: ['--summary-json', 'a.csv'], reason: 'a file that is read' },
    { words: ['--summary-json', 's.json', '--dry-run'], reason: 'a dry run' },
    { words: ['--summary-json', 'no-such-directory/s.json'], reason: 'a place that cannot be written', exit: 10 },
  ])('is refused before anything is sent: $reason', async ({ words, exit = 2 }, { service, world }) => {
    const { exitCode } = await world.run(create(world.file('a.csv', titles(2)), ...words));

    expect([exitCode, service.requests.length, world.text('a.csv')]).toEqual([exit, 0, titles(2)]);
  });
});

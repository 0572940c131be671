/** The bar of a run over many rows, on a real terminal: one line that is drawn over, and gone at the end. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env as ownEnvironment } from 'node:process';
import { describe, expect, test } from 'vitest';
import { listctlFile, testNode } from '../support/listctl.ts';
import { environmentFor, newItems, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openTerminal, type Terminal } from '../support/terminal.ts';

const rows = 50;
const atOnce = 20;
const bar = /^\[=*-*\] \d+ of \d+/;

describe('the bar', () => {
  test.each([40, 80, 200])('at %i columns is one row, redrawn in place, and removed at the end', async (columns) => {
    await using world = await manyRows();
    await using terminal = world.open('', { columns });

    await showsBar(terminal, `${atOnce} of ${rows}`);
    const drawn = timesDrawn(terminal);
    await terminal.comesTo('another frame', () => timesDrawn(terminal) > drawn);

    expect(barRows(terminal)).toEqual([0]);
    expect(rowLength(terminal, 0)).toBeLessThan(columns);
    expect(terminal.cursor).toMatchObject({ row: 0, isVisible: true });
    world.answerAll();
    expect(await terminal.ended).toMatchObject({ exitCode: 0 });
    expect(barRows(terminal)).toEqual([]);
    expect(terminal.text()).toMatch(/^50 rows: 50 created; [^\n]* rows\/s,\s+on\s+http:\S+$/);
  });

  test('follows the terminal when that becomes wider, and when it becomes narrower', async () => {
    await using world = await manyRows();
    await using terminal = world.open('', { columns: 40 });

    await showsBar(terminal, `${atOnce} of ${rows}`);
    await terminal.resize(120, 24);
    await terminal.comesTo('a wider bar', () => barRows(terminal).some((row) => rowLength(terminal, row) > 40));
    expect(barRows(terminal)).toEqual([0]);
    const drawn = timesDrawn(terminal);
    await terminal.resize(30, 24);
    await terminal.comesTo('a frame', () => timesDrawn(terminal) > drawn);
    await terminal.comesTo('a bar in one row', () => {
      const last = barRows(terminal).at(-1);
      return last === terminal.cursor.row && rowLength(terminal, last) < 30;
    });
    expect(barRows(terminal)).toHaveLength(1);

    world.answerAll();
    expect(await terminal.ended).toMatchObject({ exitCode: 0 });
    expect(terminal.text()).toContain('50 rows: 50 created; ');
  });

  test('gives way to what is said of a row, and comes back below it', async () => {
    await using world = await manyRows({ firstStatus: 400 });
    await using terminal = world.open('', { columns: 80 });

    await showsBar(terminal, `${atOnce} of ${rows}, 1 failed`);

    const [failure = '', ...others] = textsOf(terminal);
    expect(failure).toContain('row 1');
    expect(others.filter((row) => bar.test(row))).toHaveLength(1);
    world.answerAll();
    expect(await terminal.ended).toMatchObject({ exitCode: 9 });
    expect(barRows(terminal)).toEqual([]);
    expect(terminal.text()).toMatch(/50 rows: 49 created, 1 failed/);
  });

  test.each(['id', 'csv'])(
    'leaves nothing among results that go to the same terminal, and takes nothing of them: %s',
    async (format) => {
      await using world = await manyRows();
      await using terminal = world.open(`-o ${format}`, { columns: 80 });

      await showsBar(terminal, `${atOnce} of ${rows}`);
      world.answerAll();
      expect(await terminal.ended).toMatchObject({ exitCode: 0 });

      const results = terminal.lines().slice(0, terminal.cursor.row);
      expect(results.pop()).toMatch(/^50 rows: 50 created; /);
      const ids = format === 'id' ? results : results.slice(1).map((line) => line.split(',')[3]);
      expect(ids).toEqual(Array.from({ length: rows }, (_, index) => `${index + 1}`));
    },
  );
});

test.each([
  { where: 'with --quiet', line: '--quiet', env: {} },
  { where: 'on a terminal that cannot move its cursor', line: '', env: { TERM: 'dumb' } },
  { where: 'with stderr in a file', line: '2> file', env: {} },
])('there is no bar $where', async ({ line, env }) => {
  await using world = await manyRows();
  await using terminal = world.open(line, { columns: 80, env });

  await terminal.comesTo('requests', () => world.requests() > atOnce);
  world.answerAll();
  expect(await terminal.ended).toMatchObject({ exitCode: 0 });

  const file = line.includes('file') ? readFileSync(join(world.home, 'file'), 'utf8') : '';
  const all = `${terminal.written}${file}`;
  expect(all).not.toContain('\u001b');
  expect(all).not.toMatch(/ of 50|\[[-=]+\]|\r(?!\n)/);
  expect(all.includes('50 rows: 50 created')).toBe(line !== '--quiet');
});

interface ManyWorld extends AsyncDisposable {
  readonly home: string;
  readonly requests: () => number;
  /** Lets the rows go on that were not answered at once. */
  readonly answerAll: () => void;
  /** Creates the rows; `line` is more words, and where streams go. */
  open(line: string, options: { readonly columns: number; readonly env?: Record<string, string> }): Terminal;
}

/**
 * A file of rows, sent one by one, and a service that responds to some of them at once, and to the others on
 * request.
 */
async function manyRows({ firstStatus = 201 } = {}): Promise<ManyWorld> {
  let answerAll = () => {};
  const after = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  const created = { status: 201, body: newItems() };
  const first = { status: firstStatus, body: firstStatus === 201 ? created.body : { error: 'no such field' } };
  const early = Array.from({ length: atOnce - 1 }, () => created);
  const service = await scriptedService(first, ...early, { ...created, after });
  const directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'rows.csv'), `Title\n${'row\n'.repeat(rows)}`);
  return {
    home: directory.path,
    requests: () => service.requests.length,
    answerAll,
    open: (line, { columns, env }) => {
      const program = `exec '${testNode}' '${listctlFile}' items create --from rows.csv --concurrency 1 ${line}`;
      return openTerminal('sh', ['-c', program], {
        ...{ columns, cwd: directory.path },
        env: { PATH: ownEnvironment['PATH'] ?? '', HOME: directory.path, ...environmentFor(service), ...env },
      });
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function showsBar(terminal: Terminal, progress: string): Promise<void> {
  return terminal.comesTo(`a bar at ${progress}`, () =>
    textsOf(terminal).some((row) => bar.test(row) && row.includes(progress)),
  );
}

function textsOf(terminal: Terminal): readonly string[] {
  return terminal.rows().map(({ text }) => text);
}

/** The rows that contain a bar, or the remains of one. */
function barRows(terminal: Terminal): readonly number[] {
  return textsOf(terminal).flatMap((text, row) => (/\[[-=]+|[-=]+\]| of 50/.test(text) ? [row] : []));
}

function rowLength(terminal: Terminal, row: number): number {
  return textsOf(terminal)[row]?.length ?? 0;
}

function timesDrawn({ written }: Terminal): number {
  return written.split('\u001b[1G[').length - 1;
}

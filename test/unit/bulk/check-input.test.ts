import { createHash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { checkShown } from '../../../src/bulk/progress.ts';
import type { Messages } from '../../../src/cli/report.ts';
import type { Session } from '../../../src/cli/session.ts';
import { plainStyle } from '../../../src/output/view.ts';
import type { Pass, RowsFile } from '../../../src/rows/read.ts';
import type { Row } from '../../../src/rows/types.ts';
import { testHost } from '../../support/test-host.ts';

const patiently = { timeout: 60_000 };

/** How a line is taken away. */
const lineGone = '\u001b[1G\u001b[J\u001b[1G';

test('the check of a file shows its rows so far, counted over all shards, and how much of the file that is', async () => {
  const { session, host, tick } = watching();
  const gate = closedGate();
  const file = fileOf(async function* ({ onBytes, onContent }) {
    yield [rowOf(1), rowOf(2)];
    onBytes?.(new Uint8Array(30));
    yield [rowOf(3)];
    await gate.opened;
    onBytes?.(new Uint8Array(70));
    onContent?.(new Uint8Array(100));
    yield [rowOf(4)];
  });

  const checking = checkShown(file, session);
  await tick(/checking tasks\.csv: 3 rows, 30 %/);
  gate.open();

  expect(await checking).toMatchObject({
    ...{ rows: 4, sizeBytes: 100, sha256: createHash('sha256').update(Buffer.alloc(100)).digest('hex') },
  });
  expect(host.printed.stderr.endsWith(lineGone)).toBe(true);
});

test('a check that fails leaves no line behind', async () => {
  const { session, host, tick } = watching();
  const gate = closedGate();
  const file = fileOf(async function* () {
    yield [rowOf(1)];
    await gate.opened;
    throw new Error('got shorter');
  });

  const checking = checkShown(file, session);
  await tick(/1 row/);
  gate.open();

  await expect(checking).rejects.toThrow('got shorter');
  expect(host.printed.stderr.endsWith(lineGone)).toBe(true);
});

function closedGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** What a session is to a display. */
function watching() {
  const works = new Set<() => void>();
  const made = testHost({ terminal: 80, env: { TERM: 'xterm' } });
  const every = (_: number, work: () => void) => {
    works.add(work);
    return () => works.delete(work);
  };
  const host = { ...made, clock: { ...made.clock, every } };
  const screen = { columns: 80, style: plainStyle };
  const session = {
    host,
    messages: { isQuiet: false, errorScreen: async () => screen } as Partial<Messages> as Messages,
  } as Partial<Session> as Session;
  const tick = (sign: RegExp) =>
    vi.waitFor(() => {
      for (const work of [...works]) work();
      expect(host.printed.stderr).toMatch(sign);
    }, patiently);
  return { session, host, tick };
}

function fileOf(blocks: (pass: Pass) => AsyncGenerator<readonly Row[]>): RowsFile {
  const input = {
    name: 'tasks.csv',
    isSpooled: false,
    isRegular: true,
    descriptor: -1,
    sizeBytes: 100,
    close: () => {},
  };
  return {
    ...{ input, format: 'csv', delimiter: ',', header: ['Title'], blocks: (pass = {}) => blocks(pass) },
    ...{ isOfShard: () => true, notices: () => [], checkNames: () => {} },
  } as Partial<RowsFile> as RowsFile;
}

function rowOf(number: number): Row {
  return { number, line: number + 1, id: undefined, fields: {}, source: { kind: 'cells', cells: [] } } as Row;
}

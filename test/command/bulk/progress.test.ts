/** What a terminal shows of a run before there are results, and what is kept out of a log. */
import { PassThrough } from 'node:stream';
import { expect, vi } from 'vitest';
import { main } from '../../../src/main.ts';
import { listWorld, test } from './fixtures.ts';
// Loaded before it is asked for, so that a line that should not be drawn would be there at once.
import 'cli-progress';
import { type TestHost, testHost } from '../../support/test-host.ts';
import { create, type ManyWorld, titles } from './bulk-world.ts';

const onTerminal = { terminal: 80, env: { TERM: 'xterm' } };
const reading = create('-', '--input-format', 'csv', '-o', 'none');

const patiently = { timeout: 60_000 };

/** How a line is taken away. */
const lineGone = '\u001b[1G\u001b[J\u001b[1G';

test('stdin is shown as it comes, and not before: until then its writer may need the terminal', async ({ world }) => {
  const { host, tick, everyMs } = ticking(world, onTerminal);
  const stdin = new PassThrough();
  const running = main(reading, { ...host, stdin: { isTTY: false, stream: stdin } });

  await vi.waitFor(() => expect(everyMs).toHaveLength(1), patiently);
  await tick();
  await new Promise(setImmediate);
  expect(host.printed.stderr).toBe('');
  stdin.write(`Title\n${'x'.repeat(4_200_000)}\n`);
  await tick(/reading standard input: 4\.2 MB/);
  stdin.end();

  expect(await running).toBe(0);
  expect(host.printed.stderr.split(lineGone).at(-1)).toMatch(/^1 row: 1 created/);
});

test('the bar is there before the first answer, well within 100 ms', async () => {
  const { open, opened } = closedGate();
  const { service, world } = await listWorld(({ nth }) => ({
    status: 201,
    after: opened,
    body: { id: `${nth}`, fields: {} },
  }));
  const { host, tick, everyMs } = ticking(world, onTerminal);
  const running = main(create(world.file('tasks.csv', titles(2)), '-o', 'none'), host);

  await vi.waitFor(() => expect(service.requests).toHaveLength(1), patiently);
  await tick(/\[-+\] 0 of 2/);
  open();

  expect(await running).toBe(0);
  expect(everyMs[0]).toBeLessThanOrEqual(80);
});

test('a row that waits for its response does not hold back the count of those after it', async () => {
  const { open, opened } = closedGate();
  const { world } = await listWorld(({ nth, title }) => ({
    ...{ status: 201, body: { id: `${nth}`, fields: {} } },
    after: title === 't2' ? opened : Promise.resolve(),
  }));
  const { host, tick } = ticking(world, onTerminal);
  const running = main(create(world.file('tasks.csv', titles(10)), '-o', 'none'), host);

  await tick(/\[=+-+\] 9 of 10/);
  open();

  expect(await running).toBe(0);
});

test.each([
  { output: 'id', gone: true, because: 'results are printed in its place' },
  { output: 'none', gone: false, because: 'nothing is' },
])('with -o $output on a terminal a result removes the bar: $gone, $because', async ({ output, gone }) => {
  const gates = [closedGate(), closedGate()];
  const { service, world } = await listWorld(({ nth }) => ({
    ...{ status: 201, body: { id: `${nth}`, fields: {} } },
    after: gates[nth - 1]?.opened ?? Promise.resolve(),
  }));
  const { host, tick } = ticking(world, onTerminal);
  const running = main(create(world.file('a.csv', titles(2)), '-o', output, '--concurrency', '1'), host);

  await vi.waitFor(() => expect(service.requests).toHaveLength(1), patiently);
  await tick(/0 of 2/);
  const before = host.printed.stderr.split(lineGone).length;
  gates[0]?.open();
  await vi.waitFor(() => expect(service.requests).toHaveLength(2), patiently);
  expect(host.printed.stderr.split(lineGone).length > before).toBe(gone);
  gates[1]?.open();

  expect(await running).toBe(0);
});

test('a long manifest is named before it is read, since reading it lets no clock tick', async ({ world }) => {
  const manifest = (count: number) =>
    ['items:', ...Array.from({ length: count }, (_, at) => `- Title: t${at}`)].join('\n');
  const apply = (file: string) => ['apply', file, '--key', 'Title', '--dry-run', '-o', 'none'];
  world.file('short.yaml', manifest(10));
  world.file('long.yaml', manifest(8000));

  const short = await world.run(apply('short.yaml'), onTerminal);
  const long = await world.run(apply('long.yaml'), onTerminal);

  expect([short.exitCode, long.exitCode]).toEqual([0, 0]);
  expect(short.stderr).not.toContain('reading');
  expect(long.stderr).toMatch(/reading long\.yaml/);
});

test.for([
  { where: 'off a terminal', words: [], world: { env: { TERM: 'xterm' } } },
  { where: 'on one that moves no cursor', words: [], world: { terminal: 80, env: { TERM: 'dumb' } } },
  { where: 'with --quiet', words: ['--quiet'], world: onTerminal },
])('$where nothing is drawn of a run that is short', async ({ words, world: how }, { world }) => {
  const { host, everyMs } = ticking(world, how);
  const stdin = Object.assign(new PassThrough(), { bytesRead: 4_200_000 });
  const running = main([...reading, ...words], { ...host, stdin: { isTTY: false, stream: stdin } });

  stdin.end(titles(3));

  expect(await running).toBe(0);
  expect(host.printed.stderr).toMatch(words.length === 0 ? /^3 rows: 3 created[^\n]*\n$/ : /^$/);
  expect(everyMs.filter((ms) => ms < 10_000)).toEqual([]);
});

function closedGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** A world with a manual clock. */
function ticking(
  world: ManyWorld,
  { env, ...how }: { readonly terminal?: number; readonly env: Record<string, string> },
) {
  const works = new Set<() => void>();
  const everyMs: number[] = [];
  const made = testHost({ cwd: world.path, ...how, env: { ...world.env, ...env } });
  const every = (ms: number, work: () => void) => {
    everyMs.push(ms);
    works.add(work);
    return () => works.delete(work);
  };
  const host: TestHost = { ...made, clock: { ...made.clock, every } };
  /** Ticks until stderr shows it. */
  const tick = (sign = /(?:)/) =>
    vi.waitFor(() => {
      for (const work of [...works]) work();
      expect(host.printed.stderr).toMatch(sign);
    }, patiently);
  return { host, tick, everyMs };
}

/** `--report github|junit=FILE`: what failed, for CI systems. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { create, jsonLines, type ManyWorld, titles } from './bulk-world.ts';
import { listWorld } from './fixtures.ts';

/** Refuses the second row, and gives no answer to the third. */
const failing = () =>
  listWorld(({ title }) => {
    if (title === 't2') return { status: 400, body: { error: { message: 'no: <b>&"50%",\u0000\ufffe' } } };
    return title === 't3' ? { status: 500 } : undefined;
  });

const annotations = (text: string) => text.split('\n').filter((line) => line.startsWith('::'));

/** The test cases of a JUnit file, whose markup is well-formed. */
function casesIn(world: ManyWorld, file = 'junit.xml'): readonly string[] {
  const text = readFileSync(join(world.path, file), 'utf8');
  const plain = text.replace(/<\/?[a-z]+( [a-z]+="[^"<>]*")*\/?>|<\?xml [^>]*\?>/g, '');
  expect(plain).not.toMatch(/[<>]|&(?!amp;|lt;|gt;|quot;)/);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\ufffe\uffff]/u);
  return text.split('\n').filter((line) => line.startsWith('<testcase') || line.startsWith('<testsuite '));
}

describe('rows that failed', () => {
  test('github: annotations with file and line on stderr, beside JSON on stdout', async () => {
    const { world } = await failing();
    const words = [...create(world.file('a.csv', titles(4))), '--retries', '0', '-o', 'jsonl', '--report', 'github'];

    const { exitCode, stdout, stderr } = await world.run(words, { env: { GITHUB_WORKSPACE: world.path } });

    expect([exitCode, jsonLines(stdout).map(({ status }) => status)]).toEqual([
      8,
      ['done', 'failed', 'in-doubt', 'done'],
    ]);
    expect(annotations(stderr)).toEqual([
      expect.stringMatching(/^::error file=a\.csv,line=3,title=row 2 \(line 3\)::.*no: <b>&"50%25",\\x00/),
      expect.stringMatching(/^::error file=a\.csv,line=4,title=row 3 \(line 4\)::/),
    ]);
  });

  test('junit: a test case for each, and one for the others', async () => {
    const { world } = await failing();
    world.file('a.csv', titles(4));

    await world.run([...create('a.csv'), '--retries', '0', '--report', 'junit=junit.xml', '--report', 'github=g.txt'], {
      cwd: world.path,
    });

    expect(casesIn(world)).toEqual([
      '<testsuite name="listctl items create" tests="3" failures="1" errors="1" skipped="0">',
      expect.stringMatching(
        /^<testcase classname="a.csv" name="row 2 \(line 3\)" file="a.csv" line="3"><failure message=".*&lt;b&gt;&amp;&quot;50%&quot;,\\x00.*" type="refused">/,
      ),
      expect.stringMatching(
        /^<testcase classname="a.csv" name="row 3 \(line 4\)" file="a.csv" line="4"><error message="/,
      ),
      '<testcase classname="a.csv" name="2 others done" file="a.csv"/>',
    ]);
    expect(annotations(world.text('g.txt'))).toHaveLength(2);
  });

  test('jsonl: the results of all rows, as -o jsonl prints them, beside a text for people', async () => {
    const { world } = await failing();
    const words = [...create(world.file('a.csv', titles(4))), '--retries', '0', '--report', 'jsonl=results.jsonl'];

    const { exitCode, stdout, stderr } = await world.run([...words, '-o', 'none'], { cwd: world.path });

    expect([exitCode, stdout]).toEqual([8, '']);
    expect(stderr).toContain('4 rows: 2 created, 1 failed, 1 in doubt');
    const results = jsonLines(world.text('results.jsonl'));
    expect(results).toEqual([
      { row: 1, action: 'create', status: 'done', id: '1' },
      { row: 2, action: 'create', status: 'failed', error: expect.objectContaining({ kind: 'refused', line: 3 }) },
      { row: 3, action: 'create', status: 'in-doubt', error: expect.objectContaining({ kind: 'in-doubt' }) },
      { row: 4, action: 'create', status: 'done', id: expect.any(String) },
    ]);
  });

  test('many: GitHub shows ten, so the last one counts the others', async () => {
    const { world } = await listWorld(() => ({ status: 400, body: { error: 'no' } }));

    const { stderr } = await world.run([
      ...create(world.file('a.csv', titles(1200))),
      '--report',
      'github',
      '--report',
      'junit=junit.xml',
    ]);

    expect(annotations(stderr)).toHaveLength(10);
    expect(stderr).toContain('::error title=listctl::1,191 more failures: see the log\n');
    expect(casesIn(world)).toHaveLength(1201);
  });
});

test('invalid rows are reported too, also by a dry run, and nothing is sent', async () => {
  const { service, world } = await listWorld();
  const file = world.file('a.jsonl', '{"Title":"a"}\n{"Title":}\n{"Title":"c"}\nx\n');

  for (const more of [[], ['--dry-run']]) {
    const words = [...create(file), '--report', 'github', '--report', 'junit=junit.xml', ...more];
    const { exitCode, stderr } = await world.run(words);

    expect([exitCode, annotations(stderr)]).toEqual([
      2,
      [
        expect.stringMatching(/^::error file=.*a\.jsonl,line=2,col=10,title=row 2 \(line 2\)::line 2, column 10/),
        expect.stringMatching(/^::error file=.*a\.jsonl,line=4,col=1,title=row 4 \(line 4\)::/),
      ],
    ]);
    expect(casesIn(world)).toHaveLength(3);
  }
  expect(service.requests).toEqual([]);
});

test('a failure of the whole command is reported, and a run without failures', async () => {
  const { world } = await listWorld({ t2: { status: 401 } });
  const report = ['--concurrency', '1', '--report', 'junit=junit.xml'];

  await world.run([...create(world.file('a.csv', 'Title\na1\n')), ...report]);
  expect(casesIn(world).slice(1)).toEqual([expect.stringMatching(/ name="1 other done" file="[^"]*a.csv"\/>$/)]);

  await world.run([...create(world.file('b.csv', titles(3))), ...report]);
  expect(casesIn(world).slice(1)).toEqual([
    expect.stringMatching(/ name="items create".*type="credentials"/),
    expect.stringContaining('name="1 other done"'),
    expect.stringContaining('name="2 others not sent" file="'),
  ]);

  const missing = await world.run([...create('no.csv'), '--report', 'github']);
  expect(annotations(missing.stderr)).toEqual([
    expect.stringMatching(/^::error file=no\.csv,title=items create::.*no\.csv/),
  ]);
});

test.each([
  [['--report', 'junit'], 'invalid --report "junit": expected github, github=FILE, junit=FILE or jsonl=FILE'],
  [['--report', 'sarif=x'], 'invalid --report "sarif=x"'],
  [['--report', 'junit='], 'invalid --report "junit="'],
  [['--report', 'github', '--report', 'github=x'], 'github is given twice'],
  [['--report', 'junit=a.csv'], '--from and --report junit are the same file'],
  [['--report', 'junit=-', '-o', 'jsonl'], '--report cannot be used with -o jsonl'],
  [['--report', 'junit=no/such/directory'], 'no/such'],
])('%j is refused before anything is sent', async (words, message) => {
  const { service, world } = await listWorld();
  world.file('a.csv', titles(1));

  const { exitCode, stderr } = await world.run([...create('a.csv'), ...words], { cwd: world.path });

  expect([exitCode === 2 || exitCode === 10, stderr]).toEqual([true, expect.stringContaining(message)]);
  expect([service.requests, world.text('a.csv')]).toEqual([[], titles(1)]);
});

test('apply: steps, with the line of the manifest', async () => {
  const { world } = await failing();
  world.file('m.yaml', 'key: Title\nitems:\n  - Title: t1\n  - Title: t2\n');
  const words = ['apply', 'm.yaml', '--init', '--yes', '--report', 'github', '--report', 'junit=junit.xml'];

  const { exitCode, stderr } = await world.run(words);
  world.file('m.yaml', 'key: Title\nitems:\n  - Title: t1\n  - Name: x\n');
  const invalid = await world.run(['plan', 'm.yaml']);
  const checked = await world.run(['apply', 'm.yaml', '--dry-run', '--report', 'github']);
  const overwriting = await world.run(['apply', 'm.yaml', '--report', 'junit=m.yaml.state.json']);

  expect([exitCode, annotations(stderr)]).toEqual([
    9,
    [expect.stringMatching(/^::error file=m\.yaml,line=4,title=create "t2"::/)],
  ]);
  expect(casesIn(world).slice(1)).toEqual([
    expect.stringContaining('name="create &quot;t2&quot;" file="m.yaml" line="4"'),
    expect.stringContaining('name="1 other done"'),
  ]);
  expect([invalid.exitCode, checked.exitCode, overwriting.exitCode]).toEqual([2, 2, 2]);
  expect(annotations(checked.stderr)).toEqual([expect.stringMatching(/^::error file=m\.yaml,line=4,/)]);
  expect(existsSync(join(world.path, 'm.yaml.state.json')) && world.text('m.yaml.state.json')).toContain('"lineage"');
});

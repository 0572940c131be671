/** What `apply` prints on stdout for programs: what came of each step. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect } from 'vitest';
import { jsonLines } from '../bulk/bulk-world.ts';
import { a, b, test } from './fixtures.ts';

const results = [
  { key: 'a', action: 'update', status: 'done', id: '1' },
  { key: 'd', action: 'create', status: 'done', id: '4' },
  { key: 'c', action: 'delete', status: 'done', id: '3' },
];

describe('the results of the steps, in their order', () => {
  test.for([
    ['jsonl', results.map((result) => `${JSON.stringify(result)}\n`).join('')],
    ['json', `[\n${results.map((result) => `  ${JSON.stringify(result)}`).join(',\n')}\n]\n`],
    ['id', '1\n4\n3\n'],
    ['csv', 'key,action,status,id,error\na,update,done,1,\nd,create,done,4,\nc,delete,done,3,\n'],
    ['none', ''],
    ['pretty', /\nPlan: [^\n]*\nupdated "a": id 1\ncreated "d": id 4\ndeleted "c": id 3\n$/],
  ] as const)('-o %s', async ([format, expected], { changed }) => {
    const { exitCode, stdout, stderr } = await changed.world.apply('--yes', '--prune', '-o', format);

    expect(exitCode).toBe(0);
    if (format === 'json') expect(JSON.parse(stdout)).toEqual(results);
    else if (typeof expected === 'string') expect(stdout).toBe(expected);
    else expect(stdout).toMatch(expected);
    expect(stderr).toContain(
      format.startsWith('json')
        ? '"applied":{"created":1,"updated":1,"deleted":1,"unchanged":1}'
        : '1 created, 1 updated, 1 deleted, 1 unchanged; ',
    );
  });

  test('--report jsonl=FILE: in a file, beside the plan and the summary for people', async ({ changed }) => {
    const { world } = changed;

    const { stdout, stderr } = await world.apply('--yes', '--prune', '--report', `jsonl=${world.path}/r.jsonl`);

    expect(jsonLines(world.text('r.jsonl'))).toEqual(results);
    expect(stdout).toContain('Plan: ');
    expect(stderr).toContain('1 created, 1 updated, 1 deleted, 1 unchanged; ');
  });

  test('-q asks them', async ({ changed }) => {
    const { stdout } = await changed.world.apply('--yes', '--prune', '-q', '[].key');

    expect(stdout).toBe('a\nd\nc\n');
  });

  test('of a saved plan as well', async ({ changed }) => {
    await changed.world.apply('--prune', '--out', 'plan.json');

    const { stdout } = await changed.world.run(['apply', 'plan.json', '-o', 'jsonl']);

    expect(jsonLines(stdout)).toEqual(results);
  });

  test.for([
    ['json', '[]\n', '"applied":{"created":0,"updated":0,"deleted":0,"unchanged":1}'],
    ['jsonl', '', '"applied":{"created":0,"updated":0,"deleted":0,"unchanged":1}'],
    ['csv', 'key,action,status,id,error\n', '0 created, 0 updated, 0 deleted, 1 unchanged; '],
    ['none', '', '0 created, 0 updated, 0 deleted, 1 unchanged; '],
  ] as const)(
    'are none where nothing is to do, and that is said: -o %s',
    async ([format, expected, said], { world }) => {
      await world.begin(a);

      const { exitCode, stdout, stderr } = await world.apply('-o', format);

      expect([exitCode, stdout]).toEqual([0, expected]);
      expect(stderr).toContain(said);
    },
  );

  test('a failed step has its error; the run exits with 9 and stdout is not a plan', async ({ changed }) => {
    const { world, service } = changed;
    service.script = ({ method }) => (method === 'POST' ? { status: 400, body: { error: 'no' } } : undefined);

    const { exitCode, stdout } = await world.apply('--yes', '-o', 'jsonl');

    expect(exitCode).toBe(9);
    expect(jsonLines(stdout)).toMatchObject([
      { key: 'a', status: 'done' },
      { key: 'd', action: 'create', status: 'failed', error: { kind: 'refused', status: 400 } },
    ]);
  });
});

test.for([
  ['json', 'y\n', 0],
  ['none', 'n\n', 2],
] as const)('-o %s on a terminal prints the plan on stderr first', async ([format, typed, exit], { changed }) => {
  const { exitCode, stdout, stderr } = await changed.world.answering(['apply', 'manifest.yaml', '-o', format], typed);

  expect(exitCode).toBe(exit);
  const lines = stripVTControlCharacters(stderr);
  expect(lines.indexOf('Note: x → new')).toBeGreaterThan(-1);
  expect(lines.indexOf('Note: x → new')).toBeLessThan(lines.indexOf('Create 1'));
  expect(stdout).not.toContain('x → new');
});

describe('a key in doubt', () => {
  test.for(['pretty', 'jsonl'])('is 8 and named, also beside a failure (-o %s)', async (format, { service, world }) => {
    world.manifest(a, b);
    service.script = ({ method, fields }) =>
      method === 'POST' ? { status: fields['Title'] === 'a' ? 500 : 400, body: { error: 'no' } } : undefined;
    const words = ['--yes', '--retries', '0', '--concurrency', '1', '-o', format];

    const first = await world.apply('--init', ...words);
    const second = await world.apply(...words);
    const third = await world.apply(...words, '--rejects', 'rejects.jsonl');

    expect([first.exitCode, second.exitCode, third.exitCode]).toEqual([8, 8, 8]);
    for (const { stderr } of [first, second, third]) expect(stderr.replaceAll('\\', '')).toContain('"a" in doubt');
    expect(third.stderr).toContain('listctl state resolve manifest.yaml');
    expect(jsonLines(world.text('rejects.jsonl'))).toMatchObject([{ key: 'b', action: 'create' }]);
    if (format !== 'jsonl') return;
    expect(jsonLines(third.stdout)).toMatchObject([
      { key: 'a', action: 'create', status: 'in-doubt', error: { kind: 'in-doubt' } },
      { key: 'b', action: 'create', status: 'failed', error: { kind: 'refused' } },
    ]);
  });
});

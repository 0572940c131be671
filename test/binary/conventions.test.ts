/** What docs/conventions.md says of real pipes and processes. */
import { expect, test } from 'vitest';
import { listctl, shell } from '../support/listctl.ts';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';

test.each(['json', 'jsonl', 'yaml', 'csv', 'tsv'])(
  'through a real pipe not a character of 500 kB is lost: %s',
  async (o) => {
    const Title = 'listctl'.repeat(70_000);
    await using service = await scriptedService({ status: 200, body: { id: '17', fields: { Title } } });

    const { exitCode, stdout } = await shell(`listctl items get 17 -o ${o} | cat`, environmentFor(service));

    expect({ exitCode, isWhole: stdout.includes(Title) }).toEqual({ exitCode: 0, isWhole: true });
  },
);

test('an open stdin does not keep a process running', async () => {
  await using service = await scriptedService({ status: 200, body: { id: '17', fields: { Title: 'a' } } });

  for (const words of [['--help'], ['--version'], ['items', 'get', '17'], ['items', 'create', '-f', 'Title=a']]) {
    expect(await listctl(words, environmentFor(service), { stdin: 'pipe', timeout: 10_000 })).toMatchObject({
      ...{ exitCode: 0, timedOut: false },
    });
  }
});

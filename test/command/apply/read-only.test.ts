/** What is only shown writes nothing beside the manifest: no lock, no state, no journal. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type ApplyWorld, a, b, test } from './fixtures.ts';

function filesOf({ path }: ApplyWorld): ReadonlyMap<string, string> {
  const names = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(names.map(({ name }) => [name, readFileSync(join(path, name), 'latin1')]));
}

/** Where nothing may be written, no lock can be taken: a file where its directory would be is the same to everybody. */
function refuseLocks({ statePath }: ApplyWorld): void {
  writeFileSync(`${statePath}.lock`, '');
}

const reading = [
  ['apply --dry-run', ['apply', 'manifest.yaml', '--dry-run', '--prune', '--detailed-exitcode'], 12],
  ['apply of a saved plan, --dry-run', ['apply', 'plan.json', '--dry-run'], 0],
  ['state export', ['state', 'export', 'manifest.yaml'], 0],
] as const;

describe('without write access', () => {
  test.for(reading)('%s works, and leaves every file as it is', async ([_, words, exit], { world }) => {
    await world.begin(a, b);
    world.manifest({ ...a, Note: 'new' });
    await world.apply('--prune', '--out', 'plan.json');
    refuseLocks(world);
    const before = filesOf(world);

    const { exitCode, stderr } = await world.run(words);

    expect([exitCode, stderr, filesOf(world)]).toEqual([exit, '', before]);
  });

  test('the first --dry-run, without a state, works too', async ({ world }) => {
    world.manifest(a);
    refuseLocks(world);
    const before = filesOf(world);

    const { exitCode, stdout } = await world.apply('--init', '--dry-run');

    expect([exitCode, filesOf(world)]).toEqual([0, before]);
    expect(stdout).toContain('Plan: 1 to create');
  });

  test('apply itself, and a plan that is saved, need it: 10', async ({ service, world }) => {
    world.manifest(a);
    refuseLocks(world);

    const applied = await world.apply('--init', '--yes');
    const saved = await world.apply('--init', '--dry-run', '--out', 'plan.json');

    expect([applied.exitCode, saved.exitCode, service.requests.length]).toEqual([10, 10, 0]);
  });
});

test('shows what a killed run did, and leaves its journal in place', async ({ service, world }) => {
  world.manifest(a, b);
  const left = new Map<string, string>();
  service.onApplied = (_, id) => {
    if (id !== '2') return;
    for (const more of ['', '.journal'])
      left.set(`manifest.yaml.state.json${more}`, world.text(`manifest.yaml.state.json${more}`));
  };
  await world.apply('--init', '--yes', '--concurrency', '1');
  for (const [name, text] of left) world.file(name, text);
  refuseLocks(world);
  const before = filesOf(world);

  const shown = await world.apply('--dry-run');
  const exported = await world.state('export', '-o', 'id');

  expect([shown.exitCode, exported.exitCode, exported.stdout, filesOf(world)]).toEqual([0, 0, '1\n', before]);
  expect(shown.stdout).toContain('? key "b", in doubt');
  expect(shown.stderr).toContain('1 step applied, 1 in doubt');
});

test.for([['--dry-run'], ['--out', 'plan.json']])('%j -o id is 2: creates have no ids', async (more, { world }) => {
  world.manifest(a);

  const refused = await world.apply('--init', ...more, '-o', 'id');
  const asked = await world.apply('--init', ...more, '-o', 'id', '-q', 'steps[].key');

  expect([refused.exitCode, refused.stdout, asked.exitCode, asked.stdout]).toEqual([2, '', 0, 'a\n']);
});

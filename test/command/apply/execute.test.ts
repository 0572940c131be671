/** A plan is carried out as `--from` sends rows: pace, retries, rejects, and a stop that loses nothing. */
import { describe, expect } from 'vitest';
import { Stopped } from '../../../src/core/errors.ts';
import { jsonLines } from '../bulk/bulk-world.ts';
import { test } from './fixtures.ts';

const items = Array.from({ length: 40 }, (_, at) => ({ Title: `t${at + 1}` }));

describe('steps that are refused', () => {
  test('are in the rejects with the reason: 9; the next run has them again', async ({ service, world }) => {
    world.manifest(...items.slice(0, 4));
    service.script = ({ fields }) =>
      fields['Title'] === 't2' ? { status: 400, body: { error: 'not this one' } } : undefined;

    const { exitCode, stderr } = await world.apply('--init', '--yes', '--rejects', 'rejects.jsonl');
    service.script = () => undefined;
    const again = await world.apply('--yes');

    expect([exitCode, again.exitCode, service.items().size]).toEqual([9, 0, 4]);
    expect(stderr).toContain('not this one');
    expect(jsonLines(world.text('rejects.jsonl'))).toEqual([
      {
        ...{ action: 'create', key: 't2', fields: { Title: 't2' } },
        'listctl:error': expect.stringContaining('HTTP 400: not this one'),
      },
    ]);
  });

  test('--fail-fast stops at the first failure; the next run sends the rest', async ({ service, world }) => {
    world.manifest(...items);
    service.script = ({ nth }) => (nth === 3 ? { status: 400, body: { error: 'no' } } : undefined);

    const { exitCode } = await world.apply('--init', '--yes', '--fail-fast', '--concurrency', '1');
    const known = Object.keys(world.known().items).length;
    service.script = () => undefined;
    const again = await world.apply('--yes');

    // The one that failed is the only one that was sent twice.
    expect([exitCode, known, again.exitCode, service.items().size, service.writes().length]).toEqual([9, 2, 0, 40, 41]);
  });

  test('401 stops the run: 3, and the next run continues', async ({ service, world }) => {
    world.manifest(...items);
    service.script = ({ nth }) => (nth === 10 ? { status: 401, body: { error: 'expired' } } : undefined);

    const { exitCode } = await world.apply('--init', '--yes', '--concurrency', '1');
    service.script = () => undefined;
    const again = await world.apply('--yes');

    expect([exitCode, again.exitCode, service.items().size]).toEqual([3, 0, 40]);
    expect(service.writes().filter((write) => write === 'POST t1')).toHaveLength(1);
  });

  test('429 is waited for: nothing is doubled', async ({ service, world }) => {
    world.manifest(...items.slice(0, 5));
    service.script = ({ nth }) => (nth === 2 ? { status: 429, headers: { 'retry-after': '3' } } : undefined);

    const { exitCode, host } = await world.apply('--init', '--yes');

    expect([exitCode, service.items().size]).toEqual([0, 5]);
    expect(Math.max(...host.sleptMs)).toBeGreaterThanOrEqual(3000);
  });
});

test('--rate spaces the requests, those of the look before the plan as well', async ({ world }) => {
  world.manifest(...items);

  const made = await world.apply('--init', '--yes', '--rate', '10/s');
  const looked = await world.apply('--rate', '10/s');

  for (const { exitCode, host } of [made, looked]) {
    expect(exitCode).toBe(0);
    expect(host.elapsedMs()).toBeGreaterThanOrEqual(2000);
  }
});

test.for(['--concurrency', '--rate', '--max-errors', '--lock-timeout'])(
  '%s must be a number: 2',
  async (flag, { service, world }) => {
    world.manifest(...items);

    const { exitCode, stderr } = await world.apply('--init', '--yes', flag, 'x');

    expect([exitCode, service.requests, world.hasState()]).toEqual([2, [], false]);
    expect(stderr).toContain(flag);
  },
);

describe('a stop', () => {
  test('P01: no new step, all answers are in the state: 130; a run does the rest', async ({ service, world }) => {
    world.manifest(...items);
    const stopping = new AbortController();
    service.script = ({ nth }) => {
      if (nth === 10) stopping.abort(new Stopped('SIGINT'));
      return undefined;
    };
    const words = ['apply', 'manifest.yaml', '--init', '--yes', '--concurrency', '4'];

    const { exitCode, stderr } = await world.patient(words, { signal: stopping.signal });
    const { items: known, run } = world.known();
    const sent = service.writes().length;
    const again = await world.apply('--yes');

    expect([exitCode, run, again.exitCode]).toEqual([130, undefined, 0]);
    expect(sent).toBeLessThan(20);
    expect(Object.keys(known)).toHaveLength(sent);
    expect(stderr).toContain('run again: listctl apply manifest.yaml');
    expect([service.items().size, service.writes().length]).toEqual([40, 40]);
  });

  test('P01: a second one does not wait: what was under way is in doubt, 8', async ({ service, world }) => {
    world.manifest(...items.slice(0, 8));
    const [stopping, forceStopping] = [new AbortController(), new AbortController()];
    service.script = ({ nth }) => {
      if (nth !== 4) return undefined;
      stopping.abort(new Stopped('SIGINT'));
      setTimeout(() => forceStopping.abort(new Stopped('SIGINT')), 30);
      return { status: 0, silent: true, applies: true };
    };
    const words = ['apply', 'manifest.yaml', '--init', '--yes', '--concurrency', '1'];

    const { exitCode, stderr } = await world.patient(words, {
      ...{ signal: stopping.signal, forceStop: forceStopping.signal },
    });
    const again = await world.apply('--yes');

    expect([exitCode, again.exitCode, service.items().size]).toEqual([8, 8, 8]);
    expect(stderr).toContain('listctl: "t4" in doubt: it may or may not have been applied; stopped by SIGINT');
    expect(world.known().items['t4']?.inDoubt).toBeDefined();
  });

  test('while it looks at the items: 130, nothing is changed', async ({ service, world }) => {
    await world.begin(...items);
    const state = world.text('manifest.yaml.state.json');
    const stopping = new AbortController();
    world.manifest();
    service.script = ({ method }) => {
      if (method === 'GET') stopping.abort(new Stopped('SIGINT'));
      return undefined;
    };

    const { exitCode } = await world.run(['apply', 'manifest.yaml', '--prune', '--yes'], { signal: stopping.signal });

    expect([exitCode, service.items().size, world.text('manifest.yaml.state.json')]).toEqual([130, 40, state]);
  });
});

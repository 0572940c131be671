/** P05: the crash loop, short; `npm run test:crash -- --kills 1000` is the long one. And that its checks see what they look for. */
import { describe, expect, test } from 'vitest';
import { listctlWith, naiveClient } from '../crash/client.ts';
import { crashLoop } from '../crash/crash-loop.ts';
import type { ProxiedRequest } from '../crash/fault-proxy.ts';
import { judge, type RoundFacts } from '../crash/invariants.ts';
import { makeJob } from '../crash/modes.ts';

const seed = Date.now() % 1_000_000;

describe('P05: killed again and again, with its service or without, over a wire with faults', () => {
  test('listctl loses no row, doubles none, and says of none what is not so', { timeout: 180_000 }, async () => {
    const ends = await crashLoop({ seed, kills: 60, rows: [60, 120] });

    expect({ seed, broken: ends.flatMap(({ broken }) => broken) }).toEqual({ seed, broken: [] });
    const kills = ends.map((end) => end.kills.client + end.kills.service);
    expect(kills.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(60);
    // Beside the creates that may be: those that nobody knows about.
    const [create, ...others] = ends.map(({ counts }) => counts.inDoubt);
    expect(create).toBeGreaterThan(0);
    expect(others).toEqual([0, 0, 0]);
  });

  test('that would be seen: who sends what has no answer again makes rows double', { timeout: 60_000 }, async () => {
    const [end] = await crashLoop({ seed, kills: 8, modes: ['create'], client: naiveClient, goesOn: true });

    expect(end?.counts.doubled).toBeGreaterThan(0);
    expect(end?.broken.some((sentence) => sentence.includes('J2'))).toBe(true);
  });

  test('that would be seen of listctl: told to send again what is in doubt, it makes rows double', {
    timeout: 60_000,
  }, async () => {
    const client = listctlWith('--in-doubt', 'retry');
    const [end] = await crashLoop({ seed, kills: 16, rows: [60, 120], modes: ['create'], client, goesOn: true });

    expect(end?.counts.doubled).toBeGreaterThan(0);
  });
});

describe('each invariant', () => {
  test('holds of a round that went well', async () => {
    expect(judge(await goodRound()).broken).toEqual([]);
  });

  const ids = new Map([
    [1, '1'],
    [2, '2'],
  ]);
  const acknowledged = { method: 'POST', said: { status: 201, id: '9' }, answered: undefined } as ProxiedRequest;
  test.each<[string, (round: RoundFacts) => Partial<RoundFacts>]>([
    ['J1', () => ({ states: ['done', 'done', 'pending'] })],
    ['J2', ({ items }) => ({ items: new Map([...items, ['4', items.get('3') ?? {}]]) })],
    ['J3', ({ items }) => ({ items: new Map([...items].slice(1)) })],
    ['J3', ({ items }) => ({ items: new Map([...items, ['1', { ...items.get('1'), Title: 'another' }]]) })],
    ['J3', () => ({ requests: [acknowledged] })],
    ['J4', ({ items }) => ({ items: new Map([...items, ['4', items.get('1') ?? {}]]) })],
    ['J5', ({ job }) => ({ job: { ...job, mode: 'create-keyed' } })],
    ['J6', () => ({ kills: 0 })],
    ['J7', () => ({ printed: new Map([[3, '3']]) })],
    ['J7', () => ({ printed: new Map([[2, '7']]) })],
    ['J7', () => ({ doneBefore: [ids, new Map([...ids, [3, '3']])] })],
  ])('%s is found broken where it is', async (name, change) => {
    const round = await goodRound();

    const { broken } = judge({ ...round, ...change(round) });

    expect(broken.map((sentence) => sentence.slice(0, 2))).toContain(name);
  });

  /** Two rows that are done, and one in doubt that was carried out. */
  async function goodRound(): Promise<RoundFacts> {
    const job = await makeJob('create', 3, { add: async () => [], upTo: async () => new Map() });
    return {
      ...{ job, doneIds: ids, doneBefore: [ids], printed: ids, requests: [] },
      states: ['done', 'done', 'in-doubt'],
      items: new Map(job.rows.map(({ fields }, at) => [String(at + 1), fields])),
      ...{ concurrency: 8, kills: 1 },
    };
  }
});

/** P05: the crash loop, short; `npm run test:crash -- --kills 1000` is the long one. And that its checks see what they look for. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type ActOptions, runAct } from '../crash/act.ts';
import { type Client, type ClientProcess, listctlWith, naiveClient } from '../crash/client.ts';
import { crashLoop } from '../crash/crash-loop.ts';
import type { ProxiedRequest, Wire } from '../crash/fault-proxy.ts';
import { judge, type RoundFacts } from '../crash/invariants.ts';
import { judgeLedger, type Ledger, type WrittenItem } from '../crash/ledger.ts';
import type { ListContents, TextFields } from '../crash/list-contents.ts';
import { columnsOf, isApplyMode, type Job, type ModeName, makeJob, modesFor } from '../crash/modes.ts';
import { startWriters } from '../crash/writers.ts';
import { testNode } from '../support/listctl.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { ServedDirectory } from '../support/served-directory.ts';

const seed = Date.now() % 1_000_000;

describe('P05: killed again and again, with its service or without, over a wire with faults', () => {
  // `apply` is killed beside its other tests.
  const modes = (['list-item', 'graph'] as const).flatMap((service) =>
    modesFor(service)
      .filter((mode) => (service === 'graph' ? columnsOf(mode) !== undefined : !isApplyMode(mode)))
      .map((mode) => ({ mode, service })),
  );

  test.each(modes)(
    '$mode loses nothing, doubles nothing, and says of nothing what is not so',
    {
      timeout: 120_000,
    },
    async ({ mode, service }) => {
      const [end] = await crashLoop({ seed, kills: 2, rows: [30, 60], modes: [mode], service });

      const { evidence, broken } = end ?? {};
      expect({ seed, evidence, broken }).toEqual({ seed, evidence: undefined, broken: [] });
      expect(end?.counts).toMatchObject({ lost: 0, doubled: 0, phantom: 0 });
      if (mode.endsWith('-unique')) expect(end?.counts.inDoubt).toBe(0);
      expect((end?.kills.client ?? 0) + (end?.kills.service ?? 0)).toBeGreaterThanOrEqual(2);
    },
  );
});

describe('that would be seen', () => {
  test('of a client that retries requests without a response: rows are duplicated', async () => {
    const naive = { client: naiveClient, rows: [60, 90] as const, modes: ['create'] as const };
    const [end] = await crashLoop({ seed, kills: 8, ...naive, goesOn: true });

    expect({ seed, doubled: (end?.counts.doubled ?? 0) > 0 }).toEqual({ seed, doubled: true });
    expect(end?.broken.some((sentence) => sentence.includes('J2'))).toBe(true);
  });

  test.each([
    ['create', 'list-item'],
    ['create-indexed', 'graph'],
  ] as const)('of listctl with retries of rows in doubt: rows are duplicated (%s)', async (mode, service) => {
    const client = listctlWith('--in-doubt', 'retry');
    const more = { modes: [mode], service, client, goesOn: true };
    let doubled = 0;
    // Not every kill leaves a row in doubt that was stored.
    for (let round = 0; round < 5 && doubled === 0; round += 1) {
      const [end] = await crashLoop({ seed: seed + round, kills: 8, rows: [60, 90], ...more });
      doubled += end?.counts.doubled ?? 0;
    }

    expect({ seed, doubled: doubled > 0 }).toEqual({ seed, doubled: true });
  });

  test('of a session that prints an id before it is recorded, whatever a later one makes good', async () => {
    const { printed, untold } = await runAct(await actOf(['printed', 'recorded']));

    expect([...printed]).toEqual([[1, '1']]);
    expect(untold).toEqual([1]);
  });

  test('not of a client that prints an id once it is recorded', async () => {
    const { untold } = await runAct(await actOf(['recorded', 'printed']));

    expect(untold).toEqual([]);
  });

  /** An act of sessions that do one thing each with the only row. */
  async function actOf(sessions: readonly ('printed' | 'recorded')[]): Promise<ActOptions> {
    const nowhere = { add: async () => ['1', '2', '3'], remove: async () => {}, upTo: async () => new Map() };
    const job = await makeJob('update', 1, nowhere);
    const begun: string[] = [];
    const client: Client = {
      start: () => {
        const what = sessions[begun.length] ?? 'nothing';
        begun.push(what);
        const line = what === 'printed' ? '{"row":1,"status":"done","id":"1"}' : '';
        // 6: the service was gone, and the run is resumed.
        const code = begun.length < sessions.length ? 6 : 0;
        const script = `console.log(${JSON.stringify(line)}); process.exitCode = ${code}`;
        return execa(testNode, ['-e', script], { reject: false }) as unknown as ClientProcess;
      },
      recordedIn: async () => {
        const isDone = begun.includes('recorded');
        const doneIds = new Map(isDone ? [[1, '1']] : []);
        return { stateOf: () => (isDone ? 'done' : 'pending'), doneIds, left: isDone ? 0 : 1, causes: new Map() };
      },
    };
    const place = {
      job,
      url: '',
      kind: 'list-item',
      site: '',
      list: '',
      directory: '',
      concurrency: 1,
      requests: [],
    } as const;
    const nobody = { service: {} as ServedDirectory, wire: {} as Wire, time: undefined, killsMax: 0 };
    return { ...nobody, client, place, random: seededRandom(1) };
  }

  test.each<ModeName>(['create', 'apply', 'service'])('%s: of a list that another client modifies', async (mode) => {
    const [end] = await crashLoop({ seed, kills: 1, rows: [30, 60], modes: [mode], meddle });
    // Normally kept to find the reason: here it is known.
    await rm(end?.evidence ?? '', { recursive: true });

    const { lost = 0, doubled = 0, phantom = 0 } = end?.counts ?? {};
    expect({ seed, isLost: lost > 0, isDoubled: doubled > 0, isPhantom: phantom > 0 }).toEqual({
      ...{ seed, isLost: true, isDoubled: true, isPhantom: true },
    });
  });

  /**
   * Deletes some items, duplicates others, and adds an unrelated one. Some: of a single one it may be unknown whether it
   * was created.
   */
  async function meddle(list: ListContents, { rows, bystanders }: Job): Promise<void> {
    const found = [...(await list.upTo(rows.length))].filter(
      ([id, { Row }]) => Row !== undefined && !bystanders.has(id),
    );
    const [gone, twice] = [found.slice(0, 6), found.slice(6, 12)];
    if (twice.length === 0) throw new Error('there is nothing to meddle with');
    for (const [id] of gone) await list.remove(id);
    await list.add([...twice.map(([, fields]) => fields), { Row: '4711' }]);
  }
});

describe('each invariant', () => {
  test('holds of a round that went well', async () => {
    expect(judge(await goodRound()).broken).toEqual([]);
  });

  const ids = new Map([
    [1, '1'],
    [2, '2'],
  ]);
  const state = { lineage: 'a', serial: 2 };
  test.each<[string, (round: RoundFacts) => Partial<RoundFacts>]>([
    ['J1', () => ({ states: ['done', 'done', 'pending'] })],
    ['J2', ({ items }) => ({ items: new Map([...items, ['4', items.get('3') ?? {}]]) })],
    ['J3', ({ items }) => ({ items: new Map([...items].slice(1)) })],
    ['J3', ({ items }) => ({ items: new Map([...items, ['1', { ...items.get('1'), Title: 'another' }]]) })],
    ['J3', () => ({ requests: [created('9')] })],
    ['J4', ({ items }) => ({ items: new Map([...items, ['4', items.get('1') ?? {}]]) })],
    ['J4', ({ items }) => ({ items: new Map([...items, ['4', { Row: '4' }]]) })],
    ['J4', ({ job }) => ({ job: { ...job, bystanders: new Map([['4', { Title: 'of somebody' }]]) } })],
    ['J5', ({ job }) => ({ job: { ...job, mode: 'create-keyed' } })],
    ['J6', () => ({ kills: 0 })],
    ['J7', () => ({ printed: new Map([[3, '3']]) })],
    ['J7', () => ({ printed: new Map([[2, '7']]) })],
    ['J7', () => ({ untold: [2] })],
    ['J7', () => ({ doneBefore: [ids, new Map([...ids, [3, '3']])] })],
    ['J8', () => ({ requests: [created('1'), created('1')] })],
    ['J8', ({ job }) => ({ job: { ...job, mode: 'apply-keyed' }, requests: [created('1', 'k'), created('2', 'k')] })],
    ['J8', ({ job }) => ({ job: { ...job, mode: 'apply-keyed' }, requests: [created('1', 'k'), created('1', 'l')] })],
    ['J9', () => ({ statesSeen: [state, { damage: 'it is cut short' }] })],
    ['J9', () => ({ statesSeen: [state, { ...state, lineage: 'b' }] })],
    ['J9', () => ({ statesSeen: [state, { ...state, serial: 1 }] })],
  ])('%s is found broken where it is', async (name, change) => {
    const round = await goodRound();

    const { broken } = judge({ ...round, ...change(round) });

    expect(broken.map((sentence) => sentence.slice(0, 2))).toContain(name);
  });

  function created(id: string, key?: string): ProxiedRequest {
    return { method: 'POST', key, said: { status: 201, id }, answered: undefined } as ProxiedRequest;
  }

  /** Two rows that are done, and one in doubt that was carried out. */
  async function goodRound(): Promise<RoundFacts> {
    const nowhere = { add: async () => [], remove: async () => {}, upTo: async () => new Map() };
    const job = await makeJob('create', 3, nowhere);
    return {
      ...{ job, doneIds: ids, doneBefore: [ids], printed: ids, untold: [], requests: [], statesSeen: [state, state] },
      states: ['done', 'done', 'in-doubt'],
      items: new Map(job.rows.map(({ fields }, at) => [String(at + 1), fields])),
      ...{ concurrency: 8, kills: 1 },
    };
  }
});

describe('what the service is held to', () => {
  test('is broken by a whole answer that is no JSON, which is not asked for again', async () => {
    const server = createServer((_, response) => response.writeHead(201).end('created'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const served = { url: `http://127.0.0.1:${port}`, directory: '' } as ServedDirectory;

    const writers = startWriters(served, '/items', seededRandom(1));
    await writers.writesCame(4);
    await writers.close();
    server.close();

    expect(writers.ledger.unanswered).toBe(0);
    const { broken } = judgeLedger(writers.ledger, new Map(), []);
    expect(broken.join()).toContain('S5');
    expect(writers.ledger.refusals).toContain('201 to POST with a body that is no JSON: created');
  });

  const a: WrittenItem = { mark: 'a', key: 'k', sent: { Mark: 'a' }, ids: ['1', '1'], may: [{ Mark: 'a', Note: '+' }] };
  const b: WrittenItem = { mark: 'b', key: undefined, sent: { Mark: 'b' }, ids: [], may: [undefined, { Mark: 'b' }] };
  const gone: WrittenItem = { mark: 'c', key: 'l', sent: { Mark: 'c' }, ids: ['3'], may: [undefined] };
  const ledger: Ledger = { items: [a, b, gone], refusals: [], unanswered: 1 };
  const found = new Map<string, TextFields>([
    ['1', { Mark: 'a', Note: '+' }],
    ['2', { Mark: 'b' }],
    ['4', { Row: '1' }],
  ]);

  test('is kept by a list that is as it was said', () => {
    const { counts, broken } = judgeLedger(ledger, found, ['4']);

    expect(broken).toEqual([]);
    expect(counts).toEqual({ lost: 0, doubled: 0, phantom: 0, inDoubt: 1, inDoubtApplied: 1, unanswered: 1 });
  });

  test.each<[string, Partial<Ledger>, ReadonlyMap<string, TextFields>, string[]]>([
    ['S1', {}, new Map([...found].slice(1)), []],
    ['S1', {}, new Map([...found, ['1', { Mark: 'a', Note: 'older' }]]), []],
    ['S2', {}, new Map([...found, ['5', { Mark: 'b' }]]), []],
    ['S2', { items: [{ ...a, ids: ['1', '5'] }, b, gone] }, found, []],
    ['S3', {}, new Map([...found, ['3', { Mark: 'c' }]]), []],
    ['S3', {}, new Map([...found, ['5', { Mark: 'never sent' }]]), []],
    ['S4', { items: [a, b, { ...gone, ids: ['1'] }] }, found, []],
    ['S4', {}, found, ['3']],
    ['S4', {}, new Map([...[...found].slice(1), ['7', { Mark: 'a', Note: '+' }]]), []],
    ['S5', { refusals: ['500 to create of d'] }, found, []],
  ])('%s is found broken where it is', (name, change, list, others) => {
    const { broken } = judgeLedger({ ...ledger, ...change }, list, others);

    expect(broken.map((sentence) => sentence.slice(0, 2))).toContain(name);
  });
});

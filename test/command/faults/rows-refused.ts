/** N19 to N31: a whole answer that says no, go elsewhere, or later. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createClient } from '../../../src/api/client.ts';
import { defaultRetries } from '../../../src/api/outcome.ts';
import { Failure } from '../../../src/core/errors.ts';
import { objectFrom } from '../../../src/core/json.ts';
import { listItemOperations } from '../../../src/services/list-item/items.ts';
import { type AnswerParts, answerBytes } from '../../support/fault-answer.ts';
import { type AnswerStep, always, inOrder, type Plan } from '../../support/fault-plan.ts';
import { row, rowElsewhere } from '../../support/fault-rows.ts';
import { faultServer } from '../../support/fault-server.ts';
import { type FaultRun, runAgainst, verbs, type Way, withClockOff } from '../../support/fault-ways.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testHost } from '../../support/test-host.ts';
import { newAuthority } from '../../support/tls-certificate.ts';

/** An answer in the place of the server's own: nothing is done. */
function refusing(status: number, parts: AnswerParts = {}): AnswerStep {
  return { answer: answerBytes(status, parts), applies: false };
}

function ended({ exitCode, attempts }: FaultRun) {
  return [exitCode, attempts];
}

for (const status of [301, 307, 308]) {
  row('N19', `${status} is not followed, and shows no secret of its target`, async (way) => {
    await using other = await faultServer();
    const target = other.url.replace('//', '//ann:password@');

    for (const verb of ['create', 'get', 'update', 'delete'] as const) {
      for (const location of [`${target}/elsewhere?key=verysecret#part`, '/v1.0/elsewhere?key=verysecret']) {
        const run = await runAgainst(way, verbs[verb], {
          plan: always(refusing(status, { headers: [['Location', location]] })),
        });

        expect(ended(run)).toEqual([1, 1]);
        expect(run.stderr).toContain('/elsewhere');
        expect(run.stderr).not.toMatch(/password|verysecret/);
      }
    }
    expect(other.connectionCount()).toBe(0);
  });
}

row('N19', 'from https to http is not followed', async (way) => {
  await using other = await faultServer();
  await using directory = await temporaryDirectory();
  const authority = newAuthority();
  const file = join(directory.path, 'authority.pem');
  await writeFile(file, authority.cert);

  const run = await runAgainst(way, [...verbs.get, '--ca-file', file], {
    certificate: authority.issue({ address: '127.0.0.1' }),
    plan: always(refusing(308, { headers: [['Location', other.url]] })),
  });

  expect(ended(run)).toEqual([1, 1]);
  expect(other.connectionCount()).toBe(0);
});

for (const status of [302, 303]) {
  row('N20', `${status} leaves a create in doubt, and ends a read in 1`, async (way) => {
    await using other = await faultServer();
    const plan = always(refusing(status, { headers: [['Location', `${other.url}/elsewhere`]] }));

    const create = await runAgainst(way, verbs.create, { plan });
    const read = await runAgainst(way, verbs.get, { plan });

    expect([ended(create), ended(read)]).toEqual([
      [8, 1],
      [1, 1],
    ]);
    for (const { stderr } of [create, read]) expect(stderr).toContain('redirects are not followed');
    expect(other.connectionCount()).toBe(0);
  });
}

const statuses: readonly (readonly [id: 'N21' | 'N22' | 'N23', status: number, exitCode: number])[] = [
  ['N21', 401, 3],
  ['N22', 403, 3],
  ['N22', 404, 4],
  ...[400, 405, 413, 415, 422].map((status) => ['N23', status, 1] as const),
  ...[409, 412, 423, 428].map((status) => ['N23', status, 5] as const),
];
for (const [id, status, exitCode] of statuses) {
  row(id, `${status} is exit code ${exitCode} after one request, with what the service says`, async (way) => {
    const plan = always(refusing(status, { body: { error: 'because we say so' } }));

    for (const verb of ['create', 'get', 'update', 'delete'] as const) {
      const run = await runAgainst(way, verbs[verb], { plan });

      expect(ended(run)).toEqual([exitCode, 1]);
      expect(run.stderr).toContain('because we say so');
    }
  });
}
rowElsewhere(
  'N21',
  'that a run over many rows stops is seen in test/command/bulk/run-failures.test.ts, as in N22 and N23',
);

row('N24', '409 to a keyed create that may be under way is waited for', async (way) => {
  const plan = inOrder({ point: 'applied', action: 'fin' }, refusing(409, { body: { error: 'still running' } }));

  const run = await runAgainst(way, verbs.createKeyed, { plan, honorsKeys: true });

  expect([...ended(run), run.createdCount]).toEqual([0, 3, 1]);
  expect(new Set(run.log.map(({ key, bodyHash }) => `${key} ${bodyHash}`)).size).toBe(1);
});

row('N24', '409 until there are no attempts left is in doubt, never a conflict', async (way) => {
  const busy = refusing(409, { body: { error: 'still running' } });

  const run = await runAgainst(way, verbs.createKeyed, {
    plan: (attempt) => (attempt === 1 ? { point: 'applied', action: 'fin' } : busy),
    honorsKeys: true,
  });

  expect([...ended(run), run.createdCount]).toEqual([8, 5, 1]);
});

/** No command sends If-Match yet (`items edit` will): here are the verbs as it will call them, over a transport. */
async function updateUnchanged(
  way: Way,
  plan: Plan,
): Promise<{ readonly ended: unknown; readonly log: readonly string[] }> {
  await using server = await faultServer({ plan });
  const host = testHost();
  const transport = await way.transport({ base: new URL(server.url), token: 'test-token', headers: {} });
  const options = {
    timeoutMs: 30_000,
    signal: host.signal,
    clock: host.clock,
    random: host.random,
    honorsKeys: false,
  };
  const client = createClient(transport, { ...options, ...defaultRetries });
  const item = { site: 'home', list: 'tasks', id: '17' };
  const updating = client.send(listItemOperations.update(item, objectFrom([['Title', 'Bread']]), '"1"'));
  const ended = await updating.then(
    ({ id }) => id,
    (error: unknown) => (error instanceof Failure ? error.kind : error),
  );
  await transport.close();
  return { ended, log: server.log.map(({ method, headers }) => `${method} ${headers['if-match'] ?? ''}`.trim()) };
}

row(
  'N25',
  'an update of an unchanged item that gets 412 after it may have been done is looked up: done',
  async (way) => {
    const run = await updateUnchanged(way, inOrder({ point: 'applied', action: 'fin' }));

    expect(run).toEqual({ ended: '17', log: ['PATCH "1"', 'PATCH "1"', 'GET'] });
  },
);

row('N25', 'and where the item is another one, it is a conflict', async (way) => {
  const changed = refusing(412, { body: { error: 'the item is another one by now' } });

  const run = await updateUnchanged(way, inOrder({ point: 'body-read', action: 'fin' }, changed));

  expect(run).toEqual({ ended: 'conflict', log: ['PATCH "1"', 'PATCH "1"', 'GET'] });
});

row('N26', 'a delete that may have been done, and then 404, is done', async (way) => {
  const run = await runAgainst(way, verbs.delete, { plan: inOrder({ point: 'applied', action: 'rst' }) });

  expect(ended(run)).toEqual([0, 2]);
  expect(JSON.parse(run.stdout)).toEqual({ id: '17' });
});

row('N26', 'a delete whose first response is 404 ends with 4', async (way) => {
  const run = await runAgainst(way, ['items', 'delete', '18']);

  expect(ended(run)).toEqual([4, 1]);
});

const noon = Date.UTC(2026, 0, 1, 12);
const dayMs = 86_400_000;
const waits: readonly [what: string, headers: AnswerParts['headers'], askedMs: number][] = [
  ['2', [['Retry-After', '2']], 2000],
  ['2.128', [['Retry-After', '2.128']], 2128],
  [
    'a date three seconds ahead',
    [
      ['Date', new Date(noon).toUTCString()],
      ['Retry-After', new Date(noon + 3000).toUTCString()],
    ],
    3000,
  ],
  [
    'two of them: the greater',
    [
      ['Retry-After', '2'],
      ['Retry-After', '5'],
    ],
    5000,
  ],
  [
    '1, and RateLimit-Reset 4: the greater',
    [
      ['Retry-After', '1'],
      ['RateLimit-Reset', '4'],
    ],
    4000,
  ],
];
for (const [what, headers = [], askedMs] of waits) {
  for (const byMs of [0, dayMs, -dayMs]) {
    row(
      /two/.test(what) ? 'N28' : 'N27',
      `Retry-After ${what} is waited for (clock ${byMs / dayMs} days off)`,
      async (way) => {
        const run = await runAgainst(
          way,
          verbs.create,
          { plan: inOrder(refusing(429, { headers })) },
          { host: (made) => withClockOff(made, byMs) },
        );

        expect([...ended(run), run.createdCount]).toEqual([0, 2, 1]);
        expectWait(run, askedMs, askedMs * 1.1 + 1000);
      },
    );
  }
}

for (const value of ['0', undefined, 'soon', '-5', '0x10', '1e3']) {
  row('N28', `Retry-After ${value ?? 'that is absent'} is a wait of our own, of at least 100 ms`, async (way) => {
    const headers = value === undefined ? [] : [['Retry-After', value] as const];

    const run = await runAgainst(way, verbs.create, { plan: always(refusing(429, { headers })) });

    expect(ended(run)).toEqual([6, 5]);
    expect(run.host.sleptMs).toHaveLength(4);
    // Throttled without Retry-After: from 1 s, doubled each time (retries-2).
    for (const [index, ms] of run.host.sleptMs.entries()) {
      expect(ms).toBeGreaterThanOrEqual(100);
      expect(ms).toBeLessThanOrEqual(1000 * 2 ** index);
    }
  });
}

for (const value of ['86400', '1000000000', 'Fri, 31 Dec 9999 23:59:59 GMT']) {
  for (const status of [429, 503]) {
    row('N29', `Retry-After ${value} on ${status} is not waited for: 6 at once`, async (way) => {
      const plan = always(refusing(status, { headers: [['Retry-After', value]] }));

      for (const verb of ['create', 'get'] as const) {
        const run = await runAgainst(way, verbs[verb], { plan });

        expect([...ended(run), run.host.sleptMs]).toEqual([6, 1, []]);
        // The wait is named: as it was asked for, or in words of time.
        expect(run.stderr).toMatch(/86400|86,400|1000000000|9999|\d+ (s|h|hours|days|years)|Retry-After/);
      }
    });
  }
}

row('N30', '503 with Retry-After was refused: even a create is sent again', async (way) => {
  const plan = inOrder(refusing(503, { headers: [['Retry-After', '2']] }));

  for (const verb of ['create', 'get', 'update', 'delete'] as const) {
    const run = await runAgainst(way, verbs[verb], { plan });

    expect(ended(run)).toEqual([0, 2]);
    expectWait(run, 2000, 3200);
  }
});

for (const status of [500, 502, 503, 504]) {
  const id = status === 503 ? 'N30' : 'N31';
  row(id, `${status} leaves a create in doubt after one request`, async (way) => {
    const run = await runAgainst(way, verbs.create, { plan: always(refusing(status)) });

    expect(ended(run)).toEqual([8, 1]);
  });

  row(id, `${status} to a keyed create is tried again with the same key and body: one item`, async (way) => {
    // Done, though it says otherwise: what a gateway says that lost its service.
    const step = { answer: answerBytes(status), applies: true };

    const run = await runAgainst(way, verbs.createKeyed, { plan: inOrder(step, step), honorsKeys: true });

    expect([...ended(run), run.createdCount]).toEqual([0, 3, 1]);
    expect(new Set(run.log.map(({ key, bodyHash }) => `${key} ${bodyHash}`)).size).toBe(1);
  });

  row(id, `${status} is tried again by the others: a read ends in 6, a write in 8`, async (way) => {
    const plan = always(refusing(status));
    const runs = await Promise.all(
      (['get', 'update', 'delete'] as const).map((verb) => runAgainst(way, verbs[verb], { plan })),
    );

    expect(runs.map(ended)).toEqual([
      [6, 5],
      [8, 5],
      [8, 5],
    ]);
  });
}

row('N31', 'a write that was refused after it may have been done is not called refused', async (way) => {
  const run = await runAgainst(way, verbs.update, {
    plan: (attempt) => (attempt === 1 ? refusing(502) : refusing(429)),
  });

  expect(ended(run)).toEqual([8, 5]);
});

/** The next request was not sent before it was asked for, nor much later: measured at the waits that were asked of the clock. */
function expectWait({ host }: FaultRun, fromMs: number, toMs: number): void {
  const waited = host.sleptMs.reduce((sum, ms) => sum + ms, 0);
  expect(waited).toBeGreaterThanOrEqual(fromMs);
  expect(waited).toBeLessThanOrEqual(toMs);
}

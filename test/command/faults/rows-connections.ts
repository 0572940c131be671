/** N38, N39 and N41: connections that serve more than one request, and bytes that no answer may hold. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type AnswerParts, answerBytes, garbageBytes } from '../../support/fault-answer.ts';
import { type AnswerStep, always, inOrder, type OwnAnswer } from '../../support/fault-plan.ts';
import { row, rowElsewhere } from '../../support/fault-rows.ts';
import { runAgainst, verbs, waiting } from '../../support/fault-ways.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Keeps the connection, and asks for the same request again. */
function busy(parts: AnswerParts = {}, then?: AnswerStep['ending']): AnswerStep {
  return { answer: answerBytes(429, parts), applies: false, ...(then === undefined ? {} : { ending: then }) };
}

/** What a server did on its own is known to the client by then. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 50));

row('N38', 'a second attempt uses the same connection', async (way) => {
  const { exitCode, log } = await runAgainst(way, verbs.create, { plan: inOrder(busy()) });

  expect({ exitCode, connections: log.map(({ connection }) => connection) }).toEqual({
    exitCode: 0,
    connections: [1, 1],
  });
});

for (const then of ['fin', 'rst'] as const) {
  row('N38', `an idle connection that the server ends with ${then} is replaced, without a message`, async (way) => {
    const { exitCode, attempts, createdCount, log } = await runAgainst(
      way,
      verbs.create,
      { plan: inOrder(busy({}, then)) },
      { host: (made) => waiting(made, aMoment) },
    );

    expect({ exitCode, attempts, createdCount }).toEqual({ exitCode: 0, attempts: 2, createdCount: 1 });
    expect(log.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  row(
    'N38',
    `a reused connection that ends with ${then} as the next create arrives leaves it in doubt`,
    async (way) => {
      for (const [point, created] of [
        ['head-read', 0],
        ['applied', 1],
      ] as const) {
        const { exitCode, attempts, createdCount } = await runAgainst(way, verbs.create, {
          plan: inOrder(busy(), { point, action: then }),
        });

        expect({ exitCode, attempts, createdCount }).toEqual({ exitCode: 8, attempts: 2, createdCount: created });
      }
    },
  );

  row('N38', `and leaves a read, an update and a delete to be sent again`, async (way) => {
    const plan = inOrder(busy(), { point: 'head-read', action: then });

    for (const verb of ['get', 'update', 'delete'] as const) {
      const { exitCode, attempts } = await runAgainst(way, verbs[verb], { plan });

      expect({ exitCode, attempts }).toEqual({ exitCode: 0, attempts: 3 });
    }
  });
}

row('N38', 'after a 5xx the next attempt has a connection of its own', async (way) => {
  const { exitCode, log } = await runAgainst(way, verbs.get, {
    plan: inOrder({ answer: answerBytes(503, { headers: [['Retry-After', '1']] }), applies: false }),
  });

  expect({ exitCode, connections: log.map(({ connection }) => connection) }).toEqual({
    exitCode: 0,
    connections: [1, 2],
  });
});

const forged = answerBytes(201, { body: { id: 'forged', fields: { Title: 'forged' } } });
for (const [what, stray] of [
  ['garbage', garbageBytes],
  ['a whole answer', forged],
  ['an empty line', Buffer.from('\r\n')],
] as const) {
  for (const when of ['at once', 'a moment later'] as const) {
    row('N39', `the next request never gets what follows a response: ${what}, ${when}`, async (way) => {
      const first = Buffer.concat([answerBytes(429), when === 'at once' ? stray : Buffer.alloc(0)]);

      const run = await runAgainst(
        way,
        verbs.create,
        {
          plan: inOrder({ answer: first, applies: false, ...(when === 'at once' ? {} : { later: stray }) }),
        },
        { host: (made) => waiting(made, aMoment) },
      );

      expect({ exitCode: run.exitCode, attempts: run.attempts, createdCount: run.createdCount }).toEqual({
        exitCode: 0,
        attempts: 2,
        createdCount: 1,
      });
      expect(JSON.parse(run.stdout)).toMatchObject({ id: '42', fields: { Title: 'Milk' } });
      // A connection with stray bytes on it is not used again.
      if (stray.length > 2) expect(run.log.map(({ connection }) => connection)).toEqual([1, 2]);
    });
  }
}

row('N39', 'a response that is sent before the request is not its response', async (way) => {
  const stalls = { point: 'body-read', action: 'stall' } as const;

  const { exitCode, stdout, stderr } = await runAgainst(
    way,
    [...verbs.create, '--timeout', '1'],
    { plan: inOrder({ answer: answerBytes(429), applies: false, later: forged }, stalls) },
    { host: (made) => waiting(made, aMoment) },
  );

  expect({ exitCode, stdout }).toEqual({ exitCode: 8, stdout: '' });
  expect(stderr).not.toContain('forged');
});

const body = '{"id":"42","fields":{}}';
const broken: readonly [what: string, bytes: Uint8Array][] = [
  ['Content-Length beside chunked', framedTwice()],
  [
    'a chunk whose length is none',
    answerBytes(200, { headers: [['Transfer-Encoding', 'chunked']], body: `zz\r\n${body}\r\n0\r\n\r\n` }),
  ],
  ['no HTTP at all', Buffer.from('SSH-2.0-OpenSSH_9.6\r\n')],
  ['headers of 64 kB', answerBytes(200, { headers: [['X-Long', 'x'.repeat(65_536)]], body })],
  [
    '100 Continue that nobody waits for',
    Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), answerBytes(200, { body })]),
  ],
  [
    '101 to another protocol',
    Buffer.from('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  ],
];
for (const [what, answer] of broken) {
  row('N39', `${what}: a create is in doubt, a read has failed`, async (way) => {
    const create = await runAgainst(way, verbs.create, { plan: always({ answer, applies: true }) });
    const read = await runAgainst(way, verbs.get, { plan: always({ answer, applies: true }) });

    expect([create.exitCode, create.attempts, create.createdCount]).toEqual([8, 1, 1]);
    expect(read.exitCode).toBe(1);
  });
}

row('N39', 'early hints before the response are ignored', async (way) => {
  const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n');
  const whole = ({ status, body: own }: OwnAnswer) => Buffer.concat([hints, hints, answerBytes(status, { body: own })]);

  const { exitCode, attempts, stdout } = await runAgainst(way, verbs.create, {
    plan: always({ answer: whole, applies: true }),
  });

  expect({ exitCode, attempts }).toEqual({ exitCode: 0, attempts: 1 });
  expect(JSON.parse(stdout)).toMatchObject({ id: '42' });
});

row('N39', 'a response with two different lengths is not usable', async (way) => {
  const headers = [
    ['Content-Length', '23'],
    ['Content-Length', '2'],
  ] as const;
  const step: AnswerStep = { answer: answerBytes(200, { headers, body }), applies: true };

  const create = await runAgainst(way, verbs.create, { plan: always(step) });
  const read = await runAgainst(way, verbs.get, { plan: always(step) });

  expect([create.exitCode, create.attempts, create.createdCount]).toEqual([8, 1, 1]);
  // To undici it is the same error as a body that is cut short.
  expect([1, 7]).toContain(read.exitCode);
});

row(
  'N41',
  'a server that goes away in the middle of a run over many rows: probed, then every row is done once',
  async (way) => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'rows.csv');
    await writeFile(file, `Title\n${'Milk\n'.repeat(60)}`);
    const words = ['items', 'create', '--from', file, '--idempotency', 'honored', '--concurrency', '4', '-o', 'none'];
    const isGone = (attempt: number) => attempt > 20 && attempt <= 34;

    const run = await runAgainst(
      way,
      words,
      { honorsKeys: true, plan: (attempt) => (isGone(attempt) ? { point: 'body-read', action: 'rst' } : undefined) },
      { env: { LISTCTL_STATE_DIR: directory.path } },
    );

    expect([run.exitCode, run.createdCount, run.attempts]).toEqual([0, 60, 60 + 14]);
  },
);

rowElsewhere('N41', 'that it is probed once in five seconds at most is seen in test/command/bulk/outage.test.ts');

function framedTwice(): Buffer {
  return answerBytes(200, {
    headers: [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '5'],
    ],
    body: `17\r\n${body}\r\n0\r\n\r\n`,
  });
}

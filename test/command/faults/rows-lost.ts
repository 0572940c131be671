/** N06 to N13: the request was sent, and no whole answer came back. */
import { expect } from 'vitest';
import { answerBytes, chunkedBody } from '../../support/fault-answer.ts';
import { type AnswerStep, always, type FaultStep, inOrder, type OwnAnswer } from '../../support/fault-plan.ts';
import { row } from '../../support/fault-rows.ts';
import { runAgainst, verbs, type Way } from '../../support/fault-ways.ts';

const inDoubt = { exitCode: 8, attempts: 1 };

for (const action of ['fin', 'rst'] as const) {
  row('N06', `a create that was stored, and then ${action}: in doubt, and not sent again`, async (way) => {
    const { exitCode, attempts, createdCount, stderr } = await runAgainst(
      way,
      [...verbs.create, '--idempotency-key', 'k1'],
      {
        plan: always({ point: 'applied', action }),
      },
    );

    expect({ exitCode, attempts, createdCount }).toEqual({ ...inDoubt, createdCount: 1 });
    expect(stderr).toContain('in doubt');
    expect(stderr).toContain('k1');
  });

  row('N06', `an update and a delete that were done, and then ${action}: sent again, and done`, async (way) => {
    const plan = inOrder({ point: 'applied', action });
    const updated = await runAgainst(way, verbs.update, { plan });
    const deleted = await runAgainst(way, verbs.delete, { plan });

    for (const { exitCode, attempts } of [updated, deleted]) {
      expect({ exitCode, attempts }).toEqual({ exitCode: 0, attempts: 2 });
    }
  });

  row(
    'N07',
    `a request that was read and not done, and then ${action}, looks the same as one that was done`,
    async (way) => {
      const words = { ...verbs, create: [...verbs.create, '--idempotency-key', 'k1'] };
      for (const verb of ['create', 'update', 'delete'] as const) {
        const done = await runAgainst(way, words[verb], { plan: always({ point: 'applied', action }) });
        const notDone = await runAgainst(way, words[verb], { plan: always({ point: 'body-read', action }) });

        expect(seenByUser(notDone)).toEqual(seenByUser(done));
        expect([done.log[0]?.applied, notDone.log[0]?.applied]).toEqual([true, false]);
      }
    },
  );

  for (const point of ['mid-status', 'mid-headers'] as const) {
    row('N08', `a response that ends ${point} with ${action} counts as lost`, (way) =>
      expectLost(way, { point, action }),
    );
  }
}

row('N09', 'silence after the request is cut at the limit', (way) =>
  expectLost(way, { point: 'applied', action: 'stall' }),
);

row('N09', 'headers that drip are cut at the limit', (way) =>
  expectLost(way, { point: 'mid-headers', action: 'drip' }),
);

for (const action of ['fin', 'rst', 'stall'] as const) {
  row('N10', `a body that is cut by ${action} counts as lost`, (way) => expectLost(way, { point: 'mid-body', action }));
}

row('N10', 'a body whose chunks are cut counts as lost', async (way) => {
  const cut = ({ status, body }: OwnAnswer) => {
    const chunks = chunkedBody(body.slice(0, 8), body.slice(8));
    return answerBytes(status, {
      headers: [['Transfer-Encoding', 'chunked']],
      body: chunks.subarray(0, chunks.length - 12),
    });
  };

  await expectLost(way, { answer: cut, applies: true, ending: 'fin' });
});

row('N11', 'a body that drips, never idle for long, ends with the whole attempt', (way) =>
  expectLost(way, { point: 'mid-body', action: 'drip' }),
);

const unframed: AnswerStep = {
  answer: ({ status, id = '1' }) =>
    answerBytes(status, {
      headers: [
        ['Connection', 'close'],
        ['Content-Type', 'application/json'],
      ],
      body: `{"id":"${id}"`,
      unframed: true,
    }),
  applies: true,
  ending: 'fin',
};

row('N12', 'a body without a length that ends in the middle of its JSON counts as lost', async (way) => {
  const { exitCode, attempts, createdCount } = await runAgainst(way, verbs.create, { plan: always(unframed) });
  const read = await runAgainst(way, verbs.get, { plan: inOrder(unframed) });

  expect({ exitCode, attempts, createdCount }).toEqual({ ...inDoubt, createdCount: 1 });
  expect({ exitCode: read.exitCode, attempts: read.attempts }).toEqual({ exitCode: 0, attempts: 2 });
});

const items = '/v1.0/sites/home/lists/tasks/items';

/** A create that was stored, and whose answer is cut after its `Location`. */
function located(location: string, then: 'fin' | 'rst' | 'stall' | 'drip'): AnswerStep {
  const answer = ({ body }: OwnAnswer) => {
    const whole = answerBytes(201, { headers: [['Location', location]], body: `${body}${' '.repeat(100)}` });
    return whole.subarray(0, whole.length - 110);
  };
  return { answer, applies: true, ending: then };
}

for (const then of ['fin', 'rst', 'stall', 'drip'] as const) {
  row(
    'N13',
    `a create whose response is cut by ${then} after its Location is looked up once, and done`,
    async (way) => {
      const step = located(`${items}/42`, then);

      const { exitCode, methods, log, stdout, stderr } = await runAgainst(
        way,
        [...verbs.create, ...(then === 'stall' || then === 'drip' ? ['--timeout', '1.5'] : [])],
        { plan: inOrder(step) },
      );

      expect({ exitCode, methods, path: log[1]?.path, stderr }).toEqual({
        exitCode: 0,
        methods: ['POST', 'GET'],
        path: `${items}/42`,
        stderr: '',
      });
      expect(JSON.parse(stdout)).toMatchObject({ id: '42', fields: { Title: 'Milk' } });
    },
  );
}

row('N13', 'a Location that is relative counts from the address of the request', async (way) => {
  const { exitCode, log } = await runAgainst(way, verbs.create, { plan: inOrder(located('items/42', 'fin')) });

  expect({ exitCode, path: log[1]?.path }).toEqual({ exitCode: 0, path: `${items}/42` });
});

row('N13', 'a response without a length, cut after its Location, is looked up too', async (way) => {
  const answer = (own: OwnAnswer) => {
    const bytes = typeof unframed.answer === 'function' ? unframed.answer(own) : unframed.answer;
    return Buffer.from(Buffer.from(bytes).toString().replace('Connection: close', `Location: ${items}/42\r\n$&`));
  };

  const { exitCode, methods, stdout } = await runAgainst(way, verbs.create, { plan: inOrder({ ...unframed, answer }) });

  expect({ exitCode, methods }).toEqual({ exitCode: 0, methods: ['POST', 'GET'] });
  expect(JSON.parse(stdout)).toMatchObject({ id: '42' });
});

row('N13', 'an item there whose fields are others proves nothing', async (way) => {
  const { exitCode, methods } = await runAgainst(way, verbs.create, { plan: inOrder(located(`${items}/17`, 'fin')) });

  expect({ exitCode, methods }).toEqual({ exitCode: 8, methods: ['POST', 'GET'] });
});

row('N13', 'a look-up that fails leaves the create in doubt', async (way) => {
  const gone = { answer: answerBytes(404, { body: { error: 'no such item' } }), applies: false };

  const { exitCode, methods } = await runAgainst(way, verbs.create, {
    plan: inOrder(located(`${items}/42`, 'fin'), gone),
  });

  expect({ exitCode, methods }).toEqual({ exitCode: 8, methods: ['POST', 'GET'] });
});

for (const [elsewhere, what] of [
  ['http://127.0.0.1:9/v1.0/sites/home/lists/tasks/items/42', 'another origin'],
  ['/v1.0/sites/home/lists/tasky/items/42', 'another list'],
  ['/v1.0/sites/home/lists/tasks/items/../../others/items/42', 'another list, by its dots'],
  ['42', 'something beside the items'],
  ['http://[', 'nothing'],
] as const) {
  row('N13', `a Location that leads to ${what} is not looked up`, async (way) => {
    const { exitCode, methods } = await runAgainst(way, verbs.create, { plan: inOrder(located(elsewhere, 'fin')) });

    expect({ exitCode, methods }).toEqual({ exitCode: 8, methods: ['POST'] });
  });
}

/** No whole answer: a create is in doubt after one request, the others are sent again. */
async function expectLost(way: Way, step: FaultStep | AnswerStep): Promise<void> {
  const more = 'action' in step && /stall|drip/.test(step.action) ? ['--timeout', '1'] : [];
  const create = await runAgainst(way, [...verbs.create, ...more], { plan: always(step), padded: true });
  const again = await Promise.all(
    (['get', 'update', 'delete'] as const).map((verb) =>
      runAgainst(way, [...verbs[verb], ...more], { plan: inOrder(step), padded: true }),
    ),
  );
  const read = await runAgainst(way, [...verbs.get, '--retries', '1', ...more], {
    plan: always(step),
    padded: true,
  });

  const { exitCode, attempts, createdCount } = create;
  expect({ exitCode, attempts, createdCount }).toEqual({ ...inDoubt, createdCount: 1 });
  for (const run of again) {
    expect({ exitCode: run.exitCode, attempts: run.attempts }).toEqual({ exitCode: 0, attempts: 2 });
  }
  expect({ exitCode: read.exitCode, attempts: read.attempts }).toEqual({ exitCode: 7, attempts: 2 });
}

function seenByUser({ exitCode, stdout, stderr, port, attempts }: Awaited<ReturnType<typeof runAgainst>>) {
  return { exitCode, stdout, stderr: stderr.replaceAll(String(port), 'PORT'), attempts };
}

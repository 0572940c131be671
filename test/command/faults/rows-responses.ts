/** N14 to N18, and N32 to N37: responses that are complete, and wrong in some way. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { type AnswerParts, answerBytes, chunkedBody } from '../../support/fault-answer.ts';
import { type AnswerStep, always, type FloodStep } from '../../support/fault-plan.ts';
import { row, rowElsewhere } from '../../support/fault-rows.ts';
import { faultServer } from '../../support/fault-server.ts';
import { canaryToken, environmentOf, runAgainst, verbs, type Way } from '../../support/fault-ways.ts';
import { testHost } from '../../support/test-host.ts';

type Verb = keyof typeof verbs;

const json = ['Content-Type', 'application/json'] as const;
const mebibyte = 2 ** 20;

/** The same response to every request, each of which is applied. */
function answering(status: number, parts: AnswerParts = {}): AnswerStep {
  return { answer: answerBytes(status, parts), applies: true };
}

/** Runs a verb where every response is this one. */
async function endOf(way: Way, verb: Verb, step: AnswerStep | FloodStep, more: readonly string[] = []) {
  const run = await runAgainst(way, [...verbs[verb], ...more], { plan: always(step) });
  // Whatever came of it: never two items for one create, and one request for it.
  if (verb === 'create') expect([run.attempts, run.createdCount]).toEqual([1, 1]);
  return run;
}

/** A response that cannot be used: a create is in doubt, a read has failed. */
async function expectUnusable(way: Way, step: AnswerStep | FloodStep): Promise<void> {
  const create = await endOf(way, 'create', step);
  const read = await endOf(way, 'get', step);

  expect({ create: create.exitCode, read: read.exitCode }).toEqual({ create: 8, read: 1 });
}

row('N14', 'a JSON object with an id that calls itself text is an item, with a word only for -v', async (way) => {
  const step = answering(201, { headers: [['Content-Type', 'text/plain']], body: '{"id":"42","fields":{}}' });

  const plain = await endOf(way, 'create', step);
  const verbose = await endOf(way, 'create', step, ['-v']);

  expect({ exitCode: plain.exitCode, stderr: plain.stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(JSON.parse(plain.stdout)).toEqual({ id: '42', fields: {} });
  expect({ exitCode: verbose.exitCode, stdout: verbose.stdout }).toEqual({ exitCode: 0, stdout: plain.stdout });
  expect(verbose.stderr).toContain('text/plain');
});

for (const status of [200, 201]) {
  row('N15', `an HTML page (${status}) is not a response of the list service`, async (way) => {
    const step = answering(status, {
      headers: [['Content-Type', 'text/html; charset=utf-8']],
      body: '<html><head><title>\n Sign in to\n your account</title></head>Log in</html>',
    });

    const create = await endOf(way, 'create', step);
    const read = await endOf(way, 'get', step);

    expect({ create: create.exitCode, read: read.exitCode }).toEqual({ create: 8, read: 1 });
    for (const { stderr } of [create, read])
      expect(stderr).toMatch(/not the list service.*text\/html.*title "Sign in to your account"/);
  });
}

row('N16', 'no body: a create is in doubt, an update and a delete are done', async (way) => {
  for (const step of [answering(204), answering(200), answering(201, { headers: [json] })]) {
    const runs = await Promise.all((['create', 'update', 'delete'] as const).map((verb) => endOf(way, verb, step)));

    expect(runs.map(({ exitCode, attempts }) => [exitCode, attempts])).toEqual([
      [8, 1],
      [0, 1],
      [0, 1],
    ]);
  }
});

for (const body of ['{"fields":{}}', '{"id":null}', '{"id":{"a":1}}', '{"id":""}', '[{"id":"42"}]', '"42"', 'null']) {
  row('N17', `a create with the response ${body} has no id: in doubt`, async (way) => {
    const { exitCode } = await endOf(way, 'create', answering(201, { headers: [json], body }));

    expect(exitCode).toBe(8);
  });
}

for (const body of ['[]', '"17"', '17', 'null', 'true', '{"fields":{}}']) {
  row('N17', `a read with the response ${body} has no item`, async (way) => {
    const { exitCode } = await endOf(way, 'get', answering(200, { headers: [json], body }));

    expect(exitCode).toBe(1);
  });
}

row('N18', 'an id that is a number keeps every digit', async (way) => {
  const step = answering(201, { headers: [json], body: '{"id":12345678901234567890,"fields":{}}' });

  const { exitCode, stdout } = await endOf(way, 'create', step, ['-o', 'id']);

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '12345678901234567890\n' });
});

const long = 'x'.repeat(10_000);
const errors: readonly [what: string, parts: AnswerParts, says: RegExp][] = [
  ['a text', { body: { error: 'no such field' } }, /no such field/],
  [
    "Graph's object",
    { body: { error: { code: 'badField', message: 'no such field', innerError: {} } } },
    /no such field/,
  ],
  [
    'problem+json',
    { headers: [['Content-Type', 'application/problem+json']], body: '{"detail":"no such field"}' },
    /no such field/,
  ],
  ['a message', { body: { message: 'no such field' } }, /no such field/],
  ['plain text', { headers: [['Content-Type', 'text/plain']], body: 'no such field\nnor that' }, /no such field/],
  ['a page', { headers: [['Content-Type', 'text/html']], body: '<html>' }, /HTTP 400 Bad Request/],
  ['nothing', {}, /HTTP 400 Bad Request/],
  ['broken JSON', { headers: [json], body: '{"error":' }, /HTTP 400/],
  [
    'gzip',
    { headers: [json, ['Content-Encoding', 'gzip']], body: gzipSync('{"error":"no such field"}') },
    /no such field/,
  ],
  ['a long text', { body: { error: long } }, /x{400}/],
  ['control characters', { body: { error: 'no\u001b[31m such\r\nfield\u0007' } }, /no.*such.*field/],
];
for (const [what, parts, says] of errors) {
  row('N32', `an error whose body is ${what} is refused, in its own words`, async (way) => {
    const { exitCode, attempts, stderr } = await runAgainst(way, verbs.create, {
      plan: always({ answer: answerBytes(400, parts), applies: false }),
    });

    expect({ exitCode, attempts }).toEqual({ exitCode: 1, attempts: 1 });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/x{501}/);
    expect(stderr).not.toContain('<html>');
  });
}

for (const before of ['', 'x'.repeat(490), 'x'.repeat(500 - canaryToken.length + 1)]) {
  row(
    'N32',
    `a token that an error repeats after ${before.length} characters is not printed, nor a part of it`,
    async (way) => {
      const parts = { headers: [['request-id', canaryToken]], body: { error: `${before}${canaryToken}` } } as const;
      const plan = always({ answer: answerBytes(400, parts), applies: false });

      for (const more of [[], ['--json']]) {
        const { exitCode } = await runAgainst(way, [...verbs.create, ...more], { plan });

        expect(exitCode).toBe(1);
      }
    },
  );
}

row('N32', '-vv shows neither the token nor control bytes, whatever the response repeats', async (way) => {
  const body = { error: `\u001b[31m${canaryToken}\u0007\u202e` };
  await using server = await faultServer({
    plan: always({ answer: answerBytes(400, { headers: [['X-Echo', canaryToken]], body }), applies: false }),
  });
  const host = testHost({ env: environmentOf(server) });

  const exitCode = await way.main([...verbs.create, '-vv'], host);

  expect({ exitCode, stdout: host.printed.stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(host.printed.stderr).toContain('Bearer ***');
  expect(host.printed.stderr).not.toContain(canaryToken);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  expect(host.printed.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
});

row('N32', 'the first usable text is shown (responses-3)', async (way) => {
  const body = { error: { code: 'badField', message: 'the first' }, message: 'the second', detail: 'the third' };

  const { stderr } = await runAgainst(way, verbs.create, {
    plan: always({ answer: answerBytes(400, { body }), applies: false }),
  });

  expect(stderr).toContain('the first');
  expect(stderr).not.toMatch(/the second|the third/);
});

row('N32', '--json has the code and the request id', async (way) => {
  const answer = answerBytes(400, {
    headers: [['request-id', 'r-1']],
    body: { error: { code: 'badField', message: 'no such field' } },
  });

  const { stderr } = await runAgainst(way, [...verbs.create, '--json'], { plan: always({ answer, applies: false }) });

  expect(JSON.parse(stderr)).toMatchObject({
    error: { kind: 'refused', exit: 1, status: 400, outcome: 'refused', serviceCode: 'badField', requestId: 'r-1' },
  });
});

row('N32', 'of an error of 10 MB no more than its beginning is read', async (way) => {
  const { exitCode, attempts, sentBytes, stderr } = await runAgainst(way, verbs.create, {
    plan: always({
      head: headOf(400, `Content-Length: ${10 * mebibyte}`),
      chunk: Buffer.alloc(mebibyte / 16, 'long '),
      applies: false,
    }),
  });

  expect({ exitCode, attempts }).toEqual({ exitCode: 1, attempts: 1 });
  expect(stderr).toContain('HTTP 400');
  expect(stderr).not.toMatch(/(long ){101}/);
  // What the system holds on the way is a few MiB.
  expect(sentBytes).toBeLessThan(9 * mebibyte);
});

for (const [what, head, chunk] of [
  ['declared', `Content-Length: ${100 * mebibyte}`, Buffer.alloc(mebibyte / 16, ' ')],
  ['chunked', 'Transfer-Encoding: chunked', chunkedBody(Buffer.alloc(mebibyte / 16, ' ')).subarray(0, -5)],
] as const) {
  row('N33', `a body above 8 MiB (${what}) is not read to its end`, async (way) => {
    const flood: FloodStep = { head: headOf(200, head), chunk, applies: true };

    const create = await endOf(way, 'create', flood);
    const read = await endOf(way, 'get', flood);

    expect({ create: create.exitCode, read: read.exitCode }).toEqual({ create: 8, read: 1 });
    // 8 MiB, and what the system holds on the way.
    expect(create.sentBytes).toBeLessThan(24 * mebibyte);
  });
}

rowElsewhere(
  'N33',
  'that memory does not grow by 64 MiB is seen in test/binary/faults.test.ts, in a process of its own',
);

const item = '{"id":"42","fields":{"Title":"Milk"}}';

row('N34', 'gzip that was not requested is decoded', async (way) => {
  const step = answering(201, { headers: [json, ['Content-Encoding', 'gzip']], body: gzipSync(item) });

  const { exitCode, stdout } = await endOf(way, 'create', step);

  expect({ exitCode, item: JSON.parse(stdout) }).toEqual({ exitCode: 0, item: JSON.parse(item) });
});

row('N34', 'a request says that it wants no coding', async (way) => {
  const { log } = await runAgainst(way, verbs.get);

  expect(log[0]?.headers['accept-encoding']).toBe('identity');
});

const packed = gzipSync(item);
const codings: readonly [what: string, coding: string, body: Uint8Array][] = [
  ['a bomb: 52 MB in 51 kB', 'gzip', gzipSync(Buffer.alloc(52 * mebibyte, ' '))],
  ['gzip that is cut', 'gzip', packed.subarray(0, -12)],
  ['gzip that is none', 'gzip', Buffer.from(item)],
  ['br', 'br', brotliCompressSync(item)],
  ['two codings', 'gzip, gzip', gzipSync(packed)],
];
for (const [what, coding, body] of codings) {
  row('N34', `${what} is not a usable response`, (way) =>
    expectUnusable(way, answering(200, { headers: [json, ['Content-Encoding', coding]], body })),
  );
}

for (const [what, body] of [
  [
    'UTF-8 that is none',
    Buffer.concat([Buffer.from('{"id":"42","fields":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')]),
  ],
  ['UTF-16', Buffer.from(`\uFEFF${item}`, 'utf16le')],
] as const) {
  row('N35', `${what} is not a usable response`, (way) =>
    expectUnusable(way, answering(200, { headers: [json], body })),
  );
}

row('N35', 'a byte order mark is passed over', async (way) => {
  const milk = '{"id":"17","fields":{"Title":"Milk"}}';
  const { exitCode, stdout } = await endOf(way, 'get', answering(200, { headers: [json], body: `\uFEFF${milk}` }));

  expect({ exitCode, item: JSON.parse(stdout) }).toEqual({ exitCode: 0, item: JSON.parse(milk) });
});

row('N36', 'two ids in one object are not a usable response', (way) =>
  expectUnusable(way, answering(200, { headers: [json], body: '{"id":"42","id":"43","fields":{}}' })),
);

row('N36', '__proto__ and constructor are names like any other', async (way) => {
  const body = '{"id":"17","fields":{"__proto__":{"x":1},"constructor":{"prototype":{"x":2}}}}';

  const { exitCode, stdout } = await endOf(way, 'get', answering(200, { headers: [json], body }), ['-o', 'jsonl']);

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${body}\n` });
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});

row('N37', 'numbers are printed as they came, token for token', async (way) => {
  const body = '{"id":"17","fields":{"a":12345678901234567890,"b":1.0,"c":1e400,"d":-0}}';

  const { exitCode, stdout } = await endOf(way, 'get', answering(200, { headers: [json], body }), ['-o', 'jsonl']);

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${body}\n` });
});

rowElsewhere('N37', 'that `apply` sees no difference is seen in test/command/apply/changes.test.ts');
rowElsewhere('N15', 'that a run over many rows stops is seen in test/command/bulk/run-failures.test.ts');

function headOf(status: number, framing: string): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} Whatever\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`);
}

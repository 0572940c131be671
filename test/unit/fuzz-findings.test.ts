/** What fuzzing has found, one case each; the inputs are in test/fuzz/corpus, too. */
import { createServer } from 'node:net';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import type { ConnectionOptions } from '../../src/api/connect.ts';
import { toFailure } from '../../src/api/failures.ts';
import { httpTransport } from '../../src/api/http.ts';
import type { Attempt, Transport } from '../../src/api/transport.ts';
import { undiciTransport } from '../../src/api/undici.ts';
import { readHeader } from '../../src/bulk/journal-lines.ts';
import { parseYaml, YamlSyntaxError } from '../../src/core/yaml.ts';
import { unknownName } from '../../src/rows/columns.ts';
import { credentialsFrom, profilesFrom } from '../../src/settings/read-settings.ts';
import { listening } from '../support/loopback-server.ts';
import { powerLossDisk } from '../support/power-loss.ts';
import { rowsFrom, toFields } from './rows/rows-from.ts';

test('YAML on which the library would run out of stack is refused before', () => {
  const read = () => parseYaml(`[${'a: '.repeat(8000)}]`);

  expect(read).toThrow(YamlSyntaxError);
  expect(read).toThrow(/^line 1, column \d+: nested deeper than 128 levels$/);
});

test('YAML with a fault in each byte costs no stack for each of them', () => {
  const { stackTraceLimit } = Error;
  const busyMs = busy(() => {
    expect(() => parseYaml(`a: 1\n${'}'.repeat(40_000)}`)).toThrow(YamlSyntaxError);
  });

  expect(busyMs).toBeLessThan(2000);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

test('what YAML is refused for is said in a sentence, whatever it is about', () => {
  expect(() => parseYaml(`| ${'9'.repeat(20_000)}`)).toThrow(/^line 1, column 3: Not a YAML token: 9{100,200}…$/);
});

test('a name out of a file of settings is cut in what is said of it', () => {
  const name = 'n'.repeat(9000);

  expect(() => profilesFrom({ profiles: { [name]: 1 } }, 'config.json')).toThrow(
    /: profiles\.n{64}… must be an object$/,
  );
  expect(() => credentialsFrom({ tokens: { [name]: 1 } }, 'x')).toThrow(/: tokens\.n{64}… must have origin and token$/);
});

test('a torn header with a lost block in it and more lines after it is recognized at once', () => {
  const { io, put } = powerLossDisk();
  put('a.journal', Buffer.from(`26a3be75 {"listctl":"journal","version":1,${'\0'.repeat(60_000)}"tool"`));

  expect(busy(() => expect(() => readHeader('a.journal', io)).toThrow('is not a listctl journal'))).toBeLessThan(1000);
});

test('blanks inside the name of a column are read once, however many they are', async () => {
  const before = process.cpuUsage();
  const name = `B${'\t'.repeat(200_000)}C`;

  expect(toFields(await rowsFrom('a.csv', `A,${name}\n1,2\n`))).toEqual([{ A: '1', [name]: '2' }]);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
});

describe.each([
  { name: 'http', open: httpTransport },
  { name: 'undici', open: undiciTransport },
])('over $name', ({ open }) => {
  test.each([204, 304])('a %i that announces a length is whole with its head', async (status) => {
    const { response } = await answered(open, `HTTP/1.1 ${status} Fine\r\nContent-Length: 5\r\n\r\n`);

    expect(response).toMatchObject({ status, body: new Uint8Array() });
  });

  test('a status line whose number is not a status is not a response', async () => {
    const { response, error } = await answered(open, 'HTTP/1.1 004 Not Found\r\nContent-Length: 5\r\n\r\n12345');

    expect([response, error?.kind]).toEqual([undefined, 'unusable']);
  });

  test('a 101 without an upgrade is reported in our words', async () => {
    const attempt = await answered(open, 'HTTP/1.1 101 Switching Protocols\r\nX: y\r\n\r\nabc');

    expect(attempt.response?.status ?? attempt.error?.reason).toEqual(
      open === httpTransport ? 101 : 'unexpected response',
    );
  });
});

test('the names of columns are cut in a hint', () => {
  const { details } = unknownName('--id-column', 'column', 'number', ['n'.repeat(9000), 'b']);

  expect(details.hint).toBe(`the columns are: ${'n'.repeat(100)}…, b`);
});

test('what a failure says of an answer has an end, whatever the service said', () => {
  const hide = (text: string) => text;
  const asked = { task: 'read it', target: 'it', address: 'https://lists.example', hide, method: 'GET' } as const;
  const long = 'x'.repeat(9000);
  const headers = { location: `http://a/${long}`, 'retry-after': long, 'request-id': long };
  const failures = [302, 429].map((status) =>
    toFailure(asked, { response: { status, headers, body: Buffer.from(`{"code":"${long}"}`) } }, 'refused'),
  );

  for (const { message, details } of failures) {
    expect(message.length).toBeLessThanOrEqual(4000);
    for (const text of [details.hint, details.serviceCode, details.requestId]) {
      expect(text?.length ?? 0).toBeLessThanOrEqual(500);
    }
  }
  expect(failures.map(({ details }) => details.serviceCode?.length)).toEqual([500, 500]);
});

/** What comes of asking for something, where these bytes are the answer and the connection ends behind them. */
async function answered(open: (way: ConnectionOptions) => Promise<Transport>, answer: string): Promise<Attempt> {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(answer)));
  await using listener = await listening(server);
  const transport = await open({ base: new URL(listener.url), token: 'secret-token', headers: {} });
  try {
    const signal = new AbortController().signal;
    return await transport.send({ method: 'DELETE', path: '/x', headers: {} }, { timeoutMs: 5000, signal });
  } finally {
    await transport.close();
  }
}

/** How long it keeps the processor, which no other process takes from it. */
function busy(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

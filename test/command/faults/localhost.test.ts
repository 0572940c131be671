/** Names under localhost mean this machine, but DNS may say otherwise: the token must not leave it. */
import dns from 'node:dns';
import { createServer, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { isLoopbackAddress } from '../../../src/core/loopback.ts';
import { answerBytes } from '../../support/fault-answer.ts';
import { environmentOf, runOneWay, verbs, ways } from '../../support/fault-ways.ts';
import { listening } from '../../support/loopback-server.ts';

/** An address of this machine on a network; where it has none, one that is not there. */
const network =
  Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal)?.address ?? '192.0.2.1';

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(ways)('over $name', (way) => {
  test.each([
    { name: 'lists.localhost', address: network, more: [], env: {}, exits: [2, 7], sees: false },
    { name: 'lists.localhost', address: '127.0.0.1', more: [], env: {}, exits: [0], sees: true },
    { name: 'localhost', address: '127.0.0.1', more: [], env: {}, exits: [0], sees: true },
    { name: 'lists.localhost', address: network, more: ['--allow-http'], env: {}, exits: [0, 7], sees: true },
    {
      ...{ name: 'lists.localhost', address: network, more: ['--allow-http'] },
      ...{ env: { HTTP_PROXY: 'http://192.0.2.9:1' }, exits: [2, 7], sees: false },
    },
  ])('$name at $address $more $env', async ({ name, address, more, env, exits, sees }) => {
    await using server = await itemServer();
    resolveTo(address);
    const words = [...verbs.get, '--retries', '0', '--timeout', '5', ...more];

    const { exitCode, stderr } = await runOneWay(way, words, {
      env: { ...environmentOf({ url: `http://${name}:${server.port}/v1.0` }), ...env },
    });

    expect(exits).toContain(exitCode);
    expect(server.heard().includes('Bearer canary')).toBe(exitCode === 0 && sees);
    if (exitCode === 2) expect(stderr).toMatch(/resolves to [0-9.]+, which is not this machine.*\n.*--allow-http/);
  });

  test('a connection that was closed at once is no other machine', async () => {
    await using server = await itemServer();
    // What `remoteAddress` is read from, which cannot be replaced.
    const internals = Socket.prototype as unknown as { _getpeername(): object };
    vi.spyOn(internals, '_getpeername').mockReturnValueOnce({});
    const words = [...verbs.get, '--retries', '0', '--timeout', '5'];
    const env = environmentOf({ url: `http://127.0.0.1:${server.port}/v1.0` });
    const { exitCode, stderr } = await runOneWay(way, words, { env });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 7, stderr: expect.not.stringContaining('this machine') });
    expect(server.heard()).not.toContain('Bearer canary');
  });
});

test.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['192.0.2.1', false],
  ['::ffff:192.0.2.1', false],
  ['fe80::1', false],
  ['', false],
])('the address %s is this machine alone: %s', (address, is) => {
  expect(isLoopbackAddress(address)).toBe(is);
});

/** Lets every name have this address. */
function resolveTo(address: string): void {
  const family = address.includes(':') ? 6 : 4;
  const lookup = (_: string, { all }: { readonly all?: boolean }, settle: (...found: unknown[]) => void) =>
    all ? settle(null, [{ address, family }]) : settle(null, address, family);
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
}

/** A server on every address of this machine, which answers each request with an item. */
async function itemServer(): Promise<AsyncDisposable & { readonly port: number; heard(): string }> {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString();
      socket.write(answerBytes(200, { body: { id: '17', fields: {} } }));
    });
  });
  return { ...(await listening(server, 0, '0.0.0.0')), heard: () => heard };
}

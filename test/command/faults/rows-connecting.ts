/** N01 to N05, and N40: there is no connection, or not to whom it should be. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { expect } from 'vitest';
import { connectProxy } from '../../support/connect-proxy.ts';
import { deafPort } from '../../support/deaf-port.ts';
import { answerBytes } from '../../support/fault-answer.ts';
import { inOrder } from '../../support/fault-plan.ts';
import { row } from '../../support/fault-rows.ts';
import { faultServer } from '../../support/fault-server.ts';
import { environmentOf, runAgainst, runOneWay, verbs, type Way, waiting } from '../../support/fault-ways.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { newAuthority, type ServerCertificate, selfSigned } from '../../support/tls-certificate.ts';

const authority = newAuthority();
const home = { address: '127.0.0.1' };

row('N01', 'a name that does not resolve is tried five times, then it is 7', async (way) => {
  const env = environmentOf({ url: 'https://nowhere.invalid/v1.0' });

  const { exitCode, host, stderr } = await runOneWay(way, verbs.create, { env });

  expect({ exitCode, waits: host.sleptMs.length }).toEqual({ exitCode: 7, waits: 4 });
  expect(stderr).toContain('nowhere.invalid');
});

row('N02', 'a refused connection is tried five times, then it is 7', async (way) => {
  const env = environmentOf({ url: `http://127.0.0.1:${await freePort()}/v1.0` });

  const { exitCode, host, stderr } = await runOneWay(way, verbs.create, { env });

  expect({ exitCode, waits: host.sleptMs.length }).toEqual({ exitCode: 7, waits: 4 });
  expect(stderr).toContain('refused');
});

row('N02', 'N02b a server that comes up meanwhile gets exactly one item', async (way) => {
  const port = await freePort();
  const started: Awaited<ReturnType<typeof faultServer>>[] = [];
  const start = async () => {
    if (started.length === 0) started.push(await faultServer({ port }));
  };

  const { exitCode, host } = await runOneWay(way, verbs.create, {
    env: environmentOf({ url: `http://127.0.0.1:${port}/v1.0` }),
    host: (made) => waiting(made, start),
  });

  const [server] = started;
  expect({ exitCode, waits: host.sleptMs.length }).toEqual({ exitCode: 0, waits: 1 });
  expect([server?.log.length, server?.createdCount()]).toEqual([1, 1]);
  await server?.[Symbol.asyncDispose]();
});

if (process.platform === 'linux') {
  row(
    'N03',
    'a dropped SYN is no connection: nothing was sent, so even a create is tried again, then it is 7',
    async (way) => {
      await using silent = await deafPort();

      const { exitCode, host } = await runOneWay(way, [...verbs.create, '--timeout', '0.3'], {
        env: environmentOf({ url: `http://127.0.0.1:${silent.port}/v1.0` }),
      });

      expect({ exitCode, waits: host.sleptMs.length }).toEqual({ exitCode: 7, waits: 4 });
    },
  );
}

row(
  'N04',
  'a connection that is reset as it is accepted was never sent to: one item once the server recovers',
  async (way) => {
    const plan = inOrder({ point: 'accept', action: 'rst' }, { point: 'accept', action: 'rst' });

    const { exitCode, attempts, createdCount } = await runAgainst(way, verbs.create, { plan });

    expect({ exitCode, attempts, createdCount }).toEqual({ exitCode: 0, attempts: 3, createdCount: 1 });
  },
);

const strangers: readonly [because: string, ServerCertificate, says: RegExp][] = [
  ['self-signed', selfSigned(home), /self-signed/],
  ['for another name', authority.issue({ host: 'other.example' }), /name/],
  ['expired', authority.issue(home, { fromDay: -9, toDay: -2 }), /expired/],
  ['by an authority that is not known', newAuthority().issue(home), /authority/],
];
for (const [because, certificate, says] of strangers) {
  row('N05', `a certificate that is ${because} ends in 7 at once, and no request is sent`, async (way) => {
    const { exitCode, attempts, host, stderr } = await runTrusting(way, { certificate });

    expect({ exitCode, attempts, waits: host.sleptMs.length }).toEqual({ exitCode: 7, attempts: 0, waits: 0 });
    expect(stderr).toMatch(says);
    expect(stderr).toContain('--ca-file');
    expect(stderr).not.toMatch(/disable|insecure|REJECT_UNAUTHORIZED/i);
  });
}

row('N05', 'https to a port for http ends in 7 at once, and no request is sent', async (way) => {
  await using server = await faultServer();
  const env = environmentOf({ url: server.url.replace('http:', 'https:') });

  const { exitCode, host, stderr } = await runOneWay(way, verbs.create, { env });

  expect({ exitCode, waits: host.sleptMs.length, attempts: server.log.length }).toEqual({
    exitCode: 7,
    waits: 0,
    attempts: 0,
  });
  expect(stderr).toMatch(/TLS|http/);
  expect(stderr).not.toMatch(/disable|insecure|REJECT_UNAUTHORIZED/i);
});

row('N05', 'a certificate of an authority that --ca-file names is good', async (way) => {
  const { exitCode, createdCount } = await runTrusting(way, { certificate: authority.issue(home) });

  expect({ exitCode, createdCount }).toEqual({ exitCode: 0, createdCount: 1 });
});

row('N40', 'HTTPS_PROXY opens a tunnel, and gets no token; its password is never printed', async (way) => {
  await using server = await faultServer({ certificate: authority.issue({ host: 'lists.invalid' }) });
  await using proxy = await connectProxy({ port: server.port });

  const { exitCode, stderr } = await runTrustingAt(way, 'https://lists.invalid/v1.0', {
    HTTPS_PROXY: `http://ann:pass%20word@${proxy.host}`,
  });

  expect({ exitCode, stderr, created: server.createdCount() }).toEqual({ exitCode: 0, stderr: '', created: 1 });
  expect(proxy.requests.map(({ line }) => line)).toEqual(['CONNECT lists.invalid:443 HTTP/1.1']);
  expect(proxy.requests[0]?.head).not.toMatch(/^authorization:/im);
  expect(proxy.requests[0]?.head).toMatch(
    new RegExp(`^proxy-authorization: Basic ${Buffer.from('ann:pass word').toString('base64')}\r$`, 'im'),
  );
});

row('N40', 'a proxy gets a password without a user name', async (way) => {
  await using proxy = await connectProxy({ refusal: answerBytes(502) });
  const env = { HTTPS_PROXY: proxy.url.replace('//', '//:word@') };

  await runTrustingAt(way, 'https://lists.invalid/v1.0', env);

  expect(proxy.requests[0]?.head).toContain(`Basic ${Buffer.from(':word').toString('base64')}\r\n`);
});

row('N40', '--ca-file counts for a proxy over TLS to an http address', async (way) => {
  await using server = await faultServer();
  await using proxy = await connectProxy({ port: server.port, certificate: authority.issue(home) });

  const { exitCode } = await runTrustingAt(way, 'http://lists.invalid/v1.0', { ALL_PROXY: proxy.url }, [
    '--allow-http',
  ]);

  expect({ exitCode, created: server.createdCount() }).toEqual({ exitCode: 0, created: 1 });
});

row('N40', 'HTTP_PROXY carries requests to an http address', async (way) => {
  await using server = await faultServer();
  await using proxy = await connectProxy({ port: server.port });
  const env = { ...environmentOf({ url: 'http://lists.invalid/v1.0' }), HTTP_PROXY: proxy.url };

  const { exitCode } = await runOneWay(way, [...verbs.create, '--allow-http'], { env });

  expect({ exitCode, created: server.createdCount(), asked: proxy.requests.length }).toEqual({
    exitCode: 0,
    created: 1,
    asked: 1,
  });
  expect(proxy.requests[0]?.line).toContain('lists.invalid');
});

row(
  'N40',
  'a name that only a proxy can look up is never looked up here, and its certificate is checked',
  async (way) => {
    await using server = await faultServer({ certificate: authority.issue({ host: 'other.invalid' }) });
    await using proxy = await connectProxy({ port: server.port });

    const { exitCode, stderr } = await runTrustingAt(way, 'https://lists.invalid/v1.0', { HTTPS_PROXY: proxy.url });

    expect({ exitCode, attempts: server.log.length }).toEqual({ exitCode: 7, attempts: 0 });
    expect(stderr).toContain('another host name');
  },
);

for (const status of [407, 502]) {
  row('N40', `a proxy that responds to CONNECT with ${status} was sent nothing: 7 after five attempts`, async (way) => {
    await using proxy = await connectProxy({ refusal: answerBytes(status, { body: 'no way' }) });

    const { exitCode, host, stderr } = await runTrustingAt(way, 'https://lists.invalid/v1.0', {
      HTTPS_PROXY: `http://ann:secretword@${proxy.host}`,
    });

    expect({ exitCode, waits: host.sleptMs.length, asked: proxy.requests.length }).toEqual({
      exitCode: 7,
      waits: 4,
      asked: 5,
    });
    expect(stderr).toContain(String(status));
    expect(stderr).not.toContain('secretword');
    for (const { head } of proxy.requests) expect(head).not.toMatch(/^authorization:/im);
  });
}

row('N40', 'a proxy that sends more than its response to CONNECT was sent nothing: 7', async (way) => {
  const early = Buffer.from('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{"id":"9"}');
  await using proxy = await connectProxy({ refusal: early });

  const { exitCode, stderr } = await runTrustingAt(way, 'https://lists.invalid/v1.0', { HTTPS_PROXY: proxy.url });

  expect(exitCode).toBe(7);
  expect(stderr).toContain(`cannot connect through proxy ${proxy.host}: the server sent data before the request`);
});

for (const [exception, asked] of [
  ['other.example,.lists.invalid', 0],
  ['ists.invalid', 1],
] as const) {
  row('N40', `NO_PROXY=${exception} ${asked === 0 ? 'keeps' : 'does not keep'} the proxy out`, async (way) => {
    await using proxy = await connectProxy({ refusal: answerBytes(502) });
    const env = {
      ...environmentOf({ url: 'https://a.lists.invalid/v1.0' }),
      ...{ HTTPS_PROXY: proxy.url, NO_PROXY: exception },
    };

    const { exitCode } = await runOneWay(way, [...verbs.get, '--retries', '0'], { env });

    expect({ exitCode, asked: proxy.connectionCount() }).toEqual({ exitCode: 7, asked });
  });
}

row('N40', 'loopback never goes through a proxy', async (way) => {
  await using proxy = await connectProxy({ refusal: answerBytes(502) });

  const { exitCode } = await runAgainst(way, verbs.get, {}, { env: { HTTP_PROXY: proxy.url, http_proxy: proxy.url } });

  expect({ exitCode, asked: proxy.connectionCount() }).toEqual({ exitCode: 0, asked: 0 });
});

/** Creates an item at a server of ours over TLS, trusting our authority. */
async function runTrusting(way: Way, { certificate }: { readonly certificate: ServerCertificate }) {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'authority.pem');
  await writeFile(file, authority.cert);
  // The directory is there until the run has ended.
  return await runAgainst(way, [...verbs.create, '--ca-file', file], { certificate });
}

/** Creates an item at an address, trusting our authority. */
async function runTrustingAt(
  way: Way,
  url: string,
  env: Readonly<Record<string, string>>,
  more: readonly string[] = [],
) {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'authority.pem');
  await writeFile(file, authority.cert);
  const words = [...verbs.create, '--ca-file', file, ...more];
  return await runOneWay(way, words, { env: { ...environmentOf({ url }), ...env } });
}

/** A loopback port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

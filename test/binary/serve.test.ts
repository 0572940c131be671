/** The built-in service as a process that others talk to, and that is killed. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { listItemService } from '../../src/server/handle.ts';
import { openStore } from '../../src/server/store.ts';
import { listctl, listctlFile, shell, testNode } from '../support/listctl.ts';
import { type HttpAnswer, type HttpRequest, rawConnection, sendHttp } from '../support/send-http.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const token = 'the-token-of-these-tests';
const path = '/sites/home/lists/tasks/items';
const milk = { Title: 'Buy milk', CustomField: 'two litres' };

/** A process that serves the items of a directory. */
async function serving(data: string, args: readonly string[] = []) {
  const running = listctl(['serve', '--port', '0', '--data', data, '-o', 'json', ...args], { LISTCTL_TOKEN: token });
  const lines = createInterface({ input: running.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), running.then(() => [])])) as (string | undefined)[];
  if (line === undefined) throw new Error(`serve did not start: ${(await running).stderr}`);
  const { url } = JSON.parse(line) as { readonly url: string };
  const environment = {
    LISTCTL_BASE_URL: url,
    LISTCTL_TOKEN: token,
    LISTCTL_SITE: 'home',
    LISTCTL_LIST: 'tasks',
  };
  return {
    url,
    environment,
    send: (below: string, request: HttpRequest = {}): Promise<HttpAnswer> =>
      sendHttp(url + below, { ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } }),
    end: async (signal: NodeJS.Signals) => {
      running.kill(signal);
      const { exitCode, signal: endedBy, stderr } = await running;
      return { exitCode, endedBy, stderr };
    },
    [Symbol.asyncDispose]: async () => {
      running.kill('SIGKILL');
      await running;
    },
  };
}

type Serving = Awaited<ReturnType<typeof serving>>;

/** Creates items, several at once, until the connections break; gives the ids that were acknowledged. */
async function createUntilKilled(server: Serving, acknowledged: (count: number) => void): Promise<readonly string[]> {
  const ids: string[] = [];
  const work = async (): Promise<void> => {
    for (;;) {
      const answer = await server.send(path, { fields: milk }).catch(() => undefined);
      if (answer === undefined) return;
      expect(answer.status).toBe(201);
      ids.push(JSON.parse(answer.body).id);
      acknowledged(ids.length);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return ids;
}

describe('a service that is killed', () => {
  test('has every item that it acknowledged, once each, when it is started again', async () => {
    await using directory = await temporaryDirectory();
    const acknowledged = new Set<string>();

    for (const killedAfter of [1, 20, 50]) {
      await using server = await serving(directory.path);
      const ids = await createUntilKilled(server, (count) => {
        if (count === killedAfter) void server.end('SIGKILL');
      });
      for (const id of ids) {
        expect(acknowledged).not.toContain(id);
        acknowledged.add(id);
      }
    }

    await using server = await serving(directory.path);
    for (const id of acknowledged) {
      expect(await server.send(`${path}/${id}`)).toMatchObject({
        status: 200,
        body: JSON.stringify({ id, fields: milk }),
      });
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual(71);
  });

  test('after an item was stored and before it said so gives the same item for the same key', async () => {
    await using directory = await temporaryDirectory();
    const sent = { fields: milk, headers: { 'idempotency-key': '"abc"' } };
    const first = await serving(directory.path, ['--latency', '3600000']);
    const lost = first.send(path, sent).catch(() => 'lost');
    await storedIn(directory.path, '1');

    await first.end('SIGKILL');
    expect(await lost).toBe('lost');
    await using second = await serving(directory.path);

    expect(await second.send(path, sent)).toMatchObject({
      status: 201,
      body: JSON.stringify({ id: '1', fields: milk }),
      headers: { 'idempotent-replayed': 'true' },
    });
    expect((await second.send(`${path}/2`)).status).toBe(404);
  });
});

describe('a service that is asked to stop', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'by %s finishes what is under way, keeps its items, and ends by that signal without a word',
    async (signal) => {
      await using directory = await temporaryDirectory();
      const first = await serving(directory.path, ['--latency', '3600000']);
      const idle = await rawConnection(first.url);
      const underWay = first.send(path, { fields: milk });
      await storedIn(directory.path, '1');

      const ended = await first.end(signal);

      expect(ended).toEqual({ exitCode: undefined, endedBy: signal, stderr: '' });
      expect(await underWay).toMatchObject({ status: 201, headers: { connection: 'close' } });
      await idle.closed();
      await using second = await serving(directory.path);
      expect((await second.send(`${path}/1`)).status).toBe(200);
    },
  );
});

test('keeps running after the reader of stdout has closed the pipe', async () => {
  await using directory = await temporaryDirectory();
  const running = listctl(['serve', '--port', '0', '--data', directory.path], { LISTCTL_TOKEN: token });
  const [line] = (await once(createInterface({ input: running.stdout }), 'line')) as [string];
  running.stdout.destroy();

  expect((await sendHttp(`${line}${path}/1`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(404);

  running.kill('SIGTERM');
  expect(await running).toMatchObject({ signal: 'SIGTERM', stderr: '' });
});

const curl = await execa('curl', ['--version'], { reject: false });

describe.skipIf(curl.failed)("the document's own example (needs curl)", () => {
  test('gives with curl and with listctl the same bytes of JSON', async () => {
    await using directory = await temporaryDirectory();
    await using server = await serving(directory.path);
    const body = '{"fields":{"Title":"Example","CustomField":"Some value — 7,50 €"}}';
    const authorization = ['-H', `Authorization: Bearer ${token}`];
    const json = ['-H', 'Content-Type: application/json'];
    const withCurl = async (args: readonly string[]) =>
      (await execa('curl', ['-sS', ...authorization, ...args])).stdout;
    const withListctl = async (args: readonly string[]) => {
      const { exitCode, stderr, stdout } = await listctl(['items', ...args, '-o', 'jsonl'], server.environment);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      return stdout;
    };
    const fields = ['-f', 'Title=Example', '-f', 'CustomField=Some value — 7,50 €'];

    const createdByCurl = await withCurl(['-X', 'POST', ...json, '-d', body, server.url + path]);
    const createdByListctl = await withListctl(['create', ...fields]);

    expect(createdByCurl).toBe(`{"id":"1",${body.slice(1)}`);
    expect(createdByListctl).toBe(createdByCurl.replace('"id":"1"', '"id":"2"'));
    expect(await withCurl([`${server.url}${path}/1`])).toBe(createdByCurl);
    expect(await withListctl(['get', '1'])).toBe(createdByCurl);
    expect(await withListctl(['get', '2'])).toBe(await withCurl([`${server.url}${path}/2`]));
  });

  test('runs as the lines that serve prints, on one terminal, are pasted into a shell', async () => {
    await using directory = await temporaryDirectory();
    const terminal = join(directory.path, 'terminal');
    const words = [testNode, listctlFile, 'serve', '--port', '0', '--data', join(directory.path, 'items')];
    const running = execa('sh', ['-c', 'exec "$@" >>"$0" 2>&1', terminal, ...words], {
      reject: false,
      extendEnv: false,
      env: { HOME: directory.path },
    });
    const shown = () => (existsSync(terminal) ? readFileSync(terminal, 'utf8') : '');
    while (!/^curl .*\n/m.test(shown())) await new Promise((resolve) => setTimeout(resolve, 5));

    const { stdout, exitCode } = await shell(`${shown().split('\n').slice(1).join('\n').trimEnd()} -sS`);

    expect(exitCode).toBe(0);
    expect(stdout).toContain('{"id":"2","fields":{"Title":"Buy milk"}}');
    running.kill('SIGTERM');
    expect((await running).signal).toBe('SIGTERM');
  });
});

/** Resolves once the item is on disk, as another process sees it. */
async function storedIn(directory: string, id: string): Promise<void> {
  const store = openStore(directory);
  const service = listItemService(store, Date.now);
  const read = { method: 'GET', path: `${path}/${id}`, headers: {}, body: new Uint8Array() };
  while ((await service(read)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
  await store.close();
}

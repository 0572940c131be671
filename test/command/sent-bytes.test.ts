/** The bytes of each request to the list item service, as they were before it became one of two services. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listening } from '../support/loopback-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/test-host.ts';

const item = '{"id":"17","fields":{"Title":"Milk","Count":2}}';

/** A server that keeps every byte, and answers each request with the same item, or 204 to a DELETE. */
async function recorder() {
  let bytes = '';
  const server = createServer((socket) => {
    let pending = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1');
      pending += chunk.toString('latin1');
      for (;;) {
        const end = pending.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, end))?.[1] ?? 0);
        if (end < 0 || pending.length < end + 4 + length) return;
        const isDelete = pending.startsWith('DELETE');
        pending = pending.slice(end + 4 + length);
        const head = `content-type: application/json\r\netag: "1"\r\ncontent-length: ${item.length}`;
        socket.write(isDelete ? 'HTTP/1.1 204 No Content\r\n\r\n' : `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${item}`);
      }
    });
  });
  const listener = await listening(server);
  return {
    ...listener,
    // Keys that are derived from a row depend on the port.
    text: () =>
      bytes
        .replaceAll(`127.0.0.1:${listener.port}`, 'HOST')
        .replace(/listctl\/[\d.]+/g, 'listctl/VERSION')
        .replace(/"[a-z0-9]{26}"/g, '"KEY"'),
  };
}

const commands: readonly (readonly string[])[] = [
  ['items', 'create', '-f', 'Title=Milk', '-f', 'Count:=2', '--idempotency-key', 'key-1'],
  ['items', 'create', '-f', 'Title=Größe 1.10', '--idempotency', 'none'],
  ['items', 'get', 'a b,c/d', '--retries', '0'],
  ['items', 'get', '17'],
  ['items', 'update', '17', '-f', 'Title=Milk', '--unset', 'Count'],
  ['items', 'delete', '17'],
  ['items', 'create', '--from', 'FILE', '--idempotency-key-from', 'row', '--concurrency', '1', '--journal', 'none'],
  ['items', 'update', '--from', 'FILE', '--concurrency', '1', '--journal', 'none'],
  ['items', 'delete', '--from', 'FILE', '--concurrency', '1', '--yes', '--journal', 'none'],
  ['items', 'get', '--from', 'FILE', '--concurrency', '1'],
];

test.each(commands.map((words) => ({ words, title: words.join(' ') })))('$title', async ({ words }) => {
  await using service = await recorder();
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'rows.csv');
  writeFileSync(file, words[1] === 'create' ? 'Title,Count\nMilk,2\nBread,007\n' : 'id,Title\n17,Milk\n');
  const env = {
    LISTCTL_BASE_URL: service.url,
    LISTCTL_TOKEN: 'test-token',
    LISTCTL_SITE: 'host.example,1,2',
    LISTCTL_LIST: 'tasks',
    LISTCTL_STATE_DIR: directory.path,
  };

  const { stderr } = await run(
    words.map((word) => (word === 'FILE' ? file : word)),
    { env },
  );

  expect(stderr).not.toContain('listctl: error');
  expect(service.text()).toMatchSnapshot();
});

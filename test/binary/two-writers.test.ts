/** P31: two runs on one journal whose file is mounted at two paths, each with a lock of its own. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { listening } from '../support/loopback-server.ts';
import { environmentFor } from '../support/scripted-service.ts';
import { mountFile, whyNoMount } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const noMount = whyNoMount();
const rows = 60;

/** A list that holds the response to the first create until `answer`, and knows the titles that it was sent. */
async function heldList() {
  const titles: string[] = [];
  let answer = () => {};
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const title = String(JSON.parse(body).fields?.Title);
    const respond = () => {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: `${title}-id`, fields: { Title: title } }));
    };
    if (titles.push(title) > 1) return respond();
    answer = respond;
    server.emit('held');
  });
  const isHeld = once(server, 'held');
  return { ...(await listening(server)), titles, isHeld, answer: () => answer() };
}

test.skipIf(noMount !== undefined)(
  `P31: the run that was there first stops with 10 before it sends another row; no row is doubled ${noMount ?? ''}`,
  async () => {
    await using directory = await temporaryDirectory();
    await using list = await heldList();
    const place = (name: string) => join(directory.path, name, 'a.journal');
    for (const name of ['one', 'two']) mkdirSync(join(directory.path, name));
    const input = join(directory.path, 'rows.csv');
    writeFileSync(input, `Title\n${Array.from({ length: rows }, (_, at) => `t${at + 1}\n`).join('')}`);
    const run = (name: string, ...more: readonly string[]) =>
      listctl(
        ['items', 'create', '--from', input, '--journal', place(name), '--concurrency', '1', ...more],
        environmentFor(list),
      );

    const first = run('one', '-o', 'none');
    await list.isHeld;
    writeFileSync(place('two'), '');
    using _mounted = mountFile(place('one'), place('two'));
    const second = await run('two', '--resume', '--in-doubt', 'skip', '-o', 'none');
    list.answer();
    const { exitCode, stderr } = await first;

    expect(second).toMatchObject({ exitCode: 0 });
    expect(second.stderr).toContain(`${rows - 1} created, 1 skipped`);
    expect(exitCode).toBe(10);
    expect(stderr).toContain('another process writes to it');
    expect(list.titles.toSorted()).toEqual([...new Set(list.titles)].sort());
    expect(list.titles).toHaveLength(rows);
    const shown = await listctl(['runs', 'show', place('one'), '-o', 'json'], environmentFor(list));
    expect(JSON.parse(shown.stdout)).toMatchObject({ done: rows - 1, sessions: 2 });
  },
);

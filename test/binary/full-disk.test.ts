/** P08: a bulk run whose journal is on a disk that gets full. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { listening } from '../support/loopback-server.ts';
import { environmentFor } from '../support/scripted-service.ts';
import { smallDisk, whyNoMount } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const noMount = whyNoMount();
const rows = 4000;

/** A list that creates every item, and knows the titles that it was sent. */
async function plainList() {
  const titles: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const title = String(JSON.parse(body).fields?.Title);
    titles.push(title);
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: `${title}-id`, fields: { Title: title } }));
  });
  return { ...(await listening(server)), titles };
}

test.skipIf(noMount !== undefined)(
  `P08: the run stops with 10, no row is in doubt, and --resume sends the rest ${noMount ?? ''}`,
  async () => {
    await using directory = await temporaryDirectory();
    await using disk = await smallDisk(200);
    await using list = await plainList();
    const input = join(directory.path, 'rows.csv');
    writeFileSync(input, `Title\n${Array.from({ length: rows }, (_, at) => `t${at + 1}\n`).join('')}`);
    const run = (journal: string, ...more: readonly string[]) =>
      listctl(['items', 'create', '--from', input, '--journal', journal, '-o', 'json', ...more], environmentFor(list));
    const journal = join(disk.path, 'a.journal');

    const first = await run(journal);

    expect(first.exitCode).toBe(10);
    expect(first.stderr).toContain('no space left on the device');
    const shown = await listctl(['runs', 'show', journal, '-o', 'json'], environmentFor(list));
    expect(JSON.parse(shown.stdout)).toMatchObject({ inDoubt: 0, done: list.titles.length });
    expect(JSON.parse(first.stdout)).toHaveLength(list.titles.length);
    disk.resize(4000);
    expect(await run(journal, '--resume')).toMatchObject({ exitCode: 0 });
    expect(new Set(list.titles).size).toBe(rows);
    expect(list.titles).toHaveLength(rows);
  },
);

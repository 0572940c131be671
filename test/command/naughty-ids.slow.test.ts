/** Naughty strings as ids, sites, lists and tokens: they arrive as they were written, or the command ends with 2. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Failure } from '../../src/core/errors.ts';
import { checkId } from '../../src/core/item.ts';
import { loneSurrogates, naughtyStrings } from '../corpora/naughty-strings.ts';
import { listening } from '../support/loopback-server.ts';
import { settingsDirectory } from '../support/settings-directory.ts';
import { run } from '../support/test-host.ts';
import { jsonLines, manyWorld } from './bulk/bulk-world.ts';

const anyText = [...naughtyStrings, ...loneSurrogates];

/** The rulings, once more: what no path can carry, or would carry to something else. */
const isNoId = (text: string) => /^\.{1,2}$|[\p{Cc}\ud800-\udfff]/u.test(text);
const ids = naughtyStrings.filter((text) => !isNoId(text));
const noIds = anyText.filter(isNoId);

test('every string is an id, or is refused as none', () => {
  expect([ids.length > 500, noIds.length > 20, Math.max(...ids.map((id) => Buffer.byteLength(id))) <= 1024]).toEqual([
    true,
    true,
    true,
  ]);
  for (const id of ids) expect(checkId(id, 'item')).toBe(id);
  for (const id of noIds) expect(() => checkId(id, 'item')).toThrow(Failure);
});

describe('as ids of items', () => {
  test.each([
    { from: 'words', words: ['--', ...ids] },
    { from: 'a file of ids', words: ['--from', 'ids.txt'] },
    { from: 'JSONL', words: ['--from', 'ids.jsonl'] },
    { from: 'JSON', words: ['--from', 'ids.json'] },
    { from: 'CSV', words: ['--from', 'ids.csv'] },
  ])('from $from, items get, update and delete ask for each of them, and show it', async ({ words }) => {
    await using service = await echo();
    await using world = await manyWorld(service);
    world.file('ids.txt', ids.map((id) => `${id}\n`).join(''));
    world.file('ids.jsonl', ids.map((id) => `${JSON.stringify(id)}\n`).join(''));
    world.file('ids.json', JSON.stringify(ids.map((id) => ({ id }))));
    world.file('ids.csv', ['id', ...ids.map((id) => `"${id.replaceAll('"', '""')}"`)].join('\n'));

    const isMany = words[0] === '--from';
    const got = await world.run(['items', 'get', '-o', 'jsonl', ...words]);
    const yaml = await world.run(['items', 'get', '-o', 'yaml', ...words]);
    const removed = await world.run(['items', 'delete', '--yes', '-o', 'none', ...words]);
    const put = isMany && (await world.run(['items', 'update', '-f', 'a=b', '-o', 'none', ...words]));

    expect([got.exitCode, yaml.exitCode, removed.exitCode, put ? put.exitCode : 0]).toEqual([0, 0, 0, 0]);
    expect(jsonLines(got.stdout).map(({ id }) => id)).toEqual(ids);
    expect((parseYaml(yaml.stdout) as { id: string }[]).map(({ id }) => id)).toEqual(ids);
    expect(service.asked('GET')).toEqual([...ids, ...ids].sort());
    expect(service.asked('DELETE')).toEqual([...ids].sort());
    if (isMany) expect(service.asked('PATCH')).toEqual([...ids].sort());
    const done = world.records().filter((record) => record[0] === 'D');
    if (isMany) expect(done.map((record) => record[2]).sort()).toEqual([...ids].sort());
  });

  test('an invalid id exits with 2 for each verb, alone and among valid ones, and nothing is sent', async () => {
    await using service = await echo();
    await using world = await manyWorld(service);
    const codes = new Set<number>();

    for (const id of noIds) {
      world.file('ids.jsonl', `"17"\n${JSON.stringify({ id })}\n`);
      codes.add((await world.run(['items', 'get', '--', '17', id])).exitCode);
      codes.add((await world.run(['items', 'update', '-f', 'a=b', '--', id])).exitCode);
      codes.add((await world.run(['items', 'delete', '--yes', '--', id])).exitCode);
      codes.add((await world.run(['items', 'delete', '--yes', '--from', 'ids.jsonl'])).exitCode);
    }

    expect([...codes]).toEqual([2]);
    expect(service.paths).toEqual([]);
  });
});

describe('as sites and lists', () => {
  /** Where the list's name comes from; the site's is typed. Each takes its share of the strings. */
  const places: readonly Place[] = [
    { from: '--list', set: ({ id }) => ({ words: [`--list=${id}`] }) },
    { from: 'LISTCTL_LIST', set: ({ id }) => ({ env: { LISTCTL_LIST: id } }) },
    { from: 'a profile', set: ({ at }) => ({ words: ['-p', `p${at}`] }) },
    {
      from: 'a project file',
      set: ({ id, directory }) => {
        writeFileSync(join(directory, '.listctl.json'), JSON.stringify({ list: id }), { mode: 0o600 });
        return {};
      },
    },
  ];

  test.each(places.map((place, share) => ({ ...place, share })))('the list by $from', async ({ set, share }) => {
    await using service = await echo();
    const profiles = Object.fromEntries(ids.map((list, at) => [`p${at}`, { baseUrl: service.url, list }]));
    await using settings = await settingsDirectory({ profiles });
    const own = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', LISTCTL_CONFIG_DIR: settings.path };

    for (const [at, id] of ids.entries()) {
      if (at % places.length !== share) continue;
      const { words = [], env = {} } = set({ id, at, directory: settings.path });
      const { exitCode, stdout, stderr } = await run(['items', 'get', '1', `--site=${id}`, '-o', 'json', ...words], {
        env: { ...own, ...env },
        cwd: settings.path,
      });
      expect({ id, exitCode, stderr }).toEqual({ id, exitCode: 0, stderr: '' });
      expect(JSON.parse(stdout).fields).toEqual({ site: id, list: id });
    }
  });

  test('an invalid name exits with 2, and nothing is sent', async () => {
    await using service = await echo();
    const env = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token' };

    for (const id of noIds) {
      const site = await run(['items', 'get', '1', `--site=${id}`, '--list=tasks'], { env });
      const list = await run(['items', 'create', '-f', 'a=b', '--site=home', `--list=${id}`], { env });
      expect({ id, codes: [site.exitCode, list.exitCode] }).toEqual({ id, codes: [2, 2] });
    }
    expect(service.paths).toEqual([]);
  });
});

describe('as tokens', () => {
  /** Printable ASCII without blanks, at least 8 characters, one line end behind it at most. */
  // One in quotes was printed as JSON.
  const isToken = (text: string) => /^(?!(["']).*\1\s*$)[\x21-\x7e]{8,}(\r?\n)?$/.test(text);

  test('one that a header can carry is sent as it is, one in quotes and any other ends with 2 and is not repeated', async () => {
    await using service = await echo();
    const words = ['items', 'get', '1', '-s', 'home', '-l', 'tasks', '-o', 'none'];

    for (const token of naughtyStrings) {
      service.forget();
      const env = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: token };
      const { exitCode, stderr } = await run(words, { env });
      const sent = isToken(token) ? [`Bearer ${token.trimEnd()}`] : [];
      expect({ token, exitCode, sent: service.tokens }).toEqual({ token, exitCode: isToken(token) ? 0 : 2, sent });
      if (!isToken(token) && token.trim().length > 12) expect(stderr).not.toContain(token.trim());
    }
  });

  test('those that are kept in credentials.json are sent to where they belong', async () => {
    await using service = await echo();
    const good = naughtyStrings.filter((token) => isToken(token) && token === token.trim());
    const { origin } = new URL(service.url);
    const named = <T>(values: readonly T[]) => Object.fromEntries(values.map((value, at) => [`p${at}`, value]));
    await using settings = await settingsDirectory({
      profiles: named(good.map(() => ({ baseUrl: service.url }))),
      tokens: named(good.map((token) => ({ origin, token }))),
    });

    for (const at of good.keys()) {
      const words = ['items', 'get', '1', '-s', 'home', '-l', 'tasks', '-o', 'none', '-p', `p${at}`];
      await run(words, { env: { LISTCTL_CONFIG_DIR: settings.path } });
    }

    expect(service.tokens).toEqual(good.map((token) => `Bearer ${token}`));
  });
});

describe('on a terminal', () => {
  /** What could steer it, hide in it or forge a line (O01, O02). */
  const steering = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}\ud800-\udfff]/u;

  test.each(['pretty', 'csv', 'tsv', 'yaml', 'json', 'jsonl'])('as %s no string steers it', async (format) => {
    await using service = await echo(Object.fromEntries(anyText.map((text) => [text, text])));
    const env = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', NO_COLOR: '1' };

    const words = ['items', 'get', '1', '-s', 'home', '-l', 'tasks', '-o', format];
    const { exitCode, stdout, stderr } = await run(words, { env, terminal: 80 });

    expect(exitCode).toBe(0);
    // A tab separates the cells of TSV; within a cell it is quoted.
    const lines = stdout.split('\n').map((line) => (format === 'tsv' ? line.replaceAll('\t', ' ') : line));
    expect(lines.filter((line) => steering.test(line))).toEqual([]);
    expect(stderr).not.toMatch(steering);
    // The rest of a long name or value is indented.
    const fields = stdout.split('\n').filter((line) => /^[^ ]/.test(line));
    if (format === 'pretty') expect(fields.length).toBeLessThanOrEqual(anyText.length + 1);
  });

  test('as what a service says of an error, no string steers it', async () => {
    await using service = await echo();
    const env = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'test-token', NO_COLOR: '1' };

    for (const text of anyText) {
      service.refuseWith(text);
      const { exitCode, stderr } = await run(['items', 'get', '1', '-s', 'home', '-l', 'tasks'], { env, terminal: 80 });
      expect({ text, exitCode }).toEqual({ text, exitCode: 1 });
      expect(stderr).not.toMatch(steering);
    }
  });
});

/** A place where the name of a list may occur, and what a run needs to find it there. */
interface Place {
  readonly from: string;
  readonly set: (string: { readonly id: string; readonly at: number; readonly directory: string }) => {
    readonly words?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
}

/** A service that says what it was asked for. */
interface Echo extends AsyncDisposable {
  readonly url: string;
  readonly paths: readonly string[];
  readonly tokens: readonly (string | undefined)[];
  /** The ids that were asked for with a method, sorted. */
  asked(method: string): readonly string[];
  forget(): void;
  /** From now on it refuses every request, and says so. */
  refuseWith(text: string): void;
}

/** Answers each request with an item of the id in its path; its fields are these, or the site and the list. */
async function echo(given?: Readonly<Record<string, string>>): Promise<Echo> {
  const seen: { readonly method: string; readonly path: string; readonly token: string | undefined }[] = [];
  let refusal: string | undefined;
  const server = createServer((request, response) => {
    const { method = '', url: path = '' } = request;
    seen.push({ method, path, token: request.headers.authorization });
    const [, , , site = '', , list = '', , id = ''] = path.split('/').map(decodeURIComponent);
    const body = refusal === undefined ? { id, fields: given ?? { site, list } } : { error: refusal };
    request.resume().on('end', () => {
      response.writeHead(refusal === undefined ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  return {
    ...(await listening(server)),
    get paths() {
      return seen.map(({ path }) => path);
    },
    get tokens() {
      return seen.map(({ token }) => token);
    },
    asked: (method) =>
      seen
        .filter((request) => request.method === method)
        .map(({ path }) => decodeURIComponent(path.split('/')[7] ?? ''))
        .sort(),
    forget: () => seen.splice(0),
    refuseWith: (text) => {
      refusal = text;
    },
  };
}

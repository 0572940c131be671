/** The options that say how requests are sent, and what is seen of it. The faults themselves are in faults/. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { environmentFor, type ScriptedAnswer, scriptedService } from '../support/scripted-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run, testHost, type World } from '../support/test-host.ts';

const milk = { id: '17', fields: { Title: 'Buy milk' } };
const good: ScriptedAnswer = { status: 200, body: milk };
const busy: ScriptedAnswer = { status: 429, body: { error: 'too many' }, headers: { 'retry-after': '30' } };
const down: ScriptedAnswer = { status: 503, body: { error: 'down' } };

/** Reads item 17 of a service that gives these answers. */
async function get(answers: readonly ScriptedAnswer[], more: readonly string[] = [], world: World = {}) {
  await using service = await scriptedService(...answers);
  const ended = await run(['items', 'get', '17', ...more], {
    ...world,
    env: { ...environmentFor(service), NO_COLOR: '1', ...world.env },
  });
  return { ...ended, requests: service.requests.length, sleptMs: ended.host.sleptMs };
}

describe('trying again', () => {
  test('a request is tried five times in all, with waits that grow', async () => {
    const { exitCode, requests, sleptMs, stderr } = await get([down]);

    expect({ exitCode, requests, sleptMs }).toEqual({ exitCode: 6, requests: 5, sleptMs: [250, 500, 1000, 2000] });
    expect(stderr).toContain('tried 5 times');
  });

  test.each([
    { more: ['--retries', '0'], env: {}, requests: 1 },
    { more: ['--retries', '2'], env: { LISTCTL_RETRIES: '7' }, requests: 3 },
    { more: [], env: { LISTCTL_RETRIES: '1' }, requests: 2 },
  ])('$more $env sends it $requests times', async ({ more, env, requests }) => {
    expect(await get([down], more, { env })).toMatchObject({ exitCode: 6, requests });
  });

  test.each([
    { more: ['--retries', '-1'], says: 'invalid --retries' },
    { more: ['--retries', 'often'], says: 'invalid --retries' },
    { more: ['--max-wait', 'long'], says: 'invalid --max-wait' },
  ])('$more is wrong usage', async ({ more, says }) => {
    const { exitCode, requests, stderr } = await get([good], more);

    expect({ exitCode, requests, stderr }).toEqual({ exitCode: 2, requests: 0, stderr: expect.stringContaining(says) });
  });

  test('a requested wait is honored, but none beyond --max-wait: then it exits at once, and names the wait', async () => {
    const kept = await get([busy, good]);
    const given = await get([busy, good], ['--max-wait', '29']);
    const much = await get([{ ...busy, headers: { 'retry-after': '500' } }, good], ['--max-wait', '600']);

    expect(kept).toMatchObject({ exitCode: 0, sleptMs: [30_500] });
    expect(given).toMatchObject({ exitCode: 6, requests: 1, sleptMs: [], stdout: '' });
    expect(given.stderr).toContain('asks to wait 30 s, longer than --max-wait (29 s)');
    expect(much).toMatchObject({ exitCode: 0, sleptMs: [500_500] });
  });
});

describe('what is seen of it', () => {
  test('on a terminal a wait over two seconds says why and how long; nothing does with --quiet or elsewhere', async () => {
    const told = await get([busy, good], ['-o', 'id'], { terminal: 80 });
    const short = await get([down, good], ['-o', 'id'], { terminal: 80 });
    const quiet = await get([busy, good], ['-o', 'id', '--quiet'], { terminal: 80 });
    const piped = await get([busy, good]);

    expect(told.stderr).toBe('HTTP 429: retrying in 31 s (attempt 2 of 5)\n');
    expect([short.stderr, quiet.stderr, piped.stderr]).toEqual(['', '', '']);
  });

  test('-v shows the address, where the token is from, and a line for each attempt', async () => {
    const { stderr } = await get([busy, good], ['-v']);

    expect(stderr.replace(/127\.0\.0\.1:\d+/, 'HOST').replaceAll(/\d+ ms/g, 'N ms')).toBe(
      [
        'to http://HOST/v1.0, with the token from LISTCTL_TOKEN',
        'GET /sites/home/lists/tasks/items/17: HTTP 429 in N ms; retrying in 31 s (attempt 2 of 5)',
        'GET /sites/home/lists/tasks/items/17: HTTP 200 in N ms',
        '',
      ].join('\n'),
    );
    expect((await get([busy, good], ['-v', '--quiet'])).stderr).toContain('HTTP 429');
    expect((await get([busy, good], ['--quiet'])).stderr).toBe('');
  });

  test.each([{ words: ['-vv'] }, { words: ['-v', '-v'] }, { words: ['--verbose', '--verbose'] }])(
    '$words shows headers and bodies too',
    async ({ words }) => {
      const { stderr } = await get([good], words);

      expect(stderr).toContain('> authorization: Bearer ***\n');
      expect(stderr).toContain('> accept: application/json\n');
      expect(stderr).toContain('< HTTP 200 OK\n');
      expect(stderr).toContain('< content-type: application/json\n');
      expect(stderr).toContain('< {"id":"17","fields":{"Title":"Buy milk"}}\n');
    },
  );

  test('the token is *** wherever the service repeats it, and nothing it says drives a terminal', async () => {
    const echo = 'no: \u001b[2Jtest-token';
    const headers = { 'x-echo': 'Bearer test-token', 'request-id': 'test-token' };
    for (const words of [['-vv'], ['-vv', '-o', 'json'], ['-v'], []]) {
      const { stderr } = await get([{ status: 400, body: { error: { message: echo, code: echo } }, headers }], words);

      expect(stderr).not.toContain('test-token');
      expect(stderr).not.toContain('\u001b');
      expect(stderr).toContain('***');
    }
  });
});

describe('whom to trust', () => {
  const https = { ...environmentFor({ url: 'https://127.0.0.1:1/v1.0' }) };

  test('with NODE_TLS_REJECT_UNAUTHORIZED=0 no token is sent without --insecure-tls', async () => {
    const env = { ...https, NODE_TLS_REJECT_UNAUTHORIZED: '0' };

    const refused = await run(['items', 'get', '17', '--retries', '0'], { env });
    const meant = await run(['items', 'get', '17', '--retries', '0', '--insecure-tls', '--quiet'], { env });

    expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
    expect(refused.stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 is set');
    expect(meant.exitCode).toBe(7);
    expect(meant.stderr).toContain('TLS verification is off (--insecure-tls)');
  });

  test.each([
    { what: 'is not there', content: undefined, exit: 2, says: 'no such file or directory' },
    { what: 'holds no certificate', content: 'hello', exit: 2, says: 'expected PEM certificates' },
    {
      what: 'holds a damaged one',
      content: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      exit: 2,
      says: 'expected PEM certificates',
    },
  ])('a --ca-file that $what ends the run before anything is sent', async ({ content, exit, says }) => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'ca.pem');
    if (content !== undefined) await writeFile(file, content);

    const { exitCode, stderr } = await run(['items', 'get', '17', '--ca-file', file], { env: https });

    expect([exitCode, stderr]).toEqual([exit, expect.stringContaining(says)]);
  });

  test('a variable that names no proxy is wrong usage, and its password is not repeated', async () => {
    const { exitCode, stderr } = await run(['items', 'get', '17'], {
      env: { ...environmentFor({ url: 'https://lists.invalid/v1.0' }), HTTPS_PROXY: 'ftp://ann:secret@proxy.example' },
    });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('HTTPS_PROXY')]);
    expect(stderr).not.toContain('secret');
  });
});

describe('a command that waits', () => {
  /** Reads item 17 while the clock ticks at these times, in milliseconds; the response comes after the last. */
  async function getAt(timesMs: readonly number[], world: World, more: readonly string[] = []) {
    let respond = () => {};
    const after = new Promise<void>((resolve) => {
      respond = resolve;
    });
    await using service = await scriptedService({ ...good, after });
    let nowMs = 0;
    const host = testHost({ ...world, env: { ...environmentFor(service), NO_COLOR: '1', ...world.env } });
    const every = (_: number, work: () => void) => {
      for (const ms of timesMs) {
        nowMs = ms;
        work();
      }
      respond();
      return () => {};
    };
    const clock = { ...host.clock, every, monotonicMs: () => nowMs };
    const exitCode = await main(['items', 'get', '17', ...more], { ...host, clock });
    return { exitCode, stderr: host.printed.stderr, url: service.url };
  }

  test('says for what from 2 s on, and erases it', async () => {
    const { exitCode, stderr, url } = await getAt([1000, 2000, 3000], { terminal: 80 });

    const shown = [2, 3].map((s) => `\r\u001b[Kwaiting for ${url} (${s} s)`).join('');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: `${shown}\r\u001b[K` });
  });

  test.each([
    { world: {} },
    { world: { terminal: 80, env: { TERM: 'dumb' } } },
    { world: { terminal: 80 }, more: ['--quiet'] },
    { world: { terminal: 80 }, more: ['--json'] },
  ])('says nothing with $world $more', async ({ world, more }) => {
    expect(await getAt([2000], world, more)).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

/** A command line for every command, in a directory where each has something to work on: what docs/conventions.md is held with. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { env as ownEnv } from 'node:process';
import { Readable } from 'node:stream';
import { vi } from 'vitest';
import { Stopped } from '../../src/core/errors.ts';
import { main } from '../../src/main.ts';
import { listening } from '../support/loopback-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { testHost } from '../support/test-host.ts';

/** One for each command; the directory of `endLine` holds what they name. */
export const lines: Readonly<Record<string, readonly string[]>> = {
  'items create': ['-f', 'Title=a'],
  'items get': ['17'],
  'items update': ['17', '-f', 'Title=b'],
  'items delete': ['17'],
  'items edit': ['17'],
  'items list': [],
  'columns list': [],
  apply: ['manifest.json', '--key', 'Title'],
  plan: ['manifest.json', '--key', 'Title'],
  'state list': ['manifest.json'],
  'state show': ['manifest.json', 'a'],
  'state import': ['manifest.json', 'b=17', '--key', 'Title'],
  'state move': ['manifest.json', 'a', 'b', '--key', 'Title'],
  'state forget': ['manifest.json', 'a', '--key', 'Title'],
  'state resolve': ['manifest.json', 'a=17', '--key', 'Title'],
  'state export': ['manifest.json', '--key', 'Title'],
  'runs list': [],
  'runs show': ['last'],
  'runs resolve': ['last', '--row', '1', '--not-applied'],
  'runs close': ['last'],
  'runs undo': ['last'],
  'runs remove': ['last'],
  'runs prune': ['--older-than', '1ms'],
  init: [],
  'auth login': [],
  'auth logout': [],
  'auth status': [],
  'auth token': [],
  'profile list': [],
  'profile show': ['kept'],
  'profile current': [],
  'profile set': ['kept', '--site', 'home'],
  'profile use': ['kept'],
  'profile rename': ['kept', 'other'],
  'profile remove': ['kept'],
  doctor: [],
  api: ['GET', 'sites/home'],
  serve: ['--port', '0'],
  completion: ['bash'],
  help: [],
};

/** Words that are wrong by themselves, or with the files that `endMistake` has. */
export const mistakes: Readonly<Record<string, readonly string[]>> = {
  'items create': [
    ...['-f Title', '-f a=1 -f a=2', '--fields nosuch.json', '-f a:=x', '-f a@=nosuch', '-f a=b --idempotency-key ""'],
    ...['--from nosuch.csv', '--from bad.csv', '--from a.csv --dry-run --resume', '--from a.csv --resume --restart'],
    ...['--from a.csv --only Nope', '--from a.csv --type Nope=number', '--from a.csv --rename x', '--from ids.txt'],
    ...['--from a.csv --shard 3/2', '--from a.csv --idempotency-key-from nope', '--from a.csv -f Title'],
  ],
  'items get': ['..', '17 18 ..', '--from nosuch.csv', '17 --from a.csv', '', '17 --columns ,'],
  'items update': [
    '17',
    '.. -f a=b',
    '17 -f Title=x --unset Title',
    '17 18 a=b',
    '--from nosuch.csv -f a=b',
    '--from a.csv',
  ],
  'items delete': ['..', '--from nosuch.csv --yes', '--from ids.txt --max-delete x --yes'],
  'items edit': ['..', '17', '--from nosuch.csv'],
  'items list': ['--limit 0', '--where x', '--select ,', '--since last --limit 3', '--run nosuch'],
  'columns list': ['-s ..'],
  apply: [
    ...['nosuch.yaml --key Title', 'manifest.json', 'wrong.yaml --key Title', 'bad.csv --key Title', 'plan.json'],
    ...['manifest.json --key Title --detailed-exitcode', 'manifest.json --key Title --prune --max-delete x'],
  ],
  plan: ['nosuch.yaml --key Title', 'manifest.json'],
  'state import': ['manifest.json b --key Title', 'manifest.json b=.. --key Title', 'nosuch.json b=17 --key Title'],
  'state resolve': ['manifest.json a', 'manifest.json a=17 --key Title'],
  'runs undo': ['nosuch', 'last'],
  'runs resolve': ['nosuch --row 1 --not-applied', 'last --row x --not-applied', 'last'],
  api: ['GET', 'NOPE x', 'GET /x -f a', 'POST /x --input nosuch', 'GET https://other.example/x'],
};

/** Wrong for every command that asks the service. */
export const wrongEverywhere = ['-q [', '--timeout soon', '--retries x', '--max-wait x', '-o nonsense', '--columns ,'];

/** Ends a line with a mistake, with a list that has to be resolved. */
export async function endMistake(
  path: string,
  words: string,
  service: 'list-item' | 'graph',
): Promise<Pick<Ended, 'exitCode' | 'requests' | 'stderr'>> {
  await using server = await countingService();
  await using directory = await temporaryDirectory();
  const write = (name: string, text: string) => writeFileSync(join(directory.path, name), text);
  write('a.csv', 'Title,Count:number\na,1\nb,2\n');
  write('bad.csv', 'Title,Count:number\na,x\n');
  write('ids.txt', '1\n2\n');
  write('wrong.yaml', 'items: [\n');
  write('plan.json', '{"listctl":"plan","version":2}');
  const place = { LISTCTL_SITE: 'root', LISTCTL_LIST: 'Tasks', LISTCTL_SERVICE: service };
  const env = { ...environmentIn(directory.path, server), ...place };
  const host = testHost({ cwd: directory.path, env });
  const exitCode = await main([...path.split(' '), ...words.split(' ').filter((word) => word !== '')], host);
  return { exitCode, stderr: host.printed.stderr, requests: server.requests };
}

/** What a line is ended with. */
export interface How {
  readonly env?: Readonly<Record<string, string>>;
  /** More words behind the line. */
  readonly more?: readonly string[];
  /** Whether all three streams are a terminal. */
  readonly onTerminal?: boolean;
  /** What stdin does: it never says a word, or is at its end. */
  readonly input?: 'silent' | 'ended';
}

/** How one line ended. */
export interface Ended {
  readonly path: string;
  /** Undefined for one that still waited after half a minute. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The methods of its requests. */
  readonly requests: readonly string[];
  /** Those that the service had. */
  readonly connections: number;
  /** Those that were tried, to wherever. */
  readonly attempts: number;
  readonly hasReadInput: boolean;
}

/** A scripted service that counts its requests. */
export interface CountingService extends AsyncDisposable {
  readonly url: string;
  readonly requests: string[];
  connections: number;
}

/** Starts one: it holds item 17, titled a, and refuses whatever has `refused` in it. */
export async function countingService(): Promise<CountingService> {
  const counted = { requests: [] as string[], connections: 0 };
  const answers: Readonly<Record<string, number>> = { POST: 201, DELETE: 204 };
  const server = createServer((request, response) => {
    const { method = '' } = request;
    counted.requests.push(method);
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const status = body.includes('refused') ? 422 : (answers[method] ?? 200);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(method === 'DELETE' ? '' : JSON.stringify({ id: '17', fields: { Title: 'a' } }));
    });
  });
  server.on('connection', () => {
    counted.connections += 1;
  });
  return Object.assign(counted, await listening(server));
}

/** Runs the line of every command, each in a directory of its own. */
export async function endAll(how: How = {}, paths = Object.keys(lines)): Promise<readonly Ended[]> {
  const ended: Ended[] = [];
  for (const path of paths) ended.push(await endLine(path, how));
  return ended;
}

/** Runs the line of one command. */
async function endLine(path: string, { env = {}, more = [], onTerminal, input = 'silent' }: How = {}) {
  await using service = await countingService();
  await using directory = await temporaryDirectory();
  const worldEnv = environmentIn(directory.path, service);
  if (/^(runs|state|apply)/.test(path)) await haveRunAndState(directory.path, worldEnv);
  Object.assign(service, { connections: 0 }).requests.length = 0;

  const signal = AbortSignal.abort(new Stopped('SIGTERM'));
  const world = { cwd: directory.path, env: { ...worldEnv, ...env }, ...(onTerminal ? { terminal: 80 } : {}) };
  // Nothing else ends a service.
  const host = testHost({ ...world, ...(path === 'serve' ? { signal } : {}) });
  const { stream, seen } = inputThat(input);
  const connect = vi.spyOn(Socket.prototype, 'connect');
  const running = main([...path.split(' '), ...(lines[path] ?? []), ...more], {
    ...host,
    stdin: { isTTY: onTerminal === true, stream },
  });
  const exitCode = await Promise.race([running, afterMs(30_000)]);
  const attempts = connect.mock.calls.length;
  connect.mockRestore();
  const { requests, connections } = service;
  const sent = { requests: [...requests], connections, attempts };
  return { path, exitCode, ...host.printed, ...sent, hasReadInput: seen.isRead };
}

function afterMs(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}

function inputThat(does: 'silent' | 'ended') {
  const seen = { isRead: false };
  const stream = new Readable({
    read() {
      seen.isRead = true;
      if (does === 'ended') this.push(null);
    },
  });
  return { stream, seen };
}

function environmentIn(directory: string, { url }: { readonly url: string }): Readonly<Record<string, string>> {
  const at = (name: string) => join(directory, name);
  const write = (name: string, value: unknown) => writeFileSync(at(name), JSON.stringify(value), { mode: 0o600 });
  mkdirSync(at('config'), { mode: 0o700 });
  write('config/config.json', { version: 1, current: 'kept', profiles: { kept: { baseUrl: url } } });
  write('config/credentials.json', {
    version: 1,
    tokens: { kept: { origin: new URL(url).origin, token: 'kept-token' } },
  });
  write('manifest.json', [{ Title: 'a' }]);
  return {
    ...{ LISTCTL_BASE_URL: url, LISTCTL_TOKEN: 'test-token', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' },
    ...{
      LISTCTL_CONFIG_DIR: at('config'),
      LISTCTL_STATE_DIR: at('state'),
      LISTCTL_DATA_DIR: at('data'),
      HOME: directory,
    },
    ...{ PATH: ownEnv['PATH'] ?? '', EDITOR: "perl -pi -e 's/Title: .*/Title: b/'" },
  };
}

/** A run that is half done, and the state of a manifest that says something else by now. */
async function haveRunAndState(directory: string, env: Readonly<Record<string, string>>): Promise<void> {
  writeFileSync(join(directory, 'rows.csv'), 'Title\nb\nrefused\n');
  writeFileSync(join(directory, 'complete.csv'), 'Title\na\n');
  const begun = [
    ['items', 'create', '--from', 'complete.csv', '-o', 'none'],
    ['items', 'create', '--from', 'rows.csv', '-o', 'none'],
    ['apply', 'manifest.json', '--key', 'Title', '--init', '--yes', '-o', 'none'],
  ];
  for (const words of begun) {
    const host = testHost({ cwd: directory, env });
    // 9: a row was refused, as it is to be.
    if (![0, 9].includes(await main(words, host))) throw new Error(host.printed.stderr);
  }
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify([{ Title: 'a', Note: 'new' }]));
}

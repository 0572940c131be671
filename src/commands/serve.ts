import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { addHelpNotes, type SetUp } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { readTextFile } from '../cli/file-args.ts';
import { perSecond, rateExpected } from '../cli/flags.ts';
import { reportBug, writeNotice } from '../cli/report.ts';
import { type Session, withSession } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { isLoopbackHost } from '../core/loopback.ts';
import { jsonLine } from '../output/failure.ts';
import { curlLine, shellWord } from '../output/request.ts';
import { type InjectedFaults, injectFaults } from '../service/fault-injection.ts';
import { listItemService } from '../service/handle.ts';
import { type Server, type ServerOptions, startServer } from '../service/server.ts';
import { openStore } from '../service/store.ts';
import { storeDirectory } from '../settings/directories.ts';
import { checkToken } from '../settings/token.ts';

/** The flags of `serve`, as they were typed. */
export interface ServeFlags {
  readonly port?: string;
  readonly host?: string;
  readonly data?: string;
  readonly tokenFile?: string;
  readonly latency?: string;
  readonly throttle?: string;
  readonly failRate?: string;
  readonly seed?: string;
}

/** What `serve` was asked to do: checked, with every default filled in. */
export interface ServeOptions {
  /** In lower case. */
  readonly host: string;
  readonly port: number;
  /** As it was typed. */
  readonly directory: string | undefined;
  /** The token that clients must send; undefined where one is to be made. */
  readonly token: string | undefined;
  /** The file that the token came from. */
  readonly tokenFile: string | undefined;
  readonly faults: {
    readonly latencyMs: number | undefined;
    readonly throttlePerSecond: number | undefined;
    readonly failRate: number | undefined;
    readonly seed: number | undefined;
  };
}

/**
 * Checks the flags, and reads the token.
 *
 * @throws {Failure} usage, naming the flag; as `readTextFile` for the token's file
 */
export async function readServeOptions(flags: ServeFlags, world: Host): Promise<ServeOptions> {
  const host = (flags.host ?? '127.0.0.1').toLowerCase();
  if (host === '') throw new Failure('usage', 'invalid --host "": expected an address such as 127.0.0.1');
  if (flags.data === '') throw new Failure('usage', 'invalid --data "": expected a directory');
  const { tokenFile } = flags;
  if (!isLoopbackHost(host) && tokenFile === undefined) {
    throw new Failure('usage', `--token-file is required with --host ${host}: other machines can reach it`, {
      hint: 'put a token of at least 32 random letters in a file that only you can read',
    });
  }
  return {
    host,
    port: numberFrom('--port', flags.port, parsePort) ?? 7070,
    directory: flags.data,
    token: await tokenFrom(tokenFile, world),
    tokenFile,
    faults: {
      latencyMs: numberFrom('--latency', flags.latency, parseLatency),
      throttlePerSecond: numberFrom('--throttle', flags.throttle, parseRate),
      failRate: numberFrom('--fail-rate', flags.failRate, parseShare),
      seed: numberFrom('--seed', flags.seed, parseSeed),
    },
  };
}

async function tokenFrom(file: string | undefined, host: Host): Promise<string | undefined> {
  if (file !== undefined) return checkToken(await readTextFile(file, host), '--token-file').value;
  const inherited = host.env['LISTCTL_TOKEN'];
  return inherited ? checkToken(inherited, 'LISTCTL_TOKEN').value : undefined;
}

/** How a number is typed: what is expected, and its value, NaN where it is another. */
interface NumberForm {
  readonly expected: string;
  readonly read: (text: string) => number;
}

const decimal = /^\d+(\.\d+)?$/;

const parsePort: NumberForm = {
  expected: 'a port from 0 to 65535',
  read: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : Number.NaN),
};

const parseLatency: NumberForm = {
  expected: 'milliseconds, at most 3600000',
  read: (text) => (decimal.test(text) && Number(text) <= 3_600_000 ? Number(text) : Number.NaN),
};

const parseShare: NumberForm = {
  expected: 'a number from 0 to 1',
  read: (text) => (decimal.test(text) && Number(text) <= 1 ? Number(text) : Number.NaN),
};

const parseSeed: NumberForm = {
  expected: 'a whole number below 4294967296',
  read: (text) => (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32 ? Number(text) : Number.NaN),
};

const parseRate: NumberForm = { expected: rateExpected, read: (text) => perSecond(text) ?? Number.NaN };

function numberFrom(flag: string, text: string | undefined, { expected, read }: NumberForm): number | undefined {
  if (text === undefined) return undefined;
  const value = read(text);
  if (Number.isNaN(value)) throw new Failure('usage', `invalid ${flag} "${text}": expected ${expected}`);
  return value;
}

/** `listctl serve` */
export const setUpServe: SetUp = (command, context) => {
  command
    .option('--port <number>', 'port to listen on, 0 for any free port (default 7070)')
    .option('--host <address>', 'address to listen on; other than loopback requires --token-file (default 127.0.0.1)')
    .option('--data <dir>', 'directory of the items (default: that of local:)')
    .option(
      '--token-file <file>',
      'token that clients must send ("-" = stdin; default: LISTCTL_TOKEN or a random token)',
    )
    .optionsGroup('Fault injection:')
    .option('--latency <ms>', 'delay each response, in milliseconds')
    .option('--throttle <rate>', 'respond 429 to requests above this rate, e.g. 10/s or 600/m')
    .option('--fail-rate <share>', 'fail this share of requests (0 to 1): half before they take effect, half after')
    .option('--seed <number>', 'seed for reproducible failures')
    .action((flags: ServeFlags) =>
      withSession(context, command, async (session) => {
        await serve(await readServeOptions(flags, context.host), session, context);
      }),
    );
  addHelpNotes(command, {
    examples: [
      'listctl serve',
      'listctl serve --port 0 --data ./items -o json',
      'listctl serve --latency 200 --throttle 10/s --fail-rate 0.05',
    ],
    exitCodes: {
      2: 'invalid usage or address, or the store is not installed',
      10: 'the port is in use, or the store cannot be opened',
    },
  });
};

/** Serves until somebody asks listctl to stop, and ends as that asks. */
async function serve(options: ServeOptions, session: Session, context: Context): Promise<void> {
  const { host } = context;
  // Made before the first word is printed: who reads the address may send a signal at once.
  const stopped = whenAborted(host.signal);
  const token = options.token ?? newToken();
  const onError = (error: unknown) => {
    const report = error instanceof Failure ? session.messages.report(error) : reportBug(error, context);
    // Where stderr cannot take it, the client has its 500 all the same.
    report.catch(() => {});
  };
  const server = await startLocalServer({ ...options, token, onError }, host);
  try {
    const { tokenFile } = options;
    await announce(
      { url: server.url, host: options.host, token, isTokenNew: options.token === undefined, tokenFile },
      context,
    );
    await stopped;
  } finally {
    await server.close();
  }
  host.signal.throwIfAborted();
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A service that others may use now. */
export interface Serving {
  readonly url: string;
  /** What it listens on. */
  readonly host: string;
  readonly token: string;
  /** It was made here: nobody knows it yet. */
  readonly isTokenNew: boolean;
  readonly tokenFile: string | undefined;
}

/**
 * Prints the address and the lines that use it; where JSON was asked for, `{"url":…}` on a line. A new token is on
 * stderr (`{"token":…}`), and nowhere else: what is kept of stdout may be seen by others.
 */
export async function announce(serving: Serving, context: Context): Promise<void> {
  const { url, token, isTokenNew } = serving;
  const { errors } = context;
  const { stdout, stderr } = context.host;
  if (!isLoopbackHost(serving.host)) await writeNotice(networkWarning(serving), context);
  const first = errors.asJson ? JSON.stringify({ url }) : `${url}\n\nexport LISTCTL_BASE_URL=${shellWord(url)}`;
  await stdout.write(`${first}\n`);
  if (isTokenNew) await stderr.write(errors.asJson ? jsonLine('token', token) : `export LISTCTL_TOKEN=${token}\n`);
  if (!errors.asJson) await stdout.write(linesToPaste(serving));
}

function linesToPaste({ url, tokenFile }: Serving): string {
  const isFile = tokenFile !== undefined && tokenFile !== '-';
  const isRemote = !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const lines = [
    ...(isFile ? [`export LISTCTL_TOKEN="$(cat ${shellWord(resolve(tokenFile))})"`] : []),
    `listctl items create -s home -l tasks -f Title="Buy milk"${isRemote ? ' --allow-http' : ''}`,
    curlLine({ method: 'POST', url: `${url}/sites/home/lists/tasks/items`, body: { fields: { Title: 'Buy milk' } } }),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function networkWarning({ url, host }: Serving): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const elsewhere = isEverywhere ? `; other machines use http://${hostname()}:${new URL(url).port}/v1.0` : '';
  return `listctl: warning: http exposes the token and the items to the network${elsewhere}`;
}

/** What is served, and how. */
export interface LocalServerOptions extends ServerOptions {
  /** Where its items are; undefined for the user's own, those of `local:`. */
  readonly directory: string | undefined;
  readonly faults: InjectedFaults;
}

/**
 * Serves the built-in service to other programs. Closing it lets go of its store, too.
 *
 * @throws {Failure} as the store and the server do
 */
export async function startLocalServer(options: LocalServerOptions, host: Host): Promise<Server> {
  const { clock, signal } = host;
  const store = openStore(storeDirectory(options.directory, host));
  const now = () => clock.now();
  // Who asks listctl to stop does not wait for a day to end: what is under way is answered at once.
  const wait = (ms: number) => clock.sleep(ms, signal).catch(() => {});
  try {
    const service = injectFaults(listItemService(store, now), options.faults, { now, wait });
    const server = await startServer(service, options);
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A token that nobody can guess: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

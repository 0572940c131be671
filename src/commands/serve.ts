import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { addHelpNotes, type Context, type SetUp } from '../cli/command.ts';
import { parseRatePerSecond, rateExpected } from '../cli/flags.ts';
import { reportBug, writeNotice } from '../cli/report.ts';
import { inSession, type Session } from '../cli/session.ts';
import { readJsonFile, readTextFile } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import type { Host } from '../core/host.ts';
import { isLoopbackHost } from '../core/loopback.ts';
import { shellWord } from '../core/text.ts';
import { jsonLine } from '../output/failure.ts';
import { curlLine } from '../output/item.ts';
import { type InjectedFaults, injectFaults } from '../server/fault-injection.ts';
import { builtInServer, type ListOptions } from '../server/index.ts';
import { type ServerOptions, startServer } from '../server/server.ts';
import { openStore } from '../server/store.ts';
import { storeDirectory } from '../settings/directories.ts';
import { durationParser, parseFlag, type ServiceKind } from '../settings/setting.ts';
import { checkToken } from '../settings/token.ts';

interface ServeFlags {
  readonly port?: string;
  readonly host?: string;
  readonly data?: string;
  readonly tokenFile?: string;
  readonly latency?: string;
  readonly throttle?: string;
  readonly failRate?: string;
  readonly seed?: string;
  readonly schema?: string;
  readonly unitsPerMinute?: string;
  readonly viewThreshold?: string;
}

interface ServeOptions {
  /** In lower case. */
  readonly host: string;
  readonly port: number;
  /** The directory of the items; undefined for that of `local:`. */
  readonly directory: string | undefined;
  /** The token that clients must send; undefined for a random one. */
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly faults: InjectedFaults;
  readonly kind: ServiceKind;
  /** Undefined for a kind whose lists have no columns. */
  readonly lists: ListOptions | undefined;
}

/** `listctl serve` */
export const setUpServe: SetUp = (command, context) => {
  command
    .option('--port <number>', 'port to listen on, 0 for any free port (default 7070)')
    .option('--host <address>', 'address to listen on (default 127.0.0.1; others require --token-file)')
    .option('--data <dir>', 'directory of the items (default: that of local:)')
    .option('--token-file <file>', 'token for clients ("-" = stdin; default: LISTCTL_TOKEN or random)')
    .option('--schema <file>', 'lists and columns for --service graph, as JSON (default: any)')
    .optionsGroup('Fault injection:')
    .option('--latency <time>', 'delay each response, e.g. 250ms (a bare number is milliseconds)')
    .option('--throttle <rate>', 'respond 429 to requests above this rate, e.g. 10/s or 600/m')
    .option('--fail-rate <share>', 'fail this share of requests (0 to 1), half after they took effect')
    .option('--seed <number>', 'seed for reproducible failures')
    .option('--units-per-minute <n>', 'respond 429 above these resource units (--service graph)')
    .option('--view-threshold <n>', 'respond 429 to filters over more items (--service graph; 5000)')
    .action(
      inSession(context, async (session, flags: ServeFlags) =>
        serve(await readOptions(flags, session), session, context),
      ),
    );
  addHelpNotes(command, {
    examples: [
      'listctl serve --port 0 --data ./items -o json',
      'listctl serve --latency 200ms --throttle 10/s --fail-rate 0.05',
      'listctl serve --service graph --schema lists.json',
    ],
    exitCodes: {
      2: 'invalid usage or address, or the store is not installed',
      10: 'the port is in use, or the store cannot be opened',
    },
  });
};

async function readOptions(flags: ServeFlags, { host: world, settings }: Session): Promise<ServeOptions> {
  const host = (flags.host ?? '127.0.0.1').toLowerCase();
  if (host === '') throw new Failure('usage', 'invalid --host "": expected an address such as 127.0.0.1');
  if (flags.data === '') throw new Failure('usage', 'invalid --data "": expected a directory');
  const { tokenFile, throttle } = flags;
  if (!isLoopbackHost(host) && tokenFile === undefined) {
    throw new Failure('usage', `--token-file is required with --host ${host}: other machines can reach it`, {
      hint: 'put a token of at least 32 random letters in a file that only you can read',
    });
  }
  const throttlePerSecond = throttle === undefined ? undefined : parseRatePerSecond(throttle);
  const port = parseNumber('--port', flags.port, wholeNumber, 65_535, 'a port from 0 to 65535');
  const token = await readToken(tokenFile, world);
  const latencyMs = flags.latency === undefined ? undefined : parseFlag('--latency', flags.latency, parseLatency);
  if (throttle !== undefined && throttlePerSecond === undefined) throw invalid('--throttle', throttle, rateExpected);
  const failRate = parseNumber('--fail-rate', flags.failRate, decimal, 1, 'a number from 0 to 1');
  const seed = parseNumber('--seed', flags.seed, wholeNumber, 2 ** 32 - 1, 'a whole number below 4294967296');
  const kind = settings.service;
  const { withCollisions, takesSchema } = builtInServer(kind);
  const faults = { latencyMs, throttlePerSecond, failRate, seed, withCollisions };
  const lists = takesSchema ? await readListOptions(flags, world) : refuseListFlags(flags);
  return { host, port: port ?? 7070, directory: flags.data, token, tokenFile, faults, kind, lists };
}

async function readListOptions(flags: ServeFlags, host: Host): Promise<ListOptions> {
  const schema = flags.schema === undefined ? undefined : await readJsonFile(flags.schema, host);
  const positive = (flag: string, text: string | undefined) =>
    parseNumber(flag, text, positiveNumber, 2 ** 32, 'a whole number above 0');
  return {
    schema: schema === undefined ? undefined : (await import('../server/graph/columns.ts')).parseSchema(schema),
    unitsPerMinute: positive('--units-per-minute', flags.unitsPerMinute),
    viewThreshold: positive('--view-threshold', flags.viewThreshold),
  };
}

function refuseListFlags({ schema, unitsPerMinute, viewThreshold }: ServeFlags): undefined {
  const typed = { '--schema': schema, '--units-per-minute': unitsPerMinute, '--view-threshold': viewThreshold };
  const flag = Object.entries(typed).find(([, value]) => value !== undefined)?.[0];
  if (flag !== undefined) throw new Failure('usage', `${flag} requires --service graph`);
}

async function readToken(file: string | undefined, host: Host): Promise<string | undefined> {
  if (file !== undefined) return checkToken(await readTextFile(file, host), '--token-file').value;
  const inherited = host.env['LISTCTL_TOKEN'];
  return inherited ? checkToken(inherited, 'LISTCTL_TOKEN').value : undefined;
}

const parseLatency = durationParser({ unit: 'ms', max: '1h', allowZero: true });
const wholeNumber = /^\d{1,10}$/;
const positiveNumber = /^[1-9]\d{0,9}$/;
const decimal = /^\d+(\.\d+)?$/;

function parseNumber(
  flag: string,
  text: string | undefined,
  form: RegExp,
  max: number,
  expected: string,
): number | undefined {
  if (text === undefined) return undefined;
  if (!form.test(text) || Number(text) > max) throw invalid(flag, text, expected);
  return Number(text);
}

function invalid(flag: string, text: string, expected: string): Failure {
  return new Failure('usage', `invalid ${flag} "${text}": expected ${expected}`);
}

async function serve(options: ServeOptions, session: Session, context: Context): Promise<void> {
  const { host } = context;
  // Before the address is printed: its reader may send a signal at once.
  const stopped = whenAborted(host.signal);
  const token = options.token ?? randomBytes(32).toString('base64url');
  const onError = (error: unknown) => {
    const report = error instanceof Failure ? session.messages.report(error) : reportBug(error, context);
    // If stderr is closed, the client still gets a 500.
    report.catch(() => {});
  };
  const server = await startLocalServer({ ...options, token, onError }, host);
  try {
    await announce(server.url, token, options, context);
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

/** Opens the store and serves it; closing the server closes the store as well. */
async function startLocalServer(options: ServerOptions & ServeOptions, host: Host) {
  const { clock, signal } = host;
  const store = openStore(storeDirectory(options.directory, host));
  const now = () => clock.now();
  // At the end of listctl, delayed responses are sent at once.
  const wait = (ms: number) => clock.sleep(ms, signal).catch(() => {});
  try {
    const { service, respondError } = await builtInServer(options.kind).open(store, now, options.lists);
    const faulty = injectFaults(service, options.faults, { now, wait }, respondError);
    const server = await startServer(faulty, { ...options, respondError });
    const close = async () => {
      await server.close();
      await store.close();
    };
    return { url: server.url, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Prints the address, as JSON if requested, and lines to paste into a shell. A random token is printed on stderr alone,
 * since stdout may end up in a log.
 */
async function announce(url: string, token: string, options: ServeOptions, context: Context): Promise<void> {
  const { errors } = context;
  const { stdout, stderr } = context.host;
  if (!isLoopbackHost(options.host)) await writeNotice(networkWarning(url, options.host), context);
  const first = errors.asJson ? JSON.stringify({ url }) : `${url}\n\nexport LISTCTL_BASE_URL=${shellWord(url)}`;
  await stdout.write(`${first}\n`);
  if (options.token === undefined) {
    await stderr.write(errors.asJson ? jsonLine('token', token) : `export LISTCTL_TOKEN=${token}\n`);
  }
  if (!errors.asJson) await stdout.write(linesToPaste(url, options));
}

function linesToPaste(url: string, { tokenFile, kind, lists }: ServeOptions): string {
  const isFile = tokenFile !== undefined && tokenFile !== '-';
  const isRemote = !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const [site, list] = builtInServer(kind).exampleList(lists);
  const items = `${url}/sites/${site}/lists/${encodeURIComponent(list)}/items`;
  const http = isRemote ? ' --allow-http' : '';
  // Columns of a schema may be required or of any type, so a create of our own could be refused.
  const examples =
    lists?.schema === undefined
      ? [
          `listctl items create -s ${site} -l ${shellWord(list)} -f Title="Buy milk"${http}`,
          curlLine({ method: 'POST', url: items, body: { fields: { Title: 'Buy milk' } } }),
        ]
      : [
          `listctl items list -s ${site} -l ${shellWord(list)}${http}`,
          curlLine({ method: 'GET', url: `${items}?$expand=fields` }),
        ];
  const lines = [
    ...(kind === 'list-item' ? [] : [`export LISTCTL_SERVICE=${kind}`]),
    ...(isFile ? [`export LISTCTL_TOKEN="$(cat ${shellWord(resolve(tokenFile))})"`] : []),
    ...examples,
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function networkWarning(url: string, host: string): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const elsewhere = isEverywhere ? `; other machines use http://${hostname()}:${new URL(url).port}/v1.0` : '';
  return `listctl: warning: http exposes the token and the items to the network${elsewhere}`;
}

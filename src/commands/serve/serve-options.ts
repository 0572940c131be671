import { Failure } from '../../errors.ts';
import type { Host } from '../../host.ts';
import { isLoopbackHost } from '../../service/loopback-host.ts';
import { checkToken } from '../../settings/token.ts';
import { readTextFile } from '../options/files.ts';
import { perSecond, rateExpected } from '../options/rate.ts';

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
  readonly folder: string | undefined;
  /** The token that clients must send; undefined where one is to be made. */
  readonly token: string | undefined;
  /** The file that the token came from. */
  readonly tokenFile: string | undefined;
  readonly badDay: {
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
  if (host === '') throw new Failure('usage', '--host: expected an address such as 127.0.0.1, not ""');
  if (flags.data === '') throw new Failure('usage', '--data: expected a folder, not ""');
  const { tokenFile } = flags;
  if (!isLoopbackHost(host) && tokenFile === undefined) {
    throw new Failure('usage', `--host ${host} is reached from other machines, so --token-file is needed`, {
      hint: 'put a token of 32 random letters or more in a file that only you can read',
    });
  }
  return {
    host,
    port: numberFrom('--port', flags.port, parsePort) ?? 7070,
    folder: flags.data,
    token: await tokenFrom(tokenFile, world),
    tokenFile,
    badDay: {
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
  if (Number.isNaN(value)) throw new Failure('usage', `${flag}: expected ${expected}, not "${text}"`);
  return value;
}

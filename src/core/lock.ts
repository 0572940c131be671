/**
 * A lock between processes (docs/decisions.md, locks-1). Each makes an entry in the lock's directory, then reads the
 * others: if one is alive, it removes its own. Both may give way, but never both proceed; nothing is taken over, so
 * there is no race for that.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errnoCode, Failure, fileFailure } from './errors.ts';
import { attempt } from './files.ts';
import type { Host } from './host.ts';
import { shellWord } from './text.ts';

/** A process, by a name that no other process ever has. */
export interface Holder {
  readonly pid: number;
  /** When it started, as counted by the system; `0` if unknown. */
  readonly startedAt: string;
  /** A hash of the machine, its boot and the pid namespace, outside of which a pid has no meaning. */
  readonly domain: string;
  readonly nonce: string;
}

/** This process. Each call makes another holder, so two locks of one process exclude each other. */
export function thisHolder(processes: Host['processes']): Holder {
  return {
    pid: processes.own,
    startedAt: statOf(processes.own)?.startedAt ?? '0',
    domain: thisDomain(),
    nonce: randomBytes(6).toString('hex'),
  };
}

export function entryOf({ pid, startedAt, domain, nonce }: Holder): string {
  return [pid, startedAt, domain, nonce].join('-');
}

function holderOf(entry: string): Holder | undefined {
  const [, pid, startedAt = '', domain = '', nonce = ''] =
    /^(\d+)-(\d+)-([0-9a-f]{16})-([0-9a-f]{12})$/.exec(entry) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, domain, nonce };
}

/**
 * Whether the holder is known to have ended: it ran here, and its process does not exist, is a zombie, or is another one
 * with the same id. Age does not count: a process that was suspended for a day continues.
 */
function isDead({ pid, startedAt, domain }: Holder, processes: Host['processes']): boolean {
  if (domain !== thisDomain()) return false;
  if (!processes.isRunning(pid)) return true;
  const stat = statOf(pid);
  if (stat === undefined) return false;
  return stat.state === 'Z' || stat.state === 'X' || (startedAt !== '0' && stat.startedAt !== startedAt);
}

/** State and start of a process (proc_pid_stat(5)); undefined if unknown, as outside Linux. */
function statOf(pid: number): { readonly state: string; readonly startedAt: string } | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === undefined) return undefined;
  // The second field is the name of the program in parentheses, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '0' };
}

function thisDomain(): string {
  const boot = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')) ?? '';
  const pids = attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '';
  return createHash('sha256').update(`${hostname()}\n${boot}\n${pids}`).digest('hex').slice(0, 16);
}

export interface Lock {
  /** The holders on other machines whose entries were removed, for messages. */
  readonly broken: readonly string[];
  /** Never fails: an entry that stays is ignored when this process has ended. */
  release(): void;
}

export interface LockOptions {
  readonly waitMs: number;
  readonly breakLock?: boolean;
  readonly nameOf?: () => string | undefined;
}

/**
 * Takes a lock.
 *
 * @param path the lock's directory: `NAME.lock` next to what it guards, in an existing directory
 * @param options `waitMs`: how long to wait for other holders; `breakLock`: removes entries of other machines first,
 *   undefined in commands without that flag; `nameOf`: names what the other holder has in use, instead of the path
 * @throws {Failure} locked, with its holder; local-file
 * @throws {Stopped}
 */
export async function takeLock(
  path: string,
  { waitMs, breakLock, nameOf }: LockOptions,
  host: Pick<Host, 'clock' | 'signal' | 'processes'>,
): Promise<Lock> {
  // Installs the handlers of signals, whose default effect would leave the lock behind.
  host.signal.throwIfAborted();
  const own = entryOf(thisHolder(host.processes));
  const broken: string[] = [];
  for (let waitedMs = 0; ; ) {
    const release = () => leave(path, own);
    const [other] = tryToEnter(path, own, breakLock === true ? broken : undefined, host);
    if (other === undefined) return { release, broken };
    release();
    if (waitedMs >= waitMs) throw locked(path, other, breakLock, nameOf?.());
    // Random, so that two that gave way do not collide again.
    const delayMs = 50 + Math.random() * 200;
    await host.clock.sleep(delayMs, host.signal);
    waitedMs += delayMs;
  }
}

/**
 * Refuses a file that has several hard links (local-file): each name has a lock of its own. For the holder of its lock,
 * before the file is read.
 */
export function refuseHardLinks(path: string): void {
  const links = attempt(() => statSync(path))?.nlink ?? 1;
  if (links < 2) return;
  const copy = `${path}.copy`;
  throw new Failure(
    'local-file',
    `cannot lock ${path}: the file has ${links} hard links, which would not share a lock`,
    {
      hint: `replace it with a copy: ${['cp', '--', path, copy].map(shellWord).join(' ')} && ${['mv', '--', copy, path].map(shellWord).join(' ')}`,
    },
  );
}

/**
 * Whether a lock is held, without taking it; an entry of another machine counts. Throws if it cannot be read
 * (local-file).
 */
export function isLocked(path: string, processes: Host['processes']): boolean {
  try {
    return readdirSync(path).some((entry) => {
      const holder = holderOf(entry);
      return holder !== undefined && !isDead(holder, processes);
    });
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw fileFailure(`cannot read ${path}`, error, 'the file names the process that holds the lock');
  }
}

/**
 * Makes the own entry, and returns the live ones of others. Those of other machines are removed if `broken` takes them.
 */
function tryToEnter(
  path: string,
  own: string,
  broken: string[] | undefined,
  { clock, processes }: Pick<Host, 'clock' | 'processes'>,
): readonly Holder[] {
  try {
    const facts = { host: hostname(), since: new Date(clock.now()).toISOString() };
    enter(path, own, JSON.stringify(facts));
    return readdirSync(path).flatMap((entry) => {
      const holder = entry === own ? undefined : holderOf(entry);
      if (holder === undefined) return [];
      const isForeign = holder.domain !== thisDomain();
      if (!(isForeign ? broken !== undefined : isDead(holder, processes))) return [holder];
      if (isForeign) broken?.push(describe(path, holder));
      remove(path, entry);
      return [];
    });
  } catch (error) {
    leave(path, own);
    throw fileFailure(`cannot write ${path}`, error, 'nothing was changed');
  }
}

function enter(path: string, own: string, facts: string): void {
  for (let left = 100; ; left -= 1) {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (errnoCode(error) !== 'EEXIST') throw error;
    }
    try {
      writeFileSync(join(path, own), facts, { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      // The last holder removed the directory in between.
      if (errnoCode(error) !== 'ENOENT' || left === 0) throw error;
    }
  }
}

function leave(path: string, own: string): void {
  remove(path, own);
  attempt(() => rmdirSync(path));
}

/** Removes an entry; any process may have done so. */
function remove(path: string, entry: string): void {
  attempt(() => unlinkSync(join(path, entry)));
}

function locked(path: string, holder: Holder, breakLock: boolean | undefined, name: string | undefined): Failure {
  const retry = `retry when it has finished${breakLock === undefined ? '' : ', or pass --lock-timeout to wait'}`;
  const elsewhere =
    breakLock === false
      ? `${retry}; if that host is permanently gone, pass --break-lock`
      : `if that host is permanently gone, remove ${join(path, entryOf(holder))}`;
  const hint = holder.domain === thisDomain() ? retry : elsewhere;
  const what = name === undefined ? `${path} is held by` : `${name} is in progress in`;
  return new Failure('locked', `${what} ${describe(path, holder)}`, { hint });
}

function describe(path: string, holder: Holder): string {
  const { host = 'another host', since = 'an unknown time' } = readFacts(path, holder);
  return `process ${holder.pid} on ${host}, since ${since}`;
}

/** The content of an entry, which is for messages: only its name counts. */
function readFacts(path: string, holder: Holder): { readonly host?: string; readonly since?: string } {
  const facts: unknown = attempt(() => JSON.parse(readFileSync(join(path, entryOf(holder)), 'utf8')));
  const { host, since } = Object(facts);
  return typeof host === 'string' && typeof since === 'string' ? { host, since } : {};
}

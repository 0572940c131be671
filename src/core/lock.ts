/**
 * A lock between processes (locks-1). Each one makes an entry of its own in the lock's directory, then looks
 * whose entries there are: with another live one it takes its own back. Both may give way, never both go on; nothing
 * is taken over, so there is no race for that.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errnoCode, errnoReason, Failure } from './errors.ts';
import type { Host, Processes } from './host.ts';

/** A process, named so that no other one ever has the same name. */
export interface Holder {
  readonly pid: number;
  /** When it began, in the system's own count; `0` where the system does not tell. */
  readonly startedAt: string;
  /** The machine, this boot of it, and the set of process ids: outside of it a pid says nothing. */
  readonly domain: string;
  readonly nonce: string;
}

/** This process. Each call is another holder: two locks of one process exclude each other as well. */
export function thisHolder(processes: Processes): Holder {
  return {
    pid: processes.own,
    startedAt: statOf(processes.own)?.startedAt ?? '0',
    domain: thisDomain(),
    nonce: randomBytes(6).toString('hex'),
  };
}

/** The name of a holder's entry. */
export function entryOf({ pid, startedAt, domain, nonce }: Holder): string {
  return [pid, startedAt, domain, nonce].join('-');
}

/** The holder that an entry names; undefined for a file that is none. */
function holderOf(entry: string): Holder | undefined {
  const [, pid, startedAt = '', domain = '', nonce = ''] =
    /^(\d+)-(\d+)-([0-9a-f]{16})-([0-9a-f]{12})$/.exec(entry) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, domain, nonce };
}

/**
 * Whether it can be known that the holder is gone: it ran here, and its process is no more, a zombie, or another one
 * by the same number. Time says nothing: a process that was stopped for a day goes on where it was.
 */
function isDead({ pid, startedAt, domain }: Holder, processes: Processes): boolean {
  if (domain !== thisDomain()) return false;
  if (!processes.isRunning(pid)) return true;
  const stat = statOf(pid);
  if (stat === undefined) return false;
  return stat.state === 'Z' || stat.state === 'X' || (startedAt !== '0' && stat.startedAt !== startedAt);
}

/** Whether it ran where this process can look for it. */
function isFromHere({ domain }: Holder): boolean {
  return domain === thisDomain();
}

/** State and start of a process (proc_pid_stat(5)); undefined off Linux, and where `/proc` hides it. */
function statOf(pid: number): { readonly state: string; readonly startedAt: string } | undefined {
  const stat = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === undefined) return undefined;
  // The name of the program, in parentheses, may hold anything. Behind it stand the fields from the third on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '0' };
}

function thisDomain(): string {
  const boot = tryTo(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')) ?? '';
  const pids = tryTo(() => readlinkSync('/proc/self/ns/pid')) ?? '';
  return createHash('sha256').update(`${hostname()}\n${boot}\n${pids}`).digest('hex').slice(0, 16);
}

function tryTo<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** A lock that is held. */
export interface Lock {
  /** Who held it on other machines, in words, where their entries were removed. */
  readonly broken: readonly string[];
  /** Lets others in. Never fails: what is left behind belongs to a process that is gone. */
  release(): void;
}

/** How a lock is asked for. */
export interface LockOptions {
  /** How long others are waited for, in milliseconds; 0 for not at all. */
  readonly waitMs: number;
  /**
   * Removes entries of other machines first: only after somebody said that those are gone. Undefined where nobody can
   * say so; false where somebody can, with --break-lock.
   */
  readonly breaksForeign?: boolean;
}

/**
 * Takes a lock.
 *
 * @param path the lock's directory: `NAME.lock`, beside what it guards, in a directory that is there
 * @throws {Failure} locked, naming who holds it, when that takes longer than `waitMs`; local-file, when nothing can
 *   be written there
 * @throws {Stopped} when the host's signal has aborted, or does while it waits
 */
export async function takeLock(
  path: string,
  { waitMs, breaksForeign }: LockOptions,
  host: Pick<Host, 'clock' | 'signal' | 'processes'>,
): Promise<Lock> {
  // From here on signals are handled: their default effect would leave the lock behind.
  host.signal.throwIfAborted();
  const own = entryOf(thisHolder(host.processes));
  const broken: string[] = [];
  for (let waitedMs = 0; ; ) {
    const release = () => giveBack(path, own);
    const others = tryToEnter(path, own, { breaks: breaksForeign === true, broken }, host);
    const [other] = others;
    if (other === undefined) return { release, broken };
    release();
    if (waitedMs >= waitMs) throw locked(path, other, breaksForeign === false);
    // Random, so that two that gave way do not meet again.
    const delayMs = 50 + Math.random() * 200;
    await host.clock.sleep(delayMs, host.signal);
    waitedMs += delayMs;
  }
}

/**
 * Whether somebody holds a lock, as far as can be known without taking it: an entry of another machine counts as held.
 *
 * @param path as `takeLock` takes it; where no lock was ever taken, nobody holds it
 * @throws {Failure} local-file, when it cannot be looked into
 */
export function isLocked(path: string, processes: Processes): boolean {
  try {
    return readdirSync(path).some((entry) => {
      const holder = holderOf(entry);
      return holder !== undefined && !isDead(holder, processes);
    });
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new Failure('local-file', `cannot read ${path}: ${errnoReason(error)}`, {
      hint: 'the file names the process that holds the lock',
      cause: error,
    });
  }
}

/** Makes the own entry, and gives the live ones of others. */
function tryToEnter(
  path: string,
  own: string,
  foreign: { readonly breaks: boolean; readonly broken: string[] },
  { clock, processes }: Pick<Host, 'clock' | 'processes'>,
): readonly Holder[] {
  try {
    const said = { host: hostname(), since: new Date(clock.now()).toISOString() };
    enter(path, own, JSON.stringify(said));
    return readdirSync(path).flatMap((entry) => {
      const holder = entry === own ? undefined : holderOf(entry);
      if (holder === undefined) return [];
      const isForeign = !isFromHere(holder);
      if (!(isForeign ? foreign.breaks : isDead(holder, processes))) return [holder];
      if (isForeign) foreign.broken.push(nameOf(path, holder));
      remove(path, entry);
      return [];
    });
  } catch (error) {
    giveBack(path, own);
    throw cannotLock(path, error);
  }
}

function enter(path: string, own: string, said: string): void {
  for (let left = 100; ; left -= 1) {
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (errnoCode(error) !== 'EEXIST') throw error;
    }
    try {
      writeFileSync(join(path, own), said, { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      // Whoever left last took the directory away in between.
      if (errnoCode(error) !== 'ENOENT' || left === 0) throw error;
    }
  }
}

function giveBack(path: string, own: string): void {
  remove(path, own);
  try {
    rmdirSync(path);
  } catch {
    // Somebody else is in it, or it is gone.
  }
}

function remove(path: string, entry: string): void {
  try {
    unlinkSync(join(path, entry));
  } catch {
    // Anyone may remove the entry of a process that is gone, so somebody has.
  }
}

function locked(path: string, holder: Holder, canBreak: boolean): Failure {
  return new Failure('locked', `${path} is held by ${nameOf(path, holder)}`, { hint: hintFor(path, holder, canBreak) });
}

function hintFor(path: string, holder: Holder, canBreak: boolean): string {
  if (isFromHere(holder)) return 'retry when it has finished';
  return canBreak
    ? 'retry when it has finished; if that host is permanently gone, pass --break-lock'
    : `if that host is permanently gone, remove ${join(path, entryOf(holder))}`;
}

function nameOf(path: string, holder: Holder): string {
  const { host = 'another host', since = 'an unknown time' } = saidBy(path, holder);
  return `process ${holder.pid} on ${host}, since ${since}`;
}

function saidBy(path: string, holder: Holder): { readonly host?: string; readonly since?: string } {
  try {
    const said: unknown = JSON.parse(readFileSync(join(path, entryOf(holder)), 'utf8'));
    const { host, since } = Object(said);
    return typeof host === 'string' && typeof since === 'string' ? { host, since } : {};
  } catch {
    // Only the name of an entry counts; what is in it is for people.
    return {};
  }
}

function cannotLock(path: string, error: unknown): Failure {
  return new Failure('local-file', `cannot write ${path}: ${errnoReason(error)}`, {
    hint: 'nothing was changed',
    cause: error,
  });
}

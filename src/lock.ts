/**
 * A lock between processes (reliability, C9). Each one makes an entry of its own in the lock's folder, then looks
 * whose entries there are: with another live one it takes its own back. Both may give way, never both go on; nothing
 * is taken over, so there is no race for that.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errnoCode, errnoReason } from './errno.ts';
import { Failure } from './errors.ts';
import type { Host, Processes } from './host.ts';
import { entryOf, type Holder, holderOf, isDead, isFromHere, thisHolder } from './lock-holder.ts';

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
 * @param path the lock's folder: `NAME.lock`, beside what it guards, in a folder that is there
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
 * @throws {Failure} local-file, when it can't be looked into
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
      hint: 'it says who is at work there',
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
      // Whoever left last took the folder away in between.
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
  if (isFromHere(holder)) return 'run it again when that is done';
  return canBreak
    ? 'run it again when that is done; if that host is gone for good, --break-lock takes the lock'
    : `if that host is gone for good, remove ${join(path, entryOf(holder))}`;
}

function nameOf(path: string, holder: Holder): string {
  const { host = 'a host', since = 'some time ago' } = saidBy(path, holder);
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

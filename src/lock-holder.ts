/** Who holds a lock: a process as its entry in the lock's folder names it, and whether it is still there. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Processes } from './host.ts';

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
export function holderOf(entry: string): Holder | undefined {
  const [, pid, startedAt = '', domain = '', nonce = ''] =
    /^(\d+)-(\d+)-([0-9a-f]{16})-([0-9a-f]{12})$/.exec(entry) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startedAt, domain, nonce };
}

/**
 * Whether it can be known that the holder is gone: it ran here, and its process is no more, a zombie, or another one
 * by the same number. Time says nothing: a process that was stopped for a day goes on where it was.
 */
export function isDead({ pid, startedAt, domain }: Holder, processes: Processes): boolean {
  if (domain !== thisDomain()) return false;
  if (!processes.isRunning(pid)) return true;
  const stat = statOf(pid);
  if (stat === undefined) return false;
  return stat.state === 'Z' || stat.state === 'X' || (startedAt !== '0' && stat.startedAt !== startedAt);
}

/** Whether it ran where this process can look for it. */
export function isFromHere({ domain }: Holder): boolean {
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

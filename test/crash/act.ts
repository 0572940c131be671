/** One job of a round: its sessions, one after the other, killed now and then, until there is nothing more to do. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { ServedDirectory } from '../support/served-directory.ts';
import type { Client, RunRecorded, SessionPlace } from './client.ts';
import type { Wire } from './fault-proxy.ts';
import { carryOutKill, type KillPlan, planKill, type RunTime } from './kills.ts';
import { holdsDoubt } from './modes.ts';

export interface ActOptions {
  readonly client: Client;
  readonly place: SessionPlace;
  readonly service: ServedDirectory;
  readonly wire: Wire;
  /** Somebody is killed so often at most. */
  readonly killsMax: number;
  /** Undefined if no process is killed. */
  readonly time: RunTime | undefined;
  readonly random: SeededRandom;
}

export interface Kills {
  readonly client: number;
  readonly service: number;
  /** How many times both were, at the same moment. */
  readonly atOnce: number;
}

export interface Told {
  readonly kills: Kills;
  readonly sessions: number;
  /** The ids of rows that were said to be done on stdout. */
  readonly printed: ReadonlyMap<number, string>;
  /** Rows that a session said to be done, and that were not recorded so, by that id, when it had ended. */
  readonly untold: readonly number[];
  readonly recorded: RunRecorded[];
  readonly time: RunTime | undefined;
}

/** An act without further kills ends within this number of sessions, or never. */
const lastSessionsMax = 8;

/** @throws {Error} when a session ends as none may, or it comes to no end */
export async function runAct(act: ActOptions): Promise<Told> {
  const { client, place } = act;
  const startedAt = { ms: performance.now(), request: place.requests.length };
  const recorded: RunRecorded[] = [];
  const printed = new Map<number, string>();
  const untold: number[] = [];
  let kills: Kills = { client: 0, service: 0, atOnce: 0 };
  let time: RunTime | undefined;
  for (let quiet = 0; quiet < lastSessionsMax; ) {
    const session = await runSession(act, nextKill(act, kills, recorded.at(-1)));
    time ??= timeOf(startedAt, place);
    kills = sumOf(kills, session.kills);
    const now = await client.recordedIn(place);
    for (const [row, id] of session.printed) {
      printed.set(row, id);
      // A later session may recover what this one had not recorded, so it is no evidence about this one.
      if (now.doneIds.get(row) !== id) untold.push(row);
    }
    recorded.push(now);
    const wasKilled = session.kills.client > 0;
    quiet += wasKilled ? 0 : 1;
    if (wasKilled || !isAtItsEnd(session, now.left, place)) continue;
    const isQuiet = recorded.length === 1 && kills.service === 0;
    return { kills, sessions: recorded.length, printed, untold, recorded, time: isQuiet ? time : undefined };
  }
  throw new Error(`it comes to no end in ${recorded.length} sessions`);
}

/** When the next session is killed; undefined where it is let finish. */
function nextKill(act: ActOptions, kills: Kills, last: RunRecorded | undefined): KillPlan | undefined {
  const { time, killsMax, place, random } = act;
  if (time === undefined || kills.client + kills.service >= killsMax) return undefined;
  const { mode, rows } = place.job;
  const writes = last?.left ?? rows.length;
  return planKill({ mode, time, left: writes / rows.length, writes }, random);
}

/** Of a session that began then, was the first one, and has just ended. */
function timeOf(startedAt: { readonly ms: number; readonly request: number }, { requests }: SessionPlace): RunTime {
  const firstAtMs = requests[startedAt.request]?.atMs ?? startedAt.ms;
  return { startMs: firstAtMs - startedAt.ms, workMs: performance.now() - firstAtMs };
}

/** Whether there is nothing more to do; whatever else a session ends in must not be. */
function isAtItsEnd({ exitCode, stderr }: Session, left: number, { job }: SessionPlace): boolean {
  if (exitCode === 0) return true;
  if (exitCode === 8 && left === 0 && holdsDoubt(job.mode)) return true;
  // The service was gone for too long: the run says so, and is resumed.
  if (exitCode === 6 || exitCode === 7 || exitCode === 8) return false;
  throw new Error(`it ended with ${exitCode}: ${stderr}`);
}

interface Session {
  readonly kills: Kills;
  readonly exitCode: number;
  readonly stderr: string;
  /** The ids of what was said to be done. */
  readonly printed: ReadonlyMap<number, string>;
}

async function runSession(act: ActOptions, plan: KillPlan | undefined): Promise<Session> {
  const running = act.client.start(act.place);
  const service = plan === undefined ? 0 : await carryOutKill(plan, running, act);
  const { exitCode = -1, signal, stdout, stderr } = await running;
  const client = signal === 'SIGKILL' ? 1 : 0;
  const kills = { client, service, atOnce: plan?.kind === 'both' ? client : 0 };
  return { kills, exitCode, stderr: String(stderr), printed: printedIn(stdout) };
}

/** The rows that were said to be done; a last line that was cut off says nothing. */
function printedIn(stdout: string): ReadonlyMap<number, string> {
  const printed = new Map<number, string>();
  for (const line of stdout.split('\n')) {
    if (!line.endsWith('}')) continue;
    const { row, status, id } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (status === 'done') printed.set(Number(row), String(id));
  }
  return printed;
}

export function sumOf<T extends object>(one: T, other: T): T {
  const sums: Record<string, number> = {};
  for (const [name, count] of [...Object.entries(one), ...Object.entries(other)]) {
    sums[name] = (sums[name] ?? 0) + count;
  }
  return sums as T;
}

export function sumOfMaps(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>) {
  return new Map(Object.entries(sumOf(Object.fromEntries(one), Object.fromEntries(other))));
}

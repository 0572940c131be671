/** One round of the loop: a run over an input of its own, killed some times, gone on with to its end, and judged. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, ClientProcess, RunRecorded, SessionPlace } from './client.ts';
import { type FaultProxy, faultProxy } from './fault-proxy.ts';
import { type Judgement, judge } from './invariants.ts';
import { type KillPlan, planKill, type RunTime } from './kill-plan.ts';
import { listContents } from './list-contents.ts';
import { holdsDoubt, type ModeName, makeJob } from './modes.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { ServedFolder } from './served-folder.ts';

/** What a round is made of. */
export interface RoundOptions {
  readonly client: Client;
  readonly service: ServedFolder;
  /** A folder of its own. */
  readonly folder: string;
  /** The name of its list. */
  readonly list: string;
  readonly mode: ModeName;
  readonly rows: number;
  readonly concurrency: number;
  /** Whether the service throttles now and then. */
  readonly throttles: boolean;
  /** Somebody is killed so often at most. */
  readonly killsMax: number;
  /** Undefined where nobody is to be killed. */
  readonly time: RunTime | undefined;
  readonly random: SeededRandom;
}

/** What a round came to. */
export interface RoundEnd extends Judgement {
  readonly kills: { readonly client: number; readonly service: number };
  readonly sessions: number;
  /** Why rows are in doubt, and how many. */
  readonly causes: ReadonlyMap<string, number>;
  /** Of a first session that nobody killed. */
  readonly time: RunTime | undefined;
}

/** A round that nobody kills any more ends by itself in so many sessions, or never. */
const lastSessionsMax = 8;

/** Runs one. */
export async function runRound(options: RoundOptions): Promise<RoundEnd> {
  const { client, service, folder, list, mode, rows, concurrency, throttles, random } = options;
  await mkdir(folder, { recursive: true });
  const contents = listContents(service.url, `/sites/crash/lists/${list}/items`);
  const job = await makeJob(mode, rows, contents);
  await writeFile(join(folder, 'rows.csv'), job.csv);
  await writeFile(join(folder, 'rows.jsonl'), job.rows.map(({ fields }) => `${JSON.stringify(fields)}\n`).join(''));
  const proxy = await faultProxy(service.url, random.branch('faults'), {
    throttles,
    ignoresKeys: mode === 'create',
  });
  try {
    const place: SessionPlace = { job, url: proxy.url, list, folder, concurrency };
    const told = await runSessions({ ...options, place, proxy });
    await proxy.settled();
    const { requests } = proxy;
    const created = requests.filter(({ method, isForwarded }) => method === 'POST' && isForwarded).length;
    const items = await contents.upTo(job.idMax + created);
    const { doneIds, causes, stateOf } = await client.recordedIn(place);
    const states = job.rows.map((_, at) => stateOf(at + 1));
    const { doneBefore, printed, kills } = told;
    const end = { states, doneIds, items };
    const judgement = judge({
      job,
      ...end,
      doneBefore,
      printed,
      requests,
      concurrency,
      kills: kills.client + kills.service,
    });
    if (judgement.broken.length > 0) await writeFile(join(folder, 'requests.json'), JSON.stringify(requests, null, 1));
    return { ...judgement, ...told, causes };
  } finally {
    await proxy.close();
  }
}

interface Round extends RoundOptions {
  readonly place: SessionPlace;
  readonly proxy: FaultProxy;
}

/** What its sessions told on their way. */
interface Told {
  readonly kills: { readonly client: number; readonly service: number };
  readonly sessions: number;
  readonly printed: ReadonlyMap<number, string>;
  readonly doneBefore: readonly ReadonlyMap<number, string>[];
  /** Of a first session that nobody killed. */
  readonly time: RunTime | undefined;
}

async function runSessions(round: Round): Promise<Told> {
  const { client, place, proxy, mode } = round;
  const startedAtMs = performance.now();
  const told = { kills: { client: 0, service: 0 }, sessions: 0, printed: new Map<number, string>() };
  const doneBefore: ReadonlyMap<number, string>[] = [];
  let time: RunTime | undefined;
  let [left, quiet] = [place.job.rows.length, 0];
  for (let last: Session | undefined; quiet < lastSessionsMax; quiet += last.wasKilled ? 0 : 1) {
    last = await runSession(round, nextKill(round, told.kills, left));
    time ??= timeOf(startedAtMs, proxy);
    told.sessions += 1;
    told.kills.client += last.wasKilled ? 1 : 0;
    told.kills.service += last.serviceKills;
    for (const [row, id] of last.printed) told.printed.set(row, id);
    const recorded = await client.recordedIn(place);
    doneBefore.push(recorded.doneIds);
    left = recorded.left;
    if (last.wasKilled || !isAtItsEnd(last, recorded, mode)) continue;
    const isQuiet = told.sessions === 1 && last.serviceKills === 0;
    return { ...told, doneBefore, time: isQuiet ? time : undefined };
  }
  throw new Error(`it comes to no end in ${told.sessions} sessions`);
}

/** When the next session is killed; undefined where it is let finish. */
function nextKill({ time, killsMax, place, random }: Round, kills: Told['kills'], left: number): KillPlan | undefined {
  if (time === undefined || kills.client + kills.service >= killsMax) return undefined;
  return planKill(time, left / place.job.rows.length, random);
}

/** Of a session that began then, was the first one, and has just ended. */
function timeOf(startedAtMs: number, { requests }: FaultProxy): RunTime {
  const firstAtMs = requests[0]?.atMs ?? startedAtMs;
  return { startMs: firstAtMs - startedAtMs, workMs: performance.now() - firstAtMs };
}

/** Whether there is nothing more to do; whatever else a session ends in must not be. */
function isAtItsEnd({ exitCode, stderr }: Session, { left }: RunRecorded, mode: ModeName): boolean {
  if (exitCode === 0) return true;
  if (exitCode === 8 && left === 0) return holdsDoubt(mode);
  // The service was gone for too long: the run says so, and is gone on with.
  if (exitCode === 6 || exitCode === 7 || exitCode === 8) return false;
  throw new Error(`it ended with ${exitCode}: ${stderr}`);
}

interface Session {
  readonly wasKilled: boolean;
  readonly serviceKills: number;
  readonly exitCode: number;
  readonly stderr: string;
  /** The ids of what was said to be done. */
  readonly printed: ReadonlyMap<number, string>;
}

async function runSession(round: Round, plan: KillPlan | undefined): Promise<Session> {
  const running = round.client.start(round.place);
  let hasEnded = false;
  const ended = running.finally(() => {
    hasEnded = true;
  });
  const serviceKills = plan === undefined ? 0 : await carryOut(plan, round, running, () => hasEnded);
  const { exitCode = -1, signal, stdout, stderr } = await ended;
  return { wasKilled: signal === 'SIGKILL', serviceKills, exitCode, stderr, printed: printedIn(stdout) };
}

/** Kills whom the plan says, unless the session is at its end before; gives how often the service was killed. */
async function carryOut(
  { kind, atMs, laterMs }: KillPlan,
  { service, proxy }: Round,
  running: ClientProcess,
  hasEnded: () => boolean,
): Promise<number> {
  await Promise.race([sleep(atMs), running]);
  if (hasEnded()) return 0;
  if (kind === 'client' || kind === 'both') running.kill('SIGKILL');
  if (kind === 'client') return 0;
  await Promise.all([service.kill(), proxy.goDown()]);
  const killed = kind === 'service-first' ? sleep(laterMs).then(() => running.kill('SIGKILL')) : undefined;
  await service.start();
  await proxy.comeUp();
  await killed;
  return 1;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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

/** One round of the loop: a list of its own, the runs that write to it, and what they come to. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceKind } from '../../src/settings/setting.ts';
import { listctl } from '../support/listctl.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { ServedDirectory } from '../support/served-directory.ts';
import { type Kills, runAct, sumOf, sumOfMaps } from './act.ts';
import { applyClient, settleManifest } from './apply-client.ts';
import { type Client, environmentOf, listctlClient, type RunRecorded, type SessionPlace } from './client.ts';
import { faultProxy, type Wire } from './fault-proxy.ts';
import { type Judgment, judge, type RoundFacts } from './invariants.ts';
import type { RunTime } from './kills.ts';
import { judgeLedger, markOf } from './ledger.ts';
import { type ListContents, listContents, type TextFields } from './list-contents.ts';
import {
  holdsDoubt,
  isApplyMode,
  type Job,
  type ModeName,
  makeFirstManifest,
  makeJob,
  makeSecondManifest,
  type RowModeName,
} from './modes.ts';
import { startWriters, type Writers } from './writers.ts';

export interface RoundOptions {
  /** Undefined for listctl itself. */
  readonly client: Client | undefined;
  readonly service: ServedDirectory;
  readonly kind: ServiceKind;
  readonly directory: string;
  readonly site: string;
  readonly list: string;
  readonly mode: ModeName;
  readonly rows: number;
  readonly concurrency: number;
  /** Whether the service throttles now and then. */
  readonly throttles: boolean;
  /** Somebody is killed so often at most. */
  readonly killsMax: number;
  /** By the number of the act; undefined if no process is killed. */
  readonly times: (act: number) => RunTime | undefined;
  readonly random: SeededRandom;
  /** Does something to the list before it is looked at. */
  readonly meddle: ((list: ListContents, job: Job) => Promise<void>) | undefined;
}

export interface RoundEnd extends Judgment {
  readonly kills: Kills;
  readonly sessions: number;
  readonly rows: number;
  /** Sessions of `apply` that began with a state whose run was at work: what that did was theirs to fold in. */
  readonly folded: number;
  readonly causes: ReadonlyMap<string, number>;
  /** Of the first session of each act, if it was not killed. */
  readonly times: readonly (RunTime | undefined)[];
}

/** What its jobs share. */
interface Stage extends RoundOptions {
  readonly contents: ListContents;
  readonly wire: Wire;
  /** How many creates may have been carried out on it. */
  readonly created: () => number;
}

export async function runRound(options: RoundOptions): Promise<RoundEnd> {
  const { service, kind, directory, site, list, mode, rows, throttles, random } = options;
  await mkdir(directory, { recursive: true });
  const path = `/sites/${kind === 'graph' ? `${site}:` : site}/lists/${list}/items`;
  const contents = listContents(service.url, path, kind);
  const writers = mode === 'service' ? startWriters(service, path, random) : undefined;
  const faults = { throttles, ignoresKeys: holdsDoubt(mode) };
  const wire = writers ?? (await faultProxy(service.url, random.branch('faults'), faults));
  const created = writers === undefined ? () => forwardedIn(wire) : () => writers.created() + 2 * rows;
  const stage: Stage = { ...options, contents, wire, created };
  try {
    if (isApplyMode(mode)) return await runManifests(stage);
    const job = await makeJob(mode as RowModeName | 'service', rows, contents);
    const ended = await runJob(stage, job, 0, options.killsMax);
    return writers === undefined ? ended.end : await withLedger(ended, writers, stage);
  } finally {
    await wire.close();
  }
}

function forwardedIn({ requests }: Wire): number {
  return requests.filter(({ method, isForwarded }) => method === 'POST' && isForwarded).length;
}

interface EndedJob {
  readonly end: RoundEnd;
  readonly place: SessionPlace;
  readonly facts: RoundFacts;
  readonly found: ReadonlyMap<string, TextFields>;
}

async function runJob(stage: Stage, job: Job, act: number, killsMax: number): Promise<EndedJob> {
  const { wire, directory, site, list, concurrency, contents, mode, kind } = stage;
  const client = stage.client ?? (isApplyMode(mode) ? applyClient : listctlClient);
  for (const [name, text] of Object.entries(job.files)) await writeFile(join(directory, name), text);
  const place: SessionPlace = { job, url: wire.url, kind, site, list, directory, concurrency, requests: wire.requests };
  const sent = wire.requests.length;
  const random = stage.random.branch('act', act);
  const told = await runAct({ ...stage, ...{ client, place, killsMax, random, time: stage.times(act) } });
  await wire.settled();
  if (mode === 'create-indexed') told.recorded.push(await lookUpDoubts(place, client));
  await stage.meddle?.(contents, job);
  const found = await contents.upTo(job.idMax + stage.created());
  const { printed, untold, kills, sessions, time } = told;
  const facts: RoundFacts = {
    ...{ job, printed, untold, concurrency, requests: wire.requests.slice(sent), kills: kills.client + kills.service },
    ...factsOf(told.recorded, job),
    items: new Map([...found].filter(([, fields]) => markOf(fields) === undefined)),
  };
  const judgment = judge(facts);
  if (judgment.broken.length > 0) {
    await writeFile(join(directory, 'requests.json'), JSON.stringify(wire.requests, null, 1));
  }
  const causes = told.recorded.at(-1)?.causes ?? new Map();
  const folded = told.recorded.slice(0, -1).filter(({ isAtWork }) => isAtWork).length;
  const end = { ...judgment, kills, sessions, folded, rows: job.rows.length, causes, times: [time] };
  return { place, facts, found, end };
}

/** Settles what can be found, when the service owes nothing any more: what is in doubt then is not there. */
async function lookUpDoubts(place: SessionPlace, client: Client): Promise<RunRecorded> {
  const { exitCode, stderr } = await listctl(['runs', 'resolve', 'last', '--auto'], environmentOf(place));
  if (exitCode !== 0 && exitCode !== 8) throw new Error(`runs resolve --auto ended with ${exitCode}: ${stderr}`);
  return client.recordedIn(place);
}

/** The contents of the records of all sessions, including the last one. */
function factsOf(recorded: readonly RunRecorded[], { rows }: Job) {
  const last = recorded.at(-1);
  return {
    states: rows.map((_, at) => last?.stateOf(at + 1) ?? 'pending'),
    doneIds: last?.doneIds ?? new Map<number, string>(),
    doneBefore: recorded.slice(0, -1).map(({ doneIds }) => doneIds),
    statesSeen: recorded.flatMap(({ state }) => state ?? []),
  };
}

/** A manifest, and another one after it; each is brought to rest, and looked at again then. */
async function runManifests(stage: Stage): Promise<RoundEnd> {
  const { mode, rows, contents, killsMax, kind } = stage;
  const first = await makeFirstManifest(mode, rows, contents, kind);
  const made = await runJob(stage, first, 0, Math.ceil(killsMax / 2));
  const settled = await settle(stage, made);
  const second = makeSecondManifest(first, settled.facts.doneIds);
  const changed = await runJob(stage, second, 1, killsMax - made.end.kills.client - made.end.kills.service);
  const last = await settle(stage, changed);
  return [newIn(settled.end, made.end), changed.end, newIn(last.end, changed.end)].reduce(together, made.end);
}

async function settle(stage: Stage, { place, found, facts }: EndedJob) {
  const { wire, contents } = stage;
  wire.setCalm(true);
  const broken = await settleManifest(place, found);
  wire.setCalm(false);
  const recorded = await applyClient.recordedIn(place);
  const items = await contents.upTo(place.job.idMax + stage.created());
  // Now everything must exist: nothing is in doubt any more, and nothing was killed.
  const job: Job = { ...place.job, mode: 'apply-keyed' };
  const seen = { ...factsOf([recorded], job), requests: [], kills: 0, items };
  const judgment = judge({ ...facts, ...seen, job });
  const end: RoundEnd = { ...noRound, ...judgment, broken: [...broken, ...judgment.broken] };
  return { end, facts: { ...facts, ...seen } };
}

/** What a round came to that did nothing. */
export const noRound: RoundEnd = {
  ...{ sessions: 0, rows: 0, folded: 0, times: [], broken: [], causes: new Map() },
  kills: { client: 0, service: 0, atOnce: 0 },
  counts: { lost: 0, doubled: 0, phantom: 0, inDoubt: 0, inDoubtApplied: 0, unanswered: 0 },
};

/** What is counted at the second look at a list, and was not at the first. */
function newIn(later: RoundEnd, before: RoundEnd): RoundEnd {
  const more = (name: 'lost' | 'doubled' | 'phantom') => Math.max(0, later.counts[name] - before.counts[name]);
  const counts = { ...noRound.counts, lost: more('lost'), doubled: more('doubled'), phantom: more('phantom') };
  return { ...later, counts };
}

function together(one: RoundEnd, other: RoundEnd): RoundEnd {
  return {
    kills: sumOf(one.kills, other.kills),
    sessions: one.sessions + other.sessions,
    rows: one.rows + other.rows,
    folded: one.folded + other.folded,
    causes: sumOfMaps(one.causes, other.causes),
    counts: sumOf(one.counts, other.counts),
    broken: [...one.broken, ...other.broken],
    times: [...one.times, ...other.times],
  };
}

/** The round, with the outcome of the other writers to the same list. */
async function withLedger({ end, facts, found }: EndedJob, writers: Writers, { directory }: Stage): Promise<RoundEnd> {
  const { ledger } = writers;
  const { counts, broken } = judgeLedger(ledger, found, facts.doneIds.values());
  if (broken.length > 0) await writeFile(join(directory, 'ledger.json'), JSON.stringify(ledger.items, null, 1));
  const causes: ReadonlyMap<string, number> = new Map(
    counts.inDoubt > 0 ? [['without a key and an answer', counts.inDoubt]] : [],
  );
  return together(end, { ...noRound, rows: ledger.items.length, causes, counts, broken });
}

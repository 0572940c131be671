/**
 * The client of the loop: listctl, or one that retries requests without a response, to show that the loop
 * detects it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, type Options } from 'execa';
import type { RowState } from '../../src/bulk/journal-read.ts';
import { doneRow, journalRecords, type Replay, readJournal } from '../../src/bulk/journal-read.ts';
import { bootId } from '../../src/bulk/record.ts';
import type { ServiceKind } from '../../src/settings/setting.ts';
import { listctl, testNode } from '../support/listctl.ts';
import { token } from '../support/served-directory.ts';
import type { ProxiedRequest } from './fault-proxy.ts';
import type { Job } from './modes.ts';

export interface SessionPlace {
  readonly job: Job;
  readonly url: string;
  readonly kind: ServiceKind;
  readonly site: string;
  readonly list: string;
  /** A directory of its own, with the input's files in it. */
  readonly directory: string;
  readonly concurrency: number;
  /** All that came by so far. */
  readonly requests: readonly ProxiedRequest[];
}

export type ClientProcess = ReturnType<typeof listctl>;

/** What is recorded of a run, between two sessions of it. */
export interface RunRecorded {
  stateOf(row: number): RowState;
  readonly doneIds: ReadonlyMap<number, string>;
  readonly left: number;
  readonly causes: ReadonlyMap<string, number>;
  /** The version of a state file that is saved alongside, or why it is invalid. */
  readonly state?: StateSeen | undefined;
  /** Whether that has a run at work, which the next session folds into it. */
  readonly isAtWork?: boolean;
}

/** A state file, as it was between two sessions. */
export type StateSeen = { readonly lineage: string; readonly serial: number } | { readonly damage: string };

/** A client, and the record that it keeps. */
export interface Client {
  start(place: SessionPlace): ClientProcess;
  recordedIn(place: SessionPlace): Promise<RunRecorded>;
}

/** listctl, as it is built. */
export const listctlClient: Client = listctlWith();

/** The same with more words on its command line. */
export function listctlWith(...more: readonly string[]): Client {
  return {
    start: (place) => {
      const { job, kind, directory, concurrency } = place;
      const resumes = hasJournal(directory) ? ['--resume'] : [];
      const words = [...job.words, '--from', join(directory, 'rows.csv'), ...resumes, ...paceOf(kind), '-o', 'jsonl'];
      return listctl([...words, ...more, '--concurrency', String(concurrency)], environmentOf(place));
    },
    recordedIn: recordedByJournal,
  };
}

/** Whether a session has begun to record the run: one that was killed before has nothing to resume. */
function hasJournal(directory: string): boolean {
  const runs = join(directory, 'runs');
  return existsSync(runs) && readdirSync(runs).some((name) => name.endsWith('.journal'));
}

/** Microsoft Graph is met slowly, unless a rate is given. */
export function paceOf(kind: ServiceKind): readonly string[] {
  return kind === 'graph' ? ['--rate', '2000'] : [];
}

/** What a session of listctl finds around it. */
export function environmentOf(place: Pick<SessionPlace, 'url' | 'kind' | 'site' | 'list' | 'directory'>) {
  const { url, kind, site, list, directory } = place;
  return {
    ...{ HOME: directory, LISTCTL_STATE_DIR: directory, LISTCTL_BASE_URL: url, LISTCTL_TOKEN: token },
    ...{ LISTCTL_SERVICE: kind, LISTCTL_SITE: site, LISTCTL_LIST: list },
  };
}

async function recordedByJournal({ directory, job }: SessionPlace): Promise<RunRecorded> {
  const doneIds = new Map<number, string>();
  const runs = join(directory, 'runs');
  const names = (await readdir(runs).catch(() => [])).filter((name) => name.endsWith('.journal'));
  let replay: Replay | undefined;
  for (const name of names) {
    const path = join(runs, name);
    const found = await readJournal(path, { boot: bootId() });
    if (found === undefined) continue;
    if (replay !== undefined) throw new Error(`there are two runs of one input: ${names.join(', ')}`);
    replay = found;
    for await (const { record } of journalRecords(path)) {
      const done = doneRow(record);
      if (done?.id !== undefined) doneIds.set(done.row, done.id);
    }
  }
  return {
    stateOf: (row) => replay?.stateOf(row) ?? 'pending',
    doneIds,
    left: replay?.counts.left ?? job.rows.length,
    causes: replay === undefined ? new Map() : causesOf(replay),
  };
}

/** Why rows are in doubt, in the journal's words. */
function causesOf(replay: Replay): ReadonlyMap<string, number> {
  const causes = new Map<string, number>();
  for (const row of replay.doubts()) {
    const cause = replay.doubtOf(row)?.cause ?? 'killed on its way';
    causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return causes;
}

/** A client without intents: it sends what has no answer again. */
export const naiveClient: Client = {
  start: ({ url, site, list, directory, concurrency }) => {
    const script = join(import.meta.dirname, 'naive-client.js');
    const items = `${url}/sites/${site}/lists/${list}/items`;
    const options: Options = { reject: false, extendEnv: false, stdin: 'ignore' };
    const words = [items, token, join(directory, 'rows.jsonl'), recordOf(directory), String(concurrency)];
    return execa(testNode, [script, ...words], options) as unknown as ClientProcess;
  },
  recordedIn: async ({ directory, job }) => {
    const path = recordOf(directory);
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    const doneIds = new Map(lines.map((line) => line.split(' ')).map(([row, id = '']) => [Number(row), id] as const));
    return {
      stateOf: (row) => (doneIds.has(row) ? 'done' : 'pending'),
      doneIds,
      left: job.rows.length - doneIds.size,
      causes: new Map(),
    };
  },
};

function recordOf(directory: string): string {
  return join(directory, 'naive-record');
}

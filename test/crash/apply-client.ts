/**
 * `listctl apply` in the loop: how a session is started, what its state contains, and how it is resolved at the
 * end.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { journalPath } from '../../src/apply/recover.ts';
import type { State, StateItem } from '../../src/apply/state.ts';
import { readState } from '../../src/apply/state-file.ts';
import { readJournal } from '../../src/bulk/journal-read.ts';
import { bootId } from '../../src/bulk/record.ts';
import { listctl } from '../support/listctl.ts';
import { type Run, run } from '../support/test-host.ts';
import { type Client, environmentOf, paceOf, type RunRecorded, type SessionPlace } from './client.ts';
import { isSame, type TextFields } from './list-contents.ts';
import type { InputRow } from './modes.ts';

/** `listctl apply`, as it is built. */
export const applyClient: Client = {
  start: (place) => listctl(wordsOf(place, 'none'), environmentOf(place), { cwd: place.directory }),
  recordedIn: recordedByState,
};

function wordsOf({ job, kind, directory, concurrency }: SessionPlace, format: 'none' | 'pretty'): readonly string[] {
  const init = existsSync(statePathIn(directory)) ? [] : ['--init'];
  return [...job.words, ...init, ...paceOf(kind), '-o', format, '--concurrency', String(concurrency)];
}

function statePathIn(directory: string): string {
  return join(directory, 'manifest.json.state.json');
}

async function recordedByState(place: SessionPlace): Promise<RunRecorded> {
  const { job, directory } = place;
  const path = statePathIn(directory);
  const found = stateAt(path);
  const state = 'damage' in found ? undefined : found.state;
  const ends = job.rows.map((row, at) => endOf(row, state?.items.get(String(at + 1))));
  const doneIds = new Map<number, string>();
  for (const [at, end] of ends.entries()) if (end.id !== undefined) doneIds.set(at + 1, end.id);
  const replay = state?.run && (await readJournal(journalPath(path), { boot: bootId() }));
  return {
    stateOf: (row) => ends[row - 1]?.state ?? 'pending',
    doneIds,
    left: replay?.counts.left ?? ends.filter((end) => end.state === 'pending').length,
    causes: causesOf(state, place),
    isAtWork: state?.run !== undefined,
    state: 'damage' in found ? found : state && { lineage: state.lineage, serial: state.serial },
  };
}

function stateAt(path: string): { readonly state: State | undefined } | { readonly damage: string } {
  try {
    return { state: readState(path) };
  } catch (error) {
    return { damage: String(error) };
  }
}

function endOf({ id, becomes }: InputRow, known: StateItem | undefined) {
  if (known?.inDoubt !== undefined) return { state: 'in-doubt', id: undefined } as const;
  const isDone = becomes === undefined ? known === undefined : isSame(known?.fields as TextFields | undefined, becomes);
  return isDone ? ({ state: 'done', id: known?.id ?? id } as const) : ({ state: 'pending', id: undefined } as const);
}

/** Why items are in doubt, as the log of the wire has it: the state keeps no causes. */
function causesOf(state: State | undefined, { requests }: SessionPlace): ReadonlyMap<string, number> {
  const causes = new Map<string, number>();
  for (const { inDoubt } of state?.items.values() ?? []) {
    if (inDoubt === undefined) continue;
    const sent = requests.findLast(({ key }) => key === JSON.stringify(inDoubt.idempotencyKey));
    const cause = sent?.fault === undefined ? 'killed on its way' : `the wire's ${sent.fault}`;
    causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return causes;
}

/**
 * Settles a list without injected faults: resolves each create in doubt by what the list contains, as a user would,
 * and applies the manifest twice more.
 *
 * @returns what was not as it must be: the second one has nothing to do, sends nothing but reads, and leaves the state
 *   as it is
 */
export async function settleManifest(place: SessionPlace, items: ReadonlyMap<string, TextFields>) {
  const broken: string[] = [...(await resolveDoubts(place, items))];
  const path = statePathIn(place.directory);
  const last = await runIn(place, wordsOf(place, 'none'));
  if (last.exitCode !== 0) broken.push(`J9 the last apply ended with ${last.exitCode}: ${last.stderr}`);
  const [before, sent] = [readFileSync(path, 'utf8'), place.requests.length];
  const { exitCode, stdout, stderr } = await runIn(place, wordsOf(place, 'pretty'));
  const saysSo = exitCode === 0 && `${stdout}${stderr}`.includes('No changes');
  if (!saysSo) broken.push(`J9 it does not say "No changes": ${exitCode} ${stdout}${stderr}`);
  const isIdle = place.requests.slice(sent).every(({ method }) => method === 'GET');
  if (!isIdle) broken.push('J9 an apply without changes writes to the list');
  if (readFileSync(path, 'utf8') !== before) broken.push('J9 an apply without changes changes the state');
  return broken;
}

/** Runs in this process: there are no further kills, and a start takes a while. */
function runIn(place: SessionPlace, words: readonly string[]): Promise<Run> {
  return run(words, { cwd: place.directory, env: environmentOf(place) });
}

async function resolveDoubts(place: SessionPlace, items: ReadonlyMap<string, TextFields>): Promise<readonly string[]> {
  const { directory, job } = place;
  const state = readState(statePathIn(directory));
  const known = [...(state?.items ?? [])];
  const taken = new Set([...job.bystanders.keys(), ...known.flatMap(([, { id }]) => id ?? [])]);
  const broken: string[] = [];
  for (const [key] of known.filter(([, { inDoubt }]) => inDoubt !== undefined)) {
    const [id = 'none'] = [...items].find(([other, fields]) => fields['Row'] === key && !taken.has(other)) ?? [];
    const words = ['state', 'resolve', 'manifest.json', `${key}=${id}`];
    const { exitCode, stderr } = await runIn(place, words);
    if (exitCode !== 0) broken.push(`J9 ${words.join(' ')} ended with ${exitCode}: ${stderr}`);
  }
  return broken;
}

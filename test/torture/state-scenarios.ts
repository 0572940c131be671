/** A manifest and its state: the file is one version or the next, whole, and what was created is known (files-1, apply-1). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { State } from '../../src/apply/state.ts';
import { parseState } from '../../src/apply/state-file.ts';
import { journalRecords, readJournal } from '../../src/bulk/journal-read.ts';
import { bootId } from '../../src/bulk/record.ts';
import type { Place } from './place.ts';
import { brokenEnd, brokenIf, expectDone, runKilled, type Scenario } from './scenario.ts';

const manifestName = 'manifest.csv';
const stateName = 'manifest.csv.state.json';

/** Large enough that a state takes several pages of memory. */
const note = 'n'.repeat(1500);

const pace = ['--concurrency', '2', '--key', 'Title', '-o', 'json'];
const apply = ['apply', manifestName, '--yes', '--prune', ...pace];

export const stateScenarios: readonly Scenario[] = [
  stateScenario({ name: 'apply --init', words: [...apply, '--init'], wanted: ['a', 'b', 'c', 'd'] }),
  stateScenario({
    name: 'apply, over a state that is there',
    before: ['a', 'b', 'c'],
    words: apply,
    wanted: ['a', 'b changed', 'd', 'e'],
  }),
  stateScenario({
    name: 'apply, behind a killed one',
    before: ['a', 'b', 'c'],
    words: apply,
    wanted: ['a', 'b changed', 'd', 'e'],
    killsFirst: true,
  }),
  stateScenario({
    name: 'state import, over a state that is there',
    before: ['a'],
    found: 'f',
    words: ['state', 'import', manifestName, 'f=2', '--key', 'Title'],
    wanted: ['a', 'f'],
  }),
];

interface StateWork {
  readonly name: string;
  /** What a manifest before made, by title. */
  readonly before?: readonly string[];
  /** An item that is there without the state knowing of it. */
  readonly found?: string;
  readonly words: readonly string[];
  /** What the manifest has, by title, and a second word for its note. */
  readonly wanted: readonly string[];
  /** Whether the command was begun once before, and killed when the service had its second write. */
  readonly killsFirst?: boolean;
}

function stateScenario({ name, before, found, words, wanted, killsFirst = false }: StateWork): Scenario {
  return {
    name,
    words: () => words,
    usual: killsFirst ? 8 : 0,
    prepare: async (place) => {
      if (before !== undefined) {
        writeFileSync(place.path('work', manifestName), toManifest(before));
        expectDone(await place.run([...apply, '--init']));
      }
      if (found !== undefined) {
        expectDone(await place.run(['items', 'create', '-f', `Title=${found}`, '-f', `Note=${note}`]));
      }
      writeFileSync(place.path('work', manifestName), toManifest(wanted));
      if (killsFirst) await killAtSecondWrite(place, words);
    },
    judge: (place) => {
      const old = stateIn(place);
      return async ({ exitCode }) => {
        const now = stateIn(place);
        if (typeof now === 'string') return [`the state cannot be read: ${now}`];
        const serialBefore = typeof old === 'object' ? old.serial : 0;
        return [
          ...brokenIf(old !== undefined && now === undefined, 'the state is gone'),
          ...brokenIf((now?.serial ?? 0) < serialBefore, 'the state is an older one'),
          ...brokenIf(backupIsBroken(place), 'the .bak of the state is not whole'),
          ...brokenIf(exitCode === 0 && !isAsWanted(place, wanted), 'it ended with 0, and the list is another one'),
          ...(await brokenKnowledge(place, now)),
        ];
      };
    },
    goOn: async (place) => {
      const broken: string[] = [];
      const again = () => {
        const isFirst = words.includes('--init') && stateIn(place) === undefined;
        return place.run(isFirst ? words : words.filter((word) => word !== '--init'));
      };
      let last = await again();
      if (last.exitCode === 8) {
        broken.push(...(await settleDoubts(place)));
        last = await again();
      }
      return [
        ...broken,
        ...brokenEnd('the same command, without the fault', last),
        ...brokenIf(!isAsWanted(place, wanted), `the list holds ${titlesIn(place).join(', ')}`),
        ...brokenIf(existsSync(place.path('work', `${stateName}.journal`)), 'the journal of the state is still there'),
      ];
    },
  };
}

function toManifest(items: readonly string[]): string {
  const lines = items.map((item) => {
    const [title = '', change = ''] = item.split(' ');
    return `${title},${note}${change}`;
  });
  return ['Title,Note', ...lines, ''].join('\n');
}

function titlesIn({ service }: Place): readonly string[] {
  return [...service.items.values()]
    .map(({ fields: { Title: title, Note: text } }) => `${title} ${String(text).slice(note.length)}`.trim())
    .sort();
}

function isAsWanted(place: Place, wanted: readonly string[]): boolean {
  return String(titlesIn(place)) === String([...wanted].sort());
}

/** The state of the place, the reason why it cannot be read, or undefined if it is missing. */
function stateIn(place: Place): State | string | undefined {
  const path = place.path('work', stateName);
  if (!existsSync(path)) return undefined;
  try {
    return parseState(readFileSync(path, 'utf8'), path);
  } catch (error) {
    return String(error);
  }
}

function backupIsBroken(place: Place): boolean {
  const path = place.path('work', `${stateName}.bak`);
  if (!existsSync(path)) return false;
  try {
    parseState(readFileSync(path, 'utf8'), path);
    return false;
  } catch {
    return true;
  }
}

/** Creates that are lost: neither the state nor its journal has the key that they were sent with. */
async function brokenKnowledge(place: Place, state: State | undefined): Promise<readonly string[]> {
  const path = place.path('work', `${stateName}.journal`);
  const recorded = new Set<string | null>();
  try {
    if (existsSync(path)) {
      await readJournal(path, { boot: bootId() });
      for await (const { record } of journalRecords(path)) if (record[0] === 'I') recorded.add(record[4]);
    }
  } catch (error) {
    return [`the journal of the state cannot be read: ${error}`];
  }
  const known = [...(state?.items.values() ?? [])];
  const ids = new Set(known.map(({ id }) => id));
  const doubted = new Set(known.map(({ inDoubt }) => inDoubt?.idempotencyKey ?? ''));
  return place.service.requests
    .filter(({ method, key }) => method === 'POST' && !recorded.has(key ?? null) && !doubted.has(key ?? ''))
    .filter(({ key }) => ![...place.service.items].some(([id, item]) => item.key === key && ids.has(id)))
    .map(({ fields }) => `the create of ${fields['Title']} was sent, and nothing tells of it`);
}

async function killAtSecondWrite(place: Place, words: readonly string[]): Promise<void> {
  let writes = 0;
  await runKilled(place, words, ({ method }) => {
    writes += method === 'GET' ? 0 : 1;
    return writes === 2;
  });
  const state = stateIn(place);
  if (typeof state !== 'object' || state.run === undefined) throw new Error('it was not killed half way');
}

/** Says of each create in doubt what the service knows of it. */
async function settleDoubts(place: Place): Promise<readonly string[]> {
  const state = stateIn(place);
  if (typeof state !== 'object') return [`there is no state to settle: ${state}`];
  const broken: string[] = [];
  for (const [title, { inDoubt }] of state.items) {
    if (inDoubt === undefined) continue;
    const [id] = [...place.service.items].find(([, { key }]) => key === inDoubt.idempotencyKey) ?? ['none'];
    const ended = await place.run(['state', 'resolve', manifestName, `${title}=${id}`, '--key', 'Title']);
    broken.push(...brokenEnd(`state resolve ${title}=${id}`, ended));
  }
  return broken;
}

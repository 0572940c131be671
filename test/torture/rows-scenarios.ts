/** Runs over many rows: no row is sent without its intent, none twice, and what was done is known (journal-1, journal-2). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { journalRecords, type Replay, readJournal } from '../../src/bulk/journal-read.ts';
import { bootId } from '../../src/bulk/record.ts';
import { refusedTitle } from './list-service.ts';
import type { Ended, Place } from './place.ts';
import { brokenEnd, brokenIf, runKilled, type Scenario } from './scenario.ts';

const concurrency = 2;

const create = ['items', 'create', '--from', 'rows.csv', '--concurrency', String(concurrency), '-o', 'jsonl'];

const piped = [...create.with(3, '-'), '--input-format', 'csv'];

export const rowsScenarios: readonly Scenario[] = [
  rowsScenario({ name: 'items create --from', words: create }),
  rowsScenario({
    name: 'items create --from, with rejects, and a journal of its own',
    words: [...create, '--rejects', 'rejects.csv', '--journal', 'run.journal'],
    refused: 1,
  }),
  rowsScenario({ name: 'items create --from -', words: piped, isPiped: true }),
  rowsScenario({ name: '--resume of a killed run', words: [...create, '--resume'], killedAt: 4 }),
  rowsScenario({
    name: '--resume of a killed run, with honored keys',
    words: [...create, '--resume', '--idempotency', 'honored'],
    killedAt: 4,
    honorsKeys: true,
  }),
  {
    ...rowsScenario({ name: '', words: [...create, '--resume'], killedAt: 4 }),
    name: 'runs resolve',
    words: ({ service }) => {
      // The one that the service had when the run was killed.
      const [id = ''] = [...service.items].at(-1) ?? [];
      const row = String(service.items.get(id)?.fields['Title']).replace('row ', '');
      return ['runs', 'resolve', 'last', '--row', row, '--applied', id, '-o', 'none'];
    },
    usual: 0,
  },
];

/** Those in which a journal takes several pages of memory. */
export const largeRowsScenarios: readonly Scenario[] = [
  rowsScenario({ name: 'items create --from, 80 rows', words: create, rows: 80 }),
  rowsScenario({
    name: 'items create --from -, 80 rows, with rejects',
    words: [...piped, '--rejects', 'rejects.csv'],
    ...{ rows: 60, refused: 20, isPiped: true },
  }),
  rowsScenario({ name: '--resume of a killed run, 80 rows', words: [...create, '--resume'], killedAt: 30, rows: 80 }),
];

interface RowsWork {
  readonly name: string;
  readonly words: readonly string[];
  /** How many; 8 unless it says so. */
  readonly rows?: number;
  readonly honorsKeys?: boolean;
  /** So many rows more, which the service refuses. */
  readonly refused?: number;
  readonly isPiped?: boolean;
  /** The process is killed when the service gets this request, from 1; what follows is the scenario. */
  readonly killedAt?: number;
}

function rowsScenario(work: RowsWork): Scenario {
  const { name, words, rows = 8, honorsKeys = false, refused = 0, isPiped, killedAt } = work;
  const titles = [
    ...Array.from({ length: rows }, (_, at) => `row ${at + 1}`),
    ...Array.from({ length: refused }, () => refusedTitle),
  ];
  const csv = ['Title,Note', ...titles.map((title) => `${title},${'n'.repeat(100)}`), ''].join('\n');
  const input = isPiped ? { input: csv } : {};
  // A killed run leaves creates in doubt, which are held.
  const usual = refused > 0 ? 9 : killedAt === undefined || honorsKeys ? 0 : 8;
  return {
    ...{ name, honorsKeys, usual, ...input },
    words: () => words,
    prepare: async (place) => {
      writeFileSync(place.path('work', 'rows.csv'), csv);
      if (killedAt !== undefined) await killAt(killedAt, words, place);
    },
    judge: (place) => {
      const before = place.service.items.size;
      return async (ended) => [
        ...(await brokenJournal(place, ended)),
        ...brokenIf(
          ended.exitCode === usual && words.includes('--rejects') && !place.files().includes('work/rejects.csv'),
          'the rejects are not there',
        ),
        ...brokenIf(ended.exitCode === usual && place.service.items.size < before, 'items are gone'),
      ];
    },
    goOn: async (place) => {
      const again = () => {
        const hasRun = place.files().some((name) => name.endsWith('.journal'));
        const resumes = hasRun && !words.includes('--resume') ? ['--resume'] : [];
        return place.run([...words, ...resumes], isPiped ? { input: csv } : {});
      };
      const first = await again();
      const isHeld = first.exitCode === 8;
      const broken = isHeld ? await settleDoubts(place, words) : [];
      const last = isHeld ? await again() : first;
      const created = [...place.service.items.values()].map(({ fields }) => String(fields['Title'])).sort();
      const wanted = titles.filter((title) => title !== refusedTitle).sort();
      return [
        ...broken,
        ...brokenIf(isHeld && honorsKeys, `a row with an honored key is in doubt: ${first.stderr}`),
        ...brokenEnd('--resume, without the fault', last, refused > 0 ? 9 : 0),
        ...brokenIf(String(created) !== String(wanted), `the list holds ${created.join(', ')}`),
        ...(await brokenJournal(place, last)),
      ];
    },
  };
}

async function killAt(nth: number, words: readonly string[], place: Place): Promise<void> {
  // Without a run, --resume is refused.
  const first = words.filter((word) => word !== '--resume');
  await runKilled(place, first, () => place.service.requests.length === nth);
  if (place.service.items.size < 1) throw new Error('the run was killed before it created anything');
}

/** The one journal of the place; undefined where no run was begun. */
async function journalIn(place: Place): Promise<{ readonly path: string; readonly replay: Replay } | undefined> {
  const names = place.files().filter((name) => name.endsWith('.journal'));
  if (names.length > 1) throw new Error(`there are several journals: ${names.join(', ')}`);
  const [name] = names;
  const replay = name === undefined ? undefined : await readJournal(place.path(name), { boot: bootId() });
  return name === undefined || replay === undefined ? undefined : { path: place.path(name), replay };
}

/** What does not hold of what is recorded, what was sent, and what was said. */
async function brokenJournal(place: Place, { stdout }: Pick<Ended, 'stdout'>): Promise<readonly string[]> {
  let found: Awaited<ReturnType<typeof journalIn>>;
  try {
    found = await journalIn(place);
  } catch (error) {
    return [`the journal cannot be read: ${error}`];
  }
  const [intents, doneIds] = [new Set<string | null>(), new Map<number, string>()];
  if (found !== undefined) {
    for await (const { record } of journalRecords(found.path)) {
      if (record[0] === 'I') intents.add(record[4]);
      if (record[0] === 'D') doneIds.set(record[1], record[2]);
    }
  }
  const { requests, items } = place.service;
  const creates = requests.filter(({ method }) => method === 'POST');
  const unrecorded = creates.filter(({ key }) => !intents.has(key ?? null));
  const phantoms = [...doneIds].filter(([row, id]) => items.get(id)?.fields['Title'] !== `row ${row}`);
  const untrue = printedDone(stdout).filter(([row, id]) => doneIds.get(row) !== id);
  const open = [...(found?.replay.doubts() ?? [])].length;
  const unsettled = [...items.values()].filter(({ fields }) => !isTold(String(fields['Title']), found?.replay));
  return [
    ...brokenIf(unrecorded.length > 0, `${unrecorded.length} of ${creates.length} creates were sent without an intent`),
    ...phantoms.map(([row, id]) => `row ${row} is done as ${id}, which is not its item`),
    ...untrue.map(([row]) => `row ${row} was printed as done, and is not recorded so`),
    ...unsettled.map(({ fields }) => `${fields['Title']} was created, and is neither done nor in doubt`),
    ...brokenIf(open > 2 * concurrency, `${open} rows are in doubt`),
  ];
}

function isTold(title: string, replay: Replay | undefined): boolean {
  const state = replay?.stateOf(Number(title.replace('row ', '')));
  return state === 'done' || state === 'in-doubt';
}

function printedDone(stdout: string): readonly (readonly [number, string])[] {
  return stdout
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ row, status }) => row !== undefined && status === 'done')
    .map(({ row, id }) => [Number(row), String(id)] as const);
}

/** Says of each row in doubt what the service knows of it. */
async function settleDoubts(place: Place, words: readonly string[]): Promise<readonly string[]> {
  const found = await journalIn(place);
  const broken: string[] = [];
  const run = words.includes('--journal') ? join('..', 'work', 'run.journal') : 'last';
  for (const row of found?.replay.doubts() ?? []) {
    const key = found?.replay.doubtOf(row)?.key;
    const [id] = [...place.service.items].find(([, item]) => item.key === key) ?? [];
    const said = id === undefined ? ['--not-applied'] : ['--applied', id];
    const ended = await place.run(['runs', 'resolve', run, '--row', String(row), ...said, '-o', 'none']);
    broken.push(...brokenEnd(`runs resolve --row ${row}`, ended));
  }
  return broken;
}

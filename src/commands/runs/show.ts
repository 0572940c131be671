import type { Replay } from '../../bulk/journal-replay.ts';
import { Failure } from '../../errors.ts';
import { printable } from '../../output/printable.ts';
import { rowResultView } from '../../output/row-result-view.ts';
import { runDetailView } from '../../output/run-view.ts';
import type { View } from '../../output/view.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { type Session, withSession } from '../session.ts';
import { type DoneRow, doneRows } from './done-rows.ts';
import { doubtView } from './doubt-view.ts';
import { isAtWork, pathOfRun, readRun, runWords } from './named-run.ts';
import { figuresOf } from './run-figures.ts';
import { shownRun } from './run-shown.ts';

interface ShowFlags {
  readonly inDoubt?: boolean;
  readonly rows?: boolean;
}

/** `listctl runs show` */
export const showCommand: CommandSpec = {
  name: 'show',
  summary: 'what a run did; its ids with -o id',
  setUp: (command, context) => {
    command
      .argument('<run>', runWords)
      .option('--in-doubt', 'the rows whose outcome is unknown')
      .option('--rows', 'every row in the order of the input: its status, id and error')
      .action((word: string, flags: ShowFlags) =>
        withSession(context, command, (session) => showRun(word, flags, session)),
      );
    addHelpNotes(command, {
      examples: [
        'listctl runs show last',
        'listctl runs show last -o id > created.txt',
        'listctl runs show 20261120-101530-k3f9 --in-doubt',
        'listctl runs show ci/tasks.journal -o json',
        'listctl runs show last --rows -o csv > rows.csv',
      ],
      exitCodes: {
        0: 'shown, even where no row is in doubt',
        1: '--query does not fit what came',
        2: 'wrong usage, or there is no such run, or its rows are gone',
        9: 'some ids are none that a command could name',
        10: 'the run’s journal can’t be read, or is damaged',
      },
    });
  },
};

async function showRun(word: string, { inDoubt, rows }: ShowFlags, session: Session): Promise<void> {
  const { host } = session;
  if (inDoubt && rows) throw new Failure('usage', '--rows cannot be used with --in-doubt');
  const path = pathOfRun(word, host);
  const replay = await readRun(path);
  const { header, counts } = replay;
  const isRunning = isAtWork(path, host);
  if (inDoubt || rows) {
    if (isRunning) await session.say(`run ${header.run} is at work: what is under way is shown as in doubt`);
    return inDoubt ? showDoubts(replay, session) : showRows(path, replay, session);
  }
  if (session.format(false) === 'id') return showIds(path, replay, session);
  const figures = await figuresOf(path, replay);
  const run = shownRun({ run: header.run, header, counts, isRunning });
  await session.printing(runDetailView, false, async (print) => print({ ...run, ...figures }));
  if (header.isShrunk)
    await session.say(`run ${header.run} ${shrunk}; seconds and requests are those of its last part`);
}

/** What is said of a run of which the first and the last line are left. */
export const shrunk = 'did every row more than 30 days ago: its ids, and what each row took, are no longer kept';

/** The last moment that a Date can hold: a journal that somebody changed may name a later one. */
const lastMs = 8.64e15;

function showDoubts({ doubts, doubtOf }: Replay, session: Session): Promise<void> {
  return session.printing(doubtView, true, async (print) => {
    for (const row of doubts()) {
      const doubt = doubtOf(row);
      if (doubt === undefined) continue;
      const { key, hash, sentAt, cause = 'listctl ended before the answer came' } = doubt;
      await print({ row, key, hash, since: new Date(Math.min(sentAt, lastMs)).toISOString(), cause });
    }
  });
}

async function showRows(path: string, replay: Replay, session: Session): Promise<void> {
  const { header } = replay;
  if (header.isShrunk) throw new Failure('usage', `run ${header.run} ${shrunk}`);
  const { rowOutcomes } = await import('./row-outcomes.ts');
  await session.printing(rowResultView, true, async (print) => {
    for await (const outcome of rowOutcomes(path, replay)) await print(outcome);
  });
}

/** What `-o id` prints of a run. */
const idView: View<{ readonly id: string }> = {
  pretty: (items) => items.map(({ id }) => printable(id)).join('\n'),
  json: ({ id }) => ({ id }),
  id: ({ id }) => id,
};

/** In the order of the input: they were done in another one. */
async function inOrder(rows: AsyncIterable<DoneRow>): Promise<readonly DoneRow[]> {
  const all: DoneRow[] = [];
  for await (const row of rows) all.push(row);
  return all.sort((one, other) => one.row - other.row);
}

async function showIds(path: string, { header }: Replay, session: Session): Promise<void> {
  if (header.isShrunk) throw new Failure('usage', `run ${header.run} ${shrunk}`);
  let unusable = 0;
  await session.printing(idView, true, async (print) => {
    for (const { row, id, problem } of await inOrder(doneRows(path))) {
      if (problem === undefined) {
        await print({ id });
        continue;
      }
      unusable += 1;
      await session.report(new Failure(problem.kind, `row ${row}: ${problem.message}`));
    }
  });
  if (unusable === 0) return;
  throw new Failure('incomplete', `${unusable} of the ids of run ${header.run} are not listed`, {
    hint: `no command could name those items; ${path} holds them as the service gave them, or was changed since`,
  });
}

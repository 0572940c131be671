import { type ListedRun, listRuns, runLock } from '../../bulk/run-files.ts';
import { isLocked } from '../../lock.ts';
import { runView } from '../../output/run-view.ts';
import { runsDirectory } from '../../settings/directories.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { bootId } from '../many/run-record.ts';
import { type Session, withSession } from '../session.ts';
import { shownRun } from './run-shown.ts';

/** `listctl runs list` */
export const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'every run that is recorded, newest first',
  setUp: (command, context) => {
    command.action(() => withSession(context, command, showRuns));
    addHelpNotes(command, {
      examples: [
        'listctl runs list',
        'listctl runs list -o json -q "[?status==\'incomplete\'].run"',
        'listctl runs list -o csv > runs.csv',
      ],
      exitCodes: {
        0: 'listed, even where there is none, and damaged ones too',
        1: '--query does not fit what came',
        2: 'wrong usage',
        10: 'the folder of runs can’t be read',
      },
    });
  },
};

async function showRuns(session: Session): Promise<void> {
  const { host } = session;
  const folder = runsDirectory(host);
  // Before there is a printer: that they can't be read is not that there is none.
  const runs = await listRuns(folder, { boot: bootId() });
  await session.printing(runView, true, async (print) => {
    if (runs.length === 0) await session.notice('no run is recorded yet: --from makes one');
    const seen = new Set<string>();
    for (const run of runs) {
      const isNewest = !seen.has(run.identityStart);
      seen.add(run.identityStart);
      const isRunning = isNewest && isLocked(runLock(folder, run.identityStart), host.processes);
      await print(shownRun({ ...run, isRunning }));
    }
  });
  await tellDamaged(runs, session);
}

async function tellDamaged(runs: readonly ListedRun[], session: Session): Promise<void> {
  for (const { failure } of runs) if (failure !== undefined) await session.say(`listctl: ${failure.message}`);
}

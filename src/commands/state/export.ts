import type { SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { addSeedOfState } from './state-options.ts';

/** `listctl state export SEED` */
export const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'export the managed items as a manifest',
  setUp: (command, context) => {
    addSeedOfState(command);
    command.action((seed: string, flags: SeedFlags) =>
      withSession(context, command, async (session) =>
        (await import('./export-seed.ts')).exportSeed(seed, flags, session),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl state export seed.yaml > now.yaml', 'listctl state export seed.yaml -o id'],
      exitCodes: {
        0: 'written',
        2: 'wrong usage, or no state',
        3: 'credentials',
        6: 'throttled or unavailable',
        7: 'not reached',
      },
    });
  },
};

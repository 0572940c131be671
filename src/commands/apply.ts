import type { Command } from 'commander';
import type { ApplyFlags } from '../apply/apply.ts';
import { addFieldReadingOptions, addPaceOptions, addReadingOptions } from '../bulk/flags.ts';
import { addHelpNotes, type SetUp } from '../cli/command.ts';
import { addMaxDeleteOption } from '../cli/guards.ts';
import { withSession } from '../cli/session.ts';

/** `listctl apply SEED`: makes a list hold what a file says, again and again. */
export const setUpApply: SetUp = (command, context) => {
  command.argument('<seed>', 'YAML, CSV, TSV, JSON or JSONL; or a plan that --out saved');
  addSeedOptions(command);
  command
    .optionsGroup('Applying:')
    .option('--init', 'there is no state yet: the first time')
    .option('--prune', 'delete what the seed no longer names');
  addMaxDeleteOption(command);
  command
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'show what would be sent, and change nothing')
    .option('--detailed-exitcode', 'with --dry-run or --out: 12 when there are changes')
    .option('--out <file>', 'save the plan; apply FILE does exactly that')
    .option('--no-refresh', 'trust the state, and read no item first');
  addPaceOptions(command);
  command.action((seed: string, flags: ApplyFlags) =>
    withSession(context, command, async (session) =>
      (await import('../apply/apply.ts')).applySeed(seed, flags, session),
    ),
  );
  addHelpNotes(command, {
    examples: [
      'listctl apply seed.yaml -s home -l tasks --key Title --init',
      'listctl apply seed.yaml --dry-run --detailed-exitcode',
      'listctl apply seed.csv --key Code --prune --yes',
    ],
    exitCodes: {
      0: 'the list is as the seed says',
      1: 'refused',
      2: 'wrong usage, an empty seed, no state, or not confirmed: nothing sent',
      3: 'credentials',
      4: 'no such list',
      5: 'a saved plan was overtaken, or an item is another one by now',
      6: 'throttled or unavailable',
      7: 'not reached',
      8: 'in doubt: an item may have been created',
      9: 'some steps were not done: an item was changed meanwhile, for one',
      11: 'another process is at work on this state',
      12: '--detailed-exitcode: there are changes',
    },
  });
};

/** Declares the flags by which a seed is read, and its state found. */
export function addSeedOptions(command: Command): void {
  command
    .optionsGroup('The seed:')
    .option('--key <field>', 'the field that tells the items apart')
    .option('--state <file>', 'what is known of the list (SEED.state.json)');
  addReadingOptions(command);
  addFieldReadingOptions(command);
}

import type { Command } from 'commander';
import type { ApplyFlags } from '../apply/apply.ts';
import {
  addFieldReadingOptions,
  addLockOptions,
  addPaceOptions,
  addRateOptions,
  addReadingOptions,
  addReportOption,
} from '../bulk/flags.ts';
import { addHelpNotes, type SetUp, serviceExits } from '../cli/command.ts';
import { OptionalValueOption } from '../cli/flags.ts';
import { addMaxDeleteOption } from '../cli/guards.ts';
import { inSession } from '../cli/session.ts';
import { addFormOptions, collect } from '../cli/values.ts';

/** `listctl apply MANIFEST`: makes a list match a manifest. */
export const setUpApply: SetUp = (command, context) => {
  command.argument('<manifest>', 'YAML, CSV, TSV, JSON or JSONL file, or a plan saved with --out');
  addPlanOptions(command);
  command
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--dry-run', 'show what would be sent without sending it');
  addManifestOptions(command);
  addPaceOptions(command.optionsGroup('Bulk flags:'));
  addReportOption(command);
  command.action(
    inSession(context, async (session, manifest: string, flags: ApplyFlags) =>
      (await import('../apply/apply.ts')).applyManifest(manifest, flags, session),
    ),
  );
  addHelpNotes(command, {
    examples: [
      'listctl apply manifest.yaml -s home -l tasks --key Title --init',
      'listctl apply manifest.yaml --dry-run --detailed-exitcode',
      'listctl apply manifest.csv --key Code --prune --yes',
    ],
    globalFlags: ['site', 'list', 'output'],
    exitCodes: {
      2: 'invalid usage, an empty manifest, no state, or not confirmed; nothing was sent',
      5: 'the saved plan is out of date, or an item was replaced or exists already',
      8: 'in doubt: an item may have been created',
      9: 'some steps failed',
      12: '--detailed-exitcode: there are changes',
    },
    exits: [...serviceExits, 11],
  });
};

/** `listctl plan MANIFEST` and `listctl diff MANIFEST`: the same as `apply --dry-run`. */
export const setUpPlan: SetUp = (command, context) => {
  command.argument('<manifest>', 'YAML, CSV, TSV, JSON or JSONL file, or a plan saved with --out');
  addPlanOptions(command);
  addManifestOptions(command);
  addRateOptions(command.optionsGroup('Bulk flags:'));
  addReportOption(command);
  addLockOptions(command);
  command.action(
    inSession(context, async (session, manifest: string, flags: ApplyFlags) =>
      (await import('../apply/apply.ts')).applyManifest(manifest, { ...flags, dryRun: true }, session),
    ),
  );
  addHelpNotes(command, {
    examples: [
      'listctl plan manifest.yaml',
      'listctl diff manifest.yaml --detailed-exitcode',
      'listctl plan manifest.yaml -o markdown > comment.md',
    ],
    globalFlags: ['site', 'list', 'output'],
    formats: ['markdown'],
    exitCodes: {
      0: 'with or without changes (see --detailed-exitcode)',
      2: 'invalid usage, an empty manifest or no state',
      5: 'the saved plan is out of date',
      8: '--detailed-exitcode: a key is in doubt',
      12: '--detailed-exitcode: there are changes',
    },
    exits: [...serviceExits, 11],
  });
};

function addPlanOptions(command: Command): void {
  command
    .addOption(
      new OptionalValueOption('--init[=again]', 'create the state file (first run; in CI: --init=again)', ['again']),
    )
    .option('--prune', 'delete items that were removed from the manifest');
  addMaxDeleteOption(command);
  command
    .option('--target <key>', 'plan only the item with this key; repeatable', collect)
    .option('--detailed-exitcode', 'with --dry-run or --out: exit with 12 if there are changes')
    .option('--out <file>', 'save the plan; "listctl apply FILE" executes it')
    .option('--no-refresh', 'plan from the state file without reading the items');
}

/** Declares the flags by which a manifest is read, and its state found. */
export function addManifestOptions(command: Command): void {
  command
    .optionsGroup('Manifest flags:')
    .option('--key <field>', 'field that uniquely identifies an item')
    .option('--state <file>', 'state file (default MANIFEST.state.json)');
  addReadingOptions(command);
  addFieldReadingOptions(command);
  addFormOptions(command);
}

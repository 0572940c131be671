import type { Command } from 'commander';
import { addSeedOptions } from '../apply/apply.ts';

/** Declares what these commands take. */
export function addStateOptions(command: Command): void {
  command.argument('<seed>', 'the seed that the state is of');
  addSeedOptions(command);
  command
    .optionsGroup('Locking:')
    .option('--lock-timeout <seconds>', 'wait for another process at work on the same (0)')
    .option('--break-lock', 'take the lock of a host that is gone');
}

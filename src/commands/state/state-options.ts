import type { Command } from 'commander';
import { addSeedOptions } from '../apply/apply.ts';

/** Declares the seed whose state is read. */
export function addSeedOfState(command: Command): void {
  command.argument('<seed>', 'the seed that the state is of');
  addSeedOptions(command);
}

/** Declares what commands take that change a state. */
export function addStateOptions(command: Command): void {
  addSeedOfState(command);
  command
    .optionsGroup('Locking:')
    .option('--lock-timeout <seconds>', 'wait for another process at work on the same (0)')
    .option('--break-lock', 'take the lock of a host that is gone');
}

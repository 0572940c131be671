/** `--max-delete`: how many items one command may delete. */
import type { Command } from 'commander';
import { Failure } from '../../errors.ts';
import { countOf, countText } from '../../output/quantity-text.ts';

/** The flag as it was typed. */
export interface MaxDeleteFlag {
  readonly maxDelete?: string;
}

/** Declares `--max-delete`. */
export function addMaxDeleteOption(command: Command): void {
  command.option('--max-delete <n>', 'refuse as a whole to delete more than n items');
}

/**
 * Parses `--max-delete`.
 *
 * @returns undefined where it was not passed
 * @throws {Failure} usage
 */
export function readMaxDelete({ maxDelete: text }: MaxDeleteFlag): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Failure('usage', `invalid --max-delete "${text}": expected a whole number from 0 to 999999999`);
}

/**
 * Refuses to delete more items than `--max-delete` allows.
 *
 * @throws {Failure} usage
 */
export function checkMaxDelete(count: number, max: number | undefined): void {
  if (max === undefined || count <= max) return;
  throw new Failure('usage', `cannot delete ${countOf(count, 'item')}: --max-delete allows ${countText(max)}`, {
    hint: `check what is to be deleted, then pass --max-delete ${count}; nothing was sent`,
  });
}

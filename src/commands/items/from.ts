/** `--from FILE`: the same verb over many rows. What that needs is loaded when it is typed. */
import type { Command } from 'commander';
import { Failure } from '../../errors.ts';
import type { RowAction } from '../../rows/row.ts';
import type { Context } from '../context.ts';
import type { ManyFlags } from '../many/flags.ts';
import type { ManyVerb } from '../many/run-many.ts';
import { type FieldFlags, readCommonFields } from '../options/fields.ts';
import type { Session } from '../session.ts';

/** The flags of a verb that takes `--from`. */
export interface FromFlags extends ManyFlags {
  readonly from?: string;
}

/** Declares `--from`; the flags that go with it where it was typed, or a page is to show them. */
export async function addFromOption(command: Command, action: RowAction, { words }: Context): Promise<void> {
  command.optionsGroup('Many items:').option('--from <file>', 'rows of CSV, TSV, JSONL, JSON or ids; - for stdin');
  const isWanted = words.some((word) => /^(--from(=.*)?|--help|-h)$/s.test(word));
  if (isWanted) (await import('../many/flags.ts')).addManyOptions(command, action);
}

/** Works on the rows of the file. */
export async function runFrom(
  verb: Omit<ManyVerb, 'common'>,
  flags: FromFlags & FieldFlags & { readonly dryRun?: boolean },
  session: Session,
): Promise<void> {
  const { readManyFlags } = await import('../many/flags.ts');
  const many = readManyFlags(flags);
  const common = await readCommonFields(flags, session);
  const { runMany } = await import('../many/run-many.ts');
  await runMany({ ...verb, common, isDryRun: flags.dryRun }, many, session);
}

/** @throws {Failure} usage, when items are named in two ways, or in none */
export function checkIdsOrFrom(ids: readonly string[], from: string | undefined): void {
  if (ids.length > 0 && from !== undefined) {
    throw new Failure('usage', 'items are named twice: by their ids, and with --from', { hint: 'pass one of them' });
  }
  if (ids.length === 0 && from === undefined) {
    throw new Failure('usage', "missing required argument 'id'", {
      hint: 'name items, or a file of them with --from; --help shows what else there is',
    });
  }
}

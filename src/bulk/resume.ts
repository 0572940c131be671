/** Decides what to do about an earlier run of the same input: resume it, start over or refuse. */

import { Failure } from '../core/errors.ts';
import { countOf, countText } from '../core/text.ts';
import type { BadRow, Row } from '../rows/types.ts';
import type { KeyColumn } from '../services/service.ts';
import type { BulkOptions } from './flags.ts';
import type { RunInput } from './input-match.ts';
import type { Replay } from './journal-read.ts';
import { isComplete } from './runs.ts';

/** What to do about the earlier run. */
export type ResumeDecision =
  | { readonly kind: 'new' }
  /** Its remaining rows are sent, with those that were added to its input. */
  | { readonly kind: 'resume'; readonly before: Replay }
  /** It completed every row of the same input. */
  | { readonly kind: 'complete'; readonly before: Replay }
  /** Needs confirmation: `yes` follows a yes, and `refusal` everything else. */
  | {
      readonly kind: 'choice';
      readonly question: string;
      readonly yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>;
      readonly refusal: Failure;
    };

type Asked = Pick<BulkOptions, 'resume' | 'restart' | 'journal'>;

/**
 * Decides what to do about the earlier run.
 *
 * @throws {Failure} usage, if `--resume` or `--journal` names a run of another input
 */
export async function decideResume(
  before: Replay | undefined,
  { resume, restart, journal }: Asked,
  input: RunInput,
): Promise<ResumeDecision> {
  if (before === undefined || restart) return { kind: 'new' };
  const isResumed = resume !== false;
  await refuseOtherRows(before, isResumed, journal, input);
  const isWhole = isComplete(before.counts);
  const isUndone = (isWhole || before.header.keepsBefore === true) && (await input.isUndone(before));
  const isGrown = input.rows > before.header.input.rows && (isResumed || input.target.action === 'create');
  if (isUndone || (isWhole && !isGrown)) return decideRepeat(before, { resume, journal }, input, isUndone);
  if (before.header.keysFrom !== input.keysFrom) throw otherKeys(before, input);
  refuseOtherKeyField(before, input);
  if (isResumed) return { kind: 'resume', before };
  return isWhole ? askToAdd(before, input) : askToResume(before, input);
}

async function refuseOtherRows(
  before: Replay,
  isResumed: boolean,
  journal: string | undefined,
  input: RunInput,
): Promise<void> {
  const match = await input.match(before);
  if (match.kind === 'same') return;
  if (isResumed) throw otherRows(before, match.kind === 'changed' ? match.row : undefined, input);
  if (journal !== undefined) throw otherRecord(before, journal);
}

function decideRepeat(
  before: Replay,
  { resume, journal }: Omit<Asked, 'restart'>,
  input: RunInput,
  isUndone: boolean,
): ResumeDecision {
  const isCreate = input.target.action === 'create';
  const isTakenBack = isUndone && (isCreate || before.header.keepsBefore === true);
  if (resume !== false && isTakenBack) throw undoneRun(before);
  if (resume !== false) return { kind: 'complete', before };
  // Updates and deletes can be repeated; a second run in the same --journal would replace the first.
  const mayDouble = isCreate && !isTakenBack && before.header.rows > 0;
  return journal === undefined && !mayDouble ? { kind: 'new' } : askToRepeat(before, input, journal, isTakenBack);
}

function askToResume(before: Replay, input: RunInput): ResumeDecision {
  const { header, counts } = before;
  const added = input.rows - header.input.rows;
  const states: readonly (readonly [number, string])[] = [
    [counts.left, 'remaining'],
    [counts.failed + counts.invalid, 'failed'],
    [counts.inDoubt, 'in doubt'],
  ];
  const rest = states.filter(([count]) => count > 0).map(([count, state]) => `${countText(count)} ${state}`);
  const onlyFailed = counts.failed + counts.invalid > 0 && counts.left + counts.inDoubt + Math.max(added, 0) === 0;
  const closing = onlyFailed
    ? [`run "listctl runs close ${header.run}" if its failed rows were sent from another file`]
    : [];
  const more = added > 0 ? `, and ${countOf(added, 'row')} ${added === 1 ? 'was' : 'were'} added` : '';
  return choice(
    { kind: 'resume', before },
    `run ${header.run} of ${nameOfRun(before, input)} is incomplete: ${rest.join(', ')} of ${countOf(header.rows, 'row')}${more}`,
    'Resume it?',
    [`pass --resume to send the remaining rows, or --restart to ${again(before, input)}`, ...closing],
  );
}

/** The file of the run, if it is not that of the input. */
function nameOfRun({ header: { file } }: Replay, { name, path }: RunInput): string {
  return file === null || file === '-' || file === path ? name : file;
}

function askToAdd(before: Replay, input: RunInput): ResumeDecision {
  const { header } = before;
  const added = countOf(input.rows - header.input.rows, 'row');
  const are = input.rows - header.input.rows === 1 ? 'was' : 'were';
  return choice(
    { kind: 'resume', before },
    `run ${header.run} (started ${header.startedAt}) completed the first ${countOf(header.input.rows, 'row')} of ${input.name}, and ${added} ${are} added since`,
    `Send the ${added} only?`,
    [`pass --resume to send only what was added, or --restart to ${again(before, input)}`],
  );
}

function askToRepeat(before: Replay, input: RunInput, journal: string | undefined, isUndone: boolean): ResumeDecision {
  const { header, counts } = before;
  const { action } = input.target;
  const rows = counts.skipped === 0 ? 'every row' : `all rows but ${countText(counts.skipped)} skipped`;
  const undone = isUndone ? ', and was undone' : '';
  const ended = isComplete(counts) ? `completed ${rows} of ${input.name}${undone}` : `of ${input.name} was undone`;
  const loss = journal === undefined ? '' : ` (replaces the run in ${journal})`;
  const how = isUndone ? `${action} every row again` : again(before, input);
  const nothing = isUndone ? '' : 'nothing is left to send, which --resume confirms with exit code 0; ';
  return choice(
    { kind: 'new' },
    `run ${header.run} (started ${header.startedAt}) ${ended}`,
    `${capitalized(action)} them again${loss}?`,
    [`${nothing}pass --restart to ${how}${loss}`],
  );
}

/** A decision that needs a yes. */
export function choice(
  yes: Exclude<ResumeDecision, { readonly kind: 'choice' }>,
  what: string,
  question: string,
  hints: readonly string[],
): ResumeDecision {
  const refusal = new Failure('usage', what, { hint: hints.join('\n') });
  return { kind: 'choice', yes, question: `${capitalized(what)}. ${question}`, refusal };
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** What `--restart` does: `create every row again, also the 43 that exist`. */
export function again(
  { counts: { done, inDoubt } }: Pick<Replay, 'counts'>,
  { target }: Pick<RunInput, 'target'>,
): string {
  const every = `${target.action} every row again`;
  if (target.action !== 'create' || done + inDoubt === 0) return every;
  const known = [
    ...(done === 0 ? [] : [`the ${countText(done)} that ${done === 1 ? 'exists' : 'exist'}`]),
    ...(inDoubt === 0 ? [] : [`the ${countText(inDoubt)} in doubt`]),
  ];
  return `${every}, also ${known.join(' and ')}`;
}

/** The failure for an input whose rows are not those that a run sent. */
export function otherRows(before: Replay, row: Row | BadRow | undefined, input: RunInput): Failure {
  const { header } = before;
  const restart = `pass --restart to ${again(before, input)}`;
  if (row !== undefined) {
    const place = `row ${row.number} (line ${row.line})`;
    return new Failure('usage', `${place} changed since run ${header.run} sent it`, {
      hint: `restore its values and pass --resume, or ${restart}`,
    });
  }
  const what =
    header.input.rows === input.rows
      ? 'its rows or the input options changed since that run'
      : `its input had ${countOf(header.input.rows, 'row')}, but this one has ${countText(input.rows)}`;
  return new Failure('usage', `cannot resume run ${header.run} with ${input.name}: ${what}`, {
    hint: `pass the input of that run, or ${restart}`,
  });
}

function undoneRun({ header }: Replay): Failure {
  return new Failure('usage', `cannot resume run ${header.run}: it was undone`, {
    hint: `pass --restart instead of --resume to ${header.action} its rows again`,
  });
}

/** Keys of two kinds would not protect against duplicates. */
function otherKeys(before: Replay, input: RunInput): Failure {
  const { run, keysFrom } = before.header;
  const own = keysFrom === undefined ? 'uses random keys' : `derives its keys from ${keysFrom}`;
  const fix = keysFrom === undefined ? 'leave out' : 'pass';
  return new Failure('usage', `cannot resume run ${run} with different keys: it ${own}`, {
    hint: `${fix} --idempotency-key-from${keysFrom === undefined ? '' : ` ${keysFrom}`}, or pass --restart to ${again(before, input)}`,
  });
}

/**
 * Rows that may have been sent are found by the column of the run alone; without what it promised they could double.
 *
 * @throws {Failure} usage
 */
function refuseOtherKeyField(before: Replay, input: RunInput): void {
  const { run, keyField: own } = before.header;
  const { keyField: here } = input;
  const refuse = (reason: string, fix: string) => {
    const hint = `${fix}, or pass --restart to ${again(before, input)}`;
    return new Failure('usage', `cannot resume run ${run}: ${reason}`, { hint });
  };
  if (own === undefined && here !== undefined) throw refuse('it has no key field', 'leave out --key-field');
  if (own !== undefined && own.column !== here?.column)
    throw refuse(`its key field is ${own.column}`, `pass --key-field ${own.column}`);
  if (own === undefined || here === undefined || guarantees.indexOf(here.guarantee) >= guarantees.indexOf(own.promise))
    return;
  const was = own.promise === 'unique' ? 'unique' : 'indexed';
  throw refuse(`${own.column} is no longer ${was}`, `make the column ${was} again`);
}

/** The weakest first. */
const guarantees: readonly KeyColumn['guarantee'][] = ['none', 'indexed', 'unique'];

function otherRecord({ header, counts }: Replay, journal: string): Failure {
  const known = counts.done === 0 ? '' : `, which forgets the ${countOf(counts.done, 'row')} that it did`;
  return new Failure('usage', `${journal} is the journal of run ${header.run}, which has another input`, {
    hint: `pass another file with --journal, or --restart to replace that journal${known}`,
  });
}

/** A plan, as it is shown. */
import { Failure } from '../../errors.ts';
import type { Output } from '../../host.ts';
import { objectFrom, parseJson } from '../../json.ts';
import { jsonView } from '../../output/json-view.ts';
import type { FieldChange, StepShown, UntouchedShown } from '../../output/plan-diff.ts';
import { type PlanCountsShown, planLines } from '../../output/plan-view.ts';
import { type PlanFile, printPlan } from '../../seed/plan-file.ts';
import type { State } from '../../seed/state.ts';
import type { Step } from '../../seed/step.ts';
import type { Session } from '../session.ts';

/** Text is written in pieces of about so many characters. */
const pieceLength = 65_536;

/**
 * Prints a plan on stdout: a diff for a person, its own JSON for a program.
 *
 * @param notes what is to be said above it, a sentence each
 * @throws {Failure} usage, when it is too large for the format that was asked for, or has no such form
 */
export async function showPlan(
  plan: PlanFile,
  state: State,
  notes: readonly string[],
  session: Session,
): Promise<void> {
  const format = session.format(false);
  if (format === 'none') return;
  if (format === 'pretty' && !session.hasQuery) await drawPlan(plan, state, notes, session.host.stdout, session);
  else if (format === 'json' && !session.hasQuery) await writeAll(printPlan(plan), session.host.stdout);
  else await session.printing(jsonView, false, async (print) => print(planValue(plan)));
}

/** Draws a plan for a person, on stdout or where questions are asked. */
export async function drawPlan(
  plan: PlanFile,
  state: State,
  notes: readonly string[],
  output: Output,
  session: Session,
): Promise<void> {
  const { site, list } = plan.target;
  const screen = output === session.host.stdout ? await session.screen() : await session.errorScreen();
  const place = `list "${list}" of site "${site}" at ${session.address()}`;
  const shown = { place, steps: stepsOf(plan), untouched: untouchedOf(plan, state), counts: countsOf(plan), notes };
  await writeAll(linesOf(planLines(shown, screen)), output);
}

/** What a query is asked of, and what other formats print. */
function planValue(plan: PlanFile) {
  try {
    return parseJson([...printPlan(plan)].join(''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `the plan is too large for that (${error.message})`, {
      hint: 'print it with -o json, which has no limit',
      cause: error,
    });
  }
}

/** The counts of a plan as they are shown. */
export function countsOf({ counts, steps }: Pick<PlanFile, 'counts' | 'steps'>): PlanCountsShown {
  let driftedDeletes = 0;
  for (const step of steps) if (step.action === 'delete' && step.drift) driftedDeletes += 1;
  return { ...counts, driftedDeletes };
}

function* stepsOf({ steps }: PlanFile): Generator<StepShown> {
  for (const step of steps) {
    const { action, key, id } = step;
    yield { action, key, id, why: step.drift ? 'drift' : step.why, changes: changesOf(step) };
  }
}

function changesOf(step: Step): readonly FieldChange[] {
  if (step.action === 'delete') return Object.entries(step.before).map(([field, before]) => ({ field, before }));
  const before = new Map(Object.entries(step.before ?? objectFrom([])));
  return Object.entries(step.fields).map(([field, after]) => ({ field, before: before.get(field), after }));
}

function* untouchedOf({ conflicts, inDoubt, orphaned }: PlanFile, { items }: State): Generator<UntouchedShown> {
  for (const { key, id, found } of conflicts) yield { why: 'conflict', key, id, found };
  for (const key of inDoubt) yield { why: 'in-doubt', key };
  for (const key of orphaned) yield { why: 'orphaned', key, id: items.get(key)?.id };
}

function* linesOf(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

async function writeAll(pieces: Iterable<string>, output: Output): Promise<void> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < pieceLength) continue;
    await output.write(text);
    text = '';
  }
  if (text !== '') await output.write(text);
}

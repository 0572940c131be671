/** How the plan of an `apply` looks to a person: a diff, then its counts. */
import { type PlanScreen, type StepShown, stepLines, type UntouchedShown, untouchedLines } from './plan-diff.ts';
import { flowLines, type Part, wordsOf } from './plan-flow.ts';
import { printable } from './printable.ts';
import { countOf, countText } from './quantity-text.ts';
import type { Style } from './style.ts';
import type { Screen } from './view.ts';

/** A plan. Any text will do: it is made printable here. */
export interface PlanShown {
  /** Which list it is for: `list "tasks" of site "home" at https://…`. */
  readonly place: string;
  /** Taken once, one at a time: there may be 100,000. */
  readonly steps: Iterable<StepShown>;
  /** The items that are left alone and known by name; taken once, after the steps. */
  readonly untouched?: Iterable<UntouchedShown> | undefined;
  readonly counts: PlanCountsShown;
  /** What is to be said before the plan, a sentence each. */
  readonly notes: readonly string[];
}

/** How many items a plan has of each sort. */
export interface PlanCountsShown {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  readonly unchanged: number;
  /** Of those to update and to delete: the ones that somebody changed. */
  readonly drifted: number;
  /** Of the drifted: the ones to delete. Where it is not said, as few as can be. */
  readonly driftedDeletes?: number | undefined;
  /** Of those to create: the ones that were there, and are gone. */
  readonly gone: number;
  readonly inDoubt: number;
  /** Whose id belongs to another item by now. */
  readonly conflict?: number | undefined;
  /** No longer in the seed, and left as they are. */
  readonly orphaned: number;
}

/** The columns to assume where there is no terminal, or it does not say; and those that a plan needs at least. */
const widths = { usual: 80, least: 20 } as const;

/**
 * The plan as printable lines without newlines, one step after the other as they are asked for; the summary is the
 * last. No line is wider than the terminal, or than 80 columns where there is none: long values are cut in the
 * middle, and sentences go on in a line below. A terminal of fewer than 20 columns is taken for one of 20.
 */
export function* planLines(plan: PlanShown, screen: Screen): Generator<string> {
  const planScreen: PlanScreen = { width: widthOf(screen), style: screen.style };
  yield* sentenceLines(plan.place, planScreen, screen.style.bold);
  for (const note of plan.notes) yield* sentenceLines(note, planScreen);
  let isFirst = true;
  for (const lines of bodyOf(plan, planScreen)) {
    if (isFirst) yield '';
    isFirst = false;
    yield* lines;
  }
  yield '';
  yield* summaryLines(plan.counts, planScreen);
}

/**
 * The counts: `Plan: 3 to create, 2 to update (1 changed by somebody), 94 unchanged`, or `No changes: 100 items are as
 * the seed says.` What is zero is left out. One line where there is no terminal; on one, as many as its width takes.
 */
export function planSummary(counts: PlanCountsShown, screen: Screen): string {
  const width = screen.columns === undefined ? Number.POSITIVE_INFINITY : widthOf(screen);
  return summaryLines(counts, { width, style: screen.style }).join('\n');
}

/**
 * The question before a plan is carried out, printable, on one line: `Create 3, update 2 and DELETE 1 in …?`. How many
 * are deleted is always told, also that none is.
 *
 * @param place which list it is for: `list tasks (site home, https://…)`
 */
export function applyQuestion(counts: PlanCountsShown, place: string): string {
  const others = [
    ...(counts.create === 0 ? [] : [`create ${countText(counts.create)}`]),
    ...(counts.update === 0 ? [] : [`update ${countText(counts.update)}`]),
  ].join(', ');
  // In capitals only where it is something to stop at.
  const deletes = `${counts.delete === 0 ? 'delete' : 'DELETE'} ${countText(counts.delete)}`;
  const text = `${others === '' ? '' : `${others} and `}${deletes}`;
  return printable(`${text.charAt(0).toUpperCase()}${text.slice(1)} in ${place}?`);
}

function widthOf({ columns }: Screen): number {
  return Math.max(columns || widths.usual, widths.least);
}

function* bodyOf({ steps, untouched = [] }: PlanShown, screen: PlanScreen): Generator<readonly string[]> {
  for (const step of steps) yield stepLines(step, screen);
  for (const item of untouched) yield untouchedLines(item, screen);
}

function sentenceLines(text: string, { width }: PlanScreen, paint?: (text: string) => string): string[] {
  return flowLines(wordsOf(printable(text), { paint }), width, 2);
}

function summaryLines(counts: PlanCountsShown, { width, style }: PlanScreen): string[] {
  const isNone = counts.create + counts.update + counts.delete === 0;
  return flowLines(isNone ? noChangeParts(counts, style) : changeParts(counts, style), width, 2);
}

function changeParts(counts: PlanCountsShown, style: Style): Part[] {
  const { create, update, unchanged, drifted, driftedDeletes = 0, gone } = counts;
  const deletesDrifted = Math.max(driftedDeletes, drifted - update);
  const groups = [
    countParts(create, 'to create', style.green, asideOf(gone, 'gone')),
    countParts(update, 'to update', style.yellow, asideOf(drifted - deletesDrifted, 'changed by somebody')),
    countParts(counts.delete, 'to delete', style.red, asideOf(deletesDrifted, 'changed by somebody')),
    countParts(unchanged, 'unchanged'),
    ...untouchedGroups(counts, style),
  ];
  return [{ text: 'Plan:' }, ...joined(groups)];
}

function noChangeParts(counts: PlanCountsShown, style: Style): Part[] {
  const { unchanged } = counts;
  const rest = joined(untouchedGroups(counts, style), '.');
  const verb = unchanged === 1 ? 'is' : 'are';
  const said = unchanged === 0 ? 'the seed has no items' : `${countOf(unchanged, 'item')} ${verb} as the seed says`;
  // Where nothing is unchanged, but something is in doubt, the seed does have items.
  const first = unchanged === 0 && rest.length > 0 ? [] : wordsOf(said, { mark: rest.length > 0 ? ';' : '.' });
  return [...wordsOf('No changes:'), ...first, ...rest];
}

function untouchedGroups({ inDoubt, conflict = 0, orphaned }: PlanCountsShown, style: Style): Part[][] {
  return [
    countParts(inDoubt, 'in doubt', style.yellow),
    countParts(conflict, 'in conflict', style.yellow),
    countParts(orphaned, 'no longer in the seed'),
  ];
}

function countParts(count: number, said: string, paint?: Part['paint'], aside = ''): Part[] {
  if (count === 0) return [];
  return [{ text: `${countText(count)} ${said}`, paint }, ...(aside === '' ? [] : [{ text: aside }])];
}

function asideOf(count: number, said: string): string {
  return count === 0 ? '' : `(${countText(count)} ${said})`;
}

/** The groups that are there, with a comma between. */
function joined(groups: readonly (readonly Part[])[], end?: Part['mark']): Part[] {
  const full = groups.filter(({ length }) => length > 0);
  return full.flatMap((parts, group) =>
    parts.map((part, at) => {
      if (at < parts.length - 1) return part;
      return { ...part, mark: group < full.length - 1 ? ',' : end };
    }),
  );
}

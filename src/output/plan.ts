/** How the plan of an `apply` looks to a person: a diff, then its counts. */
import type { JsonValue } from '../core/json.ts';
import { countOf, countText, isAtMost, printable, widthAtMost } from '../core/text.ts';
import { jsonText } from './layout.ts';
import type { Style } from './style.ts';
import type { Screen } from './view.ts';
import { type Part, splitWords, truncateBoth, truncateMiddle, wrap } from './wrap.ts';

/** What stands where there is no value. */
const absentWord = 'none';

/** What stands where a value will be null. */
const clearedWord = 'cleared';

/** A text that reads as JSON, as a word of the plan, or as more than one value. */
const ambiguous = /^$|^\s|\s$|^["[{]|^(?:true|false|null|none|cleared)$|^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$|→/i;

/**
 * A value: a string as it is where that says all, anything else as JSON, numbers with the digits they came with.
 * Different values are different texts.
 */
export function valueText(value: JsonValue): string {
  // In quotes, too, where escapes are needed: outside of them a newline and a `⏎` would look the same.
  if (typeof value === 'string' && !ambiguous.test(value) && printable(value) === value) return value;
  return jsonText(value);
}

/** A value as JSON of nothing but ASCII: what looks the same and is not the same is seen. */
export function exactText(value: JsonValue): string {
  return jsonText(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Whether two texts cannot be told apart by eye: the same, but for blanks of another kind and how accents are made. */
export function looksSame(one: string, other: string): boolean {
  return appearanceOf(one) === appearanceOf(other);
}

/** A field's name, in quotes where its end could be mistaken. */
export function nameText(name: string): string {
  return /^$|^\s|\s$|^"|:/.test(name) || printable(name) !== name ? jsonText(name) : name;
}

/** An id, in quotes unless it is made of what ids are made of. */
export function idText(id: string): string {
  return /^[\w.:~{}@/+=-]+$/.test(id) ? id : jsonText(id);
}

function appearanceOf(text: string): string {
  return text.normalize('NFC').replace(/\p{Zs}/gu, ' ');
}

/** One item that would be created, updated or deleted. */
export interface StepShown {
  readonly action: 'create' | 'update' | 'delete';
  readonly key: string;
  /** The item's; of one that is gone, the id that it had. */
  readonly id?: string | undefined;
  /** Somebody changed the item, or deleted it; or nobody knows whether it was created, and it is sent again. */
  readonly why?: 'drift' | 'gone' | 'in-doubt' | undefined;
  readonly changes: readonly FieldChange[];
}

/** One field of it: created with `after`, deleted with `before`, updated from `before` to `after`. */
export interface FieldChange {
  readonly field: string;
  /** Undefined where there is none. */
  readonly before?: JsonValue | undefined;
  /** Undefined where there will be none; null where it is cleared. */
  readonly after?: JsonValue | undefined;
}

/** One item that the plan leaves alone, for a reason that somebody should know. */
export interface UntouchedShown {
  /** Nobody knows whether it was created, its id belongs to another item, or the manifest does not name it any more. */
  readonly why: 'in-doubt' | 'conflict' | 'orphaned';
  readonly key: string;
  readonly id?: string | undefined;
  /** Of a conflict: what the other item has in its key field; undefined where it has none. */
  readonly found?: JsonValue | undefined;
}

/** What the text is made for: columns, 20 at least. */
export interface PlanScreen {
  readonly width: number;
  readonly style: Style;
}

/** Blanks before what belongs to an item. */
const indent = 4;

const arrow = '→';

const signs = { create: '+', update: '~', delete: '-', 'in-doubt': '?', conflict: '!', orphaned: '=' } as const;

const reasons = {
  drift: 'changed outside apply: will be reset',
  gone: 'missing: will be recreated',
  'in-doubt': 'in doubt: will be retried with its key',
} as const;

const reasonsToLeave = {
  'in-doubt': 'in doubt: skipped',
  orphaned: 'no longer in the manifest: unchanged',
} as const;

/**
 * The lines of one step, printable and no wider than the screen: `~ key "Buy milk", id 17`, then each field with its
 * name, `    Status: Open → Done`. Two values that don't fit beside each other are on two lines, the new one below the
 * old one, so that they can be compared.
 */
export function stepLines({ action, key, id, why, changes }: StepShown, screen: PlanScreen): string[] {
  const { style } = screen;
  const paint = { create: style.green, update: style.yellow, delete: style.red }[action];
  const idWord = action === 'create' ? 'was id' : 'id';
  const head = headLines({ sign: signs[action], key, id, idWord, reason: reasonOf(action, why), paint }, screen);
  const nameMax = Math.max(6, Math.floor((screen.width - indent - 2) / 3));
  const names = changes.map(({ field }) => truncateMiddle(nameText(field), nameMax));
  const widest = Math.max(0, ...names.map(widthAtMost));
  const valueWidth = screen.width - indent - widest - 2;
  const fields = changes.flatMap((change, at) => {
    const name = names[at] ?? '';
    const label = `${' '.repeat(indent)}${name}: ${' '.repeat(widest - widthAtMost(name))}`;
    if (action === 'update') return updateLines(change, label, indent + widest, valueWidth, style);
    const value = action === 'create' ? change.after : change.before;
    return [`${label}${value === undefined ? style.dim(absentWord) : truncateMiddle(valueText(value), valueWidth)}`];
  });
  return [...head, ...fields];
}

/** The line of an item that is left alone, on several where it must be: `? key "Buy milk", in doubt: …`. */
export function untouchedLines({ why, key, id, found }: UntouchedShown, screen: PlanScreen): string[] {
  const paint = why === 'orphaned' ? undefined : screen.style.yellow;
  const isConflict = why === 'conflict';
  const reason = isConflict ? `now belongs to another item: ${otherText(found, screen)}` : reasonsToLeave[why];
  const head = { sign: signs[why], key, id, idWord: 'id', reason, paint, isSentence: isConflict };
  return headLines(head, screen);
}

function otherText(found: JsonValue | undefined, { width }: PlanScreen): string {
  return found === undefined || found === null
    ? 'no key'
    : `key ${truncateMiddle(jsonText(found), width - indent - 4)}`;
}

function reasonOf(action: StepShown['action'], why: StepShown['why']): string | undefined {
  if (why === 'drift' && action === 'delete') return 'changed outside apply: will be deleted';
  return why === undefined ? undefined : reasons[why];
}

interface Head {
  readonly sign: string;
  readonly key: string;
  readonly id: string | undefined;
  readonly idWord: string;
  readonly reason: string | undefined;
  readonly paint: Part['paint'];
  /** Whether the id and the reason are one sentence. */
  readonly isSentence?: boolean | undefined;
}

function headLines(
  { sign, key, id, idWord, reason, paint, isSentence = false }: Head,
  { width, style }: PlanScreen,
): string[] {
  // Each cut to a line of its own, with room for a comma.
  const called = `${sign} key ${truncateMiddle(jsonText(key), width - indent - `${sign} key ,`.length)}`;
  const named =
    id === undefined ? [] : [`${idWord} ${truncateMiddle(idText(id), width - indent - `${idWord} ,`.length)}`];
  const parts: Part[] = [
    { text: called, paint, mark: named.length > 0 || reason !== undefined ? ',' : undefined },
    ...named.map(
      (text): Part => ({ text, paint: style.dim, mark: reason === undefined || isSentence ? undefined : ',' }),
    ),
    ...splitWords(reason ?? '', { paint }),
  ];
  return wrap(parts, width, indent);
}

/** @param arrowAt the column below the label's colon */
function updateLines(change: FieldChange, label: string, arrowAt: number, widthMax: number, style: Style): string[] {
  const [before, after] = textsOf(change);
  const old = change.before === undefined ? style.dim : style.red;
  const fresh = change.after === undefined || change.after === null ? style.dim : style.green;
  if (isAtMost(`${before} ${arrow} ${after}`, widthMax)) return [`${label}${old(before)} ${arrow} ${fresh(after)}`];
  const [cutBefore, cutAfter] = cutDifferently([before, after], change, widthMax);
  return [`${label}${old(cutBefore)}`, `${' '.repeat(arrowAt)}${arrow} ${fresh(cutAfter)}`];
}

function textsOf(change: FieldChange): readonly [string, string] {
  const { before, after } = change;
  const texts = [
    before === undefined ? absentWord : valueText(before),
    after === undefined ? absentWord : after === null ? clearedWord : valueText(after),
  ] as const;
  if (looksSame(...texts)) return exactTextsOf(change);
  if (typeof before !== 'string' || typeof after !== 'string') return texts;
  // Quotes round one alone would be the first place where they differ, and hide the one that counts.
  return texts[0] === before && texts[1] === after ? texts : [jsonText(before), jsonText(after)];
}

function exactTextsOf({ before, after }: FieldChange): readonly [string, string] {
  return [before === undefined ? absentWord : exactText(before), after === undefined ? absentWord : exactText(after)];
}

function cutDifferently(
  [before, after]: readonly [string, string],
  change: FieldChange,
  widthMax: number,
): readonly [string, string] {
  const cut = truncateBoth(before, after, widthMax);
  return looksSame(...cut) ? truncateBoth(...exactTextsOf(change), widthMax) : cut;
}

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
  /** No longer in the manifest, and left as they are. */
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
 * The counts: `Plan: 3 to create, 2 to update (1 changed outside apply), 94 unchanged`, or `No changes: 100 items are as
 * the manifest says.` What is zero is left out. One line where there is no terminal; on one, as many as its width takes.
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
  return wrap(splitWords(printable(text), { paint }), width, 2);
}

function summaryLines(counts: PlanCountsShown, { width, style }: PlanScreen): string[] {
  const isNone = counts.create + counts.update + counts.delete === 0;
  return wrap(isNone ? noChangeParts(counts, style) : changeParts(counts, style), width, 2);
}

function changeParts(counts: PlanCountsShown, style: Style): Part[] {
  const { create, update, unchanged, drifted, driftedDeletes = 0, gone } = counts;
  const deletesDrifted = Math.max(driftedDeletes, drifted - update);
  const groups = [
    countParts(create, 'to create', style.green, asideOf(gone, 'missing')),
    countParts(update, 'to update', style.yellow, asideOf(drifted - deletesDrifted, 'changed outside apply')),
    countParts(counts.delete, 'to delete', style.red, asideOf(deletesDrifted, 'changed outside apply')),
    countParts(unchanged, 'unchanged'),
    ...untouchedGroups(counts, style),
  ];
  return [{ text: 'Plan:' }, ...joined(groups)];
}

function noChangeParts(counts: PlanCountsShown, style: Style): Part[] {
  const { unchanged } = counts;
  const rest = joined(untouchedGroups(counts, style), '.');
  const verb = unchanged === 1 ? 'matches' : 'match';
  const said = unchanged === 0 ? 'the manifest has no items' : `${countOf(unchanged, 'item')} ${verb} the manifest`;
  // Where nothing is unchanged, but something is in doubt, the manifest does have items.
  const first = unchanged === 0 && rest.length > 0 ? [] : splitWords(said, { mark: rest.length > 0 ? ';' : '.' });
  return [...splitWords('No changes:'), ...first, ...rest];
}

function untouchedGroups({ inDoubt, conflict = 0, orphaned }: PlanCountsShown, style: Style): Part[][] {
  return [
    countParts(inDoubt, 'in doubt', style.yellow),
    countParts(conflict, 'in conflict', style.yellow),
    countParts(orphaned, 'no longer in the manifest'),
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

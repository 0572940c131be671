/** The plan of `apply` for people: a diff, and its counts. */
import type { Conflict, Plan, PlanCounts } from '../apply/plan.ts';
import type { State, Step } from '../apply/state.ts';
import { ownField } from '../core/item.ts';
import type { JsonValue } from '../core/json.ts';
import { countOf, countText, isAtMost, listNames, printable, widthAtMost } from '../core/text.ts';
import { jsonText } from './layout.ts';
import { plainStyle, type Screen, type Style } from './view.ts';
import { type Part, splitWords, truncateBoth, truncateMiddle, wrap } from './wrap.ts';

/** Strings that look like JSON, like a word of the plan, or like two values. */
const ambiguous = /^$|^\s|\s$|^["[{]|^(?:true|false|null|none|cleared)$|^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$|→/i;

/** Formats a value: an unambiguous string as it is, anything else as JSON. Different values are different texts. */
export function valueText(value: JsonValue): string {
  // Escapes are shown in quotes only: otherwise a newline and a `⏎` would look the same.
  if (typeof value === 'string' && !ambiguous.test(value) && printable(value) === value) return value;
  return jsonText(value);
}

/** Formats a value as ASCII JSON, so that values that only look the same differ. */
export function exactText(value: JsonValue): string {
  return jsonText(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Whether two strings differ only in kinds of blanks and how accents are composed. */
export function looksSame(one: string, other: string): boolean {
  const normalize = (text: string) => text.normalize('NFC').replace(/\p{Zs}/gu, ' ');
  return normalize(one) === normalize(other);
}

/** Formats the name of a field, in quotes if its end is ambiguous. */
export function nameText(name: string): string {
  return /^$|^\s|\s$|^"|:/.test(name) || printable(name) !== name ? jsonText(name) : name;
}

/** Formats an id, in quotes unless its characters are usual. */
export function idText(id: string): string {
  return /^[\w.:~{}@/+=-]+$/.test(id) ? id : jsonText(id);
}

/** A changed field: created with `after`, deleted with `before`, updated from `before` to `after`. */
export interface FieldChange {
  readonly field: string;
  readonly before?: JsonValue | undefined;
  readonly after?: JsonValue | undefined;
}

function widthOf({ columns }: Screen): number {
  return Math.max(columns || 80, 20);
}

const indent = 4;

const arrow = '→';

const signs = { create: '+', update: '~', delete: '-' } as const;

const reasons = {
  gone: 'missing: will be recreated',
  'in-doubt': 'in doubt: will be retried with its key',
} as const;

const importReason = 'exists: will be imported';

/** The lines of a step: `~ key "Buy milk", id 17`, and for each field `    Status: Open → Done`. */
export function stepLines(step: Step, screen: Screen, isImported = false): string[] {
  const { action, key, id, why, drift } = step;
  const driftReason = `changed outside apply: will be ${action === 'delete' ? 'deleted' : 'reset'}`;
  const reason = isImported ? importReason : drift ? driftReason : why && reasons[why];
  const paint = { create: screen.style.green, update: screen.style.yellow, delete: screen.style.red }[action];
  const idWord = action === 'create' ? 'was id' : 'id';
  const head = headLines({ sign: signs[action], key, id, idWord, reason, paint }, screen);
  return [...head, ...changeLines(action, toChanges(step), screen)];
}

function toChanges({ action, fields, before = {} }: Step): FieldChange[] {
  if (action === 'delete') return Object.entries(before).map(([field, value]) => ({ field, before: value }));
  return Object.entries(fields).map(([field, after]) => ({ field, before: ownField(before, field), after }));
}

/** The lines of changed fields. Values that do not fit on one line are on two, so that they can be compared. */
export function changeLines(action: Step['action'], changes: readonly FieldChange[], screen: Screen): string[] {
  const { style } = screen;
  const width = widthOf(screen);
  const nameMax = Math.max(6, Math.floor((width - indent - 2) / 3));
  const names = changes.map(({ field }) => truncateMiddle(nameText(field), nameMax));
  const widest = Math.max(0, ...names.map(widthAtMost));
  const valueWidth = width - indent - widest - 2;
  return changes.flatMap((change, at) => {
    const name = names[at] ?? '';
    const label = `${' '.repeat(indent)}${name}: ${' '.repeat(widest - widthAtMost(name))}`;
    if (action === 'update')
      return updateLines(change, { label, arrowAt: indent + widest, widthMax: valueWidth }, style);
    const value = action === 'create' ? change.after : change.before;
    return [`${label}${value === undefined ? style.dim('none') : truncateMiddle(valueText(value), valueWidth)}`];
  });
}

/** @param head with `isSentence`, the id and the reason are one sentence */
function headLines(
  head: {
    readonly sign: string;
    readonly key: string;
    readonly id?: string | undefined;
    readonly idWord?: string;
    readonly reason: string | undefined;
    readonly paint?: Part['paint'];
    readonly isSentence?: boolean;
  },
  screen: Screen,
): string[] {
  const width = widthOf(screen);
  const { sign, key, id, idWord = 'id', reason, paint, isSentence = false } = head;
  // Each cut to one line, with room for a comma.
  const called = `${sign} key ${truncateMiddle(jsonText(key), width - indent - `${sign} key ,`.length)}`;
  const idMark = reason === undefined || isSentence ? undefined : ',';
  const parts: Part[] = [{ text: called, paint, mark: id === undefined && reason === undefined ? undefined : ',' }];
  if (id !== undefined) {
    const text = `${idWord} ${truncateMiddle(idText(id), width - indent - `${idWord} ,`.length)}`;
    parts.push({ text, paint: screen.style.dim, mark: idMark });
  }
  return wrap([...parts, ...splitWords(reason ?? '', { paint })], width, indent);
}

function conflictLines({ key, id, action, found }: Conflict, screen: Screen): string[] {
  const isSentence = action !== 'create';
  const value = truncateMiddle(jsonText(found ?? null), widthOf(screen) - indent - 4);
  const other = found === undefined || found === null ? 'no key' : `key ${value}`;
  const reason = isSentence
    ? `now belongs to another item: ${other}`
    : 'exists, but is not in the state: will not be created';
  return headLines({ sign: '!', key, id, reason, paint: screen.style.yellow, isSentence }, screen);
}

/** @param place.arrowAt the column below the label's colon */
function updateLines(
  change: FieldChange,
  { label, arrowAt, widthMax }: { readonly label: string; readonly arrowAt: number; readonly widthMax: number },
  style: Style,
): string[] {
  const [before, after] = formatBoth(change);
  const old = change.before === undefined ? style.dim : style.red;
  const fresh = change.after === undefined || change.after === null ? style.dim : style.green;
  if (isAtMost(`${before} ${arrow} ${after}`, widthMax)) return [`${label}${old(before)} ${arrow} ${fresh(after)}`];
  const cut = truncateBoth(before, after, widthMax);
  const [first, second] = looksSame(...cut) ? truncateBoth(...formatBoth(change, true), widthMax) : cut;
  return [`${label}${old(first)}`, `${' '.repeat(arrowAt)}${arrow} ${fresh(second)}`];
}

/** @param isExact with escapes, so that values that look the same differ */
function formatBoth({ before, after }: FieldChange, isExact = false): readonly [string, string] {
  const format = isExact ? exactText : valueText;
  const old = before === undefined ? 'none' : format(before);
  const fresh = after === undefined ? 'none' : after === null && !isExact ? 'cleared' : format(after);
  if (isExact) return [old, fresh];
  if (looksSame(old, fresh)) return formatBoth({ field: '', before, after }, true);
  if (typeof before !== 'string' || typeof after !== 'string') return [old, fresh];
  // Quotes around one value alone would hide the actual difference.
  return old === before && fresh === after ? [old, fresh] : [jsonText(before), jsonText(after)];
}

/** What is shown above a plan: its list, as `list "tasks" of site "home" at https://…`, and sentences. */
interface PlanHead {
  readonly place: string;
  readonly notes: readonly string[];
}

/** The plan as lines without newlines, with its summary at the end. They fit the terminal, or 80 columns without one. */
export function* planLines(
  plan: Omit<Plan, 'learned'>,
  items: State['items'],
  { place, notes }: PlanHead,
  screen: Screen,
): Generator<string> {
  const { style } = screen;
  const width = widthOf(screen);
  yield* wrap(splitWords(printable(place), { paint: style.bold }), width, 2);
  for (const note of notes) yield* wrap(splitWords(printable(note)), width, 2);
  if (changeCount(plan) > 0) yield '';
  for (const lines of changes(plan, items, screen)) yield* lines;
  yield '';
  yield* wrap(summaryParts(plan, style), width, 2);
}

function changeCount(plan: Omit<Plan, 'learned'>): number {
  const { steps, conflicts, duplicates = [], inDoubt, orphaned } = plan;
  const lists = [steps, conflicts, duplicates, inDoubt, orphaned, unchangedImports(plan)];
  return lists.reduce((count, { length }) => count + length, 0);
}

/** Keys of items that are imported, and need no step. */
function unchangedImports({ imported = [], steps }: Omit<Plan, 'learned'>): readonly string[] {
  const changed = new Set(steps.map(({ key }) => key));
  return imported.filter((key) => !changed.has(key));
}

/** The lines of each step, and of each key that has none; the first one begins with a sign, the others with a blank. */
function* changes(plan: Omit<Plan, 'learned'>, items: State['items'], screen: Screen): Generator<readonly string[]> {
  const { steps, conflicts, duplicates = [], inDoubt, orphaned, imported } = plan;
  const isImported = new Set(imported);
  for (const step of steps) yield stepLines(step, screen, isImported.has(step.key));
  for (const key of unchangedImports(plan)) {
    yield headLines({ sign: '=', key, id: items.get(key)?.id, reason: importReason }, screen);
  }
  for (const conflict of conflicts) yield conflictLines(conflict, screen);
  for (const { key, ids } of duplicates) {
    const reason = `several items have this key: ids ${listNames(ids.map(idText), 10)}`;
    yield headLines({ sign: '!', key, reason, paint: screen.style.yellow }, screen);
  }
  for (const key of inDoubt)
    yield headLines({ sign: '?', key, reason: 'in doubt: skipped', paint: screen.style.yellow }, screen);
  for (const key of orphaned) {
    const reason = 'no longer in the manifest: unchanged';
    yield headLines({ sign: '=', key, id: items.get(key)?.id, reason }, screen);
  }
}

/** GitHub accepts 65,536 characters in a comment: this leaves some for a text around the plan. */
const markdownMax = 64_000;

const markdownColumns = 1000;

const diffSigns: Readonly<Record<string, string>> = { '~': '!', '?': '!', '=': '#' };

/**
 * The plan as Markdown for the comment of a pull request: its summary and a diff, of at most 64,000 characters. Nothing
 * from the service or a file is outside the diff, or begins a line of it.
 */
export function planMarkdown(plan: Omit<Plan, 'learned'>, items: State['items'], { place, notes }: PlanHead): string {
  const screen = { columns: markdownColumns, style: plainStyle };
  const [summary = ''] = wrap(summaryParts(plan, plainStyle), markdownColumns, 2);
  const body = [place, ...notes].map((text) => `# ${truncateMiddle(printable(text), markdownColumns)}`);
  let length = body.join('\n').length + summary.length;
  let left = changeCount(plan);
  for (const lines of changes(plan, items, screen)) {
    const text = lines.map((line, _, [first = '']) => diffLine(line, first.charAt(0))).join('\n');
    length += text.length + 1;
    if (length > markdownMax - 200) break;
    body.push(text);
    left -= 1;
  }
  if (left > 0) body.push(`# ${countOf(left, 'more change')} not shown: the comment would be too long`);
  // No line of the diff begins with a backtick, so none can close the block.
  return `**${summary}**\n\n\`\`\`diff\n${body.join('\n')}\n\`\`\`\n`;
}

function diffLine(line: string, sign: string): string {
  return `${diffSigns[sign] ?? sign}${line.slice(1)}`;
}

/** The steps of a plan, for the confirmation prompt: `create 3, update 2 and DELETE 1 in …`. Zeros are omitted. */
export function stepsText(counts: Pick<PlanCounts, Step['action']>, place: string): string {
  const parts = (['create', 'update', 'delete'] as const)
    .filter((action) => counts[action] > 0)
    .map((action) => `${action === 'delete' ? 'DELETE' : action} ${countText(counts[action])}`);
  const last = parts.pop() ?? '';
  return printable(`${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`} in ${place}`);
}

/** `Plan: 3 to create, 94 unchanged`, or `No changes: 100 items match the manifest.` Zeros are omitted. */
function summaryParts({ counts, steps, imported = [], duplicates = [] }: Omit<Plan, 'learned'>, style: Style): Part[] {
  const { create, update, unchanged, drifted, gone, inDoubt, conflict, orphaned } = counts;
  const untouched = [
    formatCount(imported.length, 'to import'),
    formatCount(inDoubt, 'in doubt', style.yellow),
    formatCount(conflict, 'in conflict', style.yellow),
    formatCount(duplicates.length, duplicates.length === 1 ? 'duplicate key' : 'duplicate keys', style.yellow),
    formatCount(orphaned, 'no longer in the manifest'),
  ];
  if (create + update + counts.delete === 0) {
    const rest = joinGroups(untouched, '.');
    if (unchanged === 0 && rest.length > 0) return [...splitWords('No changes:'), ...rest];
    const verb = unchanged === 1 ? 'matches' : 'match';
    const said = unchanged === 0 ? 'the manifest has no items' : `${countOf(unchanged, 'item')} ${verb} the manifest`;
    return [...splitWords('No changes:'), ...splitWords(said, { mark: rest.length > 0 ? ';' : '.' }), ...rest];
  }
  let driftedDeletes = 0;
  for (const { action, drift } of steps) if (action === 'delete' && drift) driftedDeletes += 1;
  const groups = [
    formatCount(create, 'to create', style.green, [gone, 'missing']),
    formatCount(update, 'to update', style.yellow, [drifted - driftedDeletes, 'changed outside apply']),
    formatCount(counts.delete, 'to delete', style.red, [driftedDeletes, 'changed outside apply']),
    formatCount(unchanged, 'unchanged'),
    ...untouched,
  ];
  return [{ text: 'Plan:' }, ...joinGroups(groups)];
}

function formatCount(
  count: number,
  word: string,
  paint?: Part['paint'],
  [some, aside]: [number, string] = [0, ''],
): Part[] {
  if (count === 0) return [];
  const more = some === 0 ? [] : [{ text: `(${countText(some)} ${aside})` }];
  return [{ text: `${countText(count)} ${word}`, paint }, ...more];
}

function joinGroups(groups: readonly (readonly Part[])[], end?: Part['mark']): Part[] {
  const full = groups.filter(({ length }) => length > 0);
  return full.flatMap((parts, group) => {
    const mark = group < full.length - 1 ? ',' : end;
    return parts.map((part, at) => (at < parts.length - 1 ? part : { ...part, mark }));
  });
}

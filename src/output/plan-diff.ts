/** What one step of a plan would change, as a diff. */
import type { JsonValue } from '../json.ts';
import { jsonText } from './json-text.ts';
import { cutBoth, cutMiddle } from './plan-cut.ts';
import { flowLines, type Part, wordsOf } from './plan-flow.ts';
import { absentWord, clearedWord, exactText, idText, looksSame, nameText, valueText } from './plan-value.ts';
import type { Style } from './style.ts';
import { isAtMost, widthAtMost } from './width-at-most.ts';

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
  /** Nobody knows whether it was created, its id belongs to another item, or the seed does not name it any more. */
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
  drift: 'changed by somebody: set back',
  gone: 'gone: created again',
  'in-doubt': 'in doubt: sent again with its key',
} as const;

const reasonsToLeave = {
  'in-doubt': 'in doubt: nothing is sent for it',
  orphaned: 'no longer in the seed: left as it is',
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
  const names = changes.map(({ field }) => cutMiddle(nameText(field), nameMax));
  const widest = Math.max(0, ...names.map(widthAtMost));
  const valueWidth = screen.width - indent - widest - 2;
  const fields = changes.flatMap((change, at) => {
    const name = names[at] ?? '';
    const label = `${' '.repeat(indent)}${name}: ${' '.repeat(widest - widthAtMost(name))}`;
    if (action === 'update') return updateLines(change, label, indent + widest, valueWidth, style);
    const value = action === 'create' ? change.after : change.before;
    return [`${label}${value === undefined ? style.dim(absentWord) : cutMiddle(valueText(value), valueWidth)}`];
  });
  return [...head, ...fields];
}

/** The line of an item that is left alone, on several where it must be: `? key "Buy milk", in doubt: …`. */
export function untouchedLines({ why, key, id, found }: UntouchedShown, screen: PlanScreen): string[] {
  const paint = why === 'orphaned' ? undefined : screen.style.yellow;
  const isConflict = why === 'conflict';
  const reason = isConflict ? `now holds another item: ${otherText(found, screen)}` : reasonsToLeave[why];
  const head = { sign: signs[why], key, id, idWord: 'id', reason, paint, isSentence: isConflict };
  return headLines(head, screen);
}

function otherText(found: JsonValue | undefined, { width }: PlanScreen): string {
  return found === undefined || found === null ? 'no key' : `key ${cutMiddle(jsonText(found), width - indent - 4)}`;
}

function reasonOf(action: StepShown['action'], why: StepShown['why']): string | undefined {
  if (why === 'drift' && action === 'delete') return 'changed by somebody: deleted all the same';
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
  const called = `${sign} key ${cutMiddle(jsonText(key), width - indent - `${sign} key ,`.length)}`;
  const named = id === undefined ? [] : [`${idWord} ${cutMiddle(idText(id), width - indent - `${idWord} ,`.length)}`];
  const parts: Part[] = [
    { text: called, paint, mark: named.length > 0 || reason !== undefined ? ',' : undefined },
    ...named.map(
      (text): Part => ({ text, paint: style.dim, mark: reason === undefined || isSentence ? undefined : ',' }),
    ),
    ...wordsOf(reason ?? '', { paint }),
  ];
  return flowLines(parts, width, indent);
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
  const cut = cutBoth(before, after, widthMax);
  return looksSame(...cut) ? cutBoth(...exactTextsOf(change), widthMax) : cut;
}

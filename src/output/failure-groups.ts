/** The failures of a run, counted: a million rows may fail, for few reasons. */
import type { Failure } from '../errors.ts';
import { oneLine } from './one-line.ts';
import { countText } from './quantity-text.ts';
import type { Screen } from './view.ts';

/** Failures of one sort, and the first of them. */
export interface FailureGroup {
  readonly count: number;
  /** As in `error.kind`; `other` for what came after there were as many groups as may be. */
  readonly kind: string;
  readonly status?: number | undefined;
  readonly serviceCode?: string | undefined;
  /** The number of the first row, and what was said of it. */
  readonly row: number;
  /** What the first row is known by, where that is not its number. */
  readonly name?: string | undefined;
  readonly message: string;
}

/** Counts failures by kind, HTTP status and the service's own code, in memory that has a bound. */
export interface FailureGroups {
  add(row: number, failure: Failure, name?: string): void;
  /** Many first, then early ones first; `other` is the last. */
  list(): readonly FailureGroup[];
}

/** So many groups are told apart; a service may make up a code for each answer. */
const groupsMax = 50;

/** Characters that are kept of what the service says. */
const limits = { code: 100, message: 1000 } as const;

/** Columns of a line where there is no terminal. */
const lineMax = 160;

/** Makes an empty count. */
export function openFailureGroups(): FailureGroups {
  const groups = new Map<string, { count: number } & FailureGroup>();
  let other: ({ count: number } & FailureGroup) | undefined;
  return {
    add: (row, { kind, message, details: { status, serviceCode } }, name) => {
      const code = serviceCode?.slice(0, limits.code);
      const key = JSON.stringify([kind, status, code]);
      const found = groups.get(key) ?? (groups.size < groupsMax ? undefined : other);
      if (found !== undefined) {
        found.count += 1;
        return;
      }
      const first = { count: 1, row, name, message: message.slice(0, limits.message) };
      if (groups.size < groupsMax) groups.set(key, { ...first, kind, status, serviceCode: code });
      else other = { ...first, kind: 'other' };
    },
    list: () => {
      const sorted = [...groups.values()].sort((one, two) => two.count - one.count || one.row - two.row);
      return [...sorted, ...(other === undefined ? [] : [other])].map((group) => ({ ...group }));
    },
  };
}

/**
 * A line for each group, as `  12 × not-found, HTTP 404 (row 3: there is no item "x")`: printable, of at most the
 * terminal's width, and 160 columns where there is none.
 */
export function failureGroupLines(groups: readonly FailureGroup[], { columns }: Screen): readonly string[] {
  const counts = groups.map(({ count }) => countText(count));
  const countWidth = Math.max(0, ...counts.map(({ length }) => length));
  return groups.map((group, at) =>
    oneLine(`  ${(counts[at] ?? '').padStart(countWidth)} × ${sortOf(group)}`, columns || lineMax),
  );
}

function sortOf({ kind, status, serviceCode, row, name, message }: FailureGroup): string {
  const http = status === undefined ? [] : [`HTTP ${status}`];
  const code = serviceCode === undefined ? [] : [serviceCode];
  return `${[kind, ...http, ...code].join(', ')} (${name === undefined ? `row ${row}` : `"${name}"`}: ${message})`;
}

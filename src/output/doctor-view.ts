/** How what `doctor` found looks. `pretty` brings the libraries of tables, when it is asked for. */
import { objectFrom } from '../json.ts';
import { flowLines, wordsOf } from './plan-flow.ts';
import { printable } from './printable.ts';
import type { Cell } from './table.ts';
import type { Row, Screen, View } from './view.ts';

/** What became of a check. `warning`: it works, and somebody should know; `skipped`: there is nothing to check. */
export type FindingStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** One thing that was looked at. */
export interface Finding {
  /** In kebab-case: `base-url`. */
  readonly check: string;
  readonly status: FindingStatus;
  /** What it is, or what is wrong with it. Never a token or a password. */
  readonly value: string;
  /** Where the value comes from, in the user's words: `LISTCTL_SITE`. */
  readonly source?: string | undefined;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** Findings: as a table with a mark for each, and the hints below it. */
export const doctorView: View<Finding> = {
  pretty: async (findings, screen) => {
    const { drawTable } = await import('./table.ts');
    const columns = [
      { name: '', cell: (finding: Finding) => markOf(finding, screen), isWhole: true },
      { name: 'check', cell: ({ check }: Finding) => ({ text: check }), isWhole: true },
      { name: 'value', cell: ({ value }: Finding) => ({ text: value }) },
      { name: 'source', cell: ({ source = '' }: Finding) => ({ text: source, paint: screen.style.dim }) },
    ];
    return [drawTable(findings, columns, screen), ...hintLines(findings, screen)].join('\n');
  },
  json: (finding) => objectFrom(rowOf(finding)),
  id: ({ check }) => check,
  row: rowOf,
};

const marks = { ok: '✓', warning: '!', failed: '✗', skipped: '-' } as const;

function markOf({ status }: Finding, { style }: Screen): Cell {
  const paint = { ok: style.green, warning: style.yellow, failed: style.red, skipped: style.dim }[status];
  return { text: marks[status], paint };
}

/** What is wrong is there as a whole too: a table cuts it. */
function hintLines(findings: readonly Finding[], screen: Screen): readonly string[] {
  const width = screen.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(screen.columns || 80, 20);
  const lines = findings.flatMap((finding) => {
    const { check, status, value, hint } = finding;
    if (status === 'ok' || status === 'skipped') return [];
    const { text, paint } = markOf(finding, screen);
    const head = { text, paint };
    const told = flowLines([head, ...wordsOf(printable(`${check}: ${value}`))], width, 2);
    const hints = (hint ?? '').split('\n').filter((line) => line !== '');
    return [...told, ...hints.flatMap((line) => flowLines([{ text: '   ' }, ...wordsOf(printable(line))], width, 4))];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function rowOf({ check, status, value, source, hint }: Finding): Row {
  const members = Object.entries({ check, status, value, source, hint });
  return new Map(members.filter((member): member is [string, string] => member[1] !== undefined));
}

/** What a failure says on stderr, to a person or to a script. */
import { exitCodes, type Failure } from '../core/errors.ts';
import { type JsonObject, type JsonValue, withoutUndefined } from '../core/json.ts';
import { countText, oneLine, printable } from '../core/text.ts';
import { jsonText } from './layout.ts';
import type { Screen, Style } from './view.ts';

/** UTF-8 bytes: of the whole text, of both lines of the hint, of the request id. */
const limits = { text: 1000, hint: 600, requestId: 100 } as const;

/**
 * The failure for a person: one line that says what went wrong, with the service's request id, then at most two of
 * what to do. At most 1,000 bytes, final newline included; the message is cut, not what to do. No control
 * character but those of the style.
 */
export function failureText(failure: Failure, style: Style): string {
  const { hint, requestId } = failure.details;
  const prefix = `${style.red('listctl:')} `;
  const request = requestId === undefined ? '' : ` (request ${cutToBytes(printable(requestId), limits.requestId)})`;
  const hintLines = (hint === undefined || hint === '' ? [] : hint.split('\n')).slice(0, 2);
  const hints = hintLines.map((line) => `  ${cutToBytes(printable(line), limits.hint / hintLines.length)}\n`).join('');
  const room = limits.text - Buffer.byteLength(`${prefix}${request}\n${hints}`);
  return `${prefix}${cutToBytes(printable(failure.message), room)}${request}\n${hints}`;
}

/** A value for a script, by what it is: `{"error": …}`, `{"notice": …}`. One line of JSON, newline included. */
export function jsonLine(name: 'error' | 'notice' | 'summary' | 'token' | 'trace', value: JsonValue): string {
  return `${jsonText({ [name]: value })}\n`;
}

/** The failure for a script, as a line; `exit` as for `failureObject`. */
export function failureJson(failure: Failure, exit?: number): string {
  return jsonLine('error', failureObject(failure, exit));
}

/**
 * The failure as an object, with the members that are known.
 *
 * @param exit the status that the process ends with, where the failure alone does not decide it
 */
export function failureObject({ kind, message, details }: Failure, exit: number = exitCodes[kind]): JsonObject {
  const { hint, status, outcome, serviceCode, requestId, idempotencyKey, about = {} } = details;
  const { row, line, column, columnName, byte, key, id, action, reason } = about;
  return withoutUndefined({
    ...{ kind, exit, message, hint },
    ...{ row, line, column, columnName, byte, key, id, action, reason },
    ...{ status, outcome, serviceCode, requestId, idempotencyKey },
  });
}

/** The text in at most so many bytes of UTF-8, ending in `…` where it was cut; never inside a character. */
function cutToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax - Buffer.byteLength('…');
  // 10xxxxxx continues a character (RFC 3629, section 3).
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}…`;
}

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
const groupLimits = { code: 100, message: 1000 } as const;

/** Columns of a line where there is no terminal. */
const lineMax = 160;

/** Makes an empty count. */
export function openFailureGroups(): FailureGroups {
  const groups = new Map<string, { count: number } & FailureGroup>();
  let other: ({ count: number } & FailureGroup) | undefined;
  return {
    add: (row, { kind, message, details: { status, serviceCode } }, name) => {
      const code = serviceCode?.slice(0, groupLimits.code);
      const key = JSON.stringify([kind, status, code]);
      const found = groups.get(key) ?? (groups.size < groupsMax ? undefined : other);
      if (found !== undefined) {
        found.count += 1;
        return;
      }
      const first = { count: 1, row, name, message: message.slice(0, groupLimits.message) };
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

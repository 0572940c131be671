/** Failures on stderr, for people and for scripts. */
import { exitCodes, type Failure } from '../core/errors.ts';
import { type JsonObject, type JsonValue, withoutUndefined } from '../core/json.ts';
import { countText, oneLine, printable } from '../core/text.ts';
import { jsonText } from './layout.ts';
import type { Screen, Style } from './view.ts';

/** The maximum UTF-8 bytes of the whole text, of the hint and of the request id. */
const limits = { text: 1000, hint: 600, requestId: 100 } as const;

/**
 * The failure for a person: a line with the message and the request id, at most two lines of hints, and `last`. It has at
 * most 1,000 bytes, for which the message is truncated, and no control characters except the style.
 */
export function failureText(failure: Failure, style: Style, last = ''): string {
  const { hint, requestId } = failure.details;
  const prefix = `${style.red('listctl:')} `;
  const request = requestId === undefined ? '' : ` (request ${cutToBytes(printable(requestId), limits.requestId)})`;
  const hintLines = (hint === undefined || hint === '' ? [] : hint.split('\n')).slice(0, 2);
  const hints = hintLines.map((line) => `  ${cutToBytes(printable(line), limits.hint / hintLines.length)}\n`).join('');
  const room = limits.text - Buffer.byteLength(`${prefix}${request}\n${hints}${last}`);
  return `${prefix}${cutToBytes(printable(failure.message), room)}${request}\n${hints}${last}`;
}

/** A line of JSON for a script: `{"error": …}`, `{"notice": …}`. */
export function jsonLine(name: 'error' | 'notice' | 'summary' | 'token' | 'trace', value: JsonValue): string {
  return `${jsonText({ [name]: value })}\n`;
}

/** The failure for a script; `exit` as for `failureObject`. */
export function failureJson(failure: Failure, exit?: number): string {
  return jsonLine('error', failureObject(failure, exit));
}

/** @param exit the exit code of the process, if it is not that of the failure */
export function failureObject({ kind, message, details }: Failure, exit: number = exitCodes[kind]): JsonObject {
  const { hint, status, outcome, serviceCode, errors, requestId, clientRequestId, idempotencyKey } = details;
  const { about = {} } = details;
  const { row, line, column, columnName, byte, key, id, action, reason } = about;
  return withoutUndefined({
    ...{ kind, exit, message, hint },
    ...{ row, line, column, columnName, byte, key, id, action, reason },
    ...{ status, outcome, serviceCode, errors: errors?.map((error) => ({ ...error })) },
    ...{ requestId, clientRequestId, idempotencyKey },
  });
}

/** Truncates a text to bytes of UTF-8, but not inside a character. */
function cutToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax - Buffer.byteLength('…');
  // 10xxxxxx continues a character (RFC 3629, section 3).
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}…`;
}

/** Failures with the same kind, status and code; the first one represents them. */
export interface FailureGroup {
  readonly count: number;
  /** As `error.kind`; `other` for failures beyond the maximum number of groups. */
  readonly kind: string;
  readonly status?: number | undefined;
  readonly serviceCode?: string | undefined;
  readonly row: number;
  /** The key of the first step of `apply`. */
  readonly name?: string | undefined;
  readonly message: string;
}

/** Groups failures by kind, HTTP status and the service's own code, in bounded memory. */
export class FailureGroups {
  /** At most 50, since a service may invent a code for each response; `#other` counts the rest. */
  readonly #groups = new Map<string, { count: number } & FailureGroup>();
  #other: ({ count: number } & FailureGroup) | undefined;

  add(row: number, { kind, message, details: { status, serviceCode } }: Failure, name?: string): void {
    const code = serviceCode?.slice(0, 100);
    const key = JSON.stringify([kind, status, code]);
    const isFull = this.#groups.size >= 50;
    const found = this.#groups.get(key) ?? (isFull ? this.#other : undefined);
    if (found !== undefined) {
      found.count += 1;
      return;
    }
    const first = { count: 1, row, name, message: message.slice(0, 1000) };
    if (isFull) this.#other = { ...first, kind: 'other' };
    else this.#groups.set(key, { ...first, kind, status, serviceCode: code });
  }

  /** The groups by size, then by their first row; `other` is the last. */
  list(): readonly FailureGroup[] {
    const sorted = [...this.#groups.values()].sort((one, two) => two.count - one.count || one.row - two.row);
    return [...sorted, ...(this.#other === undefined ? [] : [this.#other])].map((group) => ({ ...group }));
  }
}

/** A line for each group: `  12 × not-found, HTTP 404 (row 3: there is no item "x")`, at least 160 columns wide before it is cut. */
export function failureGroupLines(groups: readonly FailureGroup[], { columns }: Screen): readonly string[] {
  const counts = groups.map(({ count }) => countText(count));
  const countWidth = Math.max(0, ...counts.map(({ length }) => length));
  return groups.map((group, at) =>
    oneLine(`  ${(counts[at] ?? '').padStart(countWidth)} × ${describeGroup(group)}`, Math.max(columns ?? 0, 160)),
  );
}

function describeGroup({ kind, status, serviceCode, row, name, message }: FailureGroup): string {
  const http = status === undefined ? [] : [`HTTP ${status}`];
  const code = serviceCode === undefined ? [] : [serviceCode];
  // The ids of SharePoint's lists and sites would leave no room for the reason.
  const reason = message.replace(/ (in|of) list "[^"]*" of site "[^"]*"/g, '');
  return `${[kind, ...http, ...code].join(', ')} (${name === undefined ? `row ${row}` : `"${name}"`}: ${reason})`;
}

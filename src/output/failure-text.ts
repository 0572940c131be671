/** What a failure says on stderr, to a person or to a script. */
import { exitCodes, type Failure } from '../errors.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../json.ts';
import { jsonText } from './json-text.ts';
import { printable } from './printable.ts';
import type { Style } from './style.ts';

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
  const members: Record<string, JsonValue | undefined> = {
    ...{ kind, exit, message, hint },
    ...{ row, line, column, columnName, byte, key, id, action, reason },
    ...{ status, outcome, serviceCode, requestId, idempotencyKey },
  };
  return objectFrom(Object.entries(members).filter(isKnown));
}

function isKnown(member: [string, JsonValue | undefined]): member is [string, JsonValue] {
  return member[1] !== undefined;
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

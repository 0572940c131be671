import { jsonOf } from '../../api/answers.ts';
import type { Answer } from '../../api/transport.ts';
import type { Output } from '../../host.ts';
import type { JsonValue } from '../../json.ts';
import { printable } from '../../output/printable.ts';
import type { Print } from '../printing.ts';

/**
 * Prints an answer: JSON in the format that was asked for, anything else as the bytes that came.
 *
 * @param head printed before it
 */
export async function showAnswer(answer: Answer, head: string, print: Print<JsonValue>, stdout: Output): Promise<void> {
  if (head !== '') await stdout.write(head);
  if (answer.body.length === 0) return;
  const value = jsonOrNothing(answer);
  if (value !== undefined) return print(value);
  await stdout.write(stdout.isTTY ? safeLines(answer.body) : answer.body);
}

/**
 * The status line and the headers, as curl -i prints them. Node has refused control characters in them.
 *
 * @param hide takes the token out of a text
 */
export function headOf({ status, headers }: Answer, hide: (text: string) => string): string {
  const lines = Object.entries(headers).map(([name, value]) => printable(hide(`${name}: ${value ?? ''}`)));
  return [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\n');
}

function jsonOrNothing(answer: Answer): JsonValue | undefined {
  try {
    return jsonOf(answer);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Text that a stranger sent, line by line, for a terminal that it must not drive. */
function safeLines(body: Uint8Array): string {
  const lines = Buffer.from(body)
    .toString()
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  return `${lines.map(printable).join('\n')}\n`;
}

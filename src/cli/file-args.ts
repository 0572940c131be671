/** Reads the files of the command line: `-` is stdin. */
import { isUtf8 } from 'node:buffer';
import { Failure } from '../core/errors.ts';
import { absolutePath, firstBadByte, readAtMost, tooLarge, unreadable } from '../core/files.ts';
import type { Host, Input } from '../core/host.ts';
import { type JsonValue, parseJson } from '../core/json.ts';

/** @throws {Failure} usage, if it is not UTF-8 or stdin is a terminal; local-file, if it cannot be read */
export async function readTextFile(file: string, host: Host): Promise<string> {
  const bytes = await readBinaryFile(file, host);
  if (isUtf8(bytes)) return bytes.toString();
  throw new Failure('usage', `${nameOf(file)} is not UTF-8: byte ${firstBadByte(bytes)} is invalid`, {
    hint: 'convert it to UTF-8 first; nothing was sent',
  });
}

export async function readJsonFile(file: string, host: Host): Promise<JsonValue> {
  return parse('JSON', parseJson, await readUnmarked(file, host), file);
}

/** Reads JSON or YAML. A file that is named neither, or stdin, is YAML if it does not begin as JSON does. */
export async function readJsonOrYamlFile(file: string, host: Host): Promise<JsonValue> {
  const text = await readUnmarked(file, host);
  const isYaml = /\.ya?ml$/i.test(file) || (!/\.json$/i.test(file) && /^\s*[^\s{["]/.test(text));
  if (!isYaml) return parse('JSON', parseJson, text, file);
  const { parseYaml } = await import('../core/yaml.ts');
  return parse('YAML', parseYaml, text, file);
}

async function readUnmarked(file: string, host: Host): Promise<string> {
  return (await readTextFile(file, host)).replace(/^\uFEFF/, '');
}

function parse(format: string, parseText: (text: string) => JsonValue, text: string, file: string): JsonValue {
  try {
    return parseText(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `${nameOf(file)} is not ${format}: ${error.message}`, {
      hint: 'nothing was sent',
      cause: error,
    });
  }
}

/** Larger than any item or request, and small enough for memory. */
const bytesMax = 64 * 1024 * 1024;

export async function readBinaryFile(file: string, host: Host): Promise<Buffer> {
  if (file === '-') return readStdin(host);
  try {
    return readAtMost(absolutePath(file, host), bytesMax);
  } catch (error) {
    throw unreadable(file, error);
  }
}

const taken = new WeakSet<Input>();

/** Claims stdin; throws if something else has read it, since a second reader would get an empty input. */
export function takeStdin({ stdin }: Host): void {
  if (taken.has(stdin)) {
    throw new Failure('usage', 'standard input can only be read once', {
      hint: 'put one of the values in a file',
    });
  }
  taken.add(stdin);
}

async function readStdin(host: Host): Promise<Buffer> {
  takeStdin(host);
  const { stdin } = host;
  if (stdin.isTTY) {
    throw new Failure('usage', 'standard input is a terminal', { hint: 'pipe the data in, or pass a file name' });
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdin.stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw unreadable(nameOf('-'), tooLarge(bytesMax));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

/** A state on disk: read whole and checked, replaced whole, one version at a time (reliability, C7). */
import { isUtf8 } from 'node:buffer';
import { closeSync, readSync } from 'node:fs';
import { errnoCode, errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';
import { readDescriptor } from '../files.ts';
import { fileIo, replaceFile } from '../replace-file.ts';
import { placeText } from './json-members.ts';
import { JsonFault } from './json-parts.ts';
import type { State } from './state.ts';
import { parseState, printState } from './state-json.ts';

/**
 * Reads a state.
 *
 * @returns undefined where there is no file
 * @throws {Failure} local-file, when it can't be read, is damaged, was written by a newer listctl, or is older than the
 *   version that was kept beside it. It is left as it is
 */
export function readState(path: string): State | undefined {
  const bytes = bytesOf(path);
  if (bytes === undefined) return undefined;
  const state = stateFrom(bytes, path);
  const kept = headOf(backupOf(path));
  if (kept === undefined || kept.lineage !== state.lineage || kept.serial <= state.serial) return state;
  throw new Failure(
    'local-file',
    `${path} is older than what was written here: its serial is ${state.serial}, that of ${backupOf(path)} is ${kept.serial}`,
    {
      hint: `nothing was sent: what was created since would be created again; put the newest version there,\nor remove ${backupOf(path)} where you know that this one is right`,
    },
  );
}

/**
 * Writes the next version of a state; the last one that no run was at work on stays beside it, as `.bak`. The caller
 * holds the state's lock.
 *
 * @returns the state as it stands there now, its serial one higher
 * @throws {Failure} local-file, when it can't be written, or what is there is not the version that this one follows;
 *   what was there still is then
 */
export function writeState(path: string, state: State): State {
  const before = headOf(path) ?? headOfWhole(path);
  if (before?.lineage !== (state.serial === 0 ? undefined : state.lineage) || (before?.serial ?? 0) !== state.serial) {
    throw new Failure('local-file', `${path} is not what it was when it was read: somebody changed it since`, {
      hint: 'it was left as it is; run it again',
    });
  }
  if (before !== undefined && !before.hasRun) keepBackup(path);
  const next = { ...state, serial: state.serial + 1 };
  replaceFile(path, inPieces(printState(next)));
  return next;
}

/** The lineage and serial of the state that is there, without checking the rest; undefined where none is. */
export function versionAt(path: string): string | undefined {
  const head = headOf(path);
  return head === undefined ? undefined : `${head.lineage} ${head.serial}`;
}

/** The version before. */
export function backupOf(path: string): string {
  return `${path}.bak`;
}

function keepBackup(path: string): void {
  const bytes = bytesOf(path);
  if (bytes !== undefined) replaceFile(backupOf(path), [bytes]);
}

/** Many times what the items of a list take; a longer text is none that could be parsed. */
const stateBytesMax = 268_435_456;

function bytesOf(path: string): Buffer | undefined {
  try {
    const descriptor = fileIo.open(path, 'r');
    try {
      return readDescriptor(descriptor, stateBytesMax);
    } finally {
      fileIo.close(descriptor);
    }
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw new Failure('local-file', `cannot read ${path}: ${errnoReason(error)}`, {
      hint: 'it says which items of the list are the seed’s: nothing was sent without it',
      cause: error,
    });
  }
}

function stateFrom(bytes: Buffer, path: string): State {
  if (bytes.length === 0) throw damaged(path, 'it is empty');
  if (!isUtf8(bytes)) throw damaged(path, 'it is not UTF-8');
  const text = bytes.toString();
  try {
    return parseState(text, path);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw damaged(path, `${placeText(text, error.at)}: ${error.message}`);
  }
}

function damaged(path: string, reason: string): Failure {
  const kept = headOf(backupOf(path));
  const hint = kept === undefined ? 'a copy of it' : `${backupOf(path)}, the version before (serial ${kept.serial}),`;
  return new Failure('local-file', `${path} is damaged: ${reason}`, {
    hint: `nothing was sent, and it was left as it is; ${hint} may be put in its place:\nwhat was created since would then be created again, so look first`,
  });
}

/** As `headOf`, of a state that somebody sorted anew. */
function headOfWhole(path: string): Head | undefined {
  const bytes = bytesOf(path);
  if (bytes === undefined) return undefined;
  const { lineage, serial, run } = stateFrom(bytes, path);
  return { lineage, serial, hasRun: run !== undefined };
}

/** What tells one version from another. */
interface Head {
  readonly lineage: string;
  readonly serial: number;
  readonly hasRun: boolean;
}

const headBytes = 1024;

/** The head of a state, without reading the rest; undefined where there is no file, or none of ours. */
function headOf(path: string): Head | undefined {
  const start = startOf(path);
  const [, lineage, serial, run] =
    /^\s*\{\s*"version"\s*:\s*1\s*,\s*"lineage"\s*:\s*"([0-9a-f]{32})"\s*,\s*"serial"\s*:\s*([1-9][0-9]{0,14})\s*,\s*("run"\s*:)?/.exec(
      start ?? '',
    ) ?? [];
  return lineage === undefined ? undefined : { lineage, serial: Number(serial), hasRun: run !== undefined };
}

function startOf(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = fileIo.open(path, 'r');
    const bytes = Buffer.alloc(headBytes);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, headBytes, 0));
  } catch {
    // It is not there; or whoever reads all of it will say what is wrong.
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Together what is written at once: each piece is a system call. */
function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < 65_536) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

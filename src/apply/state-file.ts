/** A state on disk: read whole and checked, replaced whole, one version at a time (docs/faults.md, P17). */
import { isUtf8 } from 'node:buffer';
import { closeSync, readSync } from 'node:fs';
import { errnoCode, errnoReason, Failure } from '../core/errors.ts';
import { readDescriptor } from '../core/files.ts';
import { printJson, withoutUndefined } from '../core/json.ts';
import {
  type Extent,
  eachMember,
  JsonFault,
  JsonMembers,
  placeText,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import { fileIo, replaceFile } from '../core/write-file.ts';
import { doubtObject, readDoubt, readSteps, stepObject } from './plan-file.ts';
import { type Retired, type State, type StateItem, stateVersion } from './state.ts';

/**
 * Reads a state. Its items are read one by one: there may be a hundred thousand.
 *
 * @param path for messages
 * @throws {JsonFault} when it is not as this listctl writes it
 * @throws {Failure} local-file, when it was written by a newer one
 */
export function parseState(text: string, path: string): State {
  const start = skipBlanks(text, 0);
  refuseNewer(text, start, path);
  const names = ['version', 'lineage', 'serial', 'run', 'origin', 'site', 'list', 'key', 'items', 'retired', 'steps'];
  const read = new JsonMembers(text, start, names);
  refuseRest(text, read.end);
  if (read.count('version') !== stateVersion) throw new JsonFault(`version is not ${stateVersion}`, start);
  const lineage = read.text('lineage');
  if (!/^[0-9a-f]{32}$/.test(lineage)) throw new JsonFault('lineage is not 32 hex digits', start);
  const serial = read.count('serial');
  if (serial === 0) throw new JsonFault('serial is 0', start);
  const place = { origin: read.text('origin'), site: read.id('site', 'site'), list: read.id('list', 'list') };
  const items = readItems(text, read.extent('items'));
  const state = { lineage, serial, ...place, key: read.text('key'), items };
  const known = read.has('retired') ? { ...state, retired: readRetired(text, read.extent('retired'), items) } : state;
  const run = read.maybeText('run');
  if ((run === undefined) === read.has('steps')) throw new JsonFault('run and steps must appear together', start);
  return run === undefined ? known : { ...known, run: { id: run, steps: readSteps(text, read.extent('steps')) } };
}

/** A newer layout may have any shape, but for its version. */
function refuseNewer(text: string, start: number, path: string): void {
  let version = Number.NaN;
  eachMember(text, start, (name, value) => {
    if (name === 'version') version = Number(text.slice(value.start, value.end));
  });
  if (!(version > stateVersion)) return;
  throw new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
    hint: 'update listctl; nothing was sent and the file is unchanged',
  });
}

function readItems(text: string, { start }: Extent): ReadonlyMap<string, StateItem> {
  const items = new Map<string, StateItem>();
  const ids = new Set<string>();
  eachMember(text, start, (key, extent) => {
    if (key === '') throw new JsonFault('a key is empty', extent.start);
    const item = readItem(text, extent);
    // One that two keys own would be set to and fro, or deleted for one of them.
    if (item.id !== undefined && ids.has(item.id)) throw new JsonFault('two keys have the same id', extent.start);
    if (item.id !== undefined) ids.add(item.id);
    items.set(key, item);
  });
  return items;
}

function readItem(text: string, { start }: Extent): StateItem {
  const read = new JsonMembers(text, start, ['id', 'fields', 'etag', 'inDoubt']);
  const fields = read.fields('fields');
  if (read.has('inDoubt')) {
    if (read.has('id') || read.has('etag')) throw new JsonFault('an item in doubt cannot have an id or etag', start);
    return { fields, inDoubt: readDoubt(text, read.extent('inDoubt')) };
  }
  const etag = read.maybeHeader('etag');
  return { id: read.id('id', 'item'), fields, ...(etag === undefined ? {} : { etag }) };
}

function readRetired(text: string, { start }: Extent, items: State['items']): State['retired'] {
  const retired = new Map<string, Retired>();
  eachMember(text, start, (key, extent) => {
    if (items.has(key)) throw new JsonFault('a key cannot be both in use and retired', extent.start);
    const read = new JsonMembers(text, extent.start, ['follows', 'at']);
    retired.set(key, { follows: read.text('follows'), at: read.count('at') });
  });
  return retired;
}

/** A state as text, in pieces: a line for each item and each step, so that two versions can be compared by line. */
export function* printState({ retired, ...state }: State): Generator<string> {
  const { lineage, serial, run, origin, site, list, key, items } = state;
  const head = { version: stateVersion, lineage, serial, run: run?.id, origin, site, list, key };
  yield `${printJson(withoutUndefined(head)).slice(0, -1)},"items":{`;
  let divider = '\n';
  for (const [name, item] of items) {
    yield `${divider}${JSON.stringify(name)}:${printJson(itemObject(item))}`;
    divider = ',\n';
  }
  yield '\n}';
  if (retired !== undefined) {
    yield ',"retired":{';
    divider = '\n';
    for (const [name, { follows, at }] of retired) {
      yield `${divider}${JSON.stringify(name)}:${printJson({ follows, at })}`;
      divider = ',\n';
    }
    yield '\n}';
  }
  if (run !== undefined) {
    yield ',"steps":[';
    divider = '\n';
    for (const step of run.steps) {
      yield `${divider}${printJson(stepObject(step))}`;
      divider = ',\n';
    }
    yield '\n]';
  }
  yield '}\n';
}

function itemObject({ id, fields, inDoubt, ...more }: StateItem) {
  const etag = 'etag' in more ? more.etag : undefined;
  return withoutUndefined({ id, inDoubt: inDoubt && doubtObject(inDoubt), fields, etag });
}

/**
 * Reads a state.
 *
 * @returns undefined where there is no file
 * @throws {Failure} local-file, when it cannot be read, is damaged, was written by a newer listctl, or is older than the
 *   version that was kept beside it. It is left as it is
 */
export function readState(path: string): State | undefined {
  const bytes = bytesOf(path);
  if (bytes === undefined) return undefined;
  const state = stateFrom(bytes, path);
  const kept = headOf(backupPath(path));
  if (kept === undefined || kept.lineage !== state.lineage || kept.serial <= state.serial) return state;
  throw new Failure(
    'local-file',
    `${path} is outdated: its serial is ${state.serial}, but ${backupPath(path)} has ${kept.serial}`,
    {
      hint: `restore the newest version, or remove ${backupPath(path)} if this one is right; nothing was sent\nitems created since would be created again`,
    },
  );
}

/**
 * Writes the next version of a state; the last one that no run was at work on stays beside it, as `.bak`. The caller
 * holds the state's lock.
 *
 * @returns the state as it stands there now, its serial one higher
 * @throws {Failure} local-file, when it cannot be written, or what is there is not the version that this one follows;
 *   what was there still is then
 */
export function writeState(path: string, state: State): State {
  const before = headOf(path) ?? headOfWhole(path);
  if (before?.lineage !== (state.serial === 0 ? undefined : state.lineage) || (before?.serial ?? 0) !== state.serial) {
    throw new Failure('local-file', `${path} changed since it was read`, {
      hint: 'run the command again; the file is unchanged',
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
export function backupPath(path: string): string {
  return `${path}.bak`;
}

function keepBackup(path: string): void {
  const bytes = bytesOf(path);
  if (bytes !== undefined) replaceFile(backupPath(path), [bytes]);
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
      hint: 'make the state file readable: it records which items are managed; nothing was sent',
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
  const kept = headOf(backupPath(path));
  const source = kept === undefined ? 'a copy' : `${backupPath(path)}, its previous version (serial ${kept.serial})`;
  return new Failure('local-file', `${path} is damaged: ${reason}`, {
    hint: `restore it from ${source}; nothing was sent and the file is unchanged\nitems created since would be created again, so check the list first`,
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

/** The state on disk: read and checked as a whole, replaced as a whole (docs/faults.md, P17). */
import { isUtf8 } from 'node:buffer';
import { closeSync, readSync } from 'node:fs';
import { batched } from '../bulk/outputs.ts';
import { errnoCode, errnoReason, Failure } from '../core/errors.ts';
import { readDescriptor } from '../core/files.ts';
import { printJson, withoutUndefined } from '../core/json.ts';
import {
  type Extent,
  eachMember,
  formatPosition,
  JsonFault,
  JsonMembers,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import { fileIo, replaceFile } from '../core/write-file.ts';
import { doubtObject, printLines, readDoubt, readSteps, stepObject } from './plan-file.ts';
import { type State, type StateItem, stateVersion } from './state.ts';

/** @throws {JsonFault} if it is not as this listctl writes it */
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

/** Checks the version first, since a newer layout may have any other members. */
function refuseNewer(text: string, start: number, path: string): void {
  let version = Number.NaN;
  eachMember(text, start, (name, value) => {
    if (name === 'version') version = Number(text.slice(value.start, value.end));
  });
  if (!(version > stateVersion)) return;
  throw new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
    hint: 'update listctl; the file is unchanged',
  });
}

/** Reads the items one by one, since there may be a hundred thousand. */
function readItems(text: string, { start }: Extent): ReadonlyMap<string, StateItem> {
  const items = new Map<string, StateItem>();
  const ids = new Set<string>();
  eachMember(text, start, (key, extent) => {
    if (key === '') throw new JsonFault('a key is empty', extent.start);
    const item = readItem(text, extent);
    // Two keys would overwrite the item in turn, or delete it for one of them.
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
  const retired = new Map<string, { readonly follows: string; readonly at: number }>();
  eachMember(text, start, (key, extent) => {
    if (items.has(key)) throw new JsonFault('a key cannot be both in use and retired', extent.start);
    const read = new JsonMembers(text, extent.start, ['follows', 'at']);
    retired.set(key, { follows: read.text('follows'), at: read.count('at') });
  });
  return retired;
}

/** Prints a state in pieces, a line for each item and each step, so that versions can be compared by line. */
export function* printState({ lineage, serial, run, origin, site, list, key, items, retired }: State) {
  const head = { version: stateVersion, lineage, serial, run: run?.id, origin, site, list, key };
  yield `${printJson(withoutUndefined(head)).slice(0, -1)},"items":{`;
  yield* printLines(items, ([name, item]) => `${JSON.stringify(name)}:${printJson(itemObject(item))}`);
  yield '\n}';
  if (retired !== undefined) {
    yield ',"retired":{';
    yield* printLines(retired, ([name, { follows, at }]) => `${JSON.stringify(name)}:${printJson({ follows, at })}`);
    yield '\n}';
  }
  if (run !== undefined) {
    yield ',"steps":[';
    yield* printLines(run.steps, (step) => printJson(stepObject(step)));
    yield '\n]';
  }
  yield '}\n';
}

function itemObject({ id, fields, inDoubt, ...more }: StateItem) {
  const etag = 'etag' in more ? more.etag : undefined;
  return withoutUndefined({ id, inDoubt: inDoubt && doubtObject(inDoubt), fields, etag });
}

/** @throws {Failure} local-file, if it is unreadable, damaged, of a newer listctl, or older than its backup */
export function readState(path: string): State | undefined {
  const bytes = readFile(path);
  if (bytes === undefined) return undefined;
  const state = checkBytes(bytes, path);
  const backup = readHead(backupPath(path));
  if (backup === undefined || backup.lineage !== state.lineage || backup.serial <= state.serial) return state;
  throw new Failure(
    'local-file',
    `${path} is outdated: its serial is ${state.serial}, but ${backupPath(path)} has ${backup.serial}`,
    {
      hint: `restore the newest version, or remove ${backupPath(path)} if this one is right\nitems created since would be created again`,
    },
  );
}

/**
 * Writes the next version of a state, and keeps the last version without a run as a backup. The caller holds the lock.
 *
 * @returns the state with its new serial
 * @throws {Failure} local-file, if it cannot be written, or the file is not the version before; the file is unchanged
 */
export function writeState(path: string, state: State): State {
  const before = readHead(path) ?? parseHead(path);
  if (before?.lineage !== (state.serial === 0 ? undefined : state.lineage) || (before?.serial ?? 0) !== state.serial) {
    throw new Failure('local-file', `${path} changed since it was read`, {
      hint: 'run the command again; the file is unchanged',
    });
  }
  const bytes = before === undefined || before.hasRun ? undefined : readFile(path);
  if (bytes !== undefined) replaceFile(backupPath(path), [bytes]);
  const next = { ...state, serial: state.serial + 1 };
  replaceFile(path, batched(printState(next)));
  return next;
}

/** Identifies the version of the file without checking it; undefined if the file is missing. */
export function versionAt(path: string): string | undefined {
  const head = readHead(path);
  return head === undefined ? undefined : `${head.lineage} ${head.serial}`;
}

export function backupPath(path: string): string {
  return `${path}.bak`;
}

/** Far more than a list takes; a longer text could not be parsed. */
const stateBytesMax = 268_435_456;

function readFile(path: string): Buffer | undefined {
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
      hint: 'make the state file readable: it records which items are managed',
      cause: error,
    });
  }
}

function checkBytes(bytes: Buffer, path: string): State {
  if (bytes.length === 0) throw damaged(path, 'it is empty');
  if (!isUtf8(bytes)) throw damaged(path, 'it is not UTF-8');
  const text = bytes.toString();
  try {
    return parseState(text, path);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw damaged(path, `${formatPosition(text, error.at)}: ${error.message}`);
  }
}

function damaged(path: string, reason: string): Failure {
  const backup = readHead(backupPath(path));
  const source =
    backup === undefined ? 'a copy' : `${backupPath(path)}, its previous version (serial ${backup.serial})`;
  return new Failure('local-file', `${path} is damaged: ${reason}`, {
    hint: `restore it from ${source}; the file is unchanged\nitems created since would be created again, so check the list first`,
  });
}

/** Reads the head of a state that others may have formatted in another way. */
function parseHead(path: string): ReturnType<typeof readHead> {
  const bytes = readFile(path);
  if (bytes === undefined) return undefined;
  const { lineage, serial, run } = checkBytes(bytes, path);
  return { lineage, serial, hasRun: run !== undefined };
}

/** Reads the head of a state without the rest; undefined if the file is missing or not as listctl writes it. */
function readHead(
  path: string,
): { readonly lineage: string; readonly serial: number; readonly hasRun: boolean } | undefined {
  const [, lineage, serial, run] =
    /^\s*\{\s*"version"\s*:\s*1\s*,\s*"lineage"\s*:\s*"([0-9a-f]{32})"\s*,\s*"serial"\s*:\s*([1-9][0-9]{0,14})\s*,\s*("run"\s*:)?/.exec(
      readStart(path),
    ) ?? [];
  return lineage === undefined ? undefined : { lineage, serial: Number(serial), hasRun: run !== undefined };
}

function readStart(path: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = fileIo.open(path, 'r');
    const bytes = Buffer.alloc(1024);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } catch {
    // Reading the whole file reports the error.
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

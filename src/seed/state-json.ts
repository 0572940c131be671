/** What stands in the file of a state, read and checked, and written. */
import { Failure } from '../errors.ts';
import { printJson } from '../json.ts';
import { JsonMembers } from './json-members.ts';
import { type Extent, eachMember, JsonFault, refuseRest, skipBlanks } from './json-parts.ts';
import { type Retired, type State, type StateItem, stateVersion } from './state.ts';
import { doubtObject, readDoubt, readSteps, stepObject, withoutUndefined } from './step-json.ts';

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
  if (!/^[0-9a-f]{32}$/.test(lineage)) throw new JsonFault('lineage has not 32 hex digits', start);
  const serial = read.count('serial');
  if (serial === 0) throw new JsonFault('serial is 0', start);
  const place = { origin: read.text('origin'), site: read.id('site', 'site'), list: read.id('list', 'list') };
  const items = readItems(text, read.extent('items'));
  const state = { lineage, serial, ...place, key: read.text('key'), items };
  const known = read.has('retired') ? { ...state, retired: readRetired(text, read.extent('retired'), items) } : state;
  const run = read.maybeText('run');
  if ((run === undefined) === read.has('steps')) throw new JsonFault('a run goes with its steps', start);
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
    hint: 'update listctl; nothing was sent, and the file was left as it is',
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
    if (read.has('id') || read.has('etag')) throw new JsonFault('an item in doubt has no id', start);
    return { fields, inDoubt: readDoubt(text, read.extent('inDoubt')) };
  }
  const etag = read.maybeHeader('etag');
  return { id: read.id('id', 'item'), fields, ...(etag === undefined ? {} : { etag }) };
}

function readRetired(text: string, { start }: Extent, items: State['items']): State['retired'] {
  const retired = new Map<string, Retired>();
  eachMember(text, start, (key, extent) => {
    if (items.has(key)) throw new JsonFault('a key that has an item is no retired one', extent.start);
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

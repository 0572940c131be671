/** Plans as JSON, for `apply -o json` and `--out`. docs/apply.md documents the format. */
import { Failure } from '../core/errors.ts';
import { isSameField, isSameValue } from '../core/item.ts';
import { type JsonObject, printJson, withoutUndefined } from '../core/json.ts';
import {
  type Extent,
  eachElement,
  formatPosition,
  JsonFault,
  JsonMembers,
  parsePart,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import { listNames } from '../core/text.ts';
import { jsonText } from '../output/layout.ts';
import type { Conflict, Duplicate, Plan, PlanCounts } from './plan.ts';
import {
  type CreateInDoubt,
  type CreateStep,
  type State,
  type Step,
  shorten,
  type Target,
  targetText,
} from './state.ts';

/** In version 1 the manifest was named `seed`. */
const planVersion = 2;

/** A plan, and what it was made from. */
export interface PlanFile extends Omit<Plan, 'learned'> {
  readonly target: Target;
  readonly state: Pick<State, 'lineage' | 'serial'>;
  readonly key: string;
  /** The name as typed, and the SHA-256 of the content in hex. */
  readonly manifest: { readonly file: string; readonly sha256: string };
  readonly prune: boolean;
  /** False for --no-refresh. */
  readonly refresh: boolean;
  /** The only keys that are planned; undefined for all. */
  readonly targets?: readonly string[] | undefined;
}

export function looksLikePlan(start: string): boolean {
  return /^\ufeff?\s*\{\s*"listctl"\s*:\s*"plan"/.test(start);
}

/** Prints a plan, a line for each step. */
export function* printPlan(plan: PlanFile): Generator<string> {
  const { target, state, key, manifest, prune, refresh, targets } = plan;
  const { counts, steps, conflicts, inDoubt, orphaned, imported, duplicates } = plan;
  const { origin, site, list } = target;
  const { lineage, serial } = state;
  const { file, sha256 } = manifest;
  const head = withoutUndefined({
    ...{ listctl: 'plan', version: planVersion, target: { origin, site, list }, state: { lineage, serial }, key },
    ...{ manifest: { file, sha256 }, prune, refresh, targets, counts: { ...counts } },
    conflicts: conflicts.map(({ key, id, action, found = null }) => ({ key, id, action, found })),
    ...{ inDoubt, orphaned, imported },
    duplicates: duplicates?.map(({ key, ids }) => ({ key, ids })),
  });
  yield `${printJson(head).slice(0, -1)},"steps":[`;
  yield* printLines(steps, (step) => printJson(stepObject(step)));
  yield steps.length === 0 ? ']}\n' : '\n]}\n';
}

/** Prints values with commas between them, each on a separate line. */
export function* printLines<T>(values: Iterable<T>, print: (value: T) => string): Generator<string> {
  let divider = '\n';
  for (const value of values) {
    yield divider + print(value);
    divider = ',\n';
  }
}

export function stepObject(step: Step): JsonObject {
  const { number, action, key, id, etag, why, drift, fields, before, after, inDoubt } = step;
  const doubt = inDoubt === undefined ? undefined : doubtObject(inDoubt);
  return withoutUndefined({ number, action, key, id, etag, why, drift, fields, before, after, inDoubt: doubt });
}

export function doubtObject({ idempotencyKey, hash, sentAt, serviceAt }: CreateInDoubt): JsonObject {
  return withoutUndefined({ idempotencyKey, hash, sentAt, serviceAt });
}

const countNames = [
  ...(['create', 'update', 'delete', 'unchanged', 'inDoubt'] as const),
  ...(['conflict', 'orphaned', 'drifted', 'gone', 'forgotten'] as const),
] as const satisfies readonly (keyof PlanCounts)[];

const memberNames = [
  ...['listctl', 'version', 'target', 'state', 'key', 'manifest', 'prune', 'refresh', 'targets'],
  ...['counts', 'conflicts', 'inDoubt', 'orphaned', 'imported', 'duplicates', 'steps'],
];

/** @throws {Failure} local-file, if it is damaged or was written by a newer listctl */
export function readPlan(text: string, path: string): PlanFile {
  try {
    return parsePlan(text, path);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new Failure(
      'local-file',
      `${path} is not a valid plan: ${formatPosition(text, error.at)}: ${error.message}`,
      {
        hint: 'create a new plan: listctl plan MANIFEST --out FILE',
      },
    );
  }
}

function parsePlan(text: string, path: string): PlanFile {
  const start = skipBlanks(text, 0);
  const version = /^\{\s*"listctl"\s*:\s*"plan"\s*,\s*"version"\s*:\s*([0-9]{1,9})\b/.exec(
    text.slice(start, start + 200),
  )?.[1];
  if (Number(version) > planVersion) {
    throw new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
      hint: 'update listctl',
    });
  }
  if (version === '1') {
    throw new Failure('usage', `${path} was written by an older listctl`, {
      hint: 'create a new plan: listctl plan MANIFEST --out FILE',
    });
  }
  const read = new JsonMembers(text, start, memberNames);
  refuseRest(text, read.end);
  read.word('listctl', ['plan']);
  if (read.count('version') !== planVersion) throw new JsonFault(`version is not ${planVersion}`, start);
  const object = (name: string, names: readonly string[]) => new JsonMembers(text, read.extent(name).start, names);
  const target = object('target', ['origin', 'site', 'list']);
  const state = object('state', ['lineage', 'serial']);
  const manifest = object('manifest', ['file', 'sha256']);
  const plan = {
    target: { origin: target.text('origin'), site: target.id('site', 'site'), list: target.id('list', 'list') },
    state: { lineage: state.text('lineage'), serial: state.count('serial') },
    key: read.text('key'),
    manifest: { file: manifest.text('file'), sha256: manifest.text('sha256') },
    prune: read.flag('prune'),
    refresh: read.flag('refresh'),
    ...(read.has('targets') && { targets: readKeys(text, read.extent('targets')) }),
    steps: readSteps(text, read.extent('steps')),
    conflicts: readConflicts(text, read.extent('conflicts')),
    inDoubt: readKeys(text, read.extent('inDoubt')),
    orphaned: readKeys(text, read.extent('orphaned')),
    ...(read.has('imported') && { imported: readKeys(text, read.extent('imported')) }),
    ...(read.has('duplicates') && { duplicates: readDuplicates(text, read.extent('duplicates')) }),
  };
  return { ...plan, counts: readCounts(text, read.extent('counts'), plan.steps) };
}

/** @throws {JsonFault} also for a gap in their numbers, and a key that is used twice */
export function readSteps(text: string, { start }: Extent): readonly Step[] {
  const steps: Step[] = [];
  const keys = new Set<string>();
  eachElement(text, start, (extent) => {
    const step = readStep(text, extent);
    if (step.number !== steps.length + 1) throw new JsonFault(`expected step ${steps.length + 1}`, extent.start);
    if (keys.has(step.key)) throw new JsonFault('the key is already used by another step', extent.start);
    keys.add(step.key);
    steps.push(step);
  });
  return steps;
}

const createMembers = ['number', 'action', 'key', 'fields', 'after', 'why', 'inDoubt'];
const itemMembers = ['number', 'action', 'key', 'id', 'etag', 'fields', 'before', 'after', 'drift'];
const stepMembers = [...new Set([...createMembers, ...itemMembers])];

function readStep(text: string, { start }: Extent): Step {
  const read = new JsonMembers(text, start, stepMembers);
  const action = read.word('action', ['create', 'update', 'delete']);
  const known = action === 'create' ? createMembers : itemMembers;
  for (const name of stepMembers) {
    if (read.has(name) && !known.includes(name)) throw new JsonFault(`a ${action} has no ${name}`, start);
  }
  const [number, key] = [read.count('number'), read.text('key')];
  const step = { number, key, fields: read.fields('fields'), after: read.fields('after') };
  if (action === 'create') return { ...step, action, ...readReason(read, text, start) };
  const [id, etag, before] = [read.id('id', 'item'), read.maybeHeader('etag'), read.fields('before')];
  const drift = read.has('drift') && read.flag('drift');
  const isEmpty = Object.keys(step.fields).length === 0;
  if (isEmpty !== (action === 'delete')) throw new JsonFault(`the fields do not fit a ${action}`, start);
  const more = { ...(etag !== undefined && { etag }), ...(drift && { drift }) };
  return { ...step, action, id, before, ...more };
}

function readReason(read: JsonMembers, text: string, start: number): Pick<CreateStep, 'why' | 'inDoubt'> {
  const why = read.has('why') ? read.word('why', ['gone', 'in-doubt']) : undefined;
  const inDoubt = read.has('inDoubt') ? readDoubt(text, read.extent('inDoubt')) : undefined;
  if ((why === 'in-doubt') !== (inDoubt !== undefined)) {
    throw new JsonFault('inDoubt requires "why": "in-doubt"', start);
  }
  return { ...(why && { why }), ...(inDoubt && { inDoubt }) };
}

/** @throws {JsonFault} */
export function readDoubt(text: string, { start }: Extent): CreateInDoubt {
  const read = new JsonMembers(text, start, ['idempotencyKey', 'hash', 'sentAt', 'serviceAt']);
  const hash = read.text('hash');
  if (!/^[0-9a-f]{16}$/.test(hash)) throw new JsonFault('hash is not 16 hex digits', start);
  const serviceAt = read.has('serviceAt') ? { serviceAt: read.count('serviceAt') } : {};
  const idempotencyKey = read.value('idempotencyKey') === null ? null : (read.maybeHeader('idempotencyKey') ?? null);
  return { idempotencyKey, hash, sentAt: read.count('sentAt'), ...serviceAt };
}

function readKeys(text: string, { start }: Extent): readonly string[] {
  const keys: string[] = [];
  eachElement(text, start, (extent) => {
    const key = parsePart(text, extent);
    if (typeof key !== 'string') throw new JsonFault('a key is not a string', extent.start);
    keys.push(key);
  });
  return keys;
}

function readConflicts(text: string, { start }: Extent): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  eachElement(text, start, (extent) => {
    const read = new JsonMembers(text, extent.start, ['key', 'id', 'action', 'found']);
    const action = read.word('action', ['create', 'update', 'delete']);
    conflicts.push({ key: read.text('key'), id: read.id('id', 'item'), action, found: read.value('found') });
  });
  return conflicts;
}

function readDuplicates(text: string, { start }: Extent): readonly Duplicate[] {
  const duplicates: Duplicate[] = [];
  eachElement(text, start, (extent) => {
    const read = new JsonMembers(text, extent.start, ['key', 'ids']);
    duplicates.push({ key: read.text('key'), ids: readKeys(text, read.extent('ids')) });
  });
  return duplicates;
}

/** Reads the counts; those that the confirmation prompt shows must match the steps. */
function readCounts(text: string, { start }: Extent, steps: readonly Step[]): PlanCounts {
  const read = new JsonMembers(text, start, countNames);
  const counts = Object.fromEntries(countNames.map((name) => [name, read.count(name)])) as unknown as PlanCounts;
  for (const action of ['create', 'update', 'delete'] as const) {
    const count = steps.filter((step) => step.action === action).length;
    if (count !== counts[action]) throw new JsonFault(`counts do not match the number of ${action}s`, start);
  }
  return counts;
}

/**
 * Refuses a saved plan that would be different now: it is executed exactly, or not at all.
 *
 * @throws {Failure} usage, for another state or list; conflict, for a newer state or different steps
 */
export function checkPlanIsCurrent(
  plan: PlanFile,
  state: State,
  replanned: Pick<PlanFile, 'manifest' | 'key' | 'steps' | 'conflicts'>,
): void {
  const { origin, site, list } = plan.target;
  if (origin !== state.origin || site !== state.site || list !== state.list) {
    throw new Failure('usage', `the plan is for ${targetText(plan.target)}, not for ${targetText(state)}`);
  }
  if (plan.state.lineage !== state.lineage) {
    throw new Failure('usage', 'the plan was made from a different state file');
  }
  const { serial } = plan.state;
  if (serial !== state.serial || state.run !== undefined) {
    throw stale(`the state is at version ${state.serial}, the plan was made at version ${serial}`);
  }
  if (plan.manifest.sha256 !== replanned.manifest.sha256 || plan.key !== replanned.key) {
    throw stale('the manifest changed');
  }
  const changes = findChanges(plan.steps, replanned, state);
  if (changes.length > 0) throw stale(listNames(changes, 1));
  if (plan.steps.some(({ key }, at) => key !== replanned.steps[at]?.key)) throw stale('its steps would be reordered');
}

/** Compares steps by key: one more or one less moves the number of every later step. */
function findChanges(
  steps: PlanFile['steps'],
  { steps: replanned, conflicts }: Pick<PlanFile, 'steps' | 'conflicts'>,
  { items }: State,
): readonly string[] {
  const [before, now] = [steps, replanned].map((each) => new Map(each.map((step) => [step.key, step])));
  const changes: string[] = [];
  for (const key of new Set([...replanned, ...steps].map((step) => step.key))) {
    const [then, current] = [before?.get(key), now?.get(key)];
    if (then !== undefined && current !== undefined && isSameStep(then, current)) continue;
    const id = items.get(key)?.id;
    const isConflict = conflicts.some((conflict) => conflict.key === key);
    const isGone = current === undefined ? then?.action === 'delete' && !isConflict : current.why === 'gone';
    const isOfItem = id !== undefined && !isSameItem(then, current);
    const name = jsonText(shorten(key));
    changes.push(
      isOfItem
        ? `${name} (item ${id}) was ${isGone ? 'deleted' : 'changed'}`
        : `the step for ${name} would be different now`,
    );
  }
  return changes;
}

function isSameStep(one: Step, other: Step): boolean {
  return isSameValue(stepObject({ ...one, number: 0 }), stepObject({ ...other, number: 0 }));
}

/** Whether two steps are about the same version of an item, so that only what is sent differs. */
function isSameItem(one: Step | undefined, other: Step | undefined): boolean {
  if (one?.action !== other?.action || one?.etag !== other?.etag) return false;
  return isSameField(one?.before, other?.before);
}

function stale(what: string): Failure {
  return new Failure('conflict', `the plan is stale: ${what}`, {
    hint: 'review a new plan: listctl plan MANIFEST',
  });
}

/**
 * A plan as JSON: what `apply -o json` prints and `--out` saves. The format is documented (docs/apply.md), and stable:
 * members may be added to it, with another version where the ones of this change their meaning.
 */
import { Failure } from '../core/errors.ts';
import { isSameValue } from '../core/item.ts';
import { type JsonObject, printJson, withoutUndefined } from '../core/json.ts';
import {
  type Extent,
  eachElement,
  JsonFault,
  JsonMembers,
  parsePart,
  placeText,
  refuseRest,
  skipBlanks,
} from '../core/json-scan.ts';
import type { Conflict, Plan, PlanCounts } from './plan.ts';
import {
  type CreateInDoubt,
  type CreateStep,
  type DeleteStep,
  type State,
  type Step,
  shorten,
  type Target,
  targetText,
  type UpdateStep,
} from './state.ts';

/** A step as an object; what is undefined is left out. */
export function stepObject(step: Step): JsonObject {
  const { number, action, key, id, etag, why, drift, fields, before, after, inDoubt } = step;
  const doubt = inDoubt === undefined ? undefined : doubtObject(inDoubt);
  return withoutUndefined({ number, action, key, id, etag, why, drift, fields, before, after, inDoubt: doubt });
}

/** A create in doubt as an object. */
export function doubtObject({ idempotencyKey, hash, sentAt, serviceAt }: CreateInDoubt): JsonObject {
  return withoutUndefined({ idempotencyKey, hash, sentAt, serviceAt });
}

/**
 * Reads the steps of a plan: numbered from 1 without a gap, no key twice, every id fit for a path.
 *
 * @throws {JsonFault}
 */
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

const actions = ['create', 'update', 'delete'] as const;
const reasons = ['gone', 'in-doubt'] as const;
const members: Readonly<Record<Step['action'], readonly string[]>> = {
  create: ['number', 'action', 'key', 'fields', 'after', 'why', 'inDoubt'],
  update: ['number', 'action', 'key', 'id', 'etag', 'fields', 'before', 'after', 'drift'],
  delete: ['number', 'action', 'key', 'id', 'etag', 'fields', 'before', 'after', 'drift'],
};
const anyMember = [...new Set(Object.values(members).flat())];

function readStep(text: string, { start }: Extent): Step {
  const read = new JsonMembers(text, start, anyMember);
  const action = read.word('action', actions);
  for (const name of anyMember) {
    if (read.has(name) && !members[action].includes(name)) throw new JsonFault(`a ${action} has no ${name}`, start);
  }
  const said = { number: read.count('number'), key: read.text('key') };
  const sent = { fields: read.fields('fields'), after: read.fields('after') };
  if (action === 'create') return { ...said, ...sent, action, ...reasonOf(read, text, start) };
  const id = read.id('id', 'item');
  const etag = read.maybeHeader('etag');
  const isDrift = read.has('drift') && read.flag('drift');
  const found = {
    id,
    ...(etag === undefined ? {} : { etag }),
    before: read.fields('before'),
    ...(isDrift ? { drift: true as const } : {}),
  };
  const step: UpdateStep | DeleteStep = { ...said, ...sent, action, ...found };
  const isEmpty = Object.keys(sent.fields).length === 0;
  if (isEmpty !== (action === 'delete')) throw new JsonFault(`the fields do not fit a ${action}`, start);
  return step;
}

function reasonOf(read: JsonMembers, text: string, start: number): Pick<CreateStep, 'why' | 'inDoubt'> {
  const why = read.has('why') ? read.word('why', reasons) : undefined;
  if ((why === 'in-doubt') !== read.has('inDoubt')) throw new JsonFault('inDoubt requires "why": "in-doubt"', start);
  if (why === undefined) return {};
  return read.has('inDoubt') ? { why, inDoubt: readDoubt(text, read.extent('inDoubt')) } : { why };
}

/**
 * Reads what is known of a create in doubt.
 *
 * @throws {JsonFault}
 */
export function readDoubt(text: string, { start }: Extent): CreateInDoubt {
  const read = new JsonMembers(text, start, ['idempotencyKey', 'hash', 'sentAt', 'serviceAt']);
  const hash = read.text('hash');
  if (!/^[0-9a-f]{16}$/.test(hash)) throw new JsonFault('hash is not 16 hex digits', start);
  const serviceAt = read.has('serviceAt') ? { serviceAt: read.count('serviceAt') } : {};
  const idempotencyKey = read.value('idempotencyKey') === null ? null : (read.maybeHeader('idempotencyKey') ?? null);
  return { idempotencyKey, hash, sentAt: read.count('sentAt'), ...serviceAt };
}

/** The newest layout that this listctl knows. */
const planVersion = 1;

/** A plan, and what it was made from. */
export interface PlanFile {
  readonly target: Target;
  /** The version of the state. */
  readonly state: Pick<State, 'lineage' | 'serial'>;
  /** The name of field that uniquely identifies an item. */
  readonly key: string;
  /** The manifest as it was named, and the hash of its bytes, 64 hex digits. */
  readonly manifest: { readonly file: string; readonly sha256: string };
  /** Whether items that the manifest no longer names are removed (`--prune`). */
  readonly prune: boolean;
  /** Whether each known item was read first; else the state was trusted (`--no-refresh`). */
  readonly refresh: boolean;
  readonly counts: PlanCounts;
  readonly steps: readonly Step[];
  readonly conflicts: readonly Conflict[];
  readonly inDoubt: readonly string[];
  readonly orphaned: readonly string[];
}

/** A plan file of a plan. */
export function toPlanFile(
  { counts, steps, conflicts, inDoubt, orphaned }: Plan,
  from: Omit<PlanFile, 'counts' | 'steps' | 'conflicts' | 'inDoubt' | 'orphaned'>,
): PlanFile {
  return { ...from, counts, steps, conflicts, inDoubt, orphaned };
}

/** Whether a file says that it is a plan: a manifest is never taken for one, nor the other way round. */
export function looksLikePlan(start: string): boolean {
  return /^\ufeff?\s*\{\s*"listctl"\s*:\s*"plan"/.test(start);
}

/** A plan as text, in pieces: a line for each step. */
export function* printPlan(plan: PlanFile): Generator<string> {
  const { target, state, key, manifest, prune, refresh, counts, steps, conflicts, inDoubt, orphaned } = plan;
  const { origin, site, list } = target;
  const { lineage, serial } = state;
  const { file, sha256 } = manifest;
  const head: JsonObject = {
    listctl: 'plan',
    version: planVersion,
    target: { origin, site, list },
    state: { lineage, serial },
    key,
    seed: { file, sha256 },
    prune,
    refresh,
    counts: { ...counts },
    conflicts: conflicts.map(({ key, id, action, found = null }) => ({ key, id, action, found })),
    inDoubt,
    orphaned,
  };
  yield `${printJson(head).slice(0, -1)},"steps":[`;
  let divider = '\n';
  for (const step of steps) {
    yield `${divider}${printJson(stepObject(step))}`;
    divider = ',\n';
  }
  yield steps.length === 0 ? ']}\n' : '\n]}\n';
}

const countNames = [
  'create',
  'update',
  'delete',
  'unchanged',
  'inDoubt',
  'conflict',
  'orphaned',
  'drifted',
  'gone',
  'forgotten',
] as const satisfies readonly (keyof PlanCounts)[];

const names = [
  ...['listctl', 'version', 'target', 'state', 'key', 'seed', 'prune', 'refresh'],
  ...['counts', 'conflicts', 'inDoubt', 'orphaned', 'steps'],
];

/**
 * Reads a saved plan.
 *
 * @param path for messages
 * @throws {Failure} local-file, when it is none, is damaged, or was written by a newer listctl
 */
export function readPlan(text: string, path: string): PlanFile {
  try {
    return planFrom(text, path);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new Failure('local-file', `${path} is not a valid plan: ${placeText(text, error.at)}: ${error.message}`, {
      hint: 'create a new plan: listctl apply MANIFEST --dry-run --out FILE; nothing was sent',
    });
  }
}

function planFrom(text: string, path: string): PlanFile {
  const start = skipBlanks(text, 0);
  const version = /^\{\s*"listctl"\s*:\s*"plan"\s*,\s*"version"\s*:\s*([0-9]{1,9})\b/.exec(
    text.slice(start, start + 200),
  )?.[1];
  if (Number(version) > planVersion) {
    throw new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
      hint: 'update listctl; nothing was sent',
    });
  }
  const read = new JsonMembers(text, start, names);
  refuseRest(text, read.end);
  read.word('listctl', ['plan']);
  if (read.count('version') !== planVersion) throw new JsonFault(`version is not ${planVersion}`, start);
  const target = membersOf(text, read.extent('target'), ['origin', 'site', 'list']);
  const state = membersOf(text, read.extent('state'), ['lineage', 'serial']);
  const manifest = membersOf(text, read.extent('seed'), ['file', 'sha256']);
  const plan = {
    target: { origin: target.text('origin'), site: target.id('site', 'site'), list: target.id('list', 'list') },
    state: { lineage: state.text('lineage'), serial: state.count('serial') },
    key: read.text('key'),
    manifest: { file: manifest.text('file'), sha256: manifest.text('sha256') },
    prune: read.flag('prune'),
    refresh: read.flag('refresh'),
    steps: readSteps(text, read.extent('steps')),
    conflicts: readConflicts(text, read.extent('conflicts')),
    inDoubt: readKeys(text, read.extent('inDoubt')),
    orphaned: readKeys(text, read.extent('orphaned')),
  };
  return { ...plan, counts: readCounts(text, read.extent('counts'), plan.steps) };
}

function membersOf(text: string, { start }: Extent, known: readonly string[]): JsonMembers {
  return new JsonMembers(text, start, known);
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
    const read = membersOf(text, extent, ['key', 'id', 'action', 'found']);
    const action = read.word('action', ['update', 'delete'] as const);
    const found = parsePart(text, read.extent('found'));
    conflicts.push({ key: read.text('key'), id: read.id('id', 'item'), action, found });
  });
  return conflicts;
}

/** What is asked before the steps are done names these counts, so they are those of the steps. */
function readCounts(text: string, extent: Extent, steps: readonly Step[]): PlanCounts {
  const read = membersOf(text, extent, countNames);
  const counts = Object.fromEntries(countNames.map((name) => [name, read.count(name)])) as unknown as PlanCounts;
  const found = { create: 0, update: 0, delete: 0 };
  for (const { action } of steps) found[action] += 1;
  for (const action of ['create', 'update', 'delete'] as const) {
    if (found[action] !== counts[action])
      throw new JsonFault(`counts do not match the number of ${action}s`, extent.start);
  }
  return counts;
}

/**
 * Refuses a saved plan when anything has moved since it was made: it is done exactly, or not at all.
 *
 * @param state as it is now, at the plan's target
 * @param replanned a plan made now, in the way of the saved one: the same manifest, `prune` and `refresh`
 * @throws {Failure} usage, when the plan is of another state or list; conflict, when the state has moved on, or the
 *   same plan would not come out again
 */
export function checkPlanIsCurrent(
  plan: PlanFile,
  state: State,
  replanned: Pick<PlanFile, 'manifest' | 'key' | 'steps'>,
): void {
  const { origin, site, list } = plan.target;
  if (origin !== state.origin || site !== state.site || list !== state.list) {
    throw new Failure('usage', `the plan is for ${targetText(plan.target)}, not for ${targetText(state)}`, nothingSent);
  }
  if (plan.state.lineage !== state.lineage) {
    throw new Failure('usage', 'the plan was made from a different state file', nothingSent);
  }
  const { serial } = plan.state;
  if (serial !== state.serial || state.run !== undefined) {
    throw moved(`the state is at version ${state.serial}, the plan was made at version ${serial}`);
  }
  if (plan.manifest.sha256 !== replanned.manifest.sha256 || plan.key !== replanned.key)
    throw moved('the manifest changed');
  const count = Math.max(plan.steps.length, replanned.steps.length);
  for (let at = 0; at < count; at += 1) {
    const [then, now] = [plan.steps[at], replanned.steps[at]];
    if (then !== undefined && now !== undefined && isSameValue(stepObject(then), stepObject(now))) continue;
    const { key = '' } = then ?? now ?? {};
    throw moved(`the step for "${shorten(key)}" would be different now`);
  }
}

const nothingSent = { hint: 'nothing was sent' };

function moved(what: string): Failure {
  return new Failure('conflict', `the plan is stale: ${what}`, {
    hint: 'review a new plan: listctl apply MANIFEST --dry-run; nothing was sent',
  });
}

/** Steps and creates in doubt, as they stand in a state and in a plan. */
import { type JsonObject, type JsonValue, objectFrom } from '../json.ts';
import { JsonMembers } from './json-members.ts';
import { type Extent, eachElement, JsonFault } from './json-parts.ts';
import type { CreateInDoubt, CreateStep, DeleteStep, Step, UpdateStep } from './step.ts';

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

/** The members that are there. */
export function withoutUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return objectFrom(Object.entries(members).filter((member): member is [string, JsonValue] => member[1] !== undefined));
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
    if (step.number !== steps.length + 1)
      throw new JsonFault(`step ${steps.length + 1} has another number`, extent.start);
    if (keys.has(step.key)) throw new JsonFault('the key of that step is that of another one', extent.start);
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
  if (isEmpty !== (action === 'delete')) throw new JsonFault(`the fields are not those of a ${action}`, start);
  return step;
}

function reasonOf(read: JsonMembers, text: string, start: number): Pick<CreateStep, 'why' | 'inDoubt'> {
  const why = read.has('why') ? read.word('why', reasons) : undefined;
  if ((why === 'in-doubt') !== read.has('inDoubt')) throw new JsonFault('a doubt goes with "why": "in-doubt"', start);
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
  if (!/^[0-9a-f]{16}$/.test(hash)) throw new JsonFault('hash has not 16 hex digits', start);
  const serviceAt = read.has('serviceAt') ? { serviceAt: read.count('serviceAt') } : {};
  const idempotencyKey = read.value('idempotencyKey') === null ? null : (read.maybeHeader('idempotencyKey') ?? null);
  return { idempotencyKey, hash, sentAt: read.count('sentAt'), ...serviceAt };
}

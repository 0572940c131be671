/**
 * Manifests, edits, drift, lost answers, kills and prune in any order, against a service in memory: whatever happens
 * between, the list ends as the manifest says, no key is made twice, and nothing of anybody else is touched.
 */
import fc from 'fast-check';
import type { ManifestItem } from '../../../src/apply/manifest.ts';
import { forgetItem, importItem, resolveItem } from '../../../src/apply/state.ts';
import { holdsFields } from '../../../src/core/item.ts';
import { objectFrom, parseJson } from '../../../src/core/json.ts';
import { startedAt } from '../bulk/journal-samples.ts';
import { type Call, type Fate, ModelWorld, quiet } from './model-apply.ts';

/** What happens next. */
type Move =
  | { readonly kind: 'edit'; readonly manifest: readonly ManifestItem[] }
  | { readonly kind: 'apply'; readonly call: Call }
  /** Somebody changes, removes or adds an item. */
  | { readonly kind: 'drift' | 'remove' | 'take-over' | 'forget'; readonly nth: number; readonly value: number }
  | { readonly kind: 'add'; readonly key: string }
  /** Somebody looks what became of every create in doubt. */
  | { readonly kind: 'resolve' };

const keys = ['a', 'b', 'c', '__proto__', 'new\nline', '\ud800'] as const;
const values = ['"x"', '1', '1.0', '12345678901234567890', 'null', '{"n":[1,2]}'].map((json) => parseJson(json));

const manifests = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.array(fc.option(fc.nat(values.length - 1)), { maxLength: 2 })), {
    selector: ([key]) => key,
    maxLength: keys.length,
  })
  .map((items) =>
    items.map(([key, fields], at): ManifestItem => {
      const members = fields.flatMap((value, index) =>
        value === null ? [] : [[`F${index}`, values[value] ?? null] as const],
      );
      return { key, fields: objectFrom([['Title', key], ...members]), line: at + 1 };
    }),
  );

const fates = fc.constantFrom<Fate>('done', 'done', 'lost-applied', 'lost-not-applied', 'refused', 'not-sent');

const calls = fc.record({
  prune: fc.boolean(),
  refresh: fc.boolean(),
  honorsKeys: fc.boolean(),
  fates: fc.array(fates, { maxLength: 6 }),
  killedAfter: fc.option(fc.nat(20), { nil: undefined }),
  losesPower: fc.boolean(),
  cutAt: fc.double({ min: 0, max: 1, noNaN: true }),
  leavesJournal: fc.boolean(),
});

const moves: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant('edit' as const), manifest: manifests }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('apply' as const), call: calls }) },
  fc.record({
    kind: fc.constantFrom('drift' as const, 'remove' as const, 'take-over' as const, 'forget' as const),
    nth: fc.nat(20),
    value: fc.nat(values.length - 1),
  }),
  fc.record({ kind: fc.constant('add' as const), key: fc.constantFrom(...keys) }),
  fc.constant({ kind: 'resolve' as const }),
);

/** How often, and with which random numbers. */
export interface ModelRuns {
  readonly runs: number;
  readonly seed?: number | undefined;
}

/**
 * Runs the model.
 *
 * @throws {Error} with the shortest way that fast-check finds to break it, and its seed
 */
export async function checkManifestModel({ runs, seed }: ModelRuns): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(moves, { maxLength: 24, size: 'max' }),
    manifests,
    fc.boolean(),
    async (happenings, lastManifest, givesEtags) => {
      const world = new ModelWorld(givesEtags);
      for (const move of happenings) await happen(world, move);
      await settle(world, lastManifest);
    },
  );
  await fc.assert(property, { numRuns: runs, ...(seed === undefined ? {} : { seed }) });
}

async function happen(world: ModelWorld, move: Move): Promise<void> {
  switch (move.kind) {
    case 'edit':
      world.manifest = move.manifest;
      return;
    case 'apply':
      await applied(world, move.call);
      return;
    case 'add':
      world.service.create(objectFrom([['Title', move.key]]), undefined, undefined, false);
      return;
    case 'resolve':
      await resolveAll(world);
      return;
    case 'take-over':
      await takeOver(world, move.nth);
      return;
    case 'forget':
      await letGo(world, move.nth);
      return;
    default:
      meddle(world, move.kind, move.nth, move.value);
  }
}

/** Somebody else changes or removes one of all items. */
function meddle({ service }: ModelWorld, kind: 'drift' | 'remove', nth: number, value: number): void {
  const ids = [...service.items.keys()];
  const id = ids[nth % ids.length];
  if (id === undefined) return;
  if (kind === 'remove') service.items.delete(id);
  else service.change(id, objectFrom([[`F${nth % 3}`, values[value] ?? null]]));
}

/** Applies, and checks what holds of every plan, and of what it left where all went well. */
async function applied(world: ModelWorld, call: Call): Promise<void> {
  const before = new Map(world.service.items);
  const { steps, inDoubt, orphaned } = await world.apply(call);
  const named = [...steps.map(({ key }) => key), ...inDoubt];
  check(new Set(named).size === named.length, 'a key is named twice');
  check(call.prune || steps.every(({ action }) => action !== 'delete'), 'only --prune deletes');
  for (const [id, item] of before) {
    if (item.madeFor === undefined) check(world.service.items.get(id) === item, `${id} is not the manifest's`);
  }
  const wentWell = call.killedAfter === undefined && call.fates.every((fate) => fate === 'done') && call.refresh;
  if (!wentWell || inDoubt.length > 0 || steps.some(({ inDoubt: sent }) => sent !== undefined)) return;
  checkList(world, new Set(orphaned));
  const again = world.plan(await world.recover(), call);
  check(again.steps.length === 0 && again.learned.size === 0, 'twice is not a no-op');
}

/** Checks that the list is what the manifest says, beside what is somebody else's and what was let be. */
function checkList({ service, manifest }: ModelWorld, orphaned: ReadonlySet<string>): void {
  for (const { key, fields } of manifest) {
    const made = service.madeFor(key);
    check(made.length === 1, `there are ${made.length} of ${JSON.stringify(key)}`);
    const item = service.items.get(made[0] ?? '');
    check(
      item !== undefined && holdsFields(item.fields, fields),
      `${JSON.stringify(key)} is not what the manifest says`,
    );
  }
  const named = new Set(manifest.map(({ key }) => key));
  for (const { madeFor } of service.items.values()) {
    check(madeFor === undefined || named.has(madeFor) || orphaned.has(madeFor), `${madeFor} is still there`);
  }
}

async function resolveAll(world: ModelWorld): Promise<void> {
  let state = await world.recover();
  for (const [key, { inDoubt }] of state.items) {
    if (inDoubt === undefined) continue;
    const id = inDoubt.idempotencyKey === null ? undefined : world.service.made.get(inDoubt.idempotencyKey);
    state = resolveItem(state, key, id === undefined ? null : { id }, startedAt);
  }
  if (state !== world.state) world.write(state);
}

async function takeOver(world: ModelWorld, nth: number): Promise<void> {
  const state = await world.recover();
  const free = [...world.service.items].filter(([, { madeFor }]) => madeFor === undefined);
  const [id, item] = free[nth % free.length] ?? [];
  const key = item?.fields['Title'];
  if (id === undefined || item === undefined || typeof key !== 'string') return;
  // Somebody removed what the state has of that key: only a plan that looks will know.
  if (state.items.has(key) || world.service.madeFor(key).length > 0) return;
  world.service.setOwner(id, key);
  world.write(importItem(state, key, { id }, item.fields, startedAt));
}

async function letGo(world: ModelWorld, nth: number): Promise<void> {
  const state = await world.recover();
  const known = [...state.items].filter(([, { inDoubt }]) => inDoubt === undefined);
  const [key, item] = known[nth % known.length] ?? [];
  if (key === undefined || item?.id === undefined) return;
  world.service.setOwner(item.id, undefined);
  world.write(forgetItem(state, key, startedAt));
}

/** Whatever happened, looking once at what is in doubt and applying is enough. */
async function settle(world: ModelWorld, manifest: readonly ManifestItem[]): Promise<void> {
  world.manifest = manifest;
  await resolveAll(world);
  await applied(world, quiet);
  checkList(world, new Set());
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

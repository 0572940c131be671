/**
 * Manifests, edits, drift, items that go, lost answers, kills and prunes in any order: whatever happens between, the list
 * ends as the manifest says, no key is made twice, and nothing is changed or deleted that neither manifest nor state owns.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Run } from '../support/test-host.ts';
import { ModelWorld } from './model-world.ts';
import { type Call, type Move, manifests, moves } from './moves.ts';

export interface ModelOptions {
  readonly runs: number;
  /** Chance begins with this number; undefined for any. */
  readonly seed?: number | undefined;
  readonly onRun?: () => void;
}

/** @throws what fast-check found, with the number to begin with and the moves that are enough for it */
export async function checkManifestModel({ runs, seed, onRun }: ModelOptions): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(moves, { maxLength: 12, size: 'max' }),
    manifests,
    fc.record({ honorsKeys: fc.boolean(), givesEtags: fc.boolean() }),
    async (happenings, lastManifest, kind) => {
      await using world = await ModelWorld.open(kind);
      for (const move of happenings) {
        await happen(world, move);
        check(world.broken.length === 0, world.broken.join('; '));
      }
      await settle(world, lastManifest);
      onRun?.();
    },
  );
  await fc.assert(property, { numRuns: runs, ...(seed === undefined ? {} : { seed }) });
}

async function happen(world: ModelWorld, move: Move): Promise<void> {
  switch (move.kind) {
    case 'edit':
      world.edit(move.manifest);
      return;
    case 'apply':
      await applied(world, move.call);
      return;
    case 'add':
      await world.service.add({ Title: move.key });
      return;
    case 'resolve':
      await resolveAll(world);
      return;
    case 'import':
      await takeOver(world, move.nth);
      return;
    case 'forget':
      await letGo(world, move.nth);
      return;
    default:
      await meddle(world, move.kind, move.nth, move.json);
  }
}

/** Somebody else changes or removes one of all items. */
async function meddle({ service }: ModelWorld, kind: 'drift' | 'remove', nth: number, json: string): Promise<void> {
  const ids = [...service.items().keys()];
  const id = ids[nth % ids.length];
  if (id === undefined) return;
  if (kind === 'remove') await service.remove(id);
  else await service.change(id, { [`F${nth % 3}`]: JSON.parse(json) });
}

/** Throttled for too long, not reached, in doubt, some not done, stopped: all else would be a fault of ours. */
const honestEnds: ReadonlySet<number> = new Set([0, 6, 7, 8, 9]);

async function applied(world: ModelWorld, call: Call): Promise<void> {
  const before = world.service.items();
  const ended = await world.apply(call);
  check(world.broken.length === 0, world.broken.join('; '));
  const after = world.service.items();
  for (const [id, fields] of before) {
    if (!world.owned.has(id)) check(isDeepStrictEqual(after.get(id), fields), `${id} is not the manifest's`);
  }
  if (ended === 'killed') return;
  check(honestEnds.has(ended.exitCode), textOf('apply', ended));
  check(world.state()?.run === undefined, 'a run that has ended is still in the state');
}

async function resolveAll(world: ModelWorld): Promise<void> {
  if (world.stateText() === undefined) return;
  // Folds in what a killed run left.
  await succeed(world, ['apply', 'manifest.json', '--no-refresh', '--out', 'unused.json', '-o', 'none']);
  for (const [key, { inDoubt }] of Object.entries(world.state()?.items ?? {})) {
    if (inDoubt === undefined) continue;
    const id = inDoubt.idempotencyKey === null ? undefined : world.made.get(inDoubt.idempotencyKey);
    const isThere = id !== undefined && world.service.items().has(id);
    // A read finds it, whatever another client did to it since.
    await succeed(world, ['state', 'resolve', 'manifest.json', `${key}=${isThere ? id : 'none'}`, '--force']);
  }
}

async function takeOver(world: ModelWorld, nth: number): Promise<void> {
  const known = world.state()?.items ?? {};
  const named = new Set(world.manifest.map(({ key }) => key));
  // Somebody removed what the state has of a key: only a plan that looks will know. A killed run may have made some.
  const free = [...world.service.items()].filter(([id, { Title: key }]) => {
    if (world.owned.has(id) || typeof key !== 'string' || !named.has(key)) return false;
    return !Object.hasOwn(known, key) && world.ownedBy(key).length === 0;
  });
  const [id, fields] = free[nth % free.length] ?? [];
  if (id === undefined || world.state()?.run !== undefined) return;
  const key = String(fields?.['Title']);
  await succeed(world, ['state', 'import', 'manifest.json', `${key}=${id}`]);
  world.owned.set(id, key);
}

async function letGo(world: ModelWorld, nth: number): Promise<void> {
  const state = world.state();
  if (state === undefined || state.run !== undefined) return;
  const known = Object.entries(state.items).filter(([, { id }]) => id !== undefined);
  const [key, item] = known[nth % known.length] ?? [];
  if (key === undefined || item?.id === undefined) return;
  await succeed(world, ['state', 'forget', 'manifest.json', key]);
  world.owned.delete(item.id);
}

/** Whatever happened, looking once at what is in doubt and applying is enough; and a second time sends nothing. */
async function settle(world: ModelWorld, manifest: ModelWorld['manifest']): Promise<void> {
  await resolveAll(world);
  world.edit(manifest);
  const init = world.stateText() === undefined ? ['--init'] : [];
  await succeed(world, ['apply', 'manifest.json', '--prune', '--yes', '-o', 'none', ...init]);
  check(world.broken.length === 0, world.broken.join('; '));
  checkList(world);
  const [state, sent] = [world.stateText(), world.service.writes().length];
  await succeed(world, ['apply', 'manifest.json', '--prune', '-o', 'none']);
  check(world.service.writes().length === sent, 'twice is not a no-op');
  check(world.stateText() === state, 'the state is another one after nothing was done');
}

function checkList(world: ModelWorld): void {
  const items = world.service.items();
  for (const { key, fields } of world.manifest) {
    const [id = '', ...others] = world.ownedBy(key);
    check(
      id !== '' && others.length === 0,
      `there are ${others.length + (id === '' ? 0 : 1)} of ${JSON.stringify(key)}`,
    );
    const item = items.get(id) ?? {};
    for (const [name, json] of [...fields, ['Title', JSON.stringify(key)] as const]) {
      const has: unknown = Object.hasOwn(item, name) ? item[name] : null;
      check(isDeepStrictEqual(has, JSON.parse(json)), `${name} of ${JSON.stringify(key)} is ${JSON.stringify(has)}`);
    }
  }
  const named = new Set(world.manifest.map(({ key }) => key));
  for (const [id, key] of world.owned) {
    check(named.has(key) || !items.has(id), `${id}, which was ${JSON.stringify(key)}, is still there`);
  }
}

async function succeed(world: ModelWorld, words: readonly string[]): Promise<void> {
  const ended = await world.run(words);
  check(ended.exitCode === 0, textOf(words.join(' '), ended));
}

function textOf(what: string, { exitCode, stderr }: Run): string {
  return `${what} ended with ${exitCode}: ${stderr}`;
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

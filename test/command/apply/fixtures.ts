import { test as base } from 'vitest';
import { type ApplyWorld, applyWorld } from './apply-world.ts';
import { type ItemService, itemService } from './item-service.ts';

export interface Fixtures {
  readonly service: ItemService;
  readonly world: ApplyWorld;
  /** A list with one to create, one to update, one to delete and one unchanged. */
  readonly changed: { readonly service: ItemService; readonly world: ApplyWorld; readonly writesSince: () => number };
}

/** A test with a service that needs no script, and a directory for manifests. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  service: async ({}, use) => {
    await using service = await itemService();
    await use(service);
  },
  world: async ({ service }, use) => {
    await using world = await applyWorld(service);
    await use(world);
  },
  changed: async ({ service, world }, use) => {
    await world.begin(a, b, c);
    world.manifest({ ...a, Note: 'new' }, b, { Title: 'd' });
    const sentBefore = service.requests.length;
    const writesSince = () => service.requests.slice(sentBefore).filter(({ method }) => method !== 'GET').length;
    await use({ service, world, writesSince });
  },
});

export const a = { Title: 'a', Note: 'x' };
export const b = { Title: 'b', Note: 'y' };
export const c = { Title: 'c', Note: 'z' };

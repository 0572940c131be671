import { test as base } from 'vitest';
import { type ApplyWorld, applyWorld } from './apply-world.ts';
import { type ItemService, itemService } from './item-service.ts';

/** A test with a service that needs no script, and a directory for manifests. */
export const test = base.extend<{ service: ItemService; world: ApplyWorld }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  service: async ({}, use) => {
    await using service = await itemService();
    await use(service);
  },
  world: async ({ service }, use) => {
    await using world = await applyWorld(service);
    await use(world);
  },
});

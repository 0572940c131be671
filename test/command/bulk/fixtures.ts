import { test as base } from 'vitest';
import { type ManyWorld, manyWorld } from './bulk-world.ts';
import { type ListService, listService } from './list-service.ts';

/** A test with a list that needs no script, and a directory for runs over it. */
export const test = base.extend<{ service: ListService; world: ManyWorld }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  service: async ({}, use) => {
    await using service = await listService();
    await use(service);
  },
  world: async ({ service }, use) => {
    await using world = await manyWorld(service);
    await use(world);
  },
});

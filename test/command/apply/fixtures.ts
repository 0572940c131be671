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

export const a = { Title: 'a', Note: 'x' };
export const b = { Title: 'b', Note: 'y' };

/** A list with one to create, one to update, one to delete and one unchanged. */
export async function changedWorld() {
  const service = await itemService();
  const world = await applyWorld(service);
  await world.begin(a, b, { Title: 'c', Note: 'z' });
  world.manifest({ ...a, Note: 'new' }, b, { Title: 'd' });
  const sentBefore = service.requests.length;
  return {
    ...{ service, world },
    writesSince: () => service.requests.slice(sentBefore).filter(({ method }) => method !== 'GET').length,
    [Symbol.asyncDispose]: async () => {
      await world[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

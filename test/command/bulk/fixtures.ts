import { test as base, onTestFinished } from 'vitest';
import { type ManyWorld, manyWorld } from './bulk-world.ts';
import { type ListService, listService, type Script } from './list-service.ts';

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

/**
 * A list, and a directory for runs over it, until the end of the test.
 *
 * @param script its answers, or those to creates of the items with these titles
 */
export async function listWorld(
  script: Script | Readonly<Record<string, ReturnType<Script>>> = {},
  honorsKeys = false,
) {
  let isMended = false;
  const scripted: Script = typeof script === 'function' ? script : ({ title = '' }) => script[title];
  const answer: Script = (request) => (isMended ? undefined : scripted(request));
  const service = await listService(answer, honorsKeys);
  const world = await manyWorld(service);
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });
  /** From now on the list gives its own answers. */
  const mend = () => {
    isMended = true;
  };
  return { service, world, mend };
}

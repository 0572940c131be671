import { type BuildOptions, build } from 'rolldown';
import config from '../../rolldown.config.ts';

// Vitest sets up each project on its own, with its own copy of this module; the program is built once for all.
const builds: { [key: symbol]: Promise<unknown> } = globalThis as never;
const thisBuild = Symbol.for('listctl.build');

/** Builds `dist/` before the first test that runs it. Vitest calls this, as the `globalSetup` of a project. */
export async function setup(): Promise<void> {
  builds[thisBuild] ??= build(config as BuildOptions);
  await builds[thisBuild];
}

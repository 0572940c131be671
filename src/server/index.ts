/** The built-in servers, by the kind of service: for `serve` and `local:`. */
import { Failure } from '../core/errors.ts';
import type { GraphOptions } from './graph/service.ts';
import { listItemService } from './handle.ts';
import type { ErrorResponder, Service } from './message.ts';
import type { Store } from './store.ts';

/** The lists that a built-in server begins with, for those whose lists have columns. */
export type ListOptions = GraphOptions;

interface BuiltIn {
  /** Whether its items may collide, which `--fail-rate` imitates. */
  readonly withCollisions: boolean;
  /** Whether it takes the flags for lists with columns. */
  readonly takesSchema: boolean;
  /** The site and the list of the lines to paste. */
  exampleList(options: ListOptions | undefined): readonly [site: string, list: string];
  open(
    store: Store,
    now: () => number,
    options?: ListOptions,
  ): Promise<{ readonly service: Service; readonly respondError?: ErrorResponder }>;
}

/** By the names of --service; not every kind has one. */
export const builtInServers: Readonly<Record<string, BuiltIn>> = {
  'list-item': {
    withCollisions: false,
    takesSchema: false,
    exampleList: () => ['home', 'tasks'],
    open: async (store, now) => ({ service: listItemService(store, now) }),
  },
  graph: {
    withCollisions: true,
    takesSchema: true,
    exampleList: (options) => ['root', options?.schema?.[0]?.title ?? 'tasks'],
    open: async (store, now, options) => {
      const [{ graphService }, { graphErrorResponder }] = await Promise.all([
        import('./graph/service.ts'),
        import('./graph/errors.ts'),
      ]);
      return { service: graphService(store, now, options), respondError: graphErrorResponder(now) };
    },
  },
};

/**
 * The built-in server of a kind of service.
 *
 * @throws {Failure} usage, if it has none
 */
export function builtInServer(kind: string): BuiltIn {
  const found = builtInServers[kind];
  if (found !== undefined) return found;
  throw new Failure('usage', `there is no built-in server for --service ${kind}`, {
    hint: `pass --service ${Object.keys(builtInServers).join(' or ')}`,
  });
}

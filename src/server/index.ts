/** The built-in servers, by the kind of service: for `serve` and `local:`. */
import type { GraphOptions } from './graph/service.ts';
import { listItemService } from './handle.ts';
import type { ErrorResponder, Service } from './message.ts';
import type { Store } from './store.ts';

interface BuiltIn {
  /** Whether its items may collide, which `--fail-rate` imitates. */
  readonly withCollisions: boolean;
  /** Whether it takes the flags for lists with columns. */
  readonly takesSchema: boolean;
  /** The site and the list of the lines to paste. */
  exampleList(options: GraphOptions | undefined): readonly [site: string, list: string];
  open(
    store: Store,
    now: () => number,
    options?: GraphOptions,
  ): Promise<{ readonly service: Service; readonly respondError?: ErrorResponder }>;
}

/** By the names of --service. */
export const builtInServices: Readonly<Record<'list-item' | 'graph', BuiltIn>> = {
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

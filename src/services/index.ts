/** The kinds of service: what is known of each without loading it, and how it is loaded. The only file that knows them. */
import { listItemOperations } from './list-item/items.ts';
import type { Service, ServiceSetup } from './service.ts';

/** What is known of a kind of service before it is loaded. */
export interface ServiceFacts {
  /** For messages. */
  readonly title: string;
  /** Whether creates can have an Idempotency-Key. */
  readonly takesKeys: boolean;
  /** Whether --list may be the URL of a list in the browser. */
  readonly takesListUrl: boolean;
  /** The creates per second with which a run begins; undefined to search from the start. */
  readonly startPerSecond?: number;
  /** @param company of the setting `company`, if any */
  userAgent(version: string, company: string | undefined): string;
  load(): Promise<Service>;
}

const listItemService: Service = { items: listItemOperations };

const kinds: Readonly<Record<'list-item' | 'graph', ServiceFacts>> = {
  'list-item': {
    title: 'the list item service',
    takesKeys: true,
    takesListUrl: false,
    userAgent: (version) => `listctl/${version}`,
    load: async () => listItemService,
  },
  graph: {
    title: 'Microsoft Graph',
    takesKeys: false,
    takesListUrl: true,
    // Microsoft Graph allows some 10 creates a second.
    startPerSecond: 10,
    // Microsoft asks for this form ("How to avoid getting throttled", "decorate your traffic").
    userAgent: (version, company = 'listctl') => `NONISV|${company}|listctl/${version}`,
    load: async () => (await import('./graph/service.ts')).graphService,
  },
};

/** The facts of a kind of service, as --service names it. */
export function factsOf(kind: keyof typeof kinds): ServiceFacts {
  return kinds[kind];
}

/** The kinds of service that can be set up by the URL of a list in the browser. Loads all. */
export async function setups(): Promise<
  readonly { readonly kind: keyof typeof kinds; readonly setup: ServiceSetup }[]
> {
  const all = Object.entries(kinds) as [keyof typeof kinds, ServiceFacts][];
  const loaded = await Promise.all(all.map(async ([kind, { load }]) => ({ kind, setup: (await load()).setup })));
  return loaded.flatMap(({ kind, setup }) => (setup === undefined ? [] : [{ kind, setup }]));
}

import { createClient } from '../../../src/api/client.ts';
import type { AttemptLimits, Transport } from '../../../src/api/transport.ts';
import { Failure } from '../../../src/core/errors.ts';
import type { Item } from '../../../src/core/item.ts';
import { parseJson, printJson } from '../../../src/core/json.ts';
import { failureJson, failureText } from '../../../src/output/failure.ts';
import { jsonText } from '../../../src/output/layout.ts';
import { plainStyle } from '../../../src/output/view.ts';
import { listItemOperations } from '../../../src/services/list-item/items.ts';
import { failureWords, mustHold } from '../target.ts';

/** What is asked of a service. */
export const verbs = ['get', 'create', 'update', 'delete'] as const;
export type Verb = (typeof verbs)[number];

const list = { site: 'home', list: 'tasks' };
const ref = { ...list, id: '17' };
const kinds = ['refused', 'credentials', 'not-found', 'conflict', 'unavailable', 'unreachable', 'in-doubt'] as const;

/**
 * Asks once over a transport: the item that came, or the failure, in a few words. No time passes in a wait.
 *
 * @throws anything that is not a failure, or output that could control a terminal
 */
export async function answerWords(
  transport: Transport,
  verb: Verb,
  limits: Partial<AttemptLimits> = {},
): Promise<string> {
  const client = createClient(transport, {
    ...{
      timeoutMs: 5000,
      signal: new AbortController().signal,
      retries: 1,
      maxWaitMs: 10_000,
      honorsKeys: false,
      ...limits,
    },
    random: () => 0.5,
    clock: { now: Date.now, monotonicMs: () => performance.now(), sleep: checkedSleep, every: () => () => {} },
  });
  const ask: Readonly<Record<Verb, () => Promise<Item | undefined>>> = {
    get: () => client.send(listItemOperations.get(ref)),
    create: () => client.send(listItemOperations.create(list, { Title: 'a' }, { key: 'key' })),
    update: () => client.send(listItemOperations.update(ref, { Title: 'a' }, '"1"')),
    delete: async () => {
      await client.send(listItemOperations.delete(ref));
      return undefined;
    },
  };
  try {
    return itemWords(await ask[verb]());
  } catch (error) {
    const words = failureWords(error, kinds);
    if (error instanceof Failure) checkShown(error);
    return `${verb} ${words}`;
  }
}

async function checkedSleep(ms: number): Promise<void> {
  mustHold(ms > 0 && ms <= 20_000, `a wait is neither none nor endless: ${ms} ms`);
}

function itemWords(item: Item | undefined): string {
  if (item === undefined) return 'done';
  mustHold(item.id !== '', 'no item is without an id');
  const printed = printJson(item.members);
  mustHold(printJson(parseJson(jsonText(item.members))) === printed, 'what is shown of an item is the same');
  return `item ${printed.slice(0, 60)}`;
}

function checkShown(failure: Failure): void {
  const text = failureText(failure, plainStyle);
  mustHold(Buffer.byteLength(text) <= 1000, 'what is said of a failure has at most 1,000 bytes');
  mustHold(!/(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u.test(text), 'no failure steers a terminal');
  JSON.parse(failureJson(failure));
}

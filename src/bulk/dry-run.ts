/** Prints the requests of the rows of a file instead of sending them. Loaded late. */
import type { Session } from '../cli/session.ts';
import { parseJson } from '../core/json.ts';
import { countOf, countText } from '../core/text.ts';
import { type PlannedRequest, requestView } from '../output/item.ts';
import { type FileRun, keyedItems, repeatedOnce } from './import-plan.ts';
import { toOperation } from './senders.ts';

/** The most requests of a dry run in text; JSON has all. */
const shownMax = 10;

/** Prints the requests of a run, and how many rows would be sent. */
export async function showDryRun(run: FileRun, session: Session): Promise<void> {
  const { check } = run;
  const isText = session.output.format(true) === 'pretty';
  const good = check.ofShard - check.badOfShard - repeatedOnce(run).size;
  let shown = 0;
  await session.output.printing(requestView, true, async (print) => {
    for await (const request of requestsOf(run, session)) {
      if (isText && shown === shownMax) return;
      shown += 1;
      await print(request);
    }
  });
  const more = good - shown;
  const hidden = more > 0 ? `; ${countText(more)} more are not shown (pass -o jsonl to see all)` : '';
  await session.messages.say(`dry run: ${countText(good)} of ${countOf(check.ofShard, 'row')} would be sent${hidden}`);
}

async function* requestsOf(run: FileRun, session: Session): AsyncGenerator<PlannedRequest> {
  const { file, keyOf, hasOwnKeys, list } = run;
  const items = (await keyedItems(run, undefined, session)) ?? (await session.service.items());
  const unknownKey = run.input.keyField === undefined || hasOwnKeys ? undefined : '<key>';
  const { action } = file.options;
  for await (const block of file.blocks()) {
    for (const row of block) {
      if (row.problem !== undefined || repeatedOnce(run).has(row.number)) continue;
      const { request } = toOperation(items, row, { action, list: list.ids }, { key: keyOf?.(row) ?? unknownKey });
      const { method, path, headers, body } = request;
      const shown = typeof body === 'string' ? { body: parseJson(body) } : {};
      yield { method, url: session.settings.address() + path, headers, ...shown };
    }
  }
}

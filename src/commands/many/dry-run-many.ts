import { createRequest, deleteRequest, getRequest, updateRequest } from '../../api/requests.ts';
import type { ApiRequest } from '../../api/transport.ts';
import type { ListRef } from '../../item.ts';
import { type PlannedRequest, requestView } from '../../output/item-view.ts';
import type { Check } from '../../rows/check-rows.ts';
import type { RowsFile } from '../../rows/open-rows.ts';
import type { Row } from '../../rows/row.ts';
import type { Session } from '../session.ts';

/** A person is shown so many requests; a program all of them. */
const shownMax = 10;

/**
 * Shows the requests of the rows of a file, and sends none.
 *
 * @param keyOf derives the key of a row; undefined where one would be drawn
 */
export async function showManyDryRun(
  file: RowsFile,
  check: Check,
  keyOf: ((row: Row) => string) | undefined,
  session: Session,
): Promise<void> {
  const isForPerson = session.format(true) === 'pretty';
  const good = check.ofShard - check.badOfShard;
  let shown = 0;
  await session.printing(requestView, true, async (print) => {
    for await (const request of requestsOf(file, keyOf, session)) {
      if (isForPerson && shown === shownMax) return;
      shown += 1;
      await print(request);
    }
  });
  const more = good - shown;
  const hidden = more > 0 ? `; ${more} more are not shown (-o jsonl shows all)` : '';
  await session.say(`dry run: ${good} of ${check.ofShard} rows would be sent, and none was${hidden}`);
}

async function* requestsOf(
  file: RowsFile,
  keyOf: ((row: Row) => string) | undefined,
  session: Session,
): AsyncGenerator<PlannedRequest> {
  const list = session.list();
  const { action } = file.options;
  for await (const block of file.blocks()) {
    for (const row of block) {
      if (row.problem !== undefined) continue;
      const { method, path, headers } = requestOf(row, action, list, keyOf?.(row));
      const body = action === 'create' || action === 'update' ? { body: { fields: row.fields } } : {};
      yield { method, url: session.address() + path, headers, ...body };
    }
  }
}

function requestOf(
  { id = '', fields }: Row,
  action: RowsFile['options']['action'],
  list: ListRef,
  key: string | undefined,
): ApiRequest {
  const ref = { ...list, id };
  switch (action) {
    case 'create':
      return createRequest(list, fields, key);
    case 'get':
      return getRequest(ref);
    case 'update':
      return updateRequest(ref, fields);
    case 'delete':
      return deleteRequest(ref);
  }
}

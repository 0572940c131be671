import type { ApiRequest } from '../api/transport.ts';
import { type JsonValue, parseJson } from '../json.ts';
import { requestView } from '../output/item-view.ts';
import type { Session } from './session.ts';

/** Shows requests that are not sent. */
export function showDryRun(requests: readonly ApiRequest[], session: Session): Promise<void> {
  return session.printing(requestView, requests.length > 1, async (print) => {
    for (const { method, path, headers, body } of requests) {
      const url = session.address() + path;
      await print({ method, url, headers, ...(body === undefined ? {} : { body: bodyOf(body) }) });
    }
  });
}

/** The body as JSON, else as text. */
function bodyOf(body: string | Uint8Array): JsonValue {
  const text = Buffer.from(body).toString();
  try {
    return parseJson(text);
  } catch {
    // A body of the user's own, for `api`: it may be anything.
    return text;
  }
}

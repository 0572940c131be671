/** A service that answers creates row by row of docs/examples/tasks.csv, as far as it is let: a run can be held anywhere. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listening } from '../support/loopback-server.ts';

export interface HeldService extends AsyncDisposable {
  readonly url: string;
  /** The rows whose creates wait for an answer. */
  readonly waiting: ReadonlySet<number>;
  /** Answers the rows up to this one from now on, also those that wait. */
  letThrough(lastRow: number): void;
}

/** The first row of the file has this code, the next one the next. */
const firstCode = 417;

export async function heldService(): Promise<HeldService> {
  let last = 0;
  const waiting = new Map<number, () => void>();
  const server = createServer(async (request, response) => {
    const { fields } = (await json(request)) as { readonly fields: { readonly Code: string } };
    const row = Number(fields.Code) - firstCode + 1;
    if (row > last) await new Promise<void>((resolve) => waiting.set(row, resolve));
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: String(row), fields }));
  });
  return {
    ...(await listening(server)),
    get waiting() {
      return new Set(waiting.keys());
    },
    letThrough: (lastRow) => {
      last = lastRow;
      for (const [row, answer] of [...waiting].filter(([each]) => each <= lastRow)) {
        waiting.delete(row);
        answer();
      }
    },
  };
}

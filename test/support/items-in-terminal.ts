/** `items get` in a terminal of its own, between a service and a screen. */
import { createServer } from 'node:http';
import { listening } from './loopback-server.ts';
import { environmentFor } from './scripted-service.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { listctlInTerminal } from './terminal.ts';

export interface ShownItem {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What happened at the terminal beside text. */
export interface Seen {
  readonly titles: string[];
  bells: number;
  readonly answers: string[];
}

interface ShowOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
  /** What the service answers, rather than the items. */
  readonly status?: number;
  readonly body?: unknown;
}

/** Reads items, and gives the terminal once they are there. */
export async function showItems(items: readonly ShownItem[], columns: number, options: ShowOptions = {}) {
  const { env = {}, words = [], status = 200, body } = options;
  await using service = await serveItems((id) => ({ status, body: body ?? items.find((item) => item.id === id) }));
  await using directory = await temporaryDirectory();
  const terminal = listctlInTerminal(['items', 'get', ...items.map(({ id }) => id), ...words], {
    columns,
    env: { HOME: directory.path, LANG: 'C.UTF-8', ...environmentFor(service), ...env },
  });
  const seen: Seen = { titles: [], bells: 0, answers: [] };
  terminal.screen.onTitleChange((title) => seen.titles.push(title));
  terminal.screen.onBell(() => {
    seen.bells += 1;
  });
  terminal.screen.onData((answer) => seen.answers.push(answer));
  await terminal.ended;
  return { terminal, seen, [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose]() };
}

/** A service that answers each GET by the id at the end of its path: several are asked for at once. */
async function serveItems(answer: (id: string) => { readonly status: number; readonly body: unknown }) {
  const server = createServer(({ url = '' }, response) => {
    const { status, body } = answer(url.slice(url.lastIndexOf('/') + 1));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return listening(server);
}

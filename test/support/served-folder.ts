/** The embedded service in a process of its own, that is killed and started again at the same address. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { listctl } from './listctl.ts';

/** What the service asks of its clients. */
export const token = 'the-token-of-the-crash-loop';

/** A folder that is served. */
export interface ServedFolder {
  /** The address, version segment included. */
  readonly url: string;
  /** Where its items are. */
  readonly folder: string;
  /** Ends the process by SIGKILL. */
  kill(): Promise<void>;
  /** Serves the same folder at the same port again. */
  start(): Promise<void>;
}

/**
 * Serves the items of a folder.
 *
 * @param args more flags of `listctl serve`
 */
export async function serveFolder(folder: string, args: readonly string[] = []): Promise<ServedFolder> {
  let running: Awaited<ReturnType<typeof startServe>> | undefined = await startServe(folder, 0, args);
  const { url } = running;
  return {
    ...{ url, folder },
    kill: async () => {
      running?.process.kill('SIGKILL');
      await running?.process;
      running = undefined;
    },
    start: async () => {
      running ??= await startServe(folder, Number(new URL(url).port), args);
    },
  };
}

async function startServe(folder: string, port: number, args: readonly string[]) {
  const words = ['serve', '--port', String(port), '--data', folder, '-o', 'json', ...args];
  const process = listctl(words, { LISTCTL_TOKEN: token });
  const lines = createInterface({ input: process.stdout });
  const ended = process.then(() => []);
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as readonly (string | undefined)[];
  if (line === undefined) throw new Error(`serve did not start: ${(await process).stderr}`);
  return { process, url: (JSON.parse(line) as { readonly url: string }).url };
}

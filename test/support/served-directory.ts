/** The built-in service in a process of its own, that is killed and started again at the same address. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { listctl } from './listctl.ts';

export const token = 'the-token-of-the-crash-loop';

export interface ServedDirectory {
  readonly url: string;
  readonly directory: string;
  kill(): Promise<void>;
  /** Serves the same directory at the same port again. */
  start(): Promise<void>;
}

/**
 * Serves the items of a directory.
 *
 * @param args more flags of `listctl serve`
 */
export async function serveDirectory(directory: string, args: readonly string[] = []): Promise<ServedDirectory> {
  let running: Awaited<ReturnType<typeof startServe>> | undefined = await startServe(directory, 0, args);
  const { url } = running;
  return {
    ...{ url, directory },
    kill: async () => {
      running?.process.kill('SIGKILL');
      await running?.process;
      running = undefined;
    },
    start: async () => {
      running ??= await startServe(directory, Number(new URL(url).port), args);
    },
  };
}

async function startServe(directory: string, port: number, args: readonly string[]) {
  const words = ['serve', '--port', String(port), '--data', directory, '-o', 'json', ...args];
  const process = listctl(words, { LISTCTL_TOKEN: token });
  const lines = createInterface({ input: process.stdout });
  const ended = process.then(() => []);
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as readonly (string | undefined)[];
  if (line === undefined) throw new Error(`serve did not start: ${(await process).stderr}`);
  return { process, url: (JSON.parse(line) as { readonly url: string }).url };
}

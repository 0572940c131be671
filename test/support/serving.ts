import { Stopped } from '../../src/core/errors.ts';
import { main } from '../../src/main.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { type TestHost, testHost, type World } from './test-host.ts';

/** `listctl serve`, at work in this process. */
export interface Serving extends AsyncDisposable {
  readonly url: string;
  readonly host: TestHost;
  /** Asks it to stop, and gives its exit code. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number>;
}

/** Starts it on a free port, with a directory of its own. */
export async function serving(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  world: Pick<World, 'cwd' | 'stdin'> = {},
): Promise<Serving> {
  const directory = await temporaryDirectory();
  const controller = new AbortController();
  const host = testHost({ env: { LISTCTL_DATA_DIR: directory.path, ...env }, signal: controller.signal, ...world });
  const exitCode = main(['serve', '--port', '0', ...args], host);
  const ended = exitCode.then((code) => {
    throw new Error(`serve ended with ${code}: ${host.printed.stderr}`);
  });
  // Both streams: the token is printed last of what a client must know.
  const isReady = () => host.printed.stdout.includes('/v1.0') && /curl|^{.*}$/m.test(host.printed.stdout);
  while (!isReady()) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1))]);
  const stop = (signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') => {
    controller.abort(new Stopped(signal));
    ended.catch(() => {});
    return exitCode;
  };
  return {
    url: /http:[^\s"]*/.exec(host.printed.stdout)?.[0] ?? '',
    host,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await directory[Symbol.asyncDispose]();
    },
  };
}

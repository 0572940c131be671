import { Failure } from '../../errors.ts';
import { addHelpNotes, type SetUp } from '../command.ts';
import type { Context } from '../context.ts';
import { reportBug } from '../report.ts';
import { type Session, withSession } from '../session.ts';
import type { ServeFlags, ServeOptions } from './serve-options.ts';

/** `listctl serve` */
export const setUpServe: SetUp = (command, context) => {
  command
    .optionsGroup('Serving:')
    .option('--port <number>', 'the port to listen on, 0 for one that is free (7070)')
    .option('--host <address>', 'the address to listen on; beyond this machine it needs --token-file (127.0.0.1)')
    .option('--data <dir>', 'the folder of its items (the one of local:)')
    .option(
      '--token-file <file>',
      'the token that clients must send, - for stdin; else LISTCTL_TOKEN, else one is made',
    )
    .optionsGroup('A bad day:')
    .option('--latency <ms>', 'let each answer wait')
    .option('--throttle <rate>', 'answer 429 to requests beyond 10, 10/s or 600/m')
    .option('--fail-rate <share>', 'let so many requests fail, 0 to 1: half before anything is done, half after')
    .option('--seed <number>', 'let the same requests fail as the last time with this number')
    .action((flags: ServeFlags) =>
      withSession(context, command, async (session) => {
        const { readServeOptions } = await import('./serve-options.ts');
        await serve(await readServeOptions(flags, context.host), session, context);
      }),
    );
  addHelpNotes(command, {
    examples: [
      'listctl serve',
      'listctl serve --port 0 --data ./items -o json',
      'listctl serve --latency 200 --throttle 10/s --fail-rate 0.05',
    ],
    exitCodes: {
      2: 'wrong usage, no such address, or the store is not installed',
      10: 'the port is taken, or the store cannot be opened',
      129: 'ended by SIGHUP, what was under way finished',
      130: 'ended by Ctrl-C, likewise',
      143: 'ended by SIGTERM, likewise',
    },
  });
};

/** Serves until somebody asks listctl to stop, and ends as that asks. */
async function serve(options: ServeOptions, session: Session, context: Context): Promise<void> {
  const { host } = context;
  // Made before the first word is printed: who reads the address may send a signal at once.
  const stopped = whenAborted(host.signal);
  const { newToken, startLocalServer } = await import('./local-server.ts');
  const { announce } = await import('./serve-lines.ts');
  const token = options.token ?? newToken();
  const onError = (error: unknown) => {
    const report = error instanceof Failure ? session.report(error) : reportBug(error, context);
    // Where stderr can't take it, the client has its 500 all the same.
    report.catch(() => {});
  };
  const server = await startLocalServer({ ...options, token, onError }, host);
  try {
    const { tokenFile } = options;
    await announce(
      { url: server.url, host: options.host, token, isTokenNew: options.token === undefined, tokenFile },
      context,
    );
    await stopped;
  } finally {
    await server.close();
  }
  host.signal.throwIfAborted();
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
